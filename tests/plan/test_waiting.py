# SPDX-License-Identifier: GPL-2.0-or-later
"""What waits for the carrier of a link, and what is there meanwhile."""

import pytest

from netgroupd.model.state import State, records
from netgroupd.plan.waiting import in_need, told, without_waiting
from tests.engine.universe import state_of

WAYS = """
links: {{a: {{kind: dummy, up: true}}, b: {{kind: dummy, up: true}}, b.5: {{up: true}}}}
nexthops:
  1: {{via: 10.0.0.9, dev: {}}}
  2: {{via: 10.1.0.9, dev: {}}}
  3: {{group: [{{id: 1}}, {{id: 2}}]}}
  4: {{group: [{{id: 2}}]}}
routes: [{{to: 10.8.0.0/16, nhid: 3}}, {{to: 10.9.0.0/16, nhid: 4}}]
"""


def of(state: State) -> dict[object, list[object]]:
    """The nexthops, and the members of those that are groups."""
    found = state.of("nexthop")
    return {key[0]: [member["id"] for member in records(obj.attrs, "group")] for key, obj in found.items()}


def test_nexthop_of_a_dark_link_waits_and_its_groups_go_by_the_others() -> None:
    wanted = state_of(WAYS.format("a", "b"))
    attainable, waiting = without_waiting(wanted, State(), {"b"})
    assert of(attainable) == {1: [], 3: [1]}
    assert [key[2] for key in attainable.of("route")] == ["10.8.0.0/16"]
    assert told(waiting) == (
        "configured when its link has a carrier: nexthop 2, nexthop 3, nexthop 4, route 10.9.0.0/16",
    )


def test_nexthop_that_leads_elsewhere_stays_until_its_new_link_has_a_carrier() -> None:
    there = state_of(WAYS.format("a", "a"))
    attainable, waiting = without_waiting(state_of(WAYS.format("a", "b")), there, {"b"})
    assert of(attainable) == {1: [], 2: [], 3: [1, 2], 4: [2]}
    assert attainable.of("nexthop")[2,].attrs["dev"] == "a"
    assert [obj.key for obj in waiting] == [(2,)]


def test_nothing_waits_where_all_is_there() -> None:
    wanted = state_of(WAYS.format("a", "b"))
    assert without_waiting(wanted, wanted, {"a", "b"}) == (wanted, ())
    assert in_need(wanted, wanted) == set()


@pytest.mark.parametrize(("there", "want"), [("up: true", {"b.5"}), ("up: false", set())])
def test_link_that_is_to_come_up_below_may_bring_a_carrier(there: str, want: set[str]) -> None:
    wanted = state_of(WAYS.format("a", "b.5").replace("a: {kind: dummy, up: true}", "a: {kind: dummy}"))
    actual = state_of(f"links: {{a: {{kind: dummy}}, b: {{kind: dummy, {there}}}, b.5: {{up: true}}}}")
    assert in_need(wanted, actual) == {"a"} | want
