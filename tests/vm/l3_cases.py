# SPDX-License-Identifier: GPL-2.0-or-later
"""What each attribute of each class of layer 3 is set to, and changed to, on a real kernel.

A case is one attribute on one object.  ``setup`` are the links and settings that
all of them stand on.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from netgroupd.model import CLASSES, rule
from netgroupd.model import route as routes
from netgroupd.model.state import Key, Object
from netgroupd.model.value import Value

SETUP = """
link add d0 type dummy
link add d1 type dummy
link set d0 up
link set d1 up
link set lo up
address add 192.0.2.1/24 dev d0
address add 192.0.2.2/24 dev d0
address add 198.51.100.1/24 dev d1
address add 2001:db8::1/64 dev d0 nodad
address add 2001:db8::2/64 dev d0 nodad
address add 2001:db8:1::1/64 dev d1 nodad
link add red type vrf table 10
link set red up
link add br0 type bridge vlan_filtering 1 mcast_igmp_version 3 mcast_mld_version 2
link add p0 type dummy
link set p0 master br0
link set p0 type bridge_slave vlan_tunnel on
link set p0 up
link add br1 type bridge vlan_filtering 1 mcast_vlan_snooping 1
link add p1 type dummy
link set p1 master br1
link add br2 type bridge vlan_filtering 1
link add p2 type dummy
link set br0 up
link add vx0 type vxlan id 10 dstport 4789 remote 192.0.2.99 dev d0
link add vx1 type vxlan external dstport 4790
link add vx2 type vxlan external vnifilter dstport 4791
link set vx0 up
link set vx2 up
nexthop add id 1 via 192.0.2.9 dev d0
nexthop add id 2 via 198.51.100.9 dev d1
nexthop add id 3 via 192.0.2.8 fdb
nexthop add id 4 group 3 fdb
nexthop add id 5 via 192.0.2.7 fdb
nexthop add id 6 group 5 fdb
nexthop add id 7 via 2001:db8::9 dev d0
nexthop add id 8 via 2001:db8::a dev d0
""".strip().splitlines()

SETTINGS = {
    "net/mpls/platform_labels": "1000",
    "net/mpls/conf/d0/input": "1",
    "net/vrf/strict_mode": "1",
}

Raw = Mapping[str, object]


class Case(NamedTuple):
    """One attribute (``name``), the object it is on, and what it is set and changed to.

    ``second`` is None where taking it away is the only change.
    """

    cls: str
    where: str
    key: Key
    base: Raw
    name: str
    first: object
    second: object

    @property
    def id(self) -> str:
        """As pytest shows it."""
        return f"{self.cls}-{self.where}-{self.name}-{self.first}"

    def object(self, value: object) -> Object:
        """The object with the attribute at ``value``, read as a file would be."""
        rows = CLASSES[self.cls].attrs
        raw = {**self.base, self.name: value}
        attrs: dict[str, Value] = {
            name: None if got is None else rows[name].type.parse(got) for name, got in raw.items()
        }
        key = rule.key(str(self.key[0]), int(str(self.key[1])), attrs) if self.cls == "rule" else self.key
        return Object(self.cls, key, attrs)


_OPTIONS: Mapping[str, tuple[object, object]] = {
    "mcast_snooping": (False, True),
    "mcast_igmp_version": (3, 2),
    "mcast_mld_version": (2, 1),
    "mcast_last_member_count": (3, 2),
    "mcast_startup_query_count": (3, 2),
    "mcast_last_member_interval": (200, 100),
    "mcast_membership_interval": (30000, 26000),
    "mcast_querier_interval": (30000, 25500),
    "mcast_query_interval": (6000, 12500),
    "mcast_query_response_interval": (500, 1000),
    "mcast_startup_query_interval": (2000, 3125),
    "mcast_querier": (True, False),
    "msti": (7, 0),
}


def _cases(cls: str, where: str, key: Key, base: Raw, changes: Mapping[str, tuple[object, object]]) -> Iterator[Case]:
    for name, (first, second) in changes.items():
        yield Case(cls, where, key, base, name, first, second)


_ADDRESS4 = {
    "broadcast": ("203.0.113.255", "203.0.113.254"),
    "label": ("d0:one", "d0:two"),
    "scope": ("link", "host"),
    "valid_lft": (5000, 6000),
    "metric": (50, 60),
    "noprefixroute": (True, False),
}
_ADDRESS6 = {
    "valid_lft": (5000, "forever"),
    "preferred_lft": (3000, 2000),
    "metric": (50, 60),
    "noprefixroute": (True, False),
    "nodad": (True, False),
    "home": (True, False),
    "mngtmpaddr": (True, False),
}
_METRICS = {
    "mtu": (1400, 1300),
    "window": (10000, 20000),
    "rtt": (100, 200),
    "rttvar": (100, 200),
    "ssthresh": (10, 20),
    "cwnd": (10, 20),
    "advmss": (1000, 1100),
    "reordering": (5, 6),
    "hoplimit": (32, 33),
    "initcwnd": (20, 30),
    "rto_min": (100, 200),
    "initrwnd": (20, 30),
    "quickack": (1, None),
    "congctl": ("reno", "cubic"),
    "features": (["ecn"], ["ecn", "tcp_usec_ts"]),
    "fastopen_no_cookie": (1, None),
    "lock": (["mtu"], ["mtu", "hoplimit"]),
}
_ROUTE4 = {
    "type": ("blackhole", "unreachable"),
    "via": ("192.0.2.9", "192.0.2.10"),
    "dev": ("d0", "d1"),
    "nexthops": (
        [{"via": "192.0.2.9", "dev": "d0", "weight": 3}, {"via": "198.51.100.9", "dev": "d1"}],
        [{"via": "192.0.2.9", "dev": "d0", "weight": 1}, {"via": "198.51.100.9", "dev": "d1", "weight": 256}],
    ),
    "nhid": (1, 2),
}
_ROUTE4_VIA = {
    "realm": ("5", "3/4"),
    "src": ("192.0.2.1", "192.0.2.2"),
    "encap": (
        {"type": "ip", "id": 10, "dst": "50.1.1.2", "ttl": 5, "csum": True},
        {"type": "mpls", "labels": [100, 200], "ttl": 9},
    ),
    **_METRICS,
}
_ROUTE6 = {
    "type": ("prohibit", "blackhole"),
    "via": ("2001:db8::9", "2001:db8::a"),
    "dev": ("d0", "d1"),
    "nexthops": (
        [{"via": "2001:db8::9", "dev": "d0"}, {"via": "2001:db8:1::9", "dev": "d1", "weight": 2}],
        [{"via": "2001:db8::9", "dev": "d0"}, {"via": "2001:db8::a", "dev": "d0"}],
    ),
    "nhid": (7, 8),
}
_ROUTE6_VIA = {
    "src": ("2001:db8::1", "2001:db8::2"),
    "pref": ("high", "low"),
    "encap": (
        {"type": "ip6", "id": 10, "dst": "2001:db8::99", "hoplimit": 5},
        {"type": "seg6", "mode": "encap", "segs": ["2001:db8::5", "2001:db8::6"]},
    ),
    **_METRICS,
}
_SEG6 = {
    "encap": ({"type": "seg6", "mode": "inline", "segs": ["2001:db8::5"]}, {"type": "seg6", "segs": ["2001:db8::7"]})
}
_SEG6LOCAL = {
    "encap": (
        {"type": "seg6local", "action": "End.DT4", "vrftable": 10},
        {"type": "seg6local", "action": "End.DX6", "nh6": "::"},
    )
}
_ROUTE_MPLS = {
    "via": ("192.0.2.9", "192.0.2.10"),
    "as": ([200], [300, 301]),
    "ttl_propagate": (True, False),
}
_RULE = {
    "from": ("10.0.0.0/8", "10.1.0.0/16"),
    "to": ("10.0.0.0/8", None),
    "iif": ("d0", "notyet"),
    "oif": ("d0", "d1"),
    "fwmark": ("0x1/0xff", "0x2"),
    "tos": (16, 8),
    "dscp": (46, 0),
    "ipproto": ("tcp", 99),
    "sport": (80, "80-90"),
    "dport": ("443", "1-1024"),
    "uidrange": ("0-1000", "5-6"),
    "tun_id": (5, 6),
    "not": (True, False),
    "lookup": (100, 100000),
    "suppress_prefixlength": (0, 24),
    "suppress_ifgroup": (5, 6),
}
_NEIGHBOUR = {
    "lladdr": ("02:00:00:00:00:01", "02:00:00:00:00:02"),
    "state": ("permanent", "noarp"),
    "router": (True, False),
    "extern_learn": (True, False),
}
_FDB_VXLAN = {
    "dst": ("192.0.2.50", "192.0.2.51"),
    "vni": (20, 30),
    "port": (4791, 4792),
    "via": ("d0", "d1"),
}
_VLAN = {
    "pvid": (True, False),
    "untagged": (True, False),
    "state": ("learning", "forwarding"),
    "tunnel_id": (1000, 2000),
    "neigh_suppress": (True, False),
    "mcast_router": (2, 0),
}
_GROUPS = {
    "ipv4": ("239.1.1.1", ["192.0.2.7"], ["192.0.2.8", "192.0.2.7"]),
    "ipv6": ("ff05::5", ["2001:db8::7"], ["2001:db8::8", "2001:db8::7"]),
}
_NEXTHOP = {
    "family": ("inet6", "inet"),
    "dev": ("d0", "d1"),
    "blackhole": (True, True),
    "fdb": (False, False),
}
_NEXTHOP_VIA = {
    "via": ("192.0.2.9", "192.0.2.10"),
    "onlink": (True, False),
    "encap": ({"type": "mpls", "labels": [100]}, {"type": "ip", "id": 5, "dst": "50.1.1.2"}),
}
_MEMBERS = [{"id": 1, "weight": 2}, {"id": 2}]
_RESILIENT = {
    "buckets": (32, 64),
    "idle_timer": (60, 90),
    "unbalanced_timer": (300, 0),
}


def _route(destination: str, base: Raw, changes: Mapping[str, tuple[object, object]], where: str) -> Iterator[Case]:
    for table in (254, 1000):
        yield from _cases("route", f"{where}-table{table}", routes.key(destination, table=table), base, changes)


def _routes() -> Iterator[Case]:
    yield from _route("203.0.113.0/24", {"dev": "d0"}, {"scope": ("link", "host")}, "ipv4-dev")
    yield from _route("203.0.113.0/24", {}, {"type": _ROUTE4["type"], "nexthops": _ROUTE4["nexthops"]}, "ipv4-bare")
    yield from _route("203.0.113.0/24", {}, {name: _ROUTE4[name] for name in ("via", "dev", "nhid")}, "ipv4-way")
    yield from _route("203.0.113.0/24", {"dev": "d0", "via": "192.0.2.9"}, _ROUTE4_VIA, "ipv4")
    yield from _route("203.0.113.0/24", {"dev": "d0", "via": "203.0.113.1"}, {"onlink": (True, True)}, "ipv4-far")
    yield from _route("203.0.113.0/24", {"dev": "d0"}, {"via": ("2001:db8::9", "2001:db8::a")}, "ipv4-via-ipv6")
    yield from _route("2001:db8:9::/48", {}, _ROUTE6, "ipv6-bare")
    yield from _route("2001:db8:9::/48", {"dev": "d0", "via": "2001:db8::9"}, _ROUTE6_VIA, "ipv6")
    yield from _route("2001:db8:9::/48", {"dev": "d0"}, _SEG6, "ipv6-seg6")
    yield from _route("2001:db8:9::1/128", {"dev": "red"}, _SEG6LOCAL, "ipv6-seg6local")
    yield from _route("2001:db8:9::/48", {"dev": "d0", "via": "2001:db8:77::1"}, {"onlink": (True, True)}, "ipv6-far")
    yield from _cases("route", "mpls", routes.key("100"), {"dev": "d0", "via": "192.0.2.9"}, _ROUTE_MPLS)
    for metric, tos in ((100, 0), (0, 8)):
        key = routes.key("203.0.113.0/24", tos=tos, metric=metric)
        yield from _cases("route", f"ipv4-metric{metric}-tos{tos}", key, {}, {"dev": ("d0", "d1")})
    yield from _cases("route", "ipv4-default", routes.key("default", family="inet"), {}, {"via": _ROUTE4["via"]})
    yield from _cases("route", "ipv6-default", routes.key("default", family="inet6"), {}, {"via": _ROUTE6["via"]})


def _rules() -> Iterator[Case]:
    for family in ("inet", "inet6"):
        changes = dict(_RULE)
        if family == "inet":
            changes |= {"realms": ("3/4", "5")}
        else:
            changes |= {"from": ("2001:db8::/32", "2001:db9::/32"), "to": ("2001:db8::/32", None)}
        yield from _cases("rule", family, (family, 100, ()), {"lookup": 100}, changes)
        yield from _cases("rule", family, (family, 100, ()), {}, {"l3mdev": (True, True)})
        yield from _cases("rule", family, (family, 100, ()), {"from": changes["from"][0]}, {"goto": (200, 300)})
        yield from _cases("rule", family, (family, 100, ()), {}, {"action": ("blackhole", "prohibit")})
        yield from _cases("rule", family, (family, 100, ()), {}, {"action": ("nop", "unreachable")})


def _links_own() -> Iterator[Case]:
    for number in ("203.0.113.1/24", "203.0.113.1/32"):
        yield from _cases("address", f"ipv4-{number[-2:]}", ("d0", number, None), {}, _ADDRESS4)
    finite = {"valid_lft": 5000}
    yield from _cases("address", "ipv4", ("d0", "203.0.113.1/24", None), finite, {"preferred_lft": (3000, 2000)})
    for name, number in (("ipv4", "203.0.113.1/24"), ("ipv6", "2001:db8:5::1/64")):
        yield from _cases("address", name, ("d0", number, None), {}, {"metric": (70, 0)})
    yield from _cases("address", "ipv4-multicast", ("d0", "239.1.1.1/24", None), {}, {"autojoin": (True, True)})
    yield from _cases("address", "peer", ("d0", "203.0.113.1/32", "203.0.113.2"), {}, {"metric": (50, 60)})
    yield from _cases("address", "ipv6", ("d0", "2001:db8:5::1/64", None), {}, _ADDRESS6)
    yield from _cases("address", "ipv6-multicast", ("d0", "ff05::5/64", None), {}, {"autojoin": (True, True)})
    yield from _cases("address", "ipv6-peer", ("d0", "2001:db8:5::1/128", "2001:db8:5::2"), {}, {"metric": (50, 60)})
    for address in ("192.0.2.77", "2001:db8::77"):
        base = {"lladdr": "02:00:00:00:00:09"}
        yield from _cases("neighbour", address, ("d0", address, False), base, _NEIGHBOUR)
        yield from _cases("neighbour", address, ("d0", address, False), {}, {"managed": (True, True)})
        yield from _cases("neighbour", f"proxy-{address}", ("d0", address, True), {}, {"extern_learn": (True, False)})


def _bridges() -> Iterator[Case]:
    mac = "02:00:00:00:00:77"
    yield from _cases("fdb", "port", ("p0", mac, 0, "master", None, None), {}, {"state": ("static", "permanent")})
    yield from _cases("fdb", "port", ("p0", mac, 0, "master", None, None), {}, {"sticky": (True, False)})
    yield from _cases("fdb", "port-vlan", ("p0", mac, 1, "master", None, None), {}, {"sticky": (True, False)})
    yield from _cases("fdb", "vxlan", ("vx0", mac, 0, "self", None, None), {"dst": "192.0.2.50"}, _FDB_VXLAN)
    flood = {name: values for name, values in _FDB_VXLAN.items() if name != "dst"}
    yield from _cases("fdb", "flood", ("vx0", "00:00:00:00:00:00", 0, "self", "192.0.2.50", None), {}, flood)
    yield from _cases("fdb", "vni", ("vx1", mac, 0, "self", None, 77), {"dst": "192.0.2.50"}, {"vni": (20, 30)})
    yield from _cases("fdb", "vxlan-group", ("vx0", mac, 0, "self", None, None), {}, {"nhid": (4, 6)})
    for name, (group, one, two) in _GROUPS.items():
        key = ("br0", "p0", group, 1, None)
        yield from _cases("mdb", name, key, {"source_list": one}, {"filter_mode": ("include", "exclude")})
        yield from _cases("mdb", name, key, {"source_list": two}, {"filter_mode": ("exclude", "include")})
        yield from _cases("mdb", f"{name}-include", key, {"filter_mode": "include"}, {"source_list": (one, two)})
        yield from _cases("mdb", f"{name}-exclude", key, {}, {"source_list": (two, one)})
        yield from _cases("mdb", f"{name}-listed", key, {}, {"source_list": (one, None)})
    yield from _cases("bridge_vlan", "port", ("p0", 100), {}, _VLAN)
    yield from _cases("bridge_vlan", "bridge", ("br0", 100), {}, {"pvid": (True, False), "untagged": (True, False)})
    yield from _cases("bridge_vlan", "bridge", ("br0", 100), {}, {"mcast_router": (2, 1)})
    yield from _cases("bridge_vlan", "learning", ("p1", 100), {}, {"mcast_max_groups": (7, 0)})
    yield from _cases("vlan_global", "bridge", ("br0", 1), {}, _OPTIONS)
    yield from _cases("token", "link", ("br0",), {}, {"token": ("::5", "::6:7")})
    yield from _cases("mst", "port", ("p2", 3), {}, {"state": ("forwarding", "blocking")})


def _vnis() -> Iterator[Case]:
    yield from _cases("vni", "ipv4", ("vx2", 100), {}, {"remote": ("192.0.2.50", "192.0.2.51")})
    yield from _cases("vni", "ipv6", ("vx2", 100), {}, {"remote": ("2001:db8::50", None)})


def _nexthops() -> Iterator[Case]:
    yield from _cases("nexthop", "dev", (100,), {}, {"dev": _NEXTHOP["dev"], "blackhole": _NEXTHOP["blackhole"]})
    yield from _cases("nexthop", "dev", (100,), {"dev": "d0"}, {"family": _NEXTHOP["family"]})
    yield from _cases("nexthop", "via", (100,), {"dev": "d0", "via": "192.0.2.9"}, _NEXTHOP_VIA)
    yield from _cases("nexthop", "ipv6", (100,), {"dev": "d0"}, {"via": ("2001:db8::9", "2001:db8::a")})
    yield from _cases("nexthop", "fdb", (100,), {"via": "192.0.2.9"}, {"fdb": (True, True)})
    groups = {"group": (_MEMBERS, [{"id": 1, "weight": 65535}])}
    yield from _cases("nexthop", "group", (100,), {}, groups)
    yield from _cases("nexthop", "group", (100,), {"group": _MEMBERS}, {"group_type": ("mpath", "mpath")})
    resilient = {"group": _MEMBERS, "group_type": "resilient", "buckets": 32}
    yield from _cases("nexthop", "resilient", (100,), resilient, _RESILIENT)


def _sysctls() -> Iterator[Case]:
    for path, first, second in (
        ("net/ipv4/ip_forward", "1", "0"),
        ("net/ipv4/conf/d0/rp_filter", "2", "1"),
        ("net/ipv4/tcp_l3mdev_accept", True, False),
        ("net/ipv4/ip_local_port_range", "2000 3000", [4000, 5000]),
        ("net/ipv4/ip_local_reserved_ports", "8080", ""),
        ("net/ipv4/ip_local_reserved_ports", "8080,8081,7", "1-3,9000"),
        ("net/ipv6/conf/d0/stable_secret", "2001:db8::1", "2001:db8::2"),
        ("net/ipv4/neigh/d0/retrans_time_ms", 253, 1001),
        ("net/ipv6/icmp/ratemask", "5,4,3,1", "0-1,3-127"),
        ("net/ipv6/conf/d0/forwarding", "1", "0"),
        ("net/ipv6/conf/all/forwarding", 1, 0),
    ):
        yield Case("sysctl", path, (path,), {}, "value", first, second)


CASES = (*_links_own(), *_routes(), *_rules(), *_bridges(), *_vnis(), *_nexthops(), *_sysctls())
