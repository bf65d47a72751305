# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind × every attribute: what a link must be like for it, and two values to try.

Values come from the types of the rows.  Where the kernel wants more than the
type says, the table of that kind says it.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from netgroupd.model.attr import Attr
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.link import COMMON
from netgroupd.model.state import Attrs
from netgroupd.model.value import Value

BASE: Mapping[str, Attrs] = {
    "vlan": {"link": "low0", "id": 7},
    "macvlan": {"link": "low0"},
    "macvtap": {"link": "low0"},
    "ipvlan": {"link": "low0"},
    "ipvtap": {"link": "low0"},
    "macsec": {"link": "low0"},
    "veth": {"peer": "other"},
    "netkit": {"peer": "other"},
    "vrf": {"table": 1001},
    "vxlan": {"id": 100, "dstport": 4789},
    "geneve": {"id": 100, "remote": "192.0.2.1"},
    "bareudp": {"dstport": 6635, "ethertype": "mpls_uc"},
    "gre": {"local": "192.0.2.1", "remote": "192.0.2.2", "ttl": 64},
    "gretap": {"local": "192.0.2.1", "remote": "192.0.2.2"},
    "erspan": {"local": "192.0.2.1", "remote": "192.0.2.2", "ikey": 5, "okey": 5},
    "ip6gre": {"local": "2001:db8::1", "remote": "2001:db8::2"},
    "ip6gretap": {"local": "2001:db8::1", "remote": "2001:db8::2"},
    "ip6erspan": {"local": "2001:db8::1", "remote": "2001:db8::2", "ikey": 5, "okey": 5},
    "ipip": {"local": "192.0.2.1", "remote": "192.0.2.2"},
    "sit": {"local": "192.0.2.1", "remote": "192.0.2.2"},
    "ip6tnl": {"local": "2001:db8::1", "remote": "2001:db8::2"},
    "vti": {"local": "192.0.2.1", "remote": "192.0.2.2", "ikey": 5, "okey": 5},
    "vti6": {"local": "2001:db8::1", "remote": "2001:db8::2", "ikey": 5, "okey": 5},
    "xfrm": {"if_id": 7},
    "hsr": {"slave1": "low0", "slave2": "low1"},
    "tun": {"mode": "tap"},
    "netdevsim": {"id": 7},
}
"""What a link of each kind needs besides the attribute under test."""

_LACP: Attrs = {"mode": "802.3ad"}
_ARP: Attrs = {"arp_interval": 100}
_MII: Attrs = {"miimon": 100}
_WITH_PORT: Attrs = {"mode": "active-backup"}
_SOURCE: Attrs = {"mode": "source"}
_VERSION_1: Attrs = {"erspan_ver": 1}
_VERSION_2: Attrs = {"erspan_ver": 2}
_UDP: Attrs = {"encap": "fou", "encap_dport": 5555}

