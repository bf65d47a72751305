# SPDX-License-Identifier: GPL-2.0-or-later
"""Which new links wait until a bridge has ports again, and so a MAC, and which VLANs it takes only with one."""

import pytest

from netgroupd.model.state import Object
from netgroupd.plan.made import Made
from netgroupd.plan.step import Op, Step
from netgroupd.plan.without_mac import BY_A_PORT, bare, made_late, marked, nameless
from tests.plan.test_plan import link

BRIDGE, PORT, CARD = link("b", kind="bridge"), link("p", kind="dummy", master="b"), link("c", kind="dummy")
STACK = ("v", "vlan", "b"), ("w", "vlan", "v"), ("m", "macvlan", "w"), ("n", "macvlan", "b"), ("x", "vlan", "c")
MADE = [Step(Op.CREATE, None, link(name, kind=kind, link=lower)) for name, kind, lower in STACK]
GOES = Step(Op.DELETE, PORT, None)
MOVES = Step(Op.CHANGE, PORT, PORT, {"netns": "blue"})
GROWS = Step(Op.CHANGE, PORT, PORT, {"mtu": 9000})
ANEW = [Step(Op.DELETE, BRIDGE, None), Step(Op.CREATE, None, BRIDGE)]


@pytest.mark.parametrize(
    ("steps", "released", "late"),
    [
        pytest.param([GOES], (), {"v", "w", "m", "n"}, id="port_goes"),
        pytest.param([MOVES], (), {"v", "w", "m", "n"}, id="port_moves_to_another_namespace"),
        pytest.param([], ("p",), {"v", "w", "m", "n"}, id="port_leaves_before_others_come"),
        pytest.param([], (), set(), id="port_stays"),
        pytest.param([GROWS], (), set(), id="port_changes"),
        pytest.param([GOES, *ANEW], (), set(), id="bridge_is_new_and_has_a_mac_of_its_own"),
    ],
)
def test_links_on_a_bridge_that_loses_its_ports_wait_with_what_is_on_them(
    steps: list[Step], released: tuple[str, ...], late: set[str]
) -> None:
    links = {each.key: each for each in (BRIDGE, PORT, CARD)}
    steps = [*steps, *MADE]
    assert made_late(MADE, bare(steps, Made.by(steps), links, released), set()) == late


ANOTHER_DEFAULT = Step(Op.CHANGE, BRIDGE, BRIDGE, {"vlan_default_pvid": 5})


@pytest.mark.parametrize(
    ("steps", "bridges"),
    [
        pytest.param([GOES, ANOTHER_DEFAULT], {"b"}, id="port_goes"),
        pytest.param([MOVES, ANOTHER_DEFAULT], {"b"}, id="port_moves_to_another_namespace"),
        pytest.param([ANOTHER_DEFAULT], set(), id="port_stays"),
        pytest.param([GOES], set(), id="nothing_of_a_vlan_comes"),
    ],
)
def test_bridge_without_ports_that_gets_another_default_vlan_is_known(steps: list[Step], bridges: set[str]) -> None:
    links = {each.key: each for each in (BRIDGE, PORT)}
    assert nameless(bare(steps, Made.by(steps), links, ()), links) == bridges


EMPTY = link("b", kind="bridge", mac="00:00:00:00:00:00")
NEW = link("b", kind="bridge", mac="02:00:00:00:00:01")
LEAVES = Step(Op.CHANGE, PORT, PORT, {"master": None})
COMES = Step(Op.CHANGE, CARD, CARD, {"master": "b"})


@pytest.mark.parametrize(
    ("bridge", "others", "steps", "alone"),
    [
        pytest.param(EMPTY, (), [], True, id="it_has_no_mac"),
        pytest.param(EMPTY, (CARD,), [COMES], False, id="port_comes"),
        pytest.param(EMPTY, (), ANEW, False, id="it_is_made_anew"),
        pytest.param(NEW, (), [], False, id="it_never_had_a_port"),
        pytest.param(NEW, (PORT,), [LEAVES], True, id="last_port_leaves"),
        pytest.param(NEW, (PORT,), [GOES], True, id="last_port_goes"),
        pytest.param(NEW, (PORT,), [], False, id="port_stays"),
        pytest.param(NEW, (PORT, CARD), [LEAVES, COMES], False, id="another_port_comes"),
        pytest.param(CARD._replace(key=("b",)), (), [], False, id="it_is_no_bridge"),
    ],
)
def test_vlan_of_a_bridge_without_ports_comes_by_a_port_made_for_it(
    bridge: Object, others: tuple[Object, ...], steps: list[Step], *, alone: bool
) -> None:
    vlan = Step(Op.CREATE, None, Object("bridge_vlan", ("b", 7), {}))
    (found,) = marked([vlan], steps, {each.key: each for each in (bridge, *others)})
    assert found.attrs.get(BY_A_PORT, False) == alone
