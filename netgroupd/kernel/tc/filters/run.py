# SPDX-License-Identifier: GPL-2.0-or-later
"""Many rules of one line at once: what differs is looked at by columns, at C speed, and glued into what does not."""

from array import array
from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.request import Form, Run
from netgroupd.kernel.tc import flower
from netgroupd.kernel.tc.filters.frame import NEW, Frame, alike, frames, handle_of
from netgroupd.kernel.tc.tcmsg import RTM_NEWTFILTER
from netgroupd.model.state import Key, Object
from netgroupd.model.tc.chain import chain_of
from netgroupd.plan.step import AnyStep, Op, Step
from netgroupd.plan.tc.order import level_in

_ROOM = 2 << 20  # with a buffer of 4 MiB the socket takes more than this at once
_MATCHED = 128  # a header and a match, more or less
_EMPTY = message.request(RTM_NEWTFILTER, NEW)
_HANDLE = 8  # where it is in struct tcmsg
_OP: Callable[[Any], Op] = itemgetter(0)
_AFTER: Callable[[Any], Object] = attrgetter("after")
_KEY, _ATTRS = itemgetter(1), itemgetter(2)  # of an object
_MATCH: Callable[[Key], Any] = itemgetter(4)  # of the key of a rule


class _Line(NamedTuple):
    """Rules that differ in what they match and in their handles alone: the first, and these of all; or no handles."""

    first: Object
    matches: Sequence[flower.Match]
    handles: Sequence[int] = ()


def run(steps: Sequence[AnyStep], start: int, names: Names, limit: int, form: Form) -> Run:
    """The messages of up to ``limit`` steps from ``start`` on, as far as each of them makes a flower rule.

    Rules that differ in what they match alone, and in their handles where they are put
    back, have the same bytes before and behind that, in the ``form`` that their message
    is to have.  These messages may go
    in any order: of one preference and mask no two match the same packet, and the
    plan promises no order of preferences.  What it does promise ends the run: a rule
    that goes to a chain, by its level, and whatever is no new rule.
    """
    made: list[bytes] = []
    count, room = 0, _ROOM
    level: int | None = None
    end = min(start + limit, len(steps))
    while start + count < end and room > 0 and (line := _of_one_line(steps, start + count, end)):
        if level is not None and level_in(chain_of(line.first.key)) != level:
            break
        level = level_in(chain_of(line.first.key))
        try:
            frame = frames.of(line.first.key, line.first.attrs, names)
        except (UnknownLinkError, OSError):
            break  # the step says so when it is encoded by itself
        fitting = max(room // (len(frame.front) + len(frame.end) + _MATCHED), 1)
        matches = line.matches[:fitting]
        made.append(_messages(frame, matches, line.handles[:fitting], form))
        room -= len(made[-1])
        count += len(matches)
    return Run(count, made[0] if len(made) == 1 else b"".join(made))


def _of_one_line(steps: Sequence[AnyStep], start: int, end: int) -> _Line | None:
    """The flower rules that steps make from one on, as long as they are of one line and hook."""
    first = _made(steps[start])
    if first is None or first.cls != "filter" or first.attrs["kind"] != "flower":
        return None
    some = steps[start : end if start + 1 < end and _is_like(steps[start + 1], first) else start + 1]
    if _is_like(some[-1], first) and (matches := _of_them_all(some, first)):
        handle = handle_of(first.attrs)
        return _Line(first, matches, [handle] * len(matches) if handle else ())
    rules = [_AFTER(step) for step in takewhile(lambda step: _is_like(step, first), some)]
    handles = [handle_of(rule.attrs) for rule in rules]
    return _Line(first, [_MATCH(rule.key) for rule in rules], handles if any(handles) else ())


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
    if rule is None or rule.cls != "filter" or rule.key[:4] != first.key[:4]:
        return False
    return alike(rule.attrs, first.attrs)


def _messages(frame: Frame, matches: Sequence[flower.Match], handles: Sequence[int], form: Form) -> bytes:
    if len(matches) > 1 and (columns := flower.alike(matches)):
        before, differing, behind = columns
        front, back = frame.around(len(before) + len(differing[0]) + len(behind), form)
        size = len(front) + len(before) + len(differing[0]) + len(behind) + len(back)
        front, back = front + before, behind + back
        differing[0] = front + differing[0]
        differing[-1] += back
        whole = (back + front).join(differing)  # megabytes, which are copied once
        return _with_handles(whole, size, handles, form) if handles else whole
    packed = list(map(flower.pack, matches))
    around = {size: frame.around(size, form) for size in set(map(len, packed))}
    made = [around[len(match)][0] + match + around[len(match)][1] for match in packed]
    if handles:
        made = [_with_handles(one, len(one), (handle,), form) for one, handle in zip(made, handles, strict=True)]
    return b"".join(made)


def _with_handles(messages: bytes, size: int, handles: Sequence[int], form: Form) -> bytes:
    """Messages of one size each, with a handle in each."""
    whole, numbers = bytearray(messages), array("I", handles).tobytes()
    start = len(form(_EMPTY)) + _HANDLE
    for place in range(4):  # all first bytes at once, and so on
        whole[start + place :: size] = numbers[place::4]
    return bytes(whole)
