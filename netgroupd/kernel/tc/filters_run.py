# SPDX-License-Identifier: GPL-2.0-or-later
"""Many rules of one line at once: what differs is looked at by columns, at C speed, and glued into what does not."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.request import Form, Run
from netgroupd.kernel.tc import flower
from netgroupd.kernel.tc.filters_frame import Frame, frames
from netgroupd.model.state import Key, Object
from netgroupd.model.tc.chain import chain_of
from netgroupd.plan.order_filters import level_in
from netgroupd.plan.step import AnyStep, Op, Step

_ROOM = 2 << 20  # with a buffer of 4 MiB the socket takes more than this at once
_MATCHED = 128  # a header and a match, more or less
_OP: Callable[[Any], Op] = itemgetter(0)
_AFTER: Callable[[Any], Object] = attrgetter("after")
_KEY, _ATTRS = itemgetter(1), itemgetter(2)  # of an object
_MATCH: Callable[[Key], Any] = itemgetter(4)  # of the key of a rule


class _Line(NamedTuple):
    """Rules that differ in what they match alone: the first, and the matches of all."""

    first: Object
    matches: Sequence[flower.Match]


def run(steps: Sequence[AnyStep], start: int, names: Names, limit: int, form: Form) -> Run:
    """The messages of up to ``limit`` steps from ``start`` on, as far as each of them makes a flower rule.

    Rules that differ in what they match alone have the same bytes before and
    behind that, in the ``form`` that their message is to have.  These messages may go
    in any order: of one preference and mask no two match the same packet, and the
    plan promises no order of preferences.  What it does promise ends the run: a rule
    that goes to a chain, by its level, and whatever is no new rule.
    """
    made: list[bytes] = []
    count, room = 0, _ROOM
    level: int | None = None
    while count < limit and room > 0 and (line := _of_one_line(steps[start + count : start + limit])):
        if level is not None and level_in(chain_of(line.first.key)) != level:
            break
        level = level_in(chain_of(line.first.key))
        try:
            frame = frames.of(line.first.key, line.first.attrs, names)
        except (UnknownLinkError, OSError):
            break  # the step says so when it is encoded by itself
        fitting = max(room // (len(frame.front) + len(frame.end) + _MATCHED), 1)
        matches = line.matches[:fitting]
        made.append(_messages(frame, matches, form))
        room -= len(made[-1])
        count += len(matches)
    return Run(count, made[0] if len(made) == 1 else b"".join(made))


def _of_one_line(some: Sequence[AnyStep]) -> _Line | None:
    """The flower rules that steps make from the first on, as long as they are of one line and hook."""
    first = _made(some[0]) if some else None
    if first is None or first.cls != "filter" or first.attrs["kind"] != "flower":
        return None
    if _is_like(some[-1], first) and (matches := _of_them_all(some, first)):
        return _Line(first, matches)
    rules = (_AFTER(step) for step in takewhile(lambda step: _is_like(step, first), some))
    return _Line(first, [_MATCH(rule.key) for rule in rules])


def _of_them_all(some: Sequence[AnyStep], first: Object) -> Sequence[flower.Match]:
    """What the rules match that steps make, if all of them are like the ``first``; nothing if one is not."""
    try:
        rules = list(map(_AFTER, some))
    except AttributeError:  # a step about many has none
        return ()
    # Nothing but a filter has a kind of this name.  What is the same is equal, which takes no comparison.
    for column, value in ((map(_OP, some), Op.CREATE), (map(_ATTRS, rules), first.attrs)):
        if list(column).count(value) < len(rules):
            return ()
    *hook, matches = zip(*map(_KEY, rules), strict=True)
    return matches if all(column.count(column[0]) == len(rules) for column in hook) else ()


def _made(step: AnyStep) -> Object | None:
    return step.after if isinstance(step, Step) and step.op is Op.CREATE else None


def _is_like(step: AnyStep, first: Object) -> bool:
    rule = _made(step)
    return rule is not None and rule.attrs is first.attrs and rule.cls == "filter" and rule.key[:4] == first.key[:4]


def _messages(frame: Frame, matches: Sequence[flower.Match], form: Form) -> bytes:
    if alike := flower.alike(matches):
        before, differing, behind = alike
        front, back = frame.around(len(before) + len(differing[0]) + len(behind), form)
        front, back = front + before, behind + back
        differing[0] = front + differing[0]
        differing[-1] += back
        return (back + front).join(differing)  # megabytes, which are copied once
    packed = list(map(flower.pack, matches))
    around = {size: frame.around(size, form) for size in set(map(len, packed))}
    return b"".join([around[len(match)][0] + match + around[len(match)][1] for match in packed])
