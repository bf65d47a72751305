# SPDX-License-Identifier: GPL-2.0-or-later
"""What is replaced, on a real kernel: packets are never without a rule, a route or a filter for them."""

import pytest

from netgroupd.engine.transaction import plan_now
from tests.engine.universe import state_of
from tests.vm.stumbling import MINE, Stumbling, become, there_and_back, told

BASE = """
links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24, "fd01::1/64", 10.8.0.1/32, "fd08::1/128"]}}
routes: [%s]
rules: [%s]
"""
_BOTH = "{to: 192.0.2.0/24, via: 10.0.0.9, dev: a, %s}, {to: '2001:db8::/32', via: 'fd01::9', dev: a, %s}"
ROUTES = _BOTH % ("table: %d", "table: %d")
METRIC = _BOTH % ("metric: %d", "metric: %d")
RULES = "{pref: %d, from: 10.8.0.0/16, %s}, {pref: %d, from: 'fd08::/32', %s}"


def rules(pref: int, does: str) -> str:
    return RULES % (pref, does, pref, does)


CASES = {
    "table": ((ROUTES % (7, 7), rules(100, "lookup: 7")), (ROUTES % (8, 8), rules(100, "lookup: 8"))),
    "preference": ((ROUTES % (7, 7), rules(100, "lookup: 7")), (ROUTES % (8, 8), rules(101, "lookup: 8"))),
    "selectors": ((ROUTES % (7, 7), rules(100, "lookup: 7")), (ROUTES % (8, 8), rules(100, "fwmark: 1, lookup: 8"))),
    "action": ((ROUTES % (7, 7), rules(100, "lookup: 7")), (ROUTES % (8, 8), rules(100, "action: prohibit"))),
    "from_action": ((ROUTES % (7, 7), rules(100, "action: prohibit")), (ROUTES % (8, 8), rules(100, "lookup: 8"))),
    "suppression": (
        (ROUTES % (7, 7), rules(100, "lookup: 7")),
        (ROUTES % (7, 7), rules(100, "lookup: 7, suppress_prefixlength: 0")),
    ),
    "less_suppression": (
        (ROUTES % (7, 7), rules(100, "lookup: 7, suppress_prefixlength: 0")),
        (ROUTES % (8, 8), rules(100, "lookup: 8")),
    ),
    "target": ((ROUTES % (7, 7), rules(100, "goto: 200")), (ROUTES % (7, 7), rules(100, "goto: 300"))),
    "to_target": ((ROUTES % (7, 7), rules(100, "lookup: 7")), (ROUTES % (7, 7), rules(100, "goto: 300"))),
    "from_target": ((ROUTES % (7, 7), rules(100, "goto: 200")), (ROUTES % (8, 8), rules(100, "lookup: 8"))),
    "metric": ((METRIC % (100, 100), ""), (METRIC % (200, 200), "")),
}


@pytest.mark.vm("stock")  # the messages are the same on both
@pytest.mark.parametrize("case", CASES)
def test_what_is_replaced_comes_back_after_any_refusal(kernel: Stumbling, case: str) -> None:
    old, new = CASES[case]
    become(kernel, state_of(BASE % old))
    there_and_back(kernel, state_of(BASE % new), lambda: told("ip", "rule") + told("ip", "-6", "rule"), refused=True)


@pytest.mark.parametrize("case", ["table", "preference", "metric"])
def test_there_is_a_way_after_every_step(kernel: Stumbling, case: str) -> None:
    old, new = CASES[case]
    become(kernel, state_of(BASE % old))
    goal = state_of(BASE % new)
    for step in plan_now(kernel, goal, MINE)[0].steps:
        assert not kernel.apply((step,))
        for family, way in (("-4", "192.0.2.5 from 10.8.0.1"), ("-6", "2001:db8::5 from fd08::1")):
            assert "via" in told("ip", family, "route", "get", *way.split())
    assert not plan_now(kernel, goal, MINE)[0].steps


FLOWER = "{pref: %d, protocol: %s, flower: {dst_ip: '%s'}, action: drop}"
ALL = "{pref: %d, protocol: all, matchall: {}, action: drop}"
MARK = "{pref: 10, protocol: all, fw: {mark: %s}, action: drop}"
FILTERS = {
    "match": (FLOWER % (10, "ip", "10.0.0.1"), FLOWER % (10, "ip", "10.0.0.2")),
    "mask": (FLOWER % (10, "ip", "10.0.0.1"), FLOWER % (10, "ip", "10.0.0.0/24")),
    "preference": (FLOWER % (10, "ip", "10.0.0.1"), FLOWER % (11, "ip", "10.0.0.1")),
    "protocol": (FLOWER % (10, "ip", "10.0.0.1"), FLOWER % (10, "ipv6", "::1")),
    "kind": (FLOWER % (10, "ip", "10.0.0.1"), ALL % 10),
    "preference_of_all": (ALL % 10, ALL % 11),
    "mark": (MARK % "0x1/0xff", MARK % "0x2/0xff"),
    "mask_of_a_mark": (MARK % "0x1/0xff", MARK % "0x2/0xfff"),
}


@pytest.mark.vm("stock")  # the messages are the same on both
@pytest.mark.parametrize("case", FILTERS)
@pytest.mark.parametrize("stay", ["", FLOWER % (20, "ip", "10.0.0.3")], ids=["alone", "beside_another"])
def test_filter_takes_the_place_of_another(kernel: Stumbling, case: str, stay: str) -> None:
    hook = "links: {a: {kind: dummy, up: true}}\ntc: {a: {ingress: [%s]}}"
    old, new = (hook % ", ".join(filter(None, (rule, stay))) for rule in FILTERS[case])
    become(kernel, state_of(old))
    goal = state_of(new)
    there_and_back(kernel, goal)
