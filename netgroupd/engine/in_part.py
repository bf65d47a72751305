# SPDX-License-Identifier: GPL-2.0-or-later
"""goal -> the kernel as near to it as the kernel lets it come, and what is missing.

For a host that has just been started, which has no network to go back to.
"""

from netgroupd.engine.observe import Connection, Mine, look
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
    told, left = list[Refusal](), goal
    try:
        for attempt in range(attempts()):
            try:
                return converge(kernel, plan, left, mine, progress), _missing(told, goal, left)
            except StepsError as error:
                told += (each.refusal for each in error.refused)
                steps = singles(each.step for each in error.refused)
                left = without(left, steps, look(kernel, left, mine), attempt)
                plan = plan_now(kernel, left, mine)[0]
    except (ConfigError, KernelError, VerifyError) as error:  # there is no way to the rest, or no look at it
        error.add_note(_AGAIN)
        return Reached(), error
    return Reached(), _missing(told, goal, left)


def _missing(told: list[Refusal], goal: State, left: State) -> NetgroupError | None:
    if not told:
        return None
    error = error_of(told)
    missing = len(goal) - len(left)
    on_it = f"left out with what stands on it, {missing:,} of {len(goal):,} objects; " if missing else ""
    error.add_note(f"{on_it}all the rest is configured; {_AGAIN}")
    return error
