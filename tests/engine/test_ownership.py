# SPDX-License-Identifier: GPL-2.0-or-later
"""What others gave stays theirs, or is theirs again, whatever becomes of a change that takes it over."""

import errno

import pytest

from netgroupd.errors import ConfigError, KernelError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.kernel.features import Features
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model import CLASSES
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan import present
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op
from tests.engine.desk import Desk
from tests.engine.test_transaction import refusing

FOREIGN = (
    Object("link", ("e0",), {"kind": "", "up": True, "group": 0, "mtu": 1500}),
    Object("address", ("e0", "10.0.0.5/24", None), {"scope": "global"}),
    Object("neighbour", ("e0", "10.0.0.9", False), {"state": "permanent", "lladdr": "02:00:00:00:00:09"}),
    Object("nexthop", (7,), {"via": "10.0.0.1", "dev": "e0"}),
    Object("route", ("inet", 254, "192.0.2.0/24", 0, 0), {"via": "10.0.0.1", "dev": "e0"}),
    Object("rule", ("inet", 9, ()), {"action": "lookup", "lookup": 100}),
    Object("link", ("e1",), {"kind": "bridge", "up": True, "group": 0, "mtu": 1500}),
    Object("link", ("e2",), {"kind": "", "up": True, "group": 0, "mtu": 1500, "master": "e1"}),
    Object("mdb", ("e1", "e2", "239.1.1.1", 0, None), {"filter_mode": "exclude"}),
)
TAKING_OVER = """
links: {b0: {kind: bridge}, "x[1-3]": {kind: bridge}, e0: {addresses: [10.0.0.5/24]}}
neighbours: [{dev: e0, ip: 10.0.0.9, lladdr: "02:00:00:00:00:09"}]
nexthops: {7: {via: 10.0.0.2, dev: e0}}
routes: [{to: 192.0.2.0/24, via: 10.0.0.2, dev: e0}]
rules: [{pref: 9, lookup: 200}]
mdb: [{dev: e1, port: e2, group: 239.1.1.1}]
"""


@pytest.fixture
def shared(desk: Desk) -> Desk:
    """A host with a link of somebody else's and all that can be on it, beside a bridge of ours."""
    desk.kernel = FakeKernel(foreign=FOREIGN)
    desk.wants("links: {b0: {kind: bridge}}")
    desk.engine.apply()
    return desk


def there(desk: Desk) -> dict[tuple[str, object], dict[str, Value]]:
    """All that the kernel has, with whose it is."""
    everything = desk.kernel.dump(Selection(frozenset(CLASSES), everything=True))
    return {(obj.cls, obj.key): dict(obj.attrs) for obj in everything}


def test_refusal_of_any_step_leaves_what_others_gave_to_them(shared: Desk) -> None:
    before = there(shared)
    shared.wants(TAKING_OVER)
    for nth in range(len(shared.engine.diff().steps)):
        shared.kernel.refuse = refusing(nth, errno.EPERM)
        with pytest.raises(KernelError, match="Operation not permitted"):
            shared.engine.apply()
        assert there(shared) == before
        assert shared.engine.recover() is None
        assert not shared.engine.drift().steps


def test_change_that_is_not_confirmed_leaves_what_others_gave_to_them(shared: Desk) -> None:
    before = there(shared)
    shared.wants(TAKING_OVER)
    shared.engine.apply(confirm_s=60)
    assert there(shared) != before
    shared.engine.rollback()
    assert there(shared) == before


def test_repair_takes_nothing_over_that_is_elsewhere(shared: Desk) -> None:
    shared.wants(TAKING_OVER)
    shared.engine.apply()
    for obj in FOREIGN:
        shared.kernel.state.classes[obj.cls].pop(obj.key)
    theirs = FakeKernel([*shared.kernel.state], foreign=FOREIGN)
    theirs.state.classes["link"].pop(("b0",))
    shared.kernel = theirs
    before = there(shared)
    shared.engine.repair(frozenset({"b0"}))
    after = there(shared)
    assert {what: after[what] for what in before} == before
    assert ("link", ("b0",)) in after


