# SPDX-License-Identifier: GPL-2.0-or-later
"""What each kind has in IFLA_INFO_DATA, and its ports in IFLA_INFO_SLAVE_DATA."""

from collections.abc import Mapping

from netgroupd.kernel.links.wire import Wire, Wires, absent, plain
from netgroupd.kernel.links.wire_special import (
    addresses,
    bits_of,
    either_family,
    flowinfo,
    gre_flags,
    gre_key,
    inherited_ttl,
    macs,
    masked_bits,
    primary,
    qos_map,
    replay,
    supervision,
    untold,
)
from netgroupd.model.kinds import KINDS
from netgroupd.model.link import COMMON
from netgroupd.model.state import Attrs

_IP6_FLAGS = {
    "ignore_encaplimit": 0x01,
    "tclass_inherit": 0x02,
    "flowlabel_inherit": 0x04,
    "dscp_inherit": 0x10,
    "fwmark_inherit": 0x20,
    "allow_localremote": 0x40,
}
_ENCAP_FLAGS = {"encap_csum": 1, "encap_csum6": 2, "encap_remcsum": 4}
_MACVLAN = (bits_of(2, "=H", {"nopromisc": 1, "nodst": 2}), macs(5, "macaddr", mode=3, setting=3))
_IPVLAN = (bits_of(2, "=H", {"private": 1, "vepa": 2}),)
_GRE = (gre_flags(2, "i"), gre_flags(3, "o"), gre_key(4, "ikey"), gre_key(5, "okey"), bits_of(15, "=H", _ENCAP_FLAGS))
_ERSPAN = (*_GRE, gre_flags(2, "i", erspan=True), gre_flags(3, "o", erspan=True))
_GRE6 = (*_GRE, flowinfo(12), bits_of(13, "=I", _IP6_FLAGS))
_IPTUN = (bits_of(16, "=H", _ENCAP_FLAGS),)

_SPECIAL: Mapping[str, tuple[Wire, ...]] = {
    "vlan": (
        masked_bits(2, {"reorder_hdr": 1, "gvrp": 2, "loose_binding": 4, "mvrp": 8, "bridge_binding": 16}),
        qos_map(3, "egress_qos_map"),
        qos_map(4, "ingress_qos_map"),
    ),
    "bridge": (
        masked_bits(46, {"no_linklocal_learn": 1, "mcast_vlan_snooping": 2, "mst_enabled": 4}),
        untold(14, "ageing_time"),  # while its topology changes, a bridge tells what that is until then
    ),
    "bond": (addresses(8, "arp_ip_target"), addresses(31, "ns_ip6_target")),
    "macvlan": _MACVLAN,
    "macvtap": _MACVLAN,
    "ipvlan": _IPVLAN,
    "ipvtap": _IPVLAN,
    "netkit": (primary(2),),
    "vxlan": (*either_family("remote", 2, 16), *either_family("local", 4, 17)),
    "geneve": (*either_family("remote", 2, 7), inherited_ttl(12, "ttl_inherit", "ttl")),
    **dict.fromkeys(("gre", "gretap"), _GRE),
    **dict.fromkeys(("ip6gre", "ip6gretap"), _GRE6),
    "erspan": _ERSPAN,
    "ip6erspan": (*_GRE6, *_ERSPAN),
    "ipip": _IPTUN,
    "sit": (*_IPTUN, bits_of(8, "=H", {"isatap": 1})),
    "ip6tnl": (*_IPTUN, flowinfo(7), bits_of(8, "=I", _IP6_FLAGS)),
    "macsec": (replay(),),
    "hsr": (supervision("supervision"),),
}

# Timers, sequence numbers and what is learned; of all links statistics, and what IP has to say of them.
_RESTLESS = {"bridge": frozenset({16, 17, 18, 19, 47, 48}), "hsr": frozenset({5})}
_RESTLESS_OF_PORTS = {"bridge": frozenset({21, 22, 23})}
_RESTLESS_OF_ALL = frozenset({7, 23, 26})

WHOLE = frozenset(
    ("gre", "gretap", "erspan", "ip6gre", "ip6gretap", "ip6erspan", "ipip", "sit", "ip6tnl", "vti", "vti6", "xfrm")
)
"""Kinds of which a change that leaves an attribute out sets it to zero."""

EXTERNAL_FOR_GOOD = frozenset({"ipip", "ip6tnl"})
"""Kinds of these that stay external, and let nothing change that comes with the word."""

ELSEWHERE = frozenset({"wireguard", "team"})
"""Kinds whose rows generic netlink holds."""

# Sysfs, whose flag the kernel reports back with those for parts of it and for uevents,
# and the sysctl tree; and both versions of IP.
_LIGHT = bits_of(100, "=I", {"lightweight": 0x20 | 0x11 | 0x02, "l2only": 0x04 | 0x08})

LINK = Wires(
    (*plain(COMMON.values()), _LIGHT),
    {"altnames": (), "group_inherit": False, "lightweight": False, "l2only": False},
    _RESTLESS_OF_ALL,
)
"""What is not in a nest."""

# What the kernel has by itself and does not report.
_UNTOLD: Mapping[str, Attrs] = {kind: {"bclim": 1} for kind in ("macvlan", "macvtap")}

DATA = {
    name: Wires(
        (*plain(kind.attrs.values()), *_SPECIAL.get(name, ())),
        {**absent(kind.attrs.values()), **_UNTOLD.get(name, {})},
        _RESTLESS.get(name, frozenset()),
    )
    for name, kind in KINDS.items()
    if name not in ELSEWHERE
}
"""IFLA_INFO_DATA by kind."""

_NONE_OF_PORTS = {"bridge": {"backup_nhid": 0}}  # which the kernel takes for none, and does not report

PORT = {
    name: Wires(
        plain(kind.port.values()),
        {**absent(kind.port.values()), **_NONE_OF_PORTS.get(name, {})},
        _RESTLESS_OF_PORTS.get(name, frozenset()),
    )
    for name, kind in KINDS.items()
    if kind.port and name not in ELSEWHERE
}
"""IFLA_INFO_SLAVE_DATA by the kind of the master."""
