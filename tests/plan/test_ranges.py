# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs of a port, and VNIs of a VXLAN, that are told alike are one message."""

import pytest

from netgroupd.model.state import Object, State
from netgroupd.plan import present
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Plan, RangeStep
from tests.engine.universe import state_of
from tests.plan.reading_back import read_back

_HOST = "links: {p: {kind: dummy, master: br, port: {vlan_tunnel: true}}, br: {kind: bridge}}"
_WANTED = "links: {{p: {{kind: dummy, master: br, port: {{vlan_tunnel: true}}, vlans: {}}}, br: {{kind: bridge}}}}"


def plan(wanted: str, actual: State | None = None) -> Plan:
    """The way to the VLANs that ``wanted`` says port p shall be in."""
    return assemble(state_of(_WANTED.format(wanted)), actual or state_of(_HOST), Owned())


def told(wanted: str, actual: State | None = None) -> list[str]:
    """Each message as its operation and its VLANs."""
    found = []
    for step in plan(wanted, actual).steps:
        steps = step.steps if isinstance(step, RangeStep) else (step,)
        vids = [single.object.key[1] for single in steps]  # type: ignore[union-attr]
        assert vids == [*range(vids[0], vids[0] + len(vids))]  # type: ignore[operator,arg-type]
        found.append(f"{step.op} {vids[0]}-{vids[-1]}" if len(vids) > 1 else f"{step.op} {vids[0]}")
    return found


@pytest.mark.parametrize(
    ("wanted", "messages"),
    [
        pytest.param("'[1-4094]'", ["create 1-4094"], id="all"),
        pytest.param("['[8-9]', '[3-5]', 7]", ["create 3-5", "create 7-9"], id="in_any_order"),
        pytest.param("[1, {vid: '[2-4]', untagged: true}]", ["create 1", "create 2-4"], id="flags"),
        pytest.param("[1, {vid: 2, pvid: true}, '[3-4]']", ["create 1", "create 2", "create 3-4"], id="pvid"),
        pytest.param("{vid: '[v=5-9]', tunnel_id: '{v+100}'}", ["create 5-9"], id="tunnels"),
        pytest.param("{vid: '[v=5-7]', tunnel_id: '{v*2}'}", ["create 5", "create 6", "create 7"], id="tunnels_apart"),
    ],
)
def test_vlans_without_a_gap_are_one_message(wanted: str, messages: list[str]) -> None:
    assert told(wanted) == messages
    shown = plan(wanted)
    assert read_back(shown) == shown.steps
    assert present.summary(shown).endswith(f"; {len(messages)} message{'s' * (len(messages) > 1)}")


def test_what_is_there_is_changed_and_deleted_by_range() -> None:
    actual = State([*state_of(_HOST), *(Object("bridge_vlan", ("p", vid), {"untagged": False}) for vid in range(2, 9))])
    wanted = "[{vid: '[4-6]', untagged: true}, 8]"
    assert told(wanted, actual) == ["delete 2-3", "delete 7", "change 4-6"]


_VXLAN = "links: {{vx: {{kind: vxlan, external: true, vnifilter: true, vnis: {}}}}}"


def test_vnis_without_a_gap_are_one_message() -> None:
    wanted = "['[1000-1999]', {vni: '[5-7]', remote: 192.0.2.1}, {vni: 8, remote: 192.0.2.2}]"
    plan = assemble(state_of(_VXLAN.format(wanted)), state_of(_VXLAN.format("[1, 1000]")), Owned())
    assert [" ".join(line.split()) for line in present.text(plan).splitlines()] == [
        "- vni vx vni 1",
        "+ vni vx vni [5-7] remote 192.0.2.1 (3)",
        "+ vni vx vni 8 remote 192.0.2.2",
        "+ vni vx vni [1001-1999] (999)",
        "1003 to create, 1 to delete; 4 messages",
    ]
