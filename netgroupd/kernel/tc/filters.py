# SPDX-License-Identifier: GPL-2.0-or-later
"""Filters: RTM_NEWTFILTER and RTM_DELTFILTER.

What the rules of one line have in common is laid out once; of each rule there is
then only its match to write.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from netgroupd.kernel import message
from netgroupd.kernel.message import attr, nest, text, u32
from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.request import Codec, Context, Form, Request
from netgroupd.kernel.rows import goal, single
from netgroupd.kernel.tc import filters_read, flower
from netgroupd.kernel.tc.actions import pack_actions
from netgroupd.kernel.tc.classifiers import BPF_FLAGS, CLASSIFIERS, SKIP_HW, SKIP_SW, Match
from netgroupd.kernel.tc.programs import pinned
from netgroupd.kernel.tc.tcmsg import (
    CHAIN,
    HEADER,
    KIND,
    OPTIONS,
    RTM_DELTFILTER,
    RTM_NEWTFILTER,
    Place,
)
from netgroupd.model.state import Attrs, Key
from netgroupd.model.tc.filter import block_number
from netgroupd.model.tc.handle import handle_number
from netgroupd.model.tc.protocol import protocol_number, swapped
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, Op, Step

_ETH_TYPE = 8
_FRAMES = 1 << 12
_FIXED = frozenset({"matchall"})
_ALL = 3
_ROOM = 2 << 20  # with a buffer of 4 MiB the socket takes more than this at once
_NEW = message.NLM_F_CREATE | message.NLM_F_EXCL


class _Frame(NamedTuple):
    """What the messages of many rules share: all but handle, match and lengths."""

    attrs: Attrs  # kept, so that its identity stays its own
    links: tuple[tuple[str, int], ...]
    pinned: tuple[str, ...]
    place: Place
    info: int
    front: bytes
    begin: bytes
    end: bytes

    def around(self, size: int, form: Form) -> tuple[bytes, bytes]:
        """What stands before and behind a match of ``size`` bytes in the message that makes a rule."""
        header = HEADER.pack(0, 0, 0, self.place.ifindex, _handle(self.attrs), self.place.parent, self.info)
        options = nest(OPTIONS, self.begin, bytes(size), self.end)
        whole = form(message.request(RTM_NEWTFILTER, _NEW, header, self.front, options))
        start = len(whole) - size - len(self.end)
        return whole[:start], whole[start + size :]


def _of_actions(attrs: Attrs, field: str) -> list[str]:
    actions = attrs.get("actions")
    records = actions if isinstance(actions, tuple) else ()
    return [str(fields[field]) for fields in records if isinstance(fields, Mapping) and field in fields]


def _linked(where: str, attrs: Attrs, names: Names) -> tuple[tuple[str, int], ...]:
    """The links that a rule names, with the indices that a frame has for them."""
    devices = _of_actions(attrs, "dev")
    return tuple((device, names.index(device)) for device in ([] if block_number(where) else [where]) + devices)


def _frame(key: Key, attrs: Attrs, names: Names) -> _Frame:
    where, parent, chain, pref, _ = key
    assert isinstance(chain, int)
    assert isinstance(pref, int)
    kind = str(attrs["kind"])
    form = CLASSIFIERS[kind]
    protocol = protocol_number(attrs.get("protocol", "all"))
    bits = (SKIP_HW if attrs.get("skip_hw") else 0) | (SKIP_SW if attrs.get("skip_sw") else 0)
    classid = attrs.get("classid")
    begin = attr(_ETH_TYPE, protocol.to_bytes(2, "big")) if kind == "flower" and protocol != _ALL else b""
    parts = [
        u32(form.classid, handle_number(str(classid))) if classid is not None else b"",
        u32(form.flags, bits) if bits and form.flags else b"",
        u32(BPF_FLAGS, 1) if attrs.get("direct_action") else b"",
        pack_actions(form.actions, attrs.get("actions"), names),
    ]
    return _Frame(
        attrs,
        _linked(str(where), attrs, names),
        tuple(_of_actions(attrs, "pinned")),
        Place.of(str(where), str(parent), names),
        pref << 16 | swapped(protocol),
        text(KIND, kind) + (u32(CHAIN, chain) if chain else b""),
        begin,
        b"".join(parts),
    )


class _Frames:
    """The frames made last, by what they are of."""

    def __init__(self) -> None:
        self._frames: dict[tuple[Value | int, ...], _Frame] = {}

    def of(self, key: Key, attrs: Attrs, names: Names) -> _Frame:
        """A frame whose links still have the indices that it holds."""
        known = (id(names), id(attrs), *key[:4])
        found = self._frames.get(known)
        for path in found.pinned if found else ():
            pinned(path)
        if found is None or any(names.index(name) != index for name, index in found.links):
            found = _frame(key, attrs, names)
            if len(self._frames) >= _FRAMES:
                self._frames.clear()
            self._frames[known] = found
        return found


_frames = _Frames()


def _handle(attrs: Attrs) -> int:
    handle = attrs.get("handle", 0)
    assert isinstance(handle, int)
    return handle


def _write(step: Step, names: Names) -> bytes:
    key = step.object.key
    create = step.op is Op.CREATE
    frame = _frames.of(key, step.object.attrs, names) if create else _frame(key, goal(step), names)
    form = CLASSIFIERS[str(frame.attrs["kind"])]
    said: Match = key[4]  # type: ignore[assignment]  # what filter.key makes
    handle = _handle(step.before.attrs) if step.before else _handle(frame.attrs)
    place = frame.place
    header = HEADER.pack(0, 0, 0, place.ifindex, handle or form.handle(said), place.parent, frame.info)
    options = nest(OPTIONS, frame.begin, form.pack(said), frame.end)
    return message.request(RTM_NEWTFILTER, _NEW if create else message.NLM_F_CREATE, header, frame.front, options)


def run(steps: Sequence[AnyStep], start: int, names: Names, limit: int, form: Form) -> list[bytes]:
    """The messages of up to ``limit`` steps from ``start`` on, as far as each of them makes a flower rule.

    Rules that differ in what they match alone have the same bytes before and
    behind that, in the ``form`` that their message is to have.  These messages may go
    in any order: of one preference and mask no two match the same packet.
    """
    made: list[bytes] = []
    attrs: Attrs | None = None
    hook: Key = ()
    around: dict[int, tuple[bytes, bytes]] = {}
    create, pack, room = Op.CREATE, flower.pack, _ROOM
    for step in islice(steps, start, start + limit):
        if type(step) is not Step:
            break
        op, _, rule, _, _ = step
        if op is not create or rule is None:
            break
        cls, key, wanted, _ = rule
        if wanted is not attrs or key[:4] != hook:
            if cls != "filter" or wanted["kind"] != "flower":
                break
            try:
                frame = _frames.of(key, wanted, names)
            except (UnknownLinkError, OSError):
                break  # the step says so when it is encoded by itself
            attrs, hook, around = wanted, key[:4], {}
        match = pack(key[4])  # type: ignore[arg-type]  # what filter.key makes
        if (found := around.get(len(match))) is None:
            found = around[len(match)] = frame.around(len(match), form)
        made.append(one := found[0] + match + found[1])
        if (room := room - len(one)) < 0:
            break
    return made


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The message that a step takes; two for a classifier whose rules the kernel does not change."""
    one = single(step)
    if one.op is Op.DELETE or (one.op is Op.CHANGE and one.object.attrs["kind"] in _FIXED and not one.why):
        yield _delete(one, context.names)
    if one.op is not Op.DELETE:
        yield _write(one, context.names)


def _delete(step: Step, names: Names) -> bytes:
    where, parent, chain, pref, _ = step.object.key
    assert step.before
    assert isinstance(pref, int)
    place, attrs = Place.of(str(where), str(parent), names), step.before.attrs
    info = pref << 16 | swapped(protocol_number(attrs.get("protocol", "all")))
    front = text(KIND, str(attrs["kind"])) + (u32(CHAIN, chain) if isinstance(chain, int) and chain else b"")
    return message.request(
        RTM_DELTFILTER, 0, HEADER.pack(0, 0, 0, place.ifindex, _handle(attrs), place.parent, info), front
    )


def blame(_step: AnyStep, path: tuple[int, ...]) -> str:
    """Which part of a rule an attribute is of."""
    if path[:1] == (CHAIN,):
        return "chain"
    return "kind" if path[:1] == (KIND,) else ""


CODEC = Codec(filters_read.dump, encode, blame, HEADER.size, run)
