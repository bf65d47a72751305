# SPDX-License-Identifier: GPL-2.0-or-later
"""Filters: RTM_NEWTFILTER, RTM_DELTFILTER, and one dump of each hook, filtered by the kernel.

What the rules of one line have in common is laid out once; of each rule there is
then only its match to write.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from netgroupd.kernel import message
from netgroupd.kernel.message import attr, attributes, nest, text, u32
from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import goal, single
from netgroupd.kernel.tc.actions import pack_actions
from netgroupd.kernel.tc.actions_seen import Remembered
from netgroupd.kernel.tc.classifiers import CLASSIFIERS, Match
from netgroupd.kernel.tc.qdiscs import hooks
from netgroupd.kernel.tc.tcmsg import (
    CHAIN,
    HEADER,
    KIND,
    OPTIONS,
    RTM_DELTFILTER,
    RTM_GETTFILTER,
    RTM_NEWTFILTER,
    Place,
)
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.tc.filter import block_number
from netgroupd.model.tc.filter import key as key_of
from netgroupd.model.tc.handle import handle_number, handle_text
from netgroupd.model.tc.protocol import protocol_name, protocol_number
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, Op, Step

_SKIP_HW, _SKIP_SW = 1, 2
_ETH_TYPE = 8
_BPF_FLAGS = 8
_FRAMES = 1 << 12
_FIXED = frozenset({"matchall"})
_ALL = 3


class _Frame(NamedTuple):
    """What the messages of many rules share: all but handle, match and lengths."""

    attrs: Attrs  # kept, so that its identity stays its own
    links: tuple[tuple[str, int], ...]
    place: Place
    info: int
    front: bytes
    begin: bytes
    end: bytes


def _linked(where: str, attrs: Attrs, names: Names) -> tuple[tuple[str, int], ...]:
    """The links that a rule names, with the indices that a frame has for them."""
    actions = attrs.get("actions")
    records = actions if isinstance(actions, tuple) else ()
    devices = [str(fields["dev"]) for fields in records if isinstance(fields, Mapping) and "dev" in fields]
    return tuple((device, names.index(device)) for device in ([] if block_number(where) else [where]) + devices)


def _swapped(number: int) -> int:
    return number >> 8 | (number & 0xFF) << 8


def _frame(key: Key, attrs: Attrs, names: Names) -> _Frame:
    where, parent, chain, pref, _ = key
    assert isinstance(chain, int)
    assert isinstance(pref, int)
    kind = str(attrs["kind"])
    form = CLASSIFIERS[kind]
    protocol = protocol_number(attrs.get("protocol", "all"))
    bits = (_SKIP_HW if attrs.get("skip_hw") else 0) | (_SKIP_SW if attrs.get("skip_sw") else 0)
    classid = attrs.get("classid")
    begin = attr(_ETH_TYPE, protocol.to_bytes(2, "big")) if kind == "flower" and protocol != _ALL else b""
    parts = [
        u32(form.classid, handle_number(str(classid))) if classid is not None else b"",
        u32(form.flags, bits) if bits and form.flags else b"",
        u32(_BPF_FLAGS, 1) if attrs.get("direct_action") else b"",
        pack_actions(form.actions, attrs.get("actions"), names),
    ]
    return _Frame(
        attrs,
        _linked(str(where), attrs, names),
        Place.of(str(where), str(parent), names),
        pref << 16 | _swapped(protocol),
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
    how = message.NLM_F_CREATE | message.NLM_F_EXCL if create else message.NLM_F_CREATE
    return message.request(RTM_NEWTFILTER, how, header, frame.front, options)


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
    info = pref << 16 | _swapped(protocol_number(attrs.get("protocol", "all")))
    front = text(KIND, str(attrs["kind"])) + (u32(CHAIN, chain) if isinstance(chain, int) and chain else b"")
    return message.request(
        RTM_DELTFILTER, 0, HEADER.pack(0, 0, 0, place.ifindex, _handle(attrs), place.parent, info), front
    )


def dump(context: Context, selection: Selection) -> list[Object]:
    """The rules of the selected hooks."""
    found: list[Object] = []
    for where, parent in sorted(hooks(context, selection)):
        try:
            place = Place.of(where, parent, context.names)
        except UnknownLinkError:
            continue
        asked = message.request(
            RTM_GETTFILTER, message.NLM_F_DUMP, HEADER.pack(0, 0, 0, place.ifindex, 0, place.parent, 0)
        )
        decoder = _Decoder(context.names, where, parent)
        for payload in context.socket.dump(asked, lambda _kind, payload: bytes(payload), "dump of filters"):
            found += decoder.read(memoryview(payload))
    return found


class _Decoder:
    """Makes rules out of the messages of one hook."""

    def __init__(self, names: Names, where: str, parent: str) -> None:
        self._names = names
        self._where = where
        self._parent = parent
        self._actions = Remembered()

    def read(self, payload: memoryview) -> Iterable[Object]:
        """The rule of a message; none where it tells of what rules hang on."""
        _, _, _, _, handle, _, info = HEADER.unpack_from(payload)
        found = attributes(payload, HEADER.size)
        kind = bytes(found[KIND]).rstrip(b"\0").decode()
        form = CLASSIFIERS.get(kind)
        if form is None or not handle or OPTIONS not in found:
            return
        options = attributes(found[OPTIONS])
        if kind == "u32" and 5 not in options:
            return  # a hash table
        chain = int.from_bytes(found[CHAIN], "little") if CHAIN in found else 0
        bits = int.from_bytes(options[form.flags], "little") if form.flags in options else 0
        attrs: dict[str, Value] = {
            "kind": kind,
            "protocol": protocol_name(_swapped(info & 0xFFFF)),
            "actions": self._actions.read(options[form.actions], self._names) if form.actions in options else (),
            "skip_hw": bool(bits & _SKIP_HW),
            "skip_sw": bool(bits & _SKIP_SW),
            "handle": handle,
        }
        if form.classid in options:
            attrs["classid"] = handle_text(int.from_bytes(options[form.classid], "little"))
        if kind == "bpf":
            attrs["direct_action"] = bool(_BPF_FLAGS in options and options[_BPF_FLAGS][0] & 1)
        match = form.unpack(options, handle)
        yield Object("filter", key_of(self._where, self._parent, chain, info >> 16, match), attrs)


def blame(_step: AnyStep, path: tuple[int, ...]) -> str:
    """Which part of a rule an attribute is of."""
    if path[:1] == (CHAIN,):
        return "chain"
    return "kind" if path[:1] == (KIND,) else ""


CODEC = Codec(dump, encode, blame, HEADER.size)
