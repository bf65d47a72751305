# SPDX-License-Identifier: GPL-2.0-or-later
"""What is replaced is there until what takes its place is, or goes directly before it."""

from pathlib import Path

import pytest

from netgroupd.plan import present
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op
from tests.engine.desk import Desk
from tests.plan.test_plan import link, messages, planned

BASE = "links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24]%s}%s}\nroutes: [%s]\nrules: [%s]"
MORE = ", 'd[1-2]': {kind: dummy}"
ROUTE = "{to: default, via: 10.0.0.9, dev: a, table: %d}"
RULE = "{pref: %s, from: 10.8.0.0/16, %s}"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def steps_from(desk: Desk, first: tuple[str, ...], second: tuple[str, ...]) -> list[str]:
    """What it takes from one configuration to another, which has two more links."""
    (link, *others), (new_link, *new_others) = first, second
    desk.wants(BASE % (link, "", *others))
    desk.engine.apply()
    desk.wants(BASE % (new_link, MORE, *new_others))
    steps = [*singles(desk.engine.diff().steps)]
    desk.engine.apply()
    assert not desk.engine.diff().steps
    return [f"{step.op} {step.object.cls} {step.object.key[1]}" for step in steps if step.object.cls != "link"]


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(
            RULE % (100, "lookup: 7"),
            RULE % (100, "lookup: 8"),
            ["create route 8", "change rule 100", "delete route 7"],
            id="table",
        ),
        pytest.param(
            RULE % (100, "lookup: 7"),
            RULE % (101, "lookup: 8"),
            ["create route 8", "create rule 101", "delete rule 100", "delete route 7"],
            id="preference",
        ),
        pytest.param(
            RULE % (100, "lookup: 7"),
            RULE % (100, "fwmark: 1, lookup: 8"),
            ["create route 8", "create rule 100", "delete rule 100", "delete route 7"],
            id="selectors",
        ),
        pytest.param(
            RULE % (100, "goto: 200"),
            RULE % (100, "goto: 300"),
            ["delete route 7", "create route 8", "delete rule 100", "create rule 100"],
            id="target_which_tells_none_apart",
        ),
    ],
)
def test_rule_is_there_until_another_is(desk: Desk, old: str, new: str, want: list[str]) -> None:
    assert steps_from(desk, ("", ROUTE % 7, old), ("", ROUTE % 8, new)) == want


def test_route_is_there_until_one_with_another_metric_is(desk: Desk) -> None:
    route = "{to: default, via: 10.0.0.9, dev: a, metric: %d}"
    desk.wants(BASE % ("", "", route % 100, ""))
    desk.engine.apply()
    desk.wants(BASE % ("", MORE, route % 200, ""))
    routes = [(step.op, step.object.key[4]) for step in singles(desk.engine.diff().steps) if step.object.cls == "route"]
    assert routes == [(Op.CREATE, 200), (Op.DELETE, 100)]


def test_route_that_is_lost_is_not_deleted_when_it_is_gone(desk: Desk) -> None:
    route = "{to: 192.0.2.0/24, dev: a, src: %s, metric: %d}"
    desk.wants(BASE % ("", "", route % ("10.0.0.1", 100), ""))
    desk.engine.apply()
    desk.wants(BASE.replace("10.0.0.1/24", "10.0.0.2/24") % ("", "", route % ("10.0.0.2", 200), ""))
    desk.engine.apply()
    assert not desk.engine.diff().steps


def test_route_stays_where_another_address_comes_before_the_only_one_goes(desk: Desk) -> None:
    desk.wants(BASE % ("", "", "{to: 10.9.0.0/16, dev: a}", ""))
    desk.engine.apply()
    desk.wants(BASE.replace("10.0.0.1/24", "192.0.2.1/24") % ("", "", "{to: 10.9.0.0/16, dev: a}", ""))
    steps = [f"{step.op} {step.object.cls}" for step in singles(desk.engine.diff().steps)]
    assert steps == ["create address", "delete address"]


FLOWER = "{pref: %d, protocol: %s, flower: {dst_ip: '%s'}, action: drop}"
ALL = "{pref: %d, protocol: all, matchall: {}, action: drop}"
MARK = "{pref: 10, protocol: all, fw: {mark: %s}, action: drop}"


@pytest.mark.parametrize(
    ("old", "new", "late"),
    [
        pytest.param(FLOWER % (10, "ip", "10.0.0.1"), FLOWER % (10, "ip", "10.0.0.2"), True, id="match"),
        pytest.param(FLOWER % (10, "ip", "10.0.0.1"), FLOWER % (11, "ip", "10.0.0.1"), True, id="preference"),
        pytest.param(FLOWER % (10, "ip", "10.0.0.1"), FLOWER % (10, "ipv6", "::1"), False, id="protocol"),
        pytest.param(FLOWER % (10, "ip", "10.0.0.1"), ALL % 10, False, id="kind"),
        pytest.param(ALL % 10, ALL % 11, True, id="preference_of_all"),
        pytest.param(MARK % "0x1/0xff", MARK % "0x2/0xfff", False, id="mask_of_a_mark"),
    ],
)
def test_filter_is_there_until_another_is_where_the_kernel_takes_both(
    desk: Desk, old: str, new: str, late: bool
) -> None:
    hook = "links: {a: {kind: dummy, up: true}}\ntc: {a: {ingress: [%s]}}"
    desk.wants(hook % old)
    desk.engine.apply()
    desk.wants(hook % new)
    ops = [str(step.op) for step in singles(desk.engine.diff().steps) if step.object.cls == "filter"]
    assert ops == (["create", "delete"] if late else ["delete", "create"])
    desk.engine.apply()
    assert not desk.engine.diff().steps


@pytest.mark.parametrize(
    ("match", "messages"),
    [
        pytest.param("matchall: {}", "2 messages", id="all"),
        pytest.param("flower: {dst_ip: 10.0.0.1}", "1 message", id="some"),
    ],
)
def test_rule_that_the_kernel_does_not_change_counts_for_two_messages(desk: Desk, match: str, messages: str) -> None:
    hook = "links: {a: {kind: dummy, up: true}}\ntc: {a: {ingress: [{pref: 10, protocol: ip, %s, action: %s}]}}"
    desk.wants(hook % (match, "drop"))
    desk.engine.apply()
    desk.wants(hook % (match, "pass"))
    assert present.summary(desk.engine.diff()) == f"1 to change; {messages}"


def test_vlan_is_not_replaced_to_be_in_another_namespace() -> None:
    text = "links: {low: {}, v: {kind: vlan, link: low, id: 5, netns: blue}}"
    assert "change link v netns=blue" in messages(planned(text, link("low"), link("v", "vlan", link="low", id=5)))
