# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of the messages about links, and of their attributes, as linux/rtnetlink.h and linux/if_link.h have them."""

RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK, RTM_SETLINK = 16, 17, 18, 19
RTM_NEWLINKPROP, RTM_DELLINKPROP = 108, 109

IFLA_IFNAME = 3
IFLA_LINK = 5
IFLA_MASTER = 10
IFLA_LINKINFO = 18
IFLA_STATS64 = 23
IFLA_AF_SPEC = 26
IFLA_GROUP = 27
IFLA_NET_NS_FD = 28
IFLA_EXT_MASK = 29
IFLA_CARRIER = 33
IFLA_LINK_NETNSID = 37
IFLA_CARRIER_DOWN_COUNT = 48
IFLA_NEW_IFINDEX = 49
IFLA_PROP_LIST = 52
IFLA_ALT_IFNAME = 53
IFLA_PARENT_DEV_NAME = 56

SKIP_STATS = 8
"""The bit of IFLA_EXT_MASK with which the kernel tells of a link without its counters."""

# Of kernels with the patches of the project.
IFLA_GROUP_MASK = 96
IFLA_NEW_GROUP = 97
IFLA_GROUP_ADDRESS = 98
IFLA_GROUP_INHERIT = 99
IFLA_LIGHT = 100
