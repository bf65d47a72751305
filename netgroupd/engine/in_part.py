# SPDX-License-Identifier: GPL-2.0-or-later
"""goal -> the kernel as near to it as the kernel lets it come, and what is missing.

For a host that has just been started, which has no network to go back to; and for one that goes back.
"""

from collections.abc import Callable
from contextlib import nullcontext

from netgroupd.engine.living_ways import made_in_part
from netgroupd.engine.observe import Connection, Mine, look
from netgroupd.engine.passing_ways import on_passing_ways
from netgroupd.engine.refusals import StepsError, error_of
from netgroupd.engine.transaction import Progress, Reached, converge, plan_now
from netgroupd.errors import ConfigError, KernelError, NetgroupError, Refusal, VerifyError
from netgroupd.model.state import State
from netgroupd.plan.refused import attempts, without
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Plan

_AGAIN = "`netgroupctl apply` asks for all of it again"


def converge_in_part(
    kernel: Connection, plan: Plan, goal: State, mine: Mine, progress: Progress | None = None
) -> tuple[Reached, NetgroupError | None]:
    """Run ``plan``, without what is refused and what stands on it; return what was reached and what is missing."""
    try:
        reached, left, told = come_near(kernel, plan, goal, mine, progress=progress)
    except (ConfigError, KernelError, VerifyError) as error:  # there is no way to the rest, or no look at it
        error.add_note(_AGAIN)
        return Reached(), error
    return reached, _missing(told, goal, left) if told else None


def _missing(told: list[Refusal], goal: State, left: State) -> NetgroupError:
    error = error_of(told)
    missing = len(goal) - len(left)
    on_it = f"left out with what stands on it, {missing:,} of {len(goal):,} objects; " if missing else ""
    error.add_note(f"{on_it}all the rest is configured; {_AGAIN}")
    return error


def come_near(
    kernel: Connection,
    plan: Plan,
    goal: State,
    mine: Mine,
    again: Callable[[State], Plan] | None = None,
    progress: Progress | None = None,
) -> tuple[Reached, State, list[Refusal]]:
    """Run ``plan`` so, with more that ``again`` makes if given; also what is left of ``goal``, and what was refused.

    Raises:
        ConfigError, KernelError, VerifyError: There is no way to the rest, or no look at it.
    """
    told, left = list[Refusal](), goal
    for attempt in range(attempts()):
        try:
            return converge(kernel, plan, left, mine, progress, again=again), left, told
        except StepsError as error:
            # What goes back was there before, and stays without what it takes to make it.
            with on_passing_ways(kernel, error.refused) if again else nullcontext(error.refused) as refused:
                found = made_in_part(kernel, refused)
            left = left.copied()
            for obj in found.made:
                left.add(obj)
            told += (*found.missing, *(each.refusal for each in found.rest))
            steps = singles(each.step for each in found.rest)
            left = without(left, steps, look(kernel, left, mine), attempt)
            plan = again(left) if again else plan_now(kernel, left, mine)[0]
    raise error_of(told)
