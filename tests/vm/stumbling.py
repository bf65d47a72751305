# SPDX-License-Identifier: GPL-2.0-or-later
"""A real kernel for the engine that refuses one step when it is told to, and what it takes to look at it."""

import subprocess
from collections.abc import Callable, Mapping, Sequence

import pytest

from netgroupd.engine.beside import placed
from netgroupd.engine.lost_options import add_lost_options
from netgroupd.engine.observe import Mine, look
from netgroupd.engine.others import of_others
from netgroupd.engine.snapshot import Snapshot
from netgroupd.engine.transaction import converge, plan_for, plan_now, put_back
from netgroupd.errors import KernelError, Refusal
from netgroupd.kernel.batch import Refused
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.usual import Usual
from netgroupd.model.state import Key, Object, State
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
    plan = plan_for(kernel, goal, look(kernel, goal, MINE), MINE)
    before = kernel.done
    converge(kernel, plan, goal, MINE)
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
    actual = look(kernel, goal, MINE)
    plan, before = plan_for(kernel, goal, actual, MINE), (there(kernel, goal), seen())
    add_lost_options(kernel, plan, actual, MINE.away)
    kept = placed(kernel, Snapshot.of(plan, actual))._replace(others=of_others(kernel, plan, goal, actual).objects)
    snapshot = Snapshot.from_json(kept.to_json())
    for nth in range(len(plan.steps) if refused else 0):
        kernel.stumbles_at = nth
        with pytest.raises(KernelError):
            converge(kernel, plan, goal, MINE)
        put_back(kernel, snapshot, MINE)
        assert (there(kernel, goal), seen()) == before
    become(kernel, goal)
    assert not plan_now(kernel, goal, MINE)[0].steps
    put_back(kernel, snapshot, MINE)
    assert (there(kernel, goal), seen()) == before


def refused_and_back(kernel: Stumbling, goal: State) -> None:
    """Have the kernel refuse the way to ``goal``, and put back what was there: then it is."""
    actual, before = look(kernel, goal, MINE), there(kernel, goal)
    plan = plan_for(kernel, goal, actual, MINE)
    with pytest.raises(KernelError):
        converge(kernel, plan, goal, MINE)
    put_back(kernel, Snapshot.of(plan, actual), MINE)
    assert there(kernel, goal) == before
