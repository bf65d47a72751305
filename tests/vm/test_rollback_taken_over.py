# SPDX-License-Identifier: GPL-2.0-or-later
"""What a file names of what others had made: it is netgroupd's, and theirs again when the file counts no more."""

import pytest

from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

MADE_BY_OTHERS = (
    "ip link add e1 up type veth peer e0",
    "ip link set e0 up addrgenmode none",
    "ip address add 192.0.2.5/24 dev e0 metric 50",
    "ip address add 2001:db8::5/64 dev e0 nodad",
    "ip neighbour add 192.0.2.9 lladdr 02:00:00:00:00:09 dev e0 proto static",
    "ip neighbour add 192.0.2.6 lladdr 02:00:00:00:00:06 dev e0",
    "ip nexthop add id 7 via 192.0.2.9 dev e0",
    "ip nexthop add id 8 group 7",
    "ip route add 10.1.0.0/16 via 192.0.2.9 dev e0 proto static",
    "ip route add 10.2.0.0/16 dev e0",
    "ip route add 10.3.0.0/16 nhid 8",
    "ip -6 route add 2001:db8:1::/48 via 2001:db8::9 dev e0",
    "ip rule add pref 100 from 192.0.2.5 lookup 100",
)
FILE = """
links:
  e0:
    addresses: [{address: 192.0.2.5/24, metric: 70}, "2001:db8::5/64"]
    neighbours: [{ip: 192.0.2.9, lladdr: "02:00:00:00:00:08"}, {ip: 192.0.2.6, lladdr: "02:00:00:00:00:07"}]
nexthops:
  7: {via: 192.0.2.8, dev: e0}
  8: {group: [{id: 7}]}
routes:
  - {to: 10.1.0.0/16, via: 192.0.2.8}
  - {to: 10.2.0.0/16, via: 192.0.2.9, mtu: 1300}
  - {to: 10.3.0.0/16, nhid: 7}
  - {to: "2001:db8:1::/48", via: "2001:db8::8"}
rules: [{pref: 100, from: 192.0.2.5, lookup: 100}]
"""
DROPPED = "links: {e0: {alias: x}}\n"


def made(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    for command in MADE_BY_OTHERS:
        here(command)


def there() -> list[str]:
    """All that is on the link, and by way of it, with whose it is."""
    asked = ("-d address show dev e0", "neighbour", "nexthop", "-d route", "-d -6 route", "rule")
    return [here(f"ip {command}") for command in asked]


@pytest.mark.parametrize("more", [(), (FILE.replace("192.0.2.8", "192.0.2.7"),)])
def test_what_was_taken_over_is_theirs_again(engine_in: EngineIn, more: tuple[str, ...]) -> None:
    made(engine_in)
    before = there()
    for text in (FILE, *more):
        engine = engine_in("here", text)
        engine.apply()
    assert there() != before
    engine.rollback(0)
    assert there() == before
    assert not engine.drift().steps


def test_what_others_have_made_of_it_since_stays(engine_in: EngineIn) -> None:
    made(engine_in)
    engine = engine_in("here", FILE)
    engine.apply()
    here("ip address change 192.0.2.5/24 dev e0 metric 60")
    here("ip route replace 10.1.0.0/16 via 192.0.2.6 dev e0")
    here("ip address delete 2001:db8::5/64 dev e0")
    warning = engine.rollback(0).plan.warnings[0]
    assert warning.startswith("some of what later generations changed beside this one could not be given back: ")
    assert "2001:db8:1::/48: No route to host" in warning
    assert "metric 60" in here("ip -d address show dev e0")
    assert "10.1.0.0/16 via 192.0.2.6" in here("ip route")
    assert "2001:db8::5" not in here("ip address show dev e0")


def test_what_went_with_its_line_and_came_again_is_theirs_as_it_was(engine_in: EngineIn) -> None:
    made(engine_in)
    for text in (FILE, DROPPED, FILE):
        engine = engine_in("here", text)
        engine.apply()
    engine.rollback(0)
    assert "metric 50" in here("ip -d address show dev e0")
    assert "10.1.0.0/16 via 192.0.2.9 dev e0 proto static" in here("ip route")
    assert not engine.drift().steps


def test_what_is_theirs_until_a_rollback_is_not_confirmed_is_netgroupd_s_again(engine_in: EngineIn) -> None:
    made(engine_in)
    engine_in("here", FILE).apply()
    before = there()
    engine = engine_in("here", FILE)
    engine.rollback(0, confirm_s=60.0)
    assert there() != before
    engine.rollback()
    assert there() == before
    assert not engine.drift().steps


def test_route_that_somebody_adds_while_a_rollback_waits_stays_beside(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    here("ip link add e0 up type dummy")
    text = "links: {e0: {addresses: 192.0.2.1/24}}\nroutes: [{to: 10.1.0.0/16, via: 192.0.2.8}]\n"
    engine_in("here", text).apply()
    engine = engine_in("here", text)
    engine.rollback(0, confirm_s=60.0)
    here("ip address add 192.0.2.2/24 dev e0")
    here("ip route add 10.1.0.0/16 via 192.0.2.7")
    engine.rollback()
    routes = here("ip route show 10.1.0.0/16")
    assert "via 192.0.2.7" in routes
    assert "via 192.0.2.8" in routes
