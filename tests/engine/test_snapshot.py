# SPDX-License-Identifier: GPL-2.0-or-later
"""What there was, as the goal of putting it back: no more is said of it than it takes."""

import pytest

from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import Mine
from netgroupd.engine.putting_back import put_back
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.route import key as route_key
from netgroupd.model.state import Attrs, Object, State
from netgroupd.model.value import NO_MAC, Value
from netgroupd.plan.compare import same
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.without_mac import marked

ROUTE = route_key("10.0.0.0/8")


def test_vlans_that_come_back_are_told_only_what_a_new_one_has_not() -> None:
    bridge: dict[str, Value] = {"kind": "bridge", "vlan_default_pvid": 1}
    links = [Object("link", ("br",), bridge), Object("link", ("p1",), {"kind": "dummy", "master": "br"})]
    usual: dict[str, Value] = {"state": "forwarding", "mcast_router": 1, "mcast_max_groups": 0}
    vlans = [Object("bridge_vlan", ("p1", 5), {**usual, "mcast_router": 2}), Object("bridge_vlan", ("p1", 6), usual)]
    actual = State([*links, *vlans])
    plan = Plan(tuple(Step(Op.DELETE, vlan, None) for vlan in vlans))
    goal = Snapshot.of(plan, actual).over(State(links), {})
    assert {key: dict(vlan.attrs) for key, vlan in goal.of("bridge_vlan").items()} == {
        ("p1", 5): {"mcast_router": 2},
        ("p1", 6): {},
        ("p1", 1): {"member": False},  # its bridge puts it there
    }


def test_functions_that_come_back_are_told_only_what_a_new_one_has_not() -> None:
    card = Object("link", ("eth0",), {"kind": "", "up": True})
    had, has = (Object("sriov", ("eth0",), {"num_vfs": number}) for number in (2, 0))
    functions = [
        Object("vf", ("eth0", number), {"vlan": 0, "qos": 0, "trust": bool(number), "spoofchk": False, "mac": NO_MAC})
        for number in range(2)
    ]
    snapshot = Snapshot.of(Plan((Step(Op.CHANGE, had, has, {"num_vfs": 0}),)), State([card, had, *functions]))
    goal = snapshot.over(State([card, has]), {})
    assert {key: dict(vf.attrs) for key, vf in goal.of("vf").items()} == {
        ("eth0", 0): {"spoofchk": False},
        ("eth0", 1): {"trust": True, "spoofchk": False},
    }
    assert dict(goal.of("sriov")["eth0",].attrs) == {"num_vfs": 2}


def test_rings_of_a_card_that_is_made_again_are_told_nothing_that_it_may_refuse() -> None:
    link = Object("link", ("sim",), {"kind": "netdevsim", "id": 7})
    rings = Object("ethtool", ("sim", "rings"), {"rx": 512, "tx_push": False, "rx_push": True})
    snapshot = Snapshot.of(Plan((Step(Op.DELETE, link, None),)), State([link, rings]))
    goal = snapshot.over(State(), {})
    assert dict(goal.of("ethtool")[rings.key].attrs) == {"rx": 512, "rx_push": True}


@pytest.mark.parametrize("deleted", [False, True])
def test_bridge_is_not_told_what_it_did_not_tell_while_its_topology_changed(deleted: bool) -> None:
    had, has = (
        Object("link", ("br0",), {"kind": "bridge", "mtu": mtu, "ageing_time": ageing})
        for mtu, ageing in ((1500, None), (1400, 30000))
    )
    step = Step(Op.DELETE, had, None) if deleted else Step(Op.CHANGE, had, has, {"mtu": 1400})
    now = State() if deleted else State([has])
    goal = Snapshot.of(Plan((step,)), State([had])).over(now, {})
    assert "ageing_time" not in goal.of("link")[had.key].attrs
    assert same("ageing_time", None, 30000), "of a bridge that is left as it is, too, the change may end meanwhile"


