# SPDX-License-Identifier: GPL-2.0-or-later
"""Each bench at its very smallest, so that none is found broken on the day when its figures are wanted."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import apply, groups, l3mdev, links, memory, packets, peers
from bench.apply import Desk
from bench.costs import costs
from bench.links import Stack
from bench.peer_files import Size
from bench.peer_tools import PHASES, TOOLS, Phase
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import Selection

pytestmark = pytest.mark.vm("patched")


def test_groups_change_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_RUNS", 1)
    with Kernel() as kernel:
        kernel.dump(Selection(links=frozenset({"lo"})))
        groups.make_links(kernel, 0, 2)
        assert all(cell.runs for cell in dict(groups.ways(kernel, 2)).values())


def test_memory_of_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_SETTLE_S", 0)
    with Kernel() as kernel:
        assert isinstance(memory.size(kernel, "dummy", {}, range(2)), float)
        assert memory.creation(kernel, "dummy", memory.WEIGHTS["L2 only"], 2) > 0


def test_links_are_made_and_read_in_every_way() -> None:
    made = dict(links.creation(Size(1, 2), 1))
    assert made["links"].median == 2 * 2 + 1
    assert dict(links.reading(7, 1))["netgroupd"].runs


@pytest.mark.parametrize("form", [links.stack, links.tunnels])
def test_whole_way_goes_beside_others(form: Callable[[Size], Stack], tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    went = dict(apply.whole_way(desk, form(Size(2, 2)), tmp_path, 2))
    assert all(len(went[row].runs) == 2 for row in ("`ip -batch`", "netgroupd ÷ `ip -batch`", "netgroupd ÷ blind"))


def test_deeds_of_groups_and_order(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for deed in (apply.mtu, apply.vrf, l3mdev.enslaving):
        assert all(cell.runs or not cell.note for cell in deed(desk, 2)), deed
    assert all(cell.runs or not cell.note for cell in apply.vrf_made(desk, 2, tmp_path))


def test_packets_go_past_a_vrf_and_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(l3mdev, "_SECONDS", 0.2)
    table = l3mdev.packets(quick=True)
    assert all(len(cell.runs) == 1 for cells in table.rows.values() for cell in cells)


def test_packets_go_through_what_lies_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packets, "WAYS", {"a router": packets.WAYS["a router"]})
    assert [len(cell.runs) for cell in packets.through(quick=True).rows["a router"]] == [1, 1]


def test_a_peer_takes_a_stack_up_and_down() -> None:
    tool = next(tool for tool in TOOLS if "ip -batch" in tool.name)
    found = peers.results(tool, Size(1, 2), 60.0)
    messages = {phase: one["costs"][0] for phase, one in zip(PHASES, found, strict=True) if "costs" in one}
    assert messages[Phase.CREATE] == messages[Phase.ADD] >= 3  # one for each link, and ip's own questions
    assert messages[Phase.REMOVE] >= 6
    assert found[1] == {"note": "cannot tell"}


def test_messages_of_netgroupd_are_counted() -> None:
    program = "from netgroupd.kernel.netlink.socket import Socket, noop; Socket().send(noop(1), noop(2), count=2)"
    assert costs([sys.executable, "-c", program]).messages == 2
