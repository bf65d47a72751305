# SPDX-License-Identifier: GPL-2.0-or-later
"""Nexthop objects: when they are made anew, and when they go."""

import pytest

from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.serialise import singles
from tests.engine.universe import state_of
from tests.plan.test_plan import link, messages, planned

SINGLE: dict[str, Value] = {
    "family": "inet",
    "via": "192.0.2.1",
    "dev": "lo",
    "blackhole": False,
    "onlink": False,
    "fdb": False,
}
GROUP: dict[str, Value] = {"group": ({"id": 1, "weight": 1},), "group_type": "mpath", "fdb": False}


ANEW = ["delete nexthop", "create nexthop", "change route"]


@pytest.mark.parametrize(
    ("have", "text", "want"),
    [
        pytest.param(SINGLE, "group: [{id: 1}]", ANEW, id="becomes_a_group"),
        pytest.param(GROUP, "via: 192.0.2.1, dev: lo", ANEW, id="is_no_group_any_more"),
        pytest.param(GROUP, "group: null, blackhole: true", ANEW, id="is_no_group_any_more_and_says_so"),
        pytest.param(GROUP, "group: [{id: 2}]", ["change nexthop"], id="other_members"),
        pytest.param(SINGLE, "blackhole: true", ["change nexthop"], id="becomes_a_blackhole"),
    ],
)
def test_nexthop_is_made_anew_to_be_a_group_or_none_and_its_routes_with_it(
    have: dict[str, Value], text: str, want: list[str]
) -> None:
    route = Object("route", ("inet", 254, "10.0.0.0/8", 0, 0), {"type": "unicast", "nhid": 3})
    plan = planned(
        f"nexthops: {{3: {{{text}}}}}\nroutes: [{{to: 10.0.0.0/8, nhid: 3}}]",
        *(link("lo", group=0), Object("nexthop", (3,), have), route),
    )
    assert [" ".join(message.split()[:2]) for message in messages(plan)] == want


def test_group_of_nexthops_that_loses_a_member_is_made_anew_to_be_none() -> None:
    text = """
    links: {d0: {kind: dummy%s}, d1: {kind: dummy, up: true}, red: {kind: vrf, table: 10}}
    nexthops: {1: {dev: d0}, 2: {dev: d1}, 3: %s}
    """
    have = state_of(text % (", up: true", "{group: [{id: 1}, {id: 2}]}"))
    told = messages(planned(text % (", up: true, master: red", "{dev: d1}"), *have))
    assert [message.split()[0] for message in told if "nexthop 3" in message] == ["delete", "create"]


STRANDED = """
links: {d0: {kind: dummy, addresses: [203.0.113.1/24, %s]}}
nexthops: {3: {via: 192.0.2.9, dev: d0}}
routes:
- {to: 10.0.0.0/8, via: 192.0.2.9, dev: d0}
- {to: 10.8.0.0/16, via: 192.0.2.9, dev: d0, onlink: true}
- {to: 10.9.0.0/16, nexthops: [{via: 203.0.113.9, dev: d0}, {via: 192.0.2.9, dev: d0}]}
"""
GOES = "192.0.2.1/24 is deleted"


@pytest.mark.parametrize(
    ("addresses", "want"),
    [
        pytest.param("192.0.2.9/32", [("nexthop", GOES), ("route", GOES), ("route", GOES)], id="network_is_left"),
        pytest.param("192.0.2.2/24", [], id="another_address_of_the_network"),
    ],
)
def test_what_goes_by_way_of_a_gateway_is_asked_again_when_its_network_is_left(
    addresses: str, want: list[tuple[str, str]]
) -> None:
    have = [*state_of(STRANDED % "192.0.2.1/24")]
    steps = singles(planned(STRANDED % addresses, *have).steps)
    assert [(step.object.cls, step.why) for step in steps if step.object.cls in ("nexthop", "route")] == want


def test_what_goes_by_way_of_a_gateway_is_not_asked_again_when_a_network_of_the_other_protocol_is_left() -> None:
    have = [*state_of(STRANDED % "192.0.2.1/24, 'fd00::1/64'")]
    assert messages(planned(STRANDED % "192.0.2.1/24", *have)) == ["delete address d0"]


