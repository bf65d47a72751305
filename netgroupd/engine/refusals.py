# SPDX-License-Identifier: GPL-2.0-or-later
"""(what the kernel refused) -> what the operator is told of it: each line once for each reason, and of many the first.

A line may stand for thousands of rules, and what is wrong with one is wrong with
most of them.  Which rule it was is told of the first.
"""

import errno
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from netgroupd.errors import KernelError, Problem, Refusal
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import FOLLOWS_MTU
from netgroupd.plan.step import Op, Step

SHOWN = 20
_OUT_OF_RANGE = frozenset({errno.EINVAL, errno.ERANGE})
_WITHIN = FOLLOWS_MTU | {"vxlan"}


class StepsError(KernelError):
    """The kernel refused these steps: for who can go on without them."""

    refused: tuple[Refused, ...] = ()


def by_line(refusals: Iterable[Refusal]) -> list[Refusal]:
    """The first refusal of each line and reason, with how many more there are; what is of no line stays as it is."""
    reasons: dict[tuple[str, int, str], Refusal] = {}
    counts: Counter[tuple[str, int, str]] = Counter()
    for place, refusal in enumerate(refusals):
        reason = (refusal.origin or str(place), refusal.errno, refusal.sentence)
        reasons.setdefault(reason, refusal)
        counts[reason] += 1
    return [_counted(refusal, counts[reason] - 1) for reason, refusal in reasons.items()]


def _counted(refusal: Refusal, more: int) -> Refusal:
    return refusal._replace(sentence=f"{refusal.sentence} (and {more:,} more of this line)") if more else refusal


def steps_error(refused: Iterable[Refused]) -> StepsError:
    """The error that tells of steps."""
    kept = tuple(refused)
    error = error_of(_explained(each) for each in kept)
    error.refused = kept
    return error


def _explained(refused: Refused) -> Refusal:
    """The refusal; of an MTU that does not pass below, of which the kernel says no more than that it is wrong."""
    step, refusal = refused
    if not isinstance(step, Step) or step.op is Op.DELETE or step.object.cls != "link":
        return refusal
    attrs = step.object.attrs
    below = attrs.get("dev" if kind_of(step.object) == "vxlan" else "link")
    silent = refusal.errno in _OUT_OF_RANGE and refusal.sentence.startswith(os.strerror(refusal.errno))
    if not (silent and below and step.attrs.get("mtu") and kind_of(step.object) in _WITHIN):
        return refusal
    return refusal._replace(sentence=f"{refusal.sentence}; mtu {step.attrs['mtu']} may be over what {below} carries")


def error_of(refusals: Iterable[Refusal]) -> StepsError:
    """The error that tells of them."""
    told = by_line(refusals)
    error = StepsError(told[:SHOWN])
    if len(told) > SHOWN:
        error.add_note(f"and {len(told) - SHOWN:,} more lines were refused")
    return error


@contextmanager
def doubts_added(problems: Iterable[Problem]) -> Iterator[None]:
    """What there is to doubt of the lines that the kernel refuses is told with that: it is mostly why."""
    try:
        yield
    except KernelError as error:
        lines = {refusal.origin for refusal in error.refusals}
        for problem in problems:
            if f"{problem.file}:{problem.line}" in lines:
                error.add_note(str(problem))
        raise
