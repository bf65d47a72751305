# SPDX-License-Identifier: GPL-2.0-or-later
"""The nexthops that files lead by and do not describe must be there, and somebody else's: the kernel refuses others.

And what else only a look at the host tells to be in vain.
"""

from collections.abc import Iterator, Sequence

from netgroupd.engine.observe import Connection
from netgroupd.engine.settings import unknown_settings
from netgroupd.errors import ConfigError, Problem
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Key, Object, State, problem_of, records
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.step import Plan
from netgroupd.plan.unfit import unfit


def refuse_vain(kernel: Connection, plan: Plan, wanted: State, actual: State, found: tuple[Problem, ...] = ()) -> None:
    """Let pass what leads only by nexthops that there are, or will be, asks for settings that there are, and fits.

    Raises:
        ConfigError: The rest, each where it is written, with what was ``found`` before.
    """
    in_vain = *unknown_settings(kernel, wanted, actual), *unfit(plan, wanted, actual)
    refuse_wrong((*found, *undescribed(kernel, wanted), *in_vain))


def refuse_wrong(problems: tuple[Problem, ...]) -> None:
    """Let pass what is only doubtful.

    Raises:
        ConfigError: Something is worse; it says all of it, and last what is doubtful of other lines.
    """
    if wrong := [problem for problem in problems if not problem.warning]:
        lines = {(problem.file, problem.line) for problem in wrong}
        doubts = (one for one in problems if one.warning and (one.file, one.line) not in lines)
        raise ConfigError([*wrong, *doubts])


def undescribed(kernel: Connection, wanted: State) -> tuple[Problem, ...]:
    """What leads by a nexthop that neither is described nor have others made, each where it is written."""
    leading = {obj[:2]: (obj, numbers) for obj, numbers in _leading(wanted)}
    if not leading:
        return ()
    keys = frozenset[Key]((number,) for _, numbers in leading.values() for number in numbers)
    there = kernel.dump(Selection(frozenset({"nexthop"}), held={"nexthop": keys})).of("nexthop")
    # What is said of many routes is one mistake.
    problems = {
        (obj.origin, number): _problem(obj, number)
        for obj, numbers in leading.values()
        for number in numbers
        if (number,) not in there
    }
    return tuple(problems.values())


def _leading(wanted: State) -> Iterator[tuple[Object, Sequence[Value]]]:
    described = wanted.of("nexthop")
    for obj in described.values():
        members = (member["id"] for member in records(obj.attrs, "group"))
        if used := [number for number in members if (number,) not in described]:
            yield obj, used
    for cls in ("route", "fdb"):
        for obj in wanted.of(cls).values():
            number = obj.attrs.get("nhid")  # which nearly none has
            if number and (number,) not in described and UNOWNED not in obj.attrs:
                yield obj, (number,)


def _problem(obj: Object, number: Value) -> Problem:
    by = f"nexthop {obj.key[0]} has it in its group" if obj.cls == "nexthop" else f"a {obj.cls} leads by it"
    told = f"there is no nexthop {number}, and {by}"
    return problem_of(obj, told, "describe it under 'nexthops'")