def test_gateway_that_nobody_mentions_stays_when_the_link_changes_its_master() -> None:
    text = "links: {d0: {kind: dummy%s}, red: {kind: vrf, table: 10}}\nnexthops: {3: {dev: d0}}"
    have = [obj for obj in state_of(text % "") if obj.cls != "nexthop"]
    plan = planned(text % ", master: red", *have, Object("nexthop", (3,), {**SINGLE, "dev": "d0"}))
    assert [message for message in messages(plan) if "nexthop" in message] == ["change nexthop 3 via=192.0.2.1 dev=d0"]


def test_group_of_nexthops_goes_before_the_members_that_take_it_along() -> None:
    have = [Object("nexthop", (number,), GROUP if number == 3 else SINGLE) for number in (1, 2, 3)]
    plan = planned("nexthops: {4: {blackhole: true}}", *have)
    assert messages(plan)[1:] == ["delete nexthop 3", "delete nexthop 2", "delete nexthop 1"]


ON_VXLAN = "links: {vx0: {kind: vxlan, id: 7}}\nfdb: [{dev: vx0, mac: '02:00:00:00:00:07', where: self%s}]\n"
ENTRY = Object("fdb", ("vx0", "02:00:00:00:00:07", 0, "self", None, None), {"state": "permanent", "nhid": 3})
FOR_ENTRIES = (
    Object("nexthop", (1,), {**SINGLE, "dev": None, "fdb": True}),
    Object("nexthop", (3,), {**GROUP, "fdb": True}),
)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "nexthops: {1: {group: [{id: 2}], fdb: true}, 2: {via: 192.0.2.2, fdb: true}, "
            "3: {group: [{id: 2}], fdb: true}}\n" + ON_VXLAN % ", nhid: 3",
            ["delete nexthop 1", "create nexthop 2", "create nexthop 1", "change nexthop 3", "change fdb vx0"],
            id="is_given_back_with_its_group",
        ),
        pytest.param(
            "nexthops: {1: {via: 192.0.2.1, fdb: true}, 3: {via: 192.0.2.2, fdb: true}}\n"
            + ON_VXLAN.replace(":07", ":08") % ", dst: 192.0.2.2",
            ["delete fdb vx0", "delete nexthop 3", "create nexthop 3", "create fdb vx0"],
            id="goes_before_its_group_takes_it_along",
        ),
    ],
)
def test_forwarding_entry_by_a_nexthop(text: str, want: list[str]) -> None:
    there = (link("vx0", "vxlan", id=7), *FOR_ENTRIES, ENTRY)
    assert [" ".join(message.split()[:3]) for message in messages(planned(text, *there))] == want


@pytest.mark.parametrize(
    ("members", "want"),
    [
        pytest.param("[{id: 1}]", [], id="as_it_is"),
        pytest.param("[{id: 1, weight: 2}]", ["change nexthop 3"], id="with_other_members"),
    ],
)
def test_group_of_nexthops_that_others_made_is_used_where_it_is(members: str, want: list[str]) -> None:
    there = Object("nexthop", (1,), SINGLE), Object("nexthop", (3,), {**GROUP, UNOWNED: 4})
    text = f"nexthops: {{1: {{via: 192.0.2.1, dev: lo}}, 3: {{group: {members}}}}}"
    told = messages(planned(text, link("lo", group=0), *there))
    assert [" ".join(message.split()[:3]) for message in told] == want


ELSEWHERE = {
    "another_member": (
        "nexthops: {2: {blackhole: true, family: inet}, 3: {group: [{id: 2}]}}\nroutes: [{to: 10.0.0.0/8, nhid: 3}]",
        ["create nexthop 2", "change nexthop 3", "delete nexthop 1"],
    ),
    "another_group": (
        "nexthops: {1: {via: 192.0.2.1, dev: lo}, 4: {group: [{id: 1}]}}\nroutes: [{to: 10.0.0.0/8, nhid: 4}]",
        ["create nexthop 4", "change route inet", "delete nexthop 3"],
    ),
    "none": (
        "routes: [{to: 10.0.0.0/8, type: blackhole}]",
        ["change route inet", "delete nexthop 3", "delete nexthop 1"],
    ),
}


@pytest.mark.parametrize(("text", "want"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_nexthop_goes_when_what_went_by_way_of_it_goes_elsewhere(text: str, want: list[str]) -> None:
    there = Object("nexthop", (1,), SINGLE), Object("nexthop", (3,), GROUP)
    route = Object("route", ("inet", 254, "10.0.0.0/8", 0, 0), {"type": "unicast", "nhid": 3})
    told = messages(planned(text, link("lo", group=0), *there, route))
    assert [" ".join(message.split()[:3]) for message in told] == want
