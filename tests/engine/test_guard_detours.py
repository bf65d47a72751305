# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes, rules and addresses in front of those in use: refused where they surely lead elsewhere."""

import pytest

from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.state import Object
from tests.engine.desk import Desk
from tests.engine.test_guard import KEPT_RED, LOCAL, OFFICE, PEER, ROUTE_IN_RED, VIA, refused, refused_in_red

GATEWAY = "10.0.0.1"
ROUTED = Route("eth1", LOCAL, 254, 16, gateway=GATEWAY)
IN_9 = f"routes: [{{to: {OFFICE}, {VIA}, table: 9}}]\nrules: [%s{{pref: 9, lookup: 9}}, {{pref: 50, lookup: 10}}]"


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        ("rules: [{pref: 9, goto: 40000}]", False),
        ("rules: [{pref: 9, goto: 40000}, {pref: 40000, lookup: 9}]", True),
        ("rules: [{pref: 9, goto: 32767}]", True),
        ("rules: [{pref: 9, goto: 50}, {pref: 50, goto: 60}, {pref: 60, lookup: 9}]", False),
        ("rules: [{pref: 9, fwmark: 0x0/0xff, action: prohibit}]", True),
        ("rules: [{pref: 9, fwmark: 0x1/0xff, action: prohibit}]", False),
        ("rules: [{pref: 9, not: true, fwmark: 0x0/0xff, action: prohibit}]", False),
        ("rules: [{pref: 9, uidrange: 0-999, action: prohibit}]", True),
        ("rules: [{pref: 9, uidrange: 1000-9999, action: prohibit}]", False),
        (f"routes: [{{to: {PEER}/32, via: 10.0.0.2}}]", False),  # by which link, nobody tells
        (f"routes: [{{to: {PEER}/32, via: 10.0.0.2, dev: eth1}}]", True),
        (f"routes: [{{to: {PEER}/32, {VIA}}}]", False),
        (f"routes: [{{to: {PEER}/32, dev: eth1}}]", True),
        (f"routes: [{{to: {PEER}/32, {VIA}, encap: {{type: mpls, labels: [5]}}}}]", True),
        (f"routes: [{{to: {PEER}/32, {VIA}, encap: {{type: ip, id: 5, dst: 10.0.0.1}}}}]", False),
        (f"routes: [{{to: {LOCAL}/32, type: blackhole, table: local}}]", True),
        (f"routes: [{{to: {LOCAL}/32, type: blackhole, table: local, metric: 5}}]", False),
        (f"routes: [{{to: {LOCAL}/32, type: blackhole}}]", False),
        ("links: {eth1: {addresses: [10.9.0.1/24]}}", True),
        ("links: {eth1: {addresses: [10.9.0.1/15]}}", False),
        (f"links: {{eth1: {{addresses: [{PEER}/32]}}}}", True),
        (f"links: {{eth2: {{up: false, addresses: [{PEER}/32]}}}}", True),
        (f"links: {{eth2: {{addresses: [{{address: 10.7.0.1/24, broadcast: {PEER}}}]}}}}", True),
        (f"links: {{eth2: {{up: false, addresses: [{{address: 10.7.0.1/24, broadcast: {PEER}}}]}}}}", False),
        (f"links: {{eth2: {{addresses: [{{address: 10.7.0.1/24, broadcast: {GATEWAY}}}]}}}}", True),
    ],
)
def test_what_comes_in_front_of_the_way_of_a_session(desk: Desk, said: str, cut: bool) -> None:
    assert ("would cut the way of your session" in refused(desk, [], ROUTED, said)) is cut


@pytest.mark.parametrize(("goto", "cut"), [("{pref: 5, goto: 50}, ", True), ("{pref: 5, goto: 9}, ", False)])
def test_goto_over_the_rule_in_use(desk: Desk, goto: str, cut: bool) -> None:
    there = [
        Object("route", ("inet", 9, OFFICE, 0, 0), {"type": "unicast", "via": GATEWAY, "dev": "eth1"}),
        *(Object("rule", ("inet", pref, ()), {"action": "lookup", "lookup": table}) for pref, table in ((9, 9),)),
    ]
    told = refused(desk, there, ROUTED._replace(table=9), IN_9 % goto)
    assert ("to create rule 5" in told) is cut


@pytest.mark.parametrize(("kind", "cut"), [("blackhole", True), ("throw", True), ("local, dev: eth1", False)])
def test_route_to_the_own_address_in_a_vrf(desk: Desk, kind: str, cut: bool) -> None:
    routes = f"routes: [{ROUTE_IN_RED}, {{to: {LOCAL}/32, type: {kind}, table: 77}}]"
    told = refused_in_red(desk, f"{KEPT_RED}{routes}\nrules: [{{pref: 1000, l3mdev: true}}]")
    assert (f"to create route {LOCAL}/32 table 77" in told) is cut
