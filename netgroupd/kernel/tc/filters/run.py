# SPDX-License-Identifier: GPL-2.0-or-later
"""Many rules of one line at once: what differs is looked at by columns, at C speed, and glued into what does not."""

from array import array
from collections.abc import Callable, Sequence
from itertools import repeat, takewhile
from operator import add, attrgetter, itemgetter
from typing import Any, NamedTuple

from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.request import Form, Run
from netgroupd.kernel.tc import flower
from netgroupd.kernel.tc.actions.codec import pack_actions
from netgroupd.kernel.tc.classifiers import CLASSIFIERS
from netgroupd.kernel.tc.filters.frame import NEW, Frame, Like, actions_of, frames, handle_of
from netgroupd.kernel.tc.tcmsg import RTM_NEWTFILTER
from netgroupd.model.state import Key, Object
from netgroupd.model.tc.chain import chain_of
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, Op, Step
from netgroupd.plan.tc.order import level_in
from netgroupd.plan.tc.turns import masks_of

_ROOM = 2 << 20  # with a buffer of 4 MiB the socket takes more than this at once
_MATCHED = 128  # a header and a match, more or less
_EMPTY = message.request(RTM_NEWTFILTER, NEW)
_HANDLE = 8  # where it is in struct tcmsg
_OP: Callable[[Any], Op] = itemgetter(0)
_AFTER: Callable[[Any], Object] = attrgetter("after")
_KEY, _ATTRS = itemgetter(1), itemgetter(2)  # of an object
_MATCH: Callable[[Key], Any] = itemgetter(4)  # of the key of a rule
_Masks = Sequence[tuple[Key, object]] | None  # as a run has it


class _Line(NamedTuple):
    """Steps whose rules differ in what they match, in their handles and in their actions alone: the first, and these.

    Of handles and actions there are none where the first says all.
    """

    first: Step
    matches: Sequence[flower.Match]
    handles: Sequence[int] = ()
    actions: Sequence[Value] = ()

    def masks(self, columns: flower.Alike | None) -> _Masks:
        """The one of those that it makes; None where they may have several.  What changes has its own already."""
        if self.first.op is not Op.CREATE:
            return ()
        alike = self.matches[:1] if columns and columns.one_mask else self.matches
        first, *others = {*map(masks_of, alike)}
        return None if others else ((self.first.object.key[:4], first),)

    def frame(self, names: Names) -> Frame:
        """What their messages share; raises UnknownLinkError and OSError."""
        return frames.of_step(self.first, names)


