# SPDX-License-Identifier: GPL-2.0-or-later
"""A message to a bridge that has no MAC, sent while it has that of a port, which is there for that alone.

A bridge whose last port has left has none, and refuses to be in another VLAN.  With a MAC that
it was told it would take none of its next ports; without this port it has none again.
"""

from collections.abc import Iterator

from netgroupd.kernel.links.layout import IFINFO
from netgroupd.kernel.links.numbers import IFLA_IFNAME, IFLA_LINKINFO, IFLA_MASTER, RTM_DELLINK, RTM_NEWLINK
from netgroupd.kernel.netlink.message import NLM_F_CREATE, NLM_F_EXCL, attr, nest, request, text, u32

_NAME = "netgroupd-port"


def by_a_port(said: bytes, bridge: int) -> Iterator[bytes]:
    """What is ``said`` to the bridge of this index, between what makes the port and what deletes it."""
    about, name = bytes(IFINFO.size), text(IFLA_IFNAME, _NAME)
    kind = nest(IFLA_LINKINFO, attr(1, b"dummy"))
    yield request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, about, name, u32(IFLA_MASTER, bridge), kind)
    yield said
    yield request(RTM_DELLINK, 0, about, name)