WITH: Mapping[tuple[str, str], Attrs] = {
    ("bond", "lacp_rate"): _LACP,
    ("bond", "lacp_active"): _LACP,
    ("bond", "ad_actor_sys_prio"): _LACP,
    ("bond", "ad_actor_system"): _LACP,
    ("bond", "ad_user_port_key"): _LACP,
    ("bond", "coupled_control"): _LACP,
    ("bond", "port.actor_port_prio"): _LACP,
    ("bond", "tlb_dynamic_lb"): {"mode": "balance-tlb"},
    ("bond", "packets_per_slave"): {"mode": "balance-rr"},
    ("bond", "updelay"): _MII,
    ("bond", "downdelay"): _MII,
    ("bond", "peer_notify_delay"): _MII,
    ("bond", "primary"): _WITH_PORT,
    ("bond", "active_slave"): _WITH_PORT,
    ("bond", "port.prio"): _WITH_PORT,
    ("macvlan", "macaddr"): _SOURCE,
    ("macvtap", "macaddr"): _SOURCE,
    ("macvlan", "nodst"): _SOURCE,
    ("macvtap", "nodst"): _SOURCE,
    ("macsec", "window"): {"replay": True},
    ("vxlan", "label"): {"remote": "2001:db8::1"},
    ("vxlan", "label_policy"): {"remote": "2001:db8::1"},
    ("vxlan", "gpe"): {"id": None, "external": True, "learning": False, "localbypass": False},
    ("sit", "6rd_prefix"): {"6rd_prefixlen": 32},
    ("sit", "6rd_relay_prefix"): {"6rd_relay_prefixlen": 8},
    ("bridge", "mcast_vlan_snooping"): {"vlan_filtering": True},
    ("bridge", "port.mab"): {"port.locked": True, "port.learning": True},
    ("", "protodown"): {"kind": "macvlan", "link": "low0"},
    ("vxlan", "vnifilter"): {"id": None, "external": True},
    ("vxlan", "external"): {"id": None},
    ("geneve", "external"): {"id": None, "remote": None},
    ("geneve", "label"): {"remote": "2001:db8::1"},
    ("geneve", "udp6zerocsumtx"): {"remote": "2001:db8::1"},
    ("bareudp", "multiproto"): {},
    ("hsr", "version"): {},
    **{
        (kind, name): {"local": None, "remote": None, "ikey": None, "okey": None, "if_id": None}
        for kind in ("gre", "gretap", "erspan", "ip6gre", "ip6gretap", "ip6erspan", "ipip", "ip6tnl", "xfrm")
        for name in ("external",)
    },
    **{(kind, "erspan_index"): _VERSION_1 for kind in ("erspan", "ip6erspan")},
    **{(kind, name): _VERSION_2 for kind in ("erspan", "ip6erspan") for name in ("erspan_dir", "erspan_hwid")},
    **{(kind, "ignore_df"): {"pmtudisc": False, "ttl": 0} for kind in ("gre", "gretap", "erspan")},
    **{(kind, "pmtudisc"): {"ttl": 0} for kind in ("gre", "gretap", "erspan", "ipip", "sit")},
}
"""What else a link must have for the attribute to mean anything; None takes out what BASE says."""

KEY_FILES = ("/tmp/wg-first.key", "/tmp/wg-second.key")
_PEERS: tuple[Mapping[str, Value], ...] = (
    {
        "public_key": "A" * 43 + "=",
        "endpoint": "192.0.2.1:51820",
        "allowed_ips": ("192.0.2.0/24", "2001:db8::/32"),
        "persistent_keepalive": 25,
    },
    {"public_key": "B" * 42 + "A=", "preshared_key_file": KEY_FILES[0], "allowed_ips": ()},
)

VALUES: Mapping[tuple[str, str], tuple[Value, Value]] = {
    ("", "mtu"): (1400, 1300),
    ("", "mac"): ("02:00:00:00:00:01", "02:00:00:00:00:02"),
    ("", "gso_max_size"): (40000, 30000),
    ("", "gro_max_size"): (40000, 30000),
    ("", "gso_ipv4_max_size"): (40000, 30000),
    ("", "gro_ipv4_max_size"): (40000, 30000),
    ("", "gso_max_segs"): (100, 50),
    ("", "link"): ("low0", "low1"),
    ("", "master"): ("br0", "br1"),
    ("", "altnames"): (("another-name-for-the-link", "second"), ("second", "third")),
    ("", "group"): (0x4E470001, 0x4E470002),
    ("", "alias"): ("an alias", "another"),
    ("vlan", "ingress_qos_map"): (("1:2", "3:4"), ("3:5",)),
    ("vlan", "egress_qos_map"): (("1:2", "3:4"), ("3:5",)),
    ("bridge", "forward_delay"): (400, 1000),
    ("bridge", "hello_time"): (300, 400),
    ("bridge", "max_age"): (1000, 3000),
    ("bridge", "group_address"): ("01:80:c2:00:00:05", "01:80:c2:00:00:06"),
    ("bridge", "group_fwd_mask"): (8, 16),
    ("bridge", "mcast_hash_max"): (512, 1024),
    ("bridge", "mcast_query_interval"): (1000, 2000),
    ("bridge", "mcast_startup_query_interval"): (1000, 2000),
    ("bridge", "port.group_fwd_mask"): (8, 16),
    ("bridge", "port.backup_port"): ("p1", "p2"),
    ("bond", "arp_ip_target"): (("192.0.2.1", "192.0.2.2"), ("192.0.2.3",)),
    ("bond", "ns_ip6_target"): (("2001:db8::1", "2001:db8::2"), ("2001:db8::3",)),
    ("bond", "updelay"): (200, 300),
    ("bond", "downdelay"): (200, 300),
    ("bond", "peer_notify_delay"): (200, 300),
    ("bond", "primary"): ("p1", "p2"),
    ("bond", "active_slave"): ("p1", "p2"),
    ("bond", "ad_actor_system"): ("02:00:00:00:00:01", "02:00:00:00:00:02"),
    ("bond", "port.queue_id"): (1, 2),
    ("sit", "6rd_prefix"): ("2001:db8::", "2001:db9::"),
    ("sit", "6rd_relay_prefix"): ("10.0.0.0", "11.0.0.0"),
    ("macvlan", "macaddr"): (("02:00:00:00:00:01", "02:00:00:00:00:02"), ("02:00:00:00:00:03",)),
    ("macvtap", "macaddr"): (("02:00:00:00:00:01", "02:00:00:00:00:02"), ("02:00:00:00:00:03",)),
    ("vxlan", "srcport"): ("1000-2000", "3000-4000"),
    ("vxlan", "dev"): ("low0", "low1"),
    ("vxlan", "remote"): ("192.0.2.1", "192.0.2.2"),
    ("vxlan", "local"): ("192.0.2.1", "192.0.2.2"),
    ("geneve", "remote"): ("192.0.2.1", "192.0.2.2"),
    ("bareudp", "ethertype"): ("mpls_uc", "ipv4"),
    ("macsec", "sci"): ("0200000000010001", "0200000000020002"),
    ("macsec", "icvlen"): (12, 14),
    ("macsec", "offload"): ("off", "off"),
    ("hsr", "slave1"): ("low0", "low2"),
    ("hsr", "slave2"): ("low1", "low2"),
    ("hsr", "interlink"): ("low2", "low3"),
    ("team", "mode"): ("loadbalance", "activebackup"),
    ("wireguard", "private_key_file"): KEY_FILES,
    ("wireguard", "peers"): (_PEERS, ({**_PEERS[0], "endpoint": "[2001:db8::1]:51821"},)),
    **{(kind, "peer"): ("other", "another") for kind in PAIRS},
}
"""Values where the type alone does not say what is possible; "" is any kind."""


