# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual functions in a plan: behind their card, one message for all of one, and said again when they come anew."""

from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.model.vf import USUAL
from netgroupd.plan import present
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, RangeStep, cls_of
from netgroupd.plan.vf import MOST
from tests.engine.universe import state_of
from tests.plan.reading_back import read_back

OURS: dict[str, Value] = {"group": 0x4E47_0000}


def said(body: str) -> State:
    return state_of(f"links: {{sim: {{kind: netdevsim, id: 1, {body}}}}}")


def actual(count: int, **attrs: Value) -> State:
    """A card with so many functions that all have ``attrs``."""
    card = Object("link", ("sim",), {"kind": "netdevsim", "id": 1, "up": False, **OURS})
    functions = (Object("vf", ("sim", number), {**USUAL, "spoofchk": False, **attrs}) for number in range(count))
    return State([card, Object("sriov", ("sim",), {"num_vfs": count}), *functions])


def planned(want: State, have: State) -> Plan:
    return assemble(want, have, Owned(frozenset({0x4E47_0000})))


def lines(plan: Plan) -> list[str]:
    return [" ".join(line.split()) for line in present.text(plan).splitlines()]


def test_functions_come_behind_their_number_and_that_behind_the_card() -> None:
    plan = planned(said("num_vfs: 4, vfs: {'[0-3]': {trust: on}}"), State())
    assert [cls_of(step) for step in plan.steps] == ["link", "sriov", "vf"]
    assert lines(plan)[1:3] == ["+ sriov sim num_vfs 4", "+ vf sim [0-3] trust on (4)"]


def test_all_functions_of_a_card_are_one_message_whatever_each_is_told() -> None:
    goal = said("vfs: {3: {vlan: 5}, 0: {trust: on}, 2: {spoofchk: on, state: disable}}")
    plan = planned(goal, actual(4))
    (step,) = plan.steps
    assert isinstance(step, RangeStep)
    assert [one.object.key[1] for one in step.steps] == [0, 2, 3]
    assert read_back(plan) == plan.steps
    many = planned(said(f"vfs: {{'[0-{MOST}]': {{vlan: 5}}}}"), actual(MOST + 1))
    assert [len([*singles([step])]) for step in many.steps] == [MOST, 1]


def test_what_is_not_said_keeps_what_the_card_has() -> None:
    have = actual(4, vlan=5, trust=True)
    assert not planned(said("vfs: {'[0-3]': {vlan: 5}}"), have).steps
    assert not planned(said("num_vfs: 4"), have).steps
    assert not planned(said("up: false"), have).steps
    (step,) = planned(said("vfs: {2: {vlan: 5, trust: off}}"), have).steps
    assert (step.op, dict(step.attrs)) == (Op.CHANGE, {"trust": False})  # type: ignore[union-attr]


def test_functions_come_where_there_were_none() -> None:
    plan = planned(said("num_vfs: 2, vfs: {1: {vlan: 5}}"), actual(0))
    assert lines(plan) == ["~ sriov sim num_vfs 0 -> 2", "+ vf sim 1 vlan 5", "1 to create, 1 to change; 2 messages"]


def test_functions_all_go_without_others_coming() -> None:
    assert lines(planned(said("num_vfs: 0"), actual(4)))[0] == "~ sriov sim num_vfs 4 -> 0"


def test_another_number_goes_by_way_of_none_and_all_is_said_again() -> None:
    goal = said("num_vfs: 2, vfs: {'[0-1]': {vlan: 5, qos: 0, spoofchk: off, trust: on}}")
    plan = planned(goal, actual(4, vlan=5, trust=True, qos=3))
    order = [(step.op, step.object.cls, step.object.key[-1], dict(step.attrs)) for step in singles(plan.steps)]
    assert order == [
        (Op.DELETE, "sriov", "sim", {}),
        (Op.CREATE, "sriov", "sim", {"num_vfs": 2}),
        *[(Op.CREATE, "vf", number, {"vlan": 5, "spoofchk": False, "trust": True}) for number in (0, 1)],
    ]
    assert lines(plan) == [
        "-/+ sriov sim num_vfs 2 # from 4 to 2 it goes by way of 0, and all functions go",
        "+ vf sim [0-1] vlan 5 spoofchk off trust on (2) # all functions of sim are made anew",
        "2 to create, 1 to recreate; 3 messages",
    ]


def test_functions_of_other_cards_are_not_said_again() -> None:
    both = said("num_vfs: 2, vfs: {0: {vlan: 5}}")
    other = Object("vf", ("eth0", 0), {"vlan": 5})
    both.add(other)
    have = actual(4, vlan=5)
    have.add(other)
    assert {step.object.name for step in singles(planned(both, have).steps)} == {"sim"}
