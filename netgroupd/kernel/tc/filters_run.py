# SPDX-License-Identifier: GPL-2.0-or-later
"""Many rules of one line at once: what differs is looked at by columns, at C speed, and glued into what does not."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import itemgetter
from typing import Any

from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.request import Form
from netgroupd.kernel.tc import flower
from netgroupd.kernel.tc.filters_frame import Frame, frames
from netgroupd.model.state import Object
from netgroupd.plan.step import AnyStep, Op, Step

_ROOM = 2 << 20  # with a buffer of 4 MiB the socket takes more than this at once
_MATCHED = 128  # a header and a match, more or less
_OP: Callable[[Any], Op] = itemgetter(0)
_AFTER: Callable[[Any], Object] = itemgetter(2)
_CLS, _KEY, _ATTRS = itemgetter(0), itemgetter(1), itemgetter(2)  # of an object
_HOOK, _MATCH = itemgetter(0, 1, 2, 3), itemgetter(4)  # of the key of a rule


def run(steps: Sequence[AnyStep], start: int, names: Names, limit: int, form: Form) -> list[bytes]:
    """The messages of up to ``limit`` steps from ``start`` on, as far as each of them makes a flower rule.

    Rules that differ in what they match alone have the same bytes before and
    behind that, in the ``form`` that their message is to have.  These messages may go
    in any order: of one preference and mask no two match the same packet.
    """
    made: list[bytes] = []
    room = _ROOM
    while len(made) < limit and room > 0 and (rules := _of_one_line(steps, start + len(made), limit - len(made))):
        try:
            frame = frames.of(rules[0].key, rules[0].attrs, names)
        except (UnknownLinkError, OSError):
            break  # the step says so when it is encoded by itself
        fitting = max(room // (len(frame.front) + len(frame.end) + _MATCHED), 1)
        more = _messages(frame, list(map(_MATCH, map(_KEY, rules[:fitting]))), form)
        room -= sum(map(len, more))
        made += more
    return made


def _of_one_line(steps: Sequence[AnyStep], start: int, limit: int) -> list[Object]:
    """The flower rules that steps make from ``start`` on, as long as they are of one line and hook."""
    some = steps[start : start + limit]
    first = _made(some[0]) if some else None
    if first is None or first.cls != "filter" or first.attrs["kind"] != "flower":
        return []
    if _is_like(some[-1], first) and set(map(type, some)) == {Step} and set(map(_OP, some)) == {Op.CREATE}:
        rules = list(map(_AFTER, some))
        same = len(set(map(id, map(_ATTRS, rules)))) == 1 == len(set(map(_HOOK, map(_KEY, rules))))
        if same and set(map(_CLS, rules)) == {"filter"}:
            return rules
    return [_AFTER(step) for step in takewhile(lambda step: _is_like(step, first), some)]


def _made(step: AnyStep) -> Object | None:
    return step.after if isinstance(step, Step) and step.op is Op.CREATE else None


def _is_like(step: AnyStep, first: Object) -> bool:
    rule = _made(step)
    return rule is not None and rule.attrs is first.attrs and rule.cls == "filter" and rule.key[:4] == first.key[:4]


def _messages(frame: Frame, matches: list[flower.Match], form: Form) -> list[bytes]:
    if alike := flower.addressed(matches):
        before, addresses, behind = alike
        front, back = frame.around(len(before) + len(addresses[0]) + len(behind), form)
        front, back = front + before, behind + back
        return [front + address + back for address in addresses]
    packed = list(map(flower.pack, matches))
    around = {size: frame.around(size, form) for size in set(map(len, packed))}
    return [around[len(match)][0] + match + around[len(match)][1] for match in packed]
