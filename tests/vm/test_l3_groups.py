# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses of all members of a group by one message, on the kernel that can."""

import subprocess
from collections.abc import Iterator

import pytest

from netgroupd.engine.observe import Mine, look
from netgroupd.engine.transaction import converge, plan_for
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object
from netgroupd.plan.step import GroupStep, Op, Step
from tests.engine.universe import state_of

pytestmark = pytest.mark.vm("patched")
_GROUP = 77
_SELECTION = Selection(classes=frozenset({"address"}))


@pytest.fixture
def kernel() -> Iterator[Kernels]:
    """Four links, three of them in the group."""
    for number in range(4):
        group = str(_GROUP if number < 3 else 0)
        subprocess.run(["ip", "link", "add", f"dum{number}", "group", group, "type", "dummy"], check=True)
    with Kernels() as opened:
        opened.dump(Selection(everything=True))
        yield opened


def _steps(op: Op, addresses: list[str]) -> GroupStep:
    objects = [Object("address", (f"dum{number}", address, None), {}) for number, address in enumerate(addresses)]
    before = op is Op.DELETE
    singles = tuple(Step(op, obj if before else None, None if before else obj) for obj in objects)
    return GroupStep(op, _GROUP, {}, singles)


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param(["10.0.0.1/24", "10.0.1.1/24", "10.0.2.1/24"], id="ipv4_by_network"),
        pytest.param(["10.0.0.1/32", "10.0.0.2/32", "10.0.0.3/32"], id="ipv4_by_one"),
        pytest.param(["10.0.0.1/24"] * 3, id="all_the_same"),
        pytest.param(["2001:db8::1/64", "2001:db8:0:1::1/64", "2001:db8:0:2::1/64"], id="ipv6_by_network"),
    ],
)
def test_members_get_their_addresses_by_one_message(kernel: Kernels, addresses: list[str]) -> None:
    sent = kernel.counters.messages
    assert kernel.apply([_steps(Op.CREATE, addresses)]) == ()
    assert kernel.counters.messages == sent + 1
    found = kernel.dump(_SELECTION).of("address")
    assert sorted(str(key[:2]) for key in found) == sorted(
        str((f"dum{number}", address)) for number, address in enumerate(addresses)
    )
    assert kernel.apply([_steps(Op.DELETE, addresses)]) == ()
    assert not kernel.dump(_SELECTION).of("address")


def test_what_others_gave_to_a_member_stays(kernel: Kernels) -> None:
    addresses = ["10.0.0.1/24", "10.0.1.1/24", "10.0.2.1/24"]
    assert kernel.apply([_steps(Op.CREATE, addresses)]) == ()
    subprocess.run(["ip", "address", "add", "10.0.1.9/24", "dev", "dum1"], check=True)
    assert kernel.apply([_steps(Op.DELETE, addresses)]) == ()
    found = kernel.dump(Selection(classes=frozenset({"address"}), everything=True)).of("address")
    assert [key[:2] for key in found] == [("dum1", "10.0.1.9/24")]


NUMBERED = """
groups:
  edge: {members: [tenants, guests], mtu: %d}
  tenants: {}
  guests: {}
links:
  t[n=1-4]: {kind: dummy, group: tenants, mac: "{02:00:00:00:01:00 + n*%d}", addresses: ["10.%d.{n}.1/24"]}
  g[n=1-4]: {kind: dummy, group: guests, addresses: ["2001:db8:%d:{n}::1/64"]}
"""


def test_series_and_families_of_a_configuration_take_a_message_each() -> None:
    subprocess.run(["ip", "netns", "add", "series"], check=True)
    mine = Mine()
    try:
        with Kernels("series") as kernel:
            for numbers, group_messages in (((1400, 1, 1, 1), 2), ((1300, 3, 2, 2), 6)):
                goal = state_of(NUMBERED % numbers)
                plan = plan_for(kernel, goal, look(kernel, goal, mine), mine)
                assert sum(isinstance(step, GroupStep) for step in plan.steps) == group_messages
                converge(kernel, plan, goal, mine)
                assert not plan_for(kernel, goal, look(kernel, goal, mine), mine).steps
            assert len(plan.steps) == group_messages
    finally:
        subprocess.run(["ip", "netns", "del", "series"], check=True)
