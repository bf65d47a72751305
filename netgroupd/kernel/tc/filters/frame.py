# SPDX-License-Identifier: GPL-2.0-or-later
"""What the messages that make rules of one line share: all but handle, match and lengths."""

from collections.abc import Mapping
from typing import NamedTuple

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, nest, text, u32
from netgroupd.kernel.netlink.request import Form
from netgroupd.kernel.rows import goal
from netgroupd.kernel.tc.actions.codec import pack_actions
from netgroupd.kernel.tc.classifiers import BPF_FLAGS, CLASSIFIERS, SKIP_HW, SKIP_SW
from netgroupd.kernel.tc.programs import pinned
from netgroupd.kernel.tc.tcmsg import CHAIN, KIND, OPTIONS, RTM_NEWTFILTER, Place
from netgroupd.model.state import Attrs, Key
from netgroupd.model.tc.filter import block_number
from netgroupd.model.tc.handle import handle_number
from netgroupd.model.tc.protocol import protocol_number, swapped
from netgroupd.model.value import Value
from netgroupd.plan.step import Op, Step

NEW = message.NLM_F_CREATE | message.NLM_F_EXCL
_ETH_TYPE = 8
_FRAMES = 1 << 12
_ALL = 3


class Frame(NamedTuple):
    """What the messages of many rules share: all but handle, match and lengths."""

    attrs: Attrs  # kept, so that its identity stays its own; the handle is of no account
    links: tuple[tuple[str, int], ...]
    pinned: tuple[str, ...]
    place: Place
    info: int
    front: bytes
    begin: bytes
    more: bytes
    actions: bytes

    @property
    def end(self) -> bytes:
        """What is behind a match."""
        return self.more + self.actions

    def around(self, size: int, form: Form, flags: int) -> tuple[bytes, bytes]:
        """What stands before and behind a match of ``size`` bytes in a message with ``flags``, and with no handle."""
        header = self.place.header(info=self.info)
        options = nest(OPTIONS, self.begin, bytes(size), self.end)
        whole = form(message.request(RTM_NEWTFILTER, flags, header, self.front, options))
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


def handle_of(attrs: Attrs) -> int:
    """The handle of a rule; 0 where the kernel is to give one."""
    handle = attrs.get("handle", 0)
    assert isinstance(handle, int)
    return handle


class Like:
    """Tells whether the rule of a step differs from that of the first in its match, handle and actions alone."""

    def __init__(self, first: Step) -> None:
        self._op, self._hook = first.op, first.object.key[:4]
        self._said = [(attrs, _bare(attrs)) for attrs in said_by(first)]

    def __call__(self, step: Step) -> bool:
        """Whether it does."""
        if step.op is not self._op or step.object.key[:4] != self._hook:
            return False
        told = zip(said_by(step), self._said, strict=True)
        return all(attrs is first or _bare(attrs) == bare for attrs, (first, bare) in told)


def said_by(step: Step) -> tuple[Attrs, ...]:
    """What says what a rule is to be; what comes first counts more."""
    wanted = step.object.attrs
    return (step.attrs, wanted, step.before.attrs) if step.before else (wanted,)


def _bare(attrs: Attrs) -> Attrs:
    return {**attrs, "handle": 0, "actions": ()}


def actions_of(step: Step) -> Value:
    """The actions that a rule is to have."""
    return next((attrs["actions"] for attrs in said_by(step) if "actions" in attrs), ())


def frame(key: Key, attrs: Attrs, names: Names) -> Frame:
    """Lay out what rules of one hook, chain, preference and attributes have in common."""
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
    ]
    return Frame(
        attrs,
        _linked(str(where), attrs, names),
        tuple(_of_actions(attrs, "pinned")),
        Place.of(str(where), str(parent), names),
        pref << 16 | swapped(protocol),
        text(KIND, kind) + (u32(CHAIN, chain) if chain else b""),
        begin,
        b"".join(parts),
        pack_actions(form.actions, attrs.get("actions"), names),
    )


class _Changing(NamedTuple):
    """What the rule that changed last has in common with others, its actions, and whose names it is by."""

    like: Like
    actions: Value
    names: Names
    frame: Frame

    def fits(self, step: Step, names: Names) -> bool:
        """Whether another rule has the same."""
        return self.names is names and self.actions is actions_of(step) and self.like(step)


class _Frames:
    """The frames made last, by what they are of."""

    def __init__(self) -> None:
        self._frames: dict[tuple[Value | int, ...], Frame] = {}
        self._last: _Changing | None = None

    def of_step(self, step: Step, names: Names) -> Frame:
        """A frame whose links still have the indices that it holds; many rules that change are alike in a row."""
        if step.op is Op.CREATE:
            return self._of(step.object.key, step.object.attrs, names)
        last = self._last
        if last and last.fits(step, names) and _stands(last.frame, names):
            return last.frame
        found = frame(step.object.key, goal(step), names)
        self._last = _Changing(Like(step), actions_of(step), names, found)
        return found

    def _of(self, key: Key, attrs: Attrs, names: Names) -> Frame:
        known = (id(names), id(attrs), *key[:4])
        found = self._frames.get(known)
        if found is None or not _stands(found, names):
            found = frame(key, attrs, names)
            if len(self._frames) >= _FRAMES:
                self._frames.clear()
            self._frames[known] = found
        return found


def _stands(known: Frame, names: Names) -> bool:
    """Whether links and programs still have the numbers that a frame holds."""
    for path in known.pinned:
        pinned(path)
    return all(names.index(name) == index for name, index in known.links)


frames = _Frames()
