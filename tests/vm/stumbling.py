# SPDX-License-Identifier: GPL-2.0-or-later
"""A real kernel for the engine that refuses one step when it is told to, and what it takes to look at it."""

import subprocess
from collections.abc import Callable, Mapping, Sequence

import pytest

from netgroupd.engine.kept.lost import add_lost
from netgroupd.engine.kept.routes_beside import placed
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import Mine, look
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.record.generations import Content
from netgroupd.engine.transaction import converge, plan_for, plan_now
from netgroupd.errors import KernelError, Refusal
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.kernel.usual import Usual
from netgroupd.model.state import Key, Object, State
from netgroupd.plan.named import text_of
from netgroupd.plan.step import AnyStep

MINE = Mine(classes=frozenset({"fdb", "mdb", "bridge_vlan", "sysctl"}))
# What a driver reports of its carrier depends on how long ago it came up.
PASSING = frozenset({"carrier"})
AGEING = frozenset({"expires", "valid_lft", "preferred_lft"})


class Stumbling(Kernels):
    """The real kernel, but for one step that it is told to refuse."""

    stumbles_at = -1
    done = 0
    confined = False
    mine = MINE

    def keep(self, goal: State) -> Mine:
        """What is to be looked after from here on, with what ``goal`` names."""
        self.mine = self.mine.joined(Content(named=text_of(goal)))
        return self.mine

    def usual(self, links: Mapping[Key, Object]) -> Usual:
        """A daemon that may make no namespace does not know it, and says all."""
        return {} if self.confined else super().usual(links)

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        self.done += len(steps)
        at, self.stumbles_at = self.stumbles_at, self.stumbles_at - len(steps)
        if not 0 <= at < len(steps):
            return super().apply(steps, progress)
        self.stumbles_at = -1
        refused = super().apply(steps[:at], progress)
        return refused or (Refused(steps[at], Refusal("a step", 12, "Cannot allocate memory")),)


def become(kernel: Stumbling, goal: State, *, at_once: bool = True) -> None:
    """Bring ``goal`` about, in one run unless that cannot be: a bond has any MAC when its last port has gone."""
    mine = kernel.keep(goal)
    plan = plan_for(kernel, goal, look(kernel, goal, mine), mine)
    before = kernel.done
    converge(kernel, plan, goal, mine)
    assert kernel.done - before == len(plan.steps) or not at_once, "it took more than one run"


def ip(command: str) -> None:
    subprocess.run(["ip", *([] if command.startswith("netns") else ["-n", "engine"]), *command.split()], check=True)


def told(*command: str) -> str:
    """What a command says in the namespace of the engine."""
    return subprocess.run(
        ["ip", "netns", "exec", "engine", *command], capture_output=True, text=True, check=True
    ).stdout


def there(kernel: Kernels, goal: State) -> dict[tuple[str, Key], dict[str, object]]:
    return {
        (obj.cls, obj.key): {
            name: value == "forever" if name in AGEING else value
            for name, value in obj.attrs.items()
            if name not in PASSING
        }
        for obj in look(kernel, goal, MINE)
    }


def there_and_back(
    kernel: Stumbling, goal: State, seen: Callable[[], object] = lambda: None, *, refused: bool = False
) -> None:
    """Go to ``goal`` and put back what was there: then it is, and what is ``seen``; so it is when a step is refused."""
    before, mine = (there(kernel, goal), seen()), kernel.keep(goal)
    plan, actual = plan_now(kernel, goal, mine)
    add_lost(kernel, plan, actual, State, mine)
    snapshot = Snapshot.from_json(placed(kernel, Snapshot.of(plan, actual)).to_json())
    for nth in range(len(plan.steps) if refused else 0):
        kernel.stumbles_at = nth
        with pytest.raises(KernelError):
            converge(kernel, plan, goal, mine)
        put_back(kernel, snapshot, mine)
        assert (there(kernel, goal), seen()) == before
    become(kernel, goal)
    assert not plan_now(kernel, goal, mine)[0].steps
    put_back(kernel, snapshot, mine)
    assert (there(kernel, goal), seen()) == before


def to_and_fro(
    kernel: Stumbling, before: State, after: State, seen: Callable[[], object] = lambda: None, *, refused: bool = True
) -> None:
    """The same between two goals, and then from one to the other and back, which leaves nothing to do."""
    become(kernel, before)
    there_and_back(kernel, after, seen, refused=refused)
    become(kernel, after)
    become(kernel, before)
    assert not plan_now(kernel, before, MINE)[0].steps


def refused_and_back(kernel: Stumbling, goal: State) -> None:
    """Have the kernel refuse the way to ``goal``, and put back what was there: then it is."""
    mine = kernel.keep(goal)
    actual, before = look(kernel, goal, mine), there(kernel, goal)
    plan = plan_for(kernel, goal, actual, mine)
    with pytest.raises(KernelError):
        converge(kernel, plan, goal, mine)
    put_back(kernel, Snapshot.of(plan, actual), mine)
    assert there(kernel, goal) == before
