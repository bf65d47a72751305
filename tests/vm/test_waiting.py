# SPDX-License-Identifier: GPL-2.0-or-later
"""What waits for the carrier of a link: routes that send from an address in doubt, and nexthops."""

import pytest

from netgroupd.errors import KernelError
from netgroupd.service.picture import NOTHING_YET, take
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

ROUTE = """
links:
  e0: {{kind: veth, peer: e1, up: true, addresses: ["fd01::5/64"]}}
  e1: {{kind: veth, peer: e0, up: {}}}
  x0: {{kind: dummy, up: {}}}
routes: [{{to: "2001:db8::/32", via: "fd01::1", dev: e0, src: "fd01::{}"}}]
"""
WAITS = "configured when its link has a carrier: route 2001:db8::/32 src fd01::5"


def routes() -> str:
    return here("ip -6 route show 2001:db8::/32")


def test_route_from_an_address_of_a_link_without_a_carrier_is_made_when_it_comes(engine_in: EngineIn) -> None:
    engine = engine_in("here", ROUTE.format("false", "true", 5))
    assert engine.apply().plan.warnings == (WAITS,)
    assert routes() == ""
    assert (engine.diff().steps, engine.diff().warnings) == ((), (WAITS,))
    again = engine_in("here", ROUTE.format("false", "false", 5))
    assert again.apply().plan.warnings == (WAITS,)
    last = take(again)
    assert (last.drifted, last.broken) == (0, frozenset())
    here("ip link set e1 up")
    picture = take(again, last)
    assert "e0" in picture.broken
    assert take(again, picture).broken == picture.broken
    again.repair(frozenset({"e0"}))
    assert "via fd01::1 dev e0" in routes()
    assert "e0" not in take(again, picture).broken


def test_route_that_is_there_stays_until_its_new_source_is_beyond_doubt(engine_in: EngineIn) -> None:
    known = '{address: "fd01::5/64", nodad: true}'
    assert not engine_in("here", ROUTE.format("false", "true", 5).replace('"fd01::5/64"', known)).apply().plan.warnings
    before = routes()
    text = ROUTE.format("false", "true", 6).replace('"fd01::5/64"', f'{known}, "fd01::6/64"')
    engine = engine_in("here", text)
    assert engine.apply().plan.warnings == (WAITS.replace("::5", "::6"),)
    assert routes() == before
    here("ip link set e1 up")
    engine.apply()
    assert "src fd01::6" in routes()


def test_route_from_an_address_that_is_nowhere_is_refused(engine_in: EngineIn) -> None:
    with pytest.raises(KernelError, match="create route 2001:db8::/32"):
        engine_in("here", ROUTE.format("false", "true", 9)).apply()
    assert here("ip link show type veth") == ""


BOND = """
links:
  t0: {kind: dummy, up: true}
  bond0: {kind: bond, mode: active-backup, up: true, ports: [%s], addresses: [192.0.2.1/24]}
nexthops: {1: {via: 192.0.2.2, dev: bond0}, 3: {group: [{id: 1}]}}
routes: [{to: 10.1.0.0/16, nhid: 3}]
"""
CABLE = """
links:
  v0: {kind: veth, peer: v1, up: %s}
  v1: {up: true, addresses: [192.0.2.1/24]}
  v1.5: {kind: vlan, link: v1, id: 5, up: true, addresses: [198.51.100.1/24]}
nexthops: {1: {WAY}, 3: {group: [{id: 1}]}}
routes: [{to: 10.1.0.0/16, nhid: 3}]
"""
WAYS = {
    "bond": (BOND % "t0", BOND % ""),
    **{
        way: tuple(CABLE.replace("WAY", way) % up for up in ("true", "false"))
        for way in ("via: 192.0.2.2, dev: v1", "via: 198.51.100.2, dev: v1.5")
    },
}
LATER = "configured when its link has a carrier: nexthop 1, nexthop 3, route 10.1.0.0/16"


@pytest.mark.parametrize("way", WAYS)
def test_nexthops_wait_for_the_carrier_that_they_have_lost(engine_in: EngineIn, way: str) -> None:
    lit, dark = WAYS[way]
    assert engine_in("here", lit).apply().plan.warnings == ()
    assert "10.1.0.0/16 nhid 3" in here("ip route")
    engine = engine_in("here", dark)
    assert LATER in engine.apply().plan.warnings
    assert here("ip nexthop") == ""
    assert (engine.diff().steps, engine.diff().warnings) == ((), (LATER,))
    assert engine_in("here", lit).apply().plan.warnings == ()
    assert "10.1.0.0/16 nhid 3" in here("ip route")
    engine_in("here", dark).apply()
    engine_in("here", dark).rollback()
    assert "10.1.0.0/16 nhid 3" in here("ip route")


@pytest.mark.parametrize("way", ["bond", "via: 198.51.100.2, dev: v1.5"])
def test_nexthops_of_a_new_link_without_a_carrier_are_made_when_it_comes(engine_in: EngineIn, way: str) -> None:
    lit, dark = WAYS[way]
    assert engine_in("here", dark).apply().plan.warnings == (LATER,)
    assert here("ip nexthop") == ""
    assert engine_in("here", lit).apply().plan.warnings == ()
    assert "10.1.0.0/16 nhid 3" in here("ip route")


TWO_WAYS = """
links:
  v0: {up: true, addresses: [192.0.2.1/24]}
  w0: {up: true, addresses: [198.51.100.1/24]}
nexthops:
  1: {via: 192.0.2.2, dev: v0}
  2: {via: 198.51.100.2, dev: w0}
  3: {group: [{id: 1}, {id: 2, weight: 3}]}
routes: [{to: 10.1.0.0/16, nhid: 3}]
"""