def run(steps: Sequence[AnyStep], start: int, names: Names, limit: int, form: Form) -> Run:
    """The messages of up to ``limit`` steps from ``start`` on, as far as each of them makes or changes a flower rule.

    Rules that differ in what they match alone, in their handles where they are there or put
    back, and in their actions, have the same bytes around that, in the ``form`` that their message
    is to have.  These messages may go
    in any order: of one preference and mask no two match the same packet, but for spans of ports, and the
    plan promises no order of preferences.  What it does promise ends the run: a rule
    that goes to a chain, by its level, and whatever is of another kind.
    """
    made: list[bytes] = []
    masks: _Masks = ()
    count, room = 0, _ROOM
    level: int | None = None
    end = min(start + limit, len(steps))
    while start + count < end and room > 0 and (line := _of_one_line(steps, start + count, end)):
        chain = chain_of(line.first.object.key)
        if level is not None and level_in(chain) != level:
            break
        level = level_in(chain)
        try:
            shared = line.frame(names)
        except (UnknownLinkError, OSError):
            break  # the step says so when it is encoded by itself
        fitting = max(room // (len(shared.front) + len(shared.end) + _MATCHED), 1)
        tails = _tails(shared, line.actions[:fitting], names, room)
        matches = line.matches[: len(tails) or fitting]
        line = line._replace(matches=matches, handles=line.handles[: len(matches)])
        columns = flower.alike(matches) if len(matches) > 1 else None
        more = line.masks(columns)
        masks = None if masks is None or more is None else (*masks, *more)
        made.append(_messages(shared, line, tails, columns, form))
        room -= len(made[-1])
        count += len(matches)
    return Run(count, made[0] if len(made) == 1 else b"".join(made), masks)


def _of_one_line(steps: Sequence[AnyStep], start: int, end: int) -> _Line | None:
    """The flower rules that steps make from one on, as long as they are of one line and hook."""
    first = steps[start]
    if not isinstance(first, Step) or not _makes(first):
        return None
    alike = Like(first)

    def like(step: AnyStep) -> bool:
        return isinstance(step, Step) and _makes(step) and alike(step)

    some = steps[start : end if start + 1 < end and like(steps[start + 1]) else start + 1]
    if first.op is Op.CREATE and like(some[-1]) and (matches := _of_them_all(some, first.object)):
        handle = handle_of(first.object.attrs)
        return _Line(first, matches, [handle] * len(matches) if handle else ())
    taken: list[Any] = [*takewhile(like, some)]
    handles = [handle_of((step.before or step.after).attrs) for step in taken]
    actions = [*map(actions_of, taken)]
    matches = [_MATCH(step.after.key) for step in taken]
    return _Line(first, matches, handles if any(handles) else (), actions if len({*map(id, actions)}) > 1 else ())


def _of_them_all(some: Sequence[AnyStep], first: Object) -> Sequence[flower.Match]:
    """What the rules match that steps make, if all of them are like the ``first``; nothing if one is not."""
    try:
        rules = list(map(_AFTER, some))
    except AttributeError:  # a step about many has none
        return ()
    if rules[-1].attrs is not first.attrs:
        return ()
    # Nothing but a filter has a kind of this name.  What is the same is equal, which takes no comparison.
    for column, value in ((map(_OP, some), Op.CREATE), (map(_ATTRS, rules), first.attrs)):
        if list(column).count(value) < len(rules):
            return ()
    where, parent, chain, pref, _ = first.key
    keys: Any = map(_KEY, rules)  # of five fields, as all of their class
    matches = [match for w, p, c, f, match in keys if f == pref and c == chain and p == parent and w == where]
    return matches if len(matches) == len(rules) else ()


def _makes(step: Step) -> bool:
    """Whether a step makes a rule of flower, or changes one that is there."""
    if step.after is None or step.after.cls != "filter" or step.after.attrs["kind"] != "flower":
        return False
    return step.before is None or (not step.why and step.before.attrs["kind"] == "flower")


def _tails(shared: Frame, actions: Sequence[Value], names: Names, room: int) -> list[bytes]:
    """What is behind the matches of rules that have ``actions`` each for itself, as far as they fit and can be said."""
    known: dict[int, bytes] = {}
    tails: list[bytes] = []
    number = CLASSIFIERS["flower"].actions
    for one in actions:
        if (packed := known.get(id(one))) is None:
            try:
                known[id(one)] = packed = shared.more + pack_actions(number, one, names)
            except (UnknownLinkError, OSError):
                break
        room -= len(packed) + _MATCHED
        if room < 0 and tails:
            break
        tails.append(packed)
    return tails


def _messages(shared: Frame, line: _Line, tails: Sequence[bytes], columns: flower.Alike | None, form: Form) -> bytes:
    flags = NEW if line.first.op is Op.CREATE else message.NLM_F_CREATE
    matches, handles = line.matches, line.handles
    shared = shared._replace(more=b"", actions=b"") if tails else shared
    if columns and len({*map(len, tails)}) <= 1:
        before, differing, behind, _ = columns
        if tails:
            differing, behind = [*map(b"".join, zip(differing, repeat(behind), tails, strict=False))], b""
        front, back = shared.around(len(before) + len(differing[0]) + len(behind), form, flags)
        size = len(front) + len(before) + len(differing[0]) + len(behind) + len(back)
        front, back = front + before, behind + back
        differing[0] = front + differing[0]
        differing[-1] += back
        whole = (back + front).join(differing)  # megabytes, which are copied once
        return _with_handles(whole, size, handles, form) if handles else whole
    packed = list(map(flower.pack, matches))
    packed = [*map(add, packed, tails)] if tails else packed
    around = {size: shared.around(size, form, flags) for size in set(map(len, packed))}
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