@pytest.mark.parametrize(
    ("below", "more", "want"),
    [
        pytest.param(1500, {}, 1450, id="as_it_can_be"),
        pytest.param(1400, {}, None, id="below_it_has_become_smaller"),
        pytest.param(1500, {"local": "2001:db8::1"}, None, id="of_ipv6"),
        pytest.param(1486, {"gpe": True}, 1450, id="without_ethernet"),
    ],
)
def test_vxlan_is_told_no_mtu_that_it_cannot_have_any_more(below: int, more: Attrs, want: int | None) -> None:
    dev = Object("link", ("eth0",), {"kind": "", "mtu": below})
    vxlan = Object("link", ("x0",), {"kind": "vxlan", "id": 7, "dev": "eth0", "mtu": 1450, **more})
    snapshot = Snapshot.of(Plan((Step(Op.DELETE, vxlan, None),)), State([dev, vxlan]))
    assert snapshot.over(State([dev]), {}).of("link")[vxlan.key].attrs.get("mtu") == want


def test_route_comes_back_by_the_ways_whose_links_others_have_not_deleted_meanwhile() -> None:
    links = [Object("link", (f"p{number}",), {"kind": "dummy"}) for number in range(3)]
    ways = [{"via": f"192.0.2.{number}", "dev": f"p{number}"} for number in range(3)]
    snapshot = Snapshot((Object("route", ROUTE, {"nexthops": tuple(ways)}),))
    goal = snapshot.over(State(links), {})
    snapshot.release_gone(goal, State(links[::2]))
    assert goal.of("route")[ROUTE].attrs["nexthops"] == (ways[0], ways[2])
    snapshot.release_gone(goal, State(links[2:]))
    assert goal.of("route")[ROUTE].attrs == ways[2]
    assert goal.of("link").keys() == {("p2",)}


@pytest.mark.parametrize(("count", "told"), [(1, "p1 is"), (2, "p[1-2] are")])
def test_what_was_on_links_that_others_have_deleted_is_told(count: int, told: str) -> None:
    gone = [Object("route", route_key(f"10.{number}.0.0/16"), {"dev": f"p{number}"}) for number in range(1, count + 1)]
    kernel = FakeKernel([])
    (said,) = put_back(kernel, Snapshot(tuple(gone)), Mine()).warnings
    assert said.startswith(f"{told} not there any more, and not back or not whole: route 10.1.0.0/16")
    assert not kernel.state.of("route")


def test_link_that_stood_elsewhere_is_up_again_when_the_one_that_it_stands_on_by_now_goes_down() -> None:
    was = Object("link", ("s",), {"kind": "macvlan", "link": "d", "up": True})
    by_now = Object("link", ("s",), {"kind": "vlan", "link": "low", "id": 8, "up": True})
    down, up = (Object("link", ("low",), {"kind": "dummy", "up": value}) for value in (False, True))
    plan = Plan((Step(Op.CHANGE, down, up, {"up": True}), Step(Op.DELETE, was, None), Step(Op.CREATE, None, by_now)))
    goal = Snapshot.of(plan, State([down, was])).over(State([up, by_now]), {})
    assert goal.of("link")["s",].attrs.get("up")


def test_bridge_that_a_new_port_gives_another_mac_has_its_neighbours_again() -> None:
    bridge = Object("link", ("br0",), {"kind": "bridge", "mac": "02:00:00:00:00:02"})
    neighbour = Object("neighbour", ("br0", "192.0.2.9", False), {"lladdr": "02:00:00:00:00:09", "state": "permanent"})
    attrs: dict[str, Value] = {"kind": "dummy", "master": "br0"}
    plan = Plan((Step(Op.CREATE, None, Object("link", ("p",), attrs), attrs),))
    assert neighbour in Snapshot.of(plan, State([bridge, neighbour])).objects


def test_bridge_that_has_the_mac_of_a_port_for_a_moment_has_its_neighbours_again() -> None:
    bridge = Object("link", ("br0",), {"kind": "bridge", "mac": NO_MAC})
    neighbour = Object("neighbour", ("br0", "192.0.2.9", False), {"lladdr": "02:00:00:00:00:09", "state": "permanent"})
    (step,) = marked([Step(Op.CREATE, None, Object("bridge_vlan", ("br0", 5), {}))], [], {bridge.key: bridge})
    assert neighbour in Snapshot.of(Plan((step,)), State([bridge, neighbour])).objects