def _lay_cables(engine_in: EngineIn, *lit: str) -> None:
    engine_in("here", "{}\n")
    for one, other in (("v0", "v1"), ("w0", "w1")):
        here(f"ip link add {one} type veth peer {other}")
    for end in lit:
        here(f"ip link set {end} up")


def test_cable_that_is_pulled_and_put_in_again_has_its_nexthops(engine_in: EngineIn) -> None:
    _lay_cables(engine_in, "v1", "w1")
    engine = engine_in("here", TWO_WAYS)
    assert engine.apply().plan.warnings == ()
    whole = here("ip nexthop"), here("ip route show 10.1.0.0/16")
    last = take(engine)
    for pulled in (["v1"], ["w1"], ["v1", "w1"]):
        for end in pulled:
            here(f"ip link set {end} down")
        for end in ("v0", "w0"):
            here(f"ip link show {end}")
        assert here("ip nexthop") != whole[0]
        last = take(engine, last)
        assert (last.drifted, last.broken) == (0, frozenset())
        for end in pulled:
            here(f"ip link set {end} up")
        for end in ("v0", "w0"):
            here(f"ip link show {end}")  # for which the kernel looks at its carrier
        engine.repair(take(engine, last).broken)
        assert (here("ip nexthop"), here("ip route show 10.1.0.0/16")) == whole
        assert not take(engine, last).broken


def test_group_of_nexthops_goes_by_what_has_a_carrier(engine_in: EngineIn) -> None:
    _lay_cables(engine_in, "v1")
    warnings = engine_in("here", TWO_WAYS).apply().plan.warnings
    assert warnings == ("configured when its link has a carrier: nexthop 2, nexthop 3",)
    assert "192.0.2.2 dev v0" in here("ip route show 10.1.0.0/16")
    assert "group 1 " in here("ip nexthop show id 3")


def test_group_of_nexthops_goes_by_what_is_there_until_the_rest_comes(engine_in: EngineIn) -> None:
    _lay_cables(engine_in, "v1", "w1")
    here("ip link del w0")
    engine = engine_in("here", TWO_WAYS)
    assert engine.apply().plan.warnings == ("not there yet, and configured when it comes: w0 and 2 objects on it",)
    assert "192.0.2.2 dev v0" in here("ip route show 10.1.0.0/16")
    last = take(engine)
    assert (last.drifted, last.broken) == (0, frozenset())
    here("ip link add w0 type veth peer w1")
    here("ip link set w1 up")
    picture = take(engine, last)
    engine.repair(picture.broken)
    assert not engine.diff().steps
    assert "group 1/2,3 " in here("ip nexthop show id 3")


@pytest.mark.parametrize("when", ["at_its_start", "behind_a_change", "before_it_is_confirmed"])
def test_carrier_that_comes_before_anybody_has_looked(engine_in: EngineIn, when: str) -> None:
    _lay_cables(engine_in, "v1")
    engine = engine_in("here", "{}\n")
    engine.apply()
    last = NOTHING_YET if when == "at_its_start" else take(engine)
    engine = engine_in("here", TWO_WAYS)
    engine.apply(confirm_s=60 if when == "before_it_is_confirmed" else None)
    if when == "before_it_is_confirmed":
        last = take(engine, last)
    here("ip link set w1 up")
    if when == "before_it_is_confirmed":
        engine.confirm()
    picture = take(engine, last)
    engine.repair(picture.broken)
    assert "group 1/2,3 " in here("ip nexthop show id 3")
    whole = take(engine, picture)
    here("ip nexthop del id 2")
    assert not take(engine, whole).broken  # which somebody wanted


def test_carrier_that_was_lost_and_is_back_before_anybody_has_looked(engine_in: EngineIn) -> None:
    _lay_cables(engine_in, "v1", "w1")
    engine = engine_in("here", TWO_WAYS)
    engine.apply()
    last = take(engine)
    for word in ("down", "up"):
        here(f"ip link set w1 {word}")
        here("ip link show w0")
    assert "group 1 " in here("ip nexthop show id 3")
    picture = take(engine, last)
    assert {"v0", "w0"} <= take(engine, picture).broken
    engine.repair(picture.broken)
    assert "group 1/2,3 " in here("ip nexthop show id 3")
    whole = take(engine, picture)
    here("ip nexthop del id 2")
    assert not take(engine, whole).broken  # which somebody wanted


def test_link_that_another_namespace_had_for_a_while_is_configured_when_it_is_back(engine_in: EngineIn) -> None:
    engine_in("here", "{}\n")
    here("ip link add card0 type dummy")
    engine = engine_in("here", "links:\n  card0: {up: true, mtu: 1400}\n  card0.7: {addresses: [192.0.2.1/24]}\n")
    engine.apply()
    last = take(engine)
    engine_in("there", "{}\n")
    here("ip link set card0 netns there")
    last = take(engine, last)
    assert (last.vanished, last.broken) == (frozenset({"card0"}), frozenset())
    here("ip link set card0 netns here", "there")
    picture = take(engine, last)
    assert take(engine, picture).broken == picture.broken
    engine.repair(picture.broken)
    assert not engine.diff().steps
    whole = take(engine, picture)
    here("ip link set card0 mtu 1300")
    assert (take(engine, whole).drifted, take(engine, whole).broken) == (1, frozenset())  # which somebody wanted