@pytest.mark.parametrize(
    ("others", "told"),
    [
        (0, ""),
        (2, "10.0.0.0/24 by nexthop 7 (proto 0), 10.0.1.0/24 by nexthop 7 (proto 0)"),
        (7, ", 10.0.4.0/24 by nexthop 7 (proto 0), … (7 in all)"),
    ],
)
def test_routes_of_others_that_go_with_a_nexthop_are_told(desk: Desk, others: int, told: str) -> None:
    routes = [Object("route", ("inet", 254, f"10.0.{number}.0/24", 0, 0), {"nhid": 7}) for number in range(others)]
    beside = Object("route", ("inet", 254, "10.9.0.0/24", 0, 0), {"nhid": 8})
    desk.kernel = FakeKernel(foreign=[*FOREIGN[:1], *routes, beside])
    desk.wants("nexthops: {7: {via: 10.0.0.1, dev: e0}, 8: {via: 10.0.0.2, dev: e0}}")
    assert desk.engine.apply().plan.warnings == ()
    desk.wants("nexthops: {8: {via: 10.0.0.2, dev: e0}}")
    warnings = desk.engine.diff().warnings
    assert warnings == desk.engine.apply().plan.warnings
    assert [each.endswith(told) for each in warnings] == [True] * bool(others)


def test_route_that_becomes_netgroupds_does_not_go_with_a_nexthop(desk: Desk) -> None:
    route = Object("route", ("inet", 254, "10.0.0.0/24", 0, 0), {"nhid": 7})
    desk.kernel = FakeKernel(foreign=[*FOREIGN[:1], route])
    desk.wants("nexthops: {7: {via: 10.0.0.1, dev: e0}}")
    desk.engine.apply()
    desk.wants("routes: [{to: 10.0.0.0/24, via: 10.0.0.1, dev: e0}]")
    assert desk.engine.diff().warnings == ()


def test_what_was_taken_over_is_captured_without_a_word_of_whose_it_was(shared: Desk) -> None:
    captured = shared.engine.capture()
    assert "10.0.0.5/24" in captured
    assert "protocol" not in captured


@pytest.mark.parametrize("filtered", [False, True], ids=["all_links", "links_of_groups"])
def test_links_of_others_in_a_group_that_a_file_names_are_told_and_let_go_and_put_back(
    desk: Desk, filtered: bool
) -> None:
    desk.kernel = FakeKernel(FOREIGN[:1], features=Features(dump_group=filtered))
    vlan: dict[str, Value] = {"kind": "vlan", "link": "e0", "id": 5, "group": 77, "mtu": 1500, "up": True}
    desk.kernel.state.add(Object("link", ("e0.5",), vlan))
    before = there(desk)
    desk.wants("groups: {lab: {id: 77}}\nlinks: {'d[0-5]': {kind: dummy, group: lab}}")
    assert "~ vlan e0.5  group lab -> 0  # no file mentions it any more" in present.text(desk.engine.diff())
    desk.engine.apply(confirm_s=60)
    assert there(desk)["link", ("e0.5",)] == {**vlan, "group": 0}
    desk.engine.confirm()
    assert not desk.engine.drift().steps
    desk.engine.rollback(0)
    assert there(desk) == before


@pytest.mark.parametrize(
    ("lists", "goes"),
    [
        pytest.param("", [], id="no_file_lists_any"),
        pytest.param(
            "vlans: [7], fdb: [{mac: 02:00:00:00:00:07, vlan: 7}]",
            ["bridge_vlan", "bridge_vlan", "fdb"],
            id="a_file_does",
        ),
    ],
)
def test_what_goes_from_a_link_that_is_taken_over_is_told_and_put_back(desk: Desk, lists: str, goes: list[str]) -> None:
    desk.kernel = FakeKernel(
        (
            Object("link", ("e1",), {"kind": "bridge", "up": True, "group": 0, "mtu": 1500, "vlan_filtering": True}),
            Object("link", ("e2",), {"kind": "", "up": True, "group": 0, "mtu": 1500, "master": "e1"}),
            *(Object("bridge_vlan", ("e2", vid), {}) for vid in (20, 21)),
            Object("fdb", ("e2", "02:00:00:00:00:09", 20, None), {}),
        )
    )
    before = there(desk)
    beside = "br: {kind: bridge, vlan_filtering: true}, d0: {kind: dummy, master: br, vlans: [5]}"
    desk.wants(f"links: {{e2: {{{lists}}}, {beside}}}\nfdb: [{{dev: d0, mac: 02:00:00:00:00:05, vlan: 5}}]")
    lost = [step.object[:2] for step in singles(desk.engine.diff().steps) if step.op is Op.DELETE]
    assert sorted(cls for cls, _ in lost) == goes
    desk.engine.apply(confirm_s=60)
    assert before.keys() - there(desk).keys() == set(lost)
    desk.engine.rollback()
    assert there(desk) == before