PATCHED = frozenset({"group_inherit", "lightweight", "l2only"})
"""Rows of any link that only the patched kernel has."""


class Case(NamedTuple):
    """One attribute of one kind: the link it is tried on, and the two values."""

    kind: str
    name: str
    row: Attr
    attrs: Attrs
    first: Value
    second: Value

    def __str__(self) -> str:
        return f"{self.kind or 'any'}-{self.name}"


def _of_type(row: Attr) -> tuple[Value, Value]:
    schema = row.type.schema
    if schema.get("type") == "boolean":
        return True, False
    if words := schema.get("enum"):
        assert isinstance(words, list)
        return words[-1], words[0]
    if "oneOf" in schema:
        assert isinstance(schema["oneOf"], list)
        schema = schema["oneOf"][0]
    low, high = schema.get("minimum"), schema.get("maximum")
    if isinstance(low, int) and isinstance(high, int):
        return min(high, max(low, 0) + 3), min(high, max(low, 0) + 2)
    wants_6 = "IPv6" in row.type.expected
    return ("2001:db8::11", "2001:db8::12") if wants_6 else ("192.0.2.11", "192.0.2.12")


def _values(kind: str, row: Attr, name: str) -> tuple[Value, Value]:
    if row.name == "dev":
        return "low0", "low1"
    return VALUES.get((kind, name)) or VALUES.get(("", name)) or _of_type(row)


def _with(kind: str, name: str, base: Attrs) -> Attrs:
    mixed = {**base, **WITH.get((kind, name), {})}
    return {row: value for row, value in mixed.items() if value is not None}


def of_kinds() -> Iterator[Case]:
    """Each row of each kind."""
    for kind in KINDS.values():
        for name, row in kind.attrs.items():
            first, second = _values(kind.name, row, name)
            yield Case(kind.name, name, row, _with(kind.name, name, BASE.get(kind.name, {})), first, second)


def of_ports() -> Iterator[Case]:
    """Each row that a master's kind gives its ports."""
    for kind in KINDS.values():
        for bare, row in kind.port.items():
            name = f"port.{bare}"
            first, second = _values(kind.name, row, name)
            yield Case(kind.name, name, row, _with(kind.name, name, {}), first, second)


def of_all_links(*, patched: bool = False) -> Iterator[Case]:
    """Each row that every link has but its namespace; ``patched``: those that only the patched kernel has."""
    for name, row in COMMON.items():
        if name not in ("kind", "link", "netns") and (name in PATCHED) == patched:
            first, second = _values("", row, name)
            yield Case("", name, row, {"kind": "dummy", **WITH.get(("", name), {})}, first, second)
