# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``show`` tells of objects as the kernel has them: what tells them apart, and nothing that most of them have."""

import pytest

from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.plan.compare import UNSAID
from netgroupd.plan.present import objects_text

FOREVER: Attrs = {"valid_lft": "forever", "preferred_lft": "forever"}
VLAN: Attrs = {"kind": "vlan", "link": "d0", "id": 7, "mtu": 1500, "group": GROUP_BASE}
POLICE: Attrs = {"kind": "police", "rate": 125_000, "peakrate": 250_000}
POLICE_TOLD = "(kind police rate 1mbit peakrate 2mbit)"
RULE: Attrs = {"kind": "flower", "protocol": "ip", "handle": 1}


@pytest.mark.parametrize(
    ("cls", "key", "attrs", "told"),
    [
        ("link", ("d0.7",), VLAN, "vlan d0.7  mtu 1500"),
        ("link", ("v7",), VLAN, "vlan v7  link d0  id 7  mtu 1500"),
        ("link", ("d0",), {"kind": "dummy", "group": 5, "up": False}, "dummy d0  group tenants  down"),
        (
            "address",
            ("d0", "10.0.0.1/24", None),
            {"label": "d0", "scope": "global", "metric": 0, **FOREVER},
            "address d0  10.0.0.1/24",
        ),
        (
            "address",
            ("d0", "10.0.0.1/24", None),
            {"label": "d0:1", "scope": "link"},
            "address d0  10.0.0.1/24  label d0:1  scope link",
        ),
        (
            "address",
            ("d0", "10.0.0.1/32", "10.0.0.2"),
            {"valid_lft": 60},
            "address d0  10.0.0.1/32  10.0.0.2  valid_lft 60",
        ),
        ("route", ("inet", 254, "10.0.0.0/8", 0, 0), {"type": "unicast", "scope": "global"}, "route 10.0.0.0/8"),
        ("route", ("inet6", 254, "fd00::/8", 0, 1024), {"type": "unicast", "pref": "medium"}, "route fd00::/8"),
        (
            "route",
            ("inet", 7, "10.0.0.0/8", 4, 1024),
            {"type": "blackhole"},
            "route 10.0.0.0/8 table 7  tos 4  metric 1024  type blackhole",
        ),
        (
            "rule",
            ("inet", 5, (("iif", "d0"),)),
            {"action": "lookup", "tos": 0, "table": 7},
            "rule 5  inet  iif d0  table 7",
        ),
        ("neighbour", ("d0", "10.0.0.2", True), {"state": "permanent"}, "neighbour d0  10.0.0.2  proxy"),
        ("nexthop", (3,), {"group_type": "mpath", "family": "inet", "dev": "d0"}, "nexthop 3  dev d0"),
        ("bridge_vlan", ("d0", 7), {"state": "forwarding", "pvid": True}, "bridge_vlan d0 vid 7  pvid on"),
        ("mst", ("d0", 7), {"state": "blocking"}, "mst d0 msti 7  state blocking"),
        ("vni", ("vx0", 7), {}, "vni vx0 vni 7"),
        ("vf", ("d0", 7), {"vlan": 0, "trust": True}, "vf d0 7  trust on"),
        (
            "vlan_global",
            ("br", 7),
            {"mcast_igmp_version": 2, "mcast_querier": True},
            "vlan_global br vid 7  mcast_querier on",
        ),
        (
            "mdb",
            ("br", "d0", "239.1.1.1", 7, "10.0.0.9"),
            {"filter_mode": "exclude"},
            "mdb br d0 239.1.1.1  vid 7  src 10.0.0.9",
        ),
        ("token", ("d0",), {"token": "::"}, "token d0"),
        (
            "fdb",
            ("vx0", "02:00:00:00:00:01", 0, "self", "10.0.0.9", 7),
            {},
            "fdb vx0  02:00:00:00:00:01  self  dst 10.0.0.9  src_vni 7",
        ),
        ("qdisc", ("d0", "root"), {"kind": "tbf", "rate": 125_000}, "qdisc d0  root  kind tbf  rate 1mbit"),
        (
            "filter",
            ("d0", "ingress", 0, 1, ()),
            {**RULE, "actions": (POLICE,)},
            f"filter d0 ingress pref 1  kind flower  protocol ip  handle 1  actions {POLICE_TOLD}",
        ),
        (
            "filter",
            ("d0", "ingress", 2, 1, (("ip_proto", "tcp"),)),
            {**RULE, UNSAID: "no"},
            "filter d0 ingress chain 2 pref 1 ip_proto tcp",
        ),
    ],
)
def test_object_is_told_as_briefly_as_it_can_be(cls: str, key: Key, attrs: Attrs, told: str) -> None:
    assert objects_text([Object(cls, key, attrs)], {5: "tenants"}) == told
