# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on qdiscs that are ours: it makes room, and is no obstacle to putting the rest back."""

import subprocess
from typing import Any

import pytest

from netgroupd.engine.observe import Mine, look
from netgroupd.engine.snapshot import Snapshot
from netgroupd.engine.transaction import converge, plan_for, put_back
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.request import Selection
from netgroupd.kernel.socket import Socket
from netgroupd.model.state import Object, State
from netgroupd.plan.hooks import ON_QDISCS, hooks_of
from netgroupd.plan.present import text
from tests.vm.hosts import EngineIn, here
from tests.vm.tc_cases import SETUP

_WANTED = Object("qdisc", ("v0", "root"), {"kind": "htb", "handle": "1:", "default": 0x10})
_OTHER = Object("qdisc", ("v2", "root"), {"kind": "prio", "handle": "1:", "bands": 3})
_GOAL = State((_WANTED, _OTHER))
_MINE = Mine(hooks=hooks_of(_GOAL), classes=ON_QDISCS)
_THEIRS = (
    "qdisc add dev v0 root handle 8001: pfifo_head_drop limit 9",
    "qdisc add dev v2 root handle 2: sfq",
)


def _there() -> list[str]:
    shown = subprocess.run(["tc", "qdisc", "show"], capture_output=True, check=True, text=True).stdout
    return [" ".join(line.split()[1:5]) for line in shown.splitlines() if " 0: " not in line]


def test_qdisc_of_another_kind_is_told_of_and_the_others_come_back() -> None:
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    for said in _THEIRS:
        subprocess.run(["tc", *said.split()], check=True)
    with Kernels() as kernel:
        before = look(kernel, _GOAL, _MINE)
        plan = plan_for(kernel, _GOAL, before, _MINE)
        assert "! no rollback brings these back, for they are of kinds that no file can ask for: qdisc v0" in text(plan)
        snapshot = Snapshot.of(plan, before)
        put_back(kernel, snapshot, _MINE)
        assert "pfifo_head_drop 8001: dev v0" in _there()
        converge(kernel, plan, _GOAL, _MINE)
        put_back(kernel, snapshot, _MINE)
    assert _there() == ["sfq 2: dev v2"]


def test_classes_are_asked_for_where_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"link add d{number} type dummy\n" for number in range(30))
    subprocess.run(["ip", "-batch", "-"], input=lines, text=True, check=True)
    lines = "".join(f"qdisc add dev d{number} root handle 1: fq_codel\n" for number in range(30) if number)
    lines += "qdisc add dev d0 root handle 2: htb\nclass add dev d0 parent 2: classid 2:5 htb rate 1mbit\n"
    subprocess.run(["tc", "-batch", "-"], input=lines, text=True, check=True)
    asked: list[object] = []
    dump = Socket.dump

    def counted(*args: Any, **more: Any) -> Any:
        asked.append(args)
        return dump(*args, **more)

    monkeypatch.setattr(Socket, "dump", counted)
    with Kernel() as kernel:
        kernel.read_names()
        asked.clear()
        hooks = frozenset((f"d{number}", "root") for number in range(30))
        found = kernel.dump(Selection(frozenset({"tclass"}), hooks=hooks))
    assert [*found.of("tclass")] == [("d0", "2:5")]
    assert len(asked) == 2  # of all qdiscs, and of the classes of one link


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("ingress: []", ("filter add dev d ingress",)),
        ("qdiscs: {kind: prio, handle: '1:'}", ("filter add dev d parent 1:",)),
        (
            "qdiscs: {kind: htb, handle: '1:'}",
            ("class add dev d parent 1: classid 1:7 htb rate 1mbit", "filter add dev d parent 1:"),
        ),
    ],
    ids=["hook", "qdisc", "classes"],
)
def test_rules_of_others_go_where_none_of_ours_are(engine_in: EngineIn, ours: str, theirs: tuple[str, ...]) -> None:
    text = f"links: {{d: {{kind: dummy, up: true}}}}\ntc: {{d: {{{ours}}}}}\n"
    engine_in("here", text).apply()
    captured = engine_in("here", "{}").capture()
    for said in theirs:
        here(f"tc {said}" + " protocol ip pref 3 flower dst_ip 10.0.0.1 classid 1:7" * said.startswith("filter"))
    assert len(engine_in("here", text).diff().steps) == len(theirs)
    engine_in("here", text).apply()
    assert engine_in("here", "{}").capture() == captured