@pytest.mark.parametrize("filtered", [False, True], ids=["all_links", "links_of_groups"])
@pytest.mark.parametrize("after", ["links: {}", "links: {d: {kind: dummy, up: true, mtu: 1280}, br: {kind: bridge}}"])
def test_links_of_others_on_ours_are_told_of_and_put_back_whatever_a_dump_tells(
    desk: Desk, filtered: bool, after: str
) -> None:
    desk.kernel = FakeKernel(features=Features(dump_group=filtered))
    desk.wants("links: {d: {kind: dummy, up: true, mtu: 1500}, br: {kind: bridge}}")
    desk.engine.apply()
    common: dict[str, Value] = {"group": 0, "up": True, "mtu": 1500}
    desk.kernel.state.add(Object("link", ("d.5",), {"kind": "vlan", "link": "d", "id": 5, **common}))
    desk.kernel.state.add(Object("link", ("theirs",), {"kind": "dummy", "master": "br", **common}))
    before = there(desk)
    desk.wants(after)
    goes = "d.5, which is not netgroupd's, goes with d"
    loses = "theirs, which no file mentions, loses its master br"
    told = desk.engine.diff().warnings
    assert {goes, loses}.isdisjoint(told) if "kind" in after else {goes, loses} <= {*told}
    desk.engine.apply(confirm_s=60)
    assert there(desk) != before
    desk.engine.rollback()
    assert there(desk) == before


def test_many_links_of_others_are_told_of_as_ranges(desk: Desk) -> None:
    desk.wants("links: {'br[1-9]': {kind: bridge}}")
    desk.engine.apply()
    for number in range(1, 10):
        desk.kernel.state.add(Object("link", (f"tap{number}",), {"kind": "tun", "master": f"br{number}", "group": 0}))
        desk.kernel.state.add(Object("link", (f"v{number}",), {"kind": "macvlan", "link": "br9", "group": 0}))
    desk.wants("links: {}")
    assert {
        "v[1-9], which are not netgroupd's, go with br9",
        "tap[1-9], which no file mentions, lose their master br{1}",
    } <= {*desk.engine.diff().warnings}


def test_virtual_link_of_somebody_else_that_is_named_as_a_port_alone_is_there_the_next_time_too(desk: Desk) -> None:
    taps = [Object("link", (f"tap{n}",), {"kind": "tun", "up": True, "group": 0, "mtu": 1500}) for n in range(2)]
    desk.kernel = FakeKernel(foreign=taps)
    desk.wants("links: {b0: {kind: bridge, ports: tap0}, x1: {kind: dummy}}")
    desk.engine.apply()
    assert not desk.engine.diff().steps
    desk.wants("links: {b0: {kind: bridge, ports: [tap0, tap1]}, x1: {kind: dummy}}")
    desk.engine.apply()
    desk.engine.rollback()
    desk.engine.apply()
    assert not desk.engine.diff().steps


def test_link_that_netgroupd_has_made_is_described_as_long_as_it_is_a_port(desk: Desk) -> None:
    desk.wants("links: {b0: {kind: bridge, ports: x1}, x1: {kind: dummy}}")
    desk.engine.apply()
    desk.wants("links: {b0: {kind: bridge, ports: x1}}")
    with pytest.raises(ConfigError, match="there is no link 'x1'"):
        desk.engine.diff()
