# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the model as attributes of messages, for the classes where one row is one attribute.

Also what these classes share besides: what an object will hold after a step,
and which row an attribute that the kernel did not like belongs to.
"""

import errno
from collections.abc import Callable, Iterable, Mapping

from netgroupd.errors import KernelError
from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.netlink.message import attr, u32
from netgroupd.kernel.netlink.request import Context
from netgroupd.model.attr import Attr
from netgroupd.model.state import NOTHING, Attrs, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.step import AnyStep, Op, Step


def pack_row(row: Attr, value: Value, names: Names) -> bytes:
    """One attribute; links go as their index."""
    if row.type.ref == "link":
        return u32(row.wire, names.index(str(value)))
    assert row.type.pack is not None, row.name
    return attr(row.wire, row.type.pack(value))


def pack_rows(rows: Iterable[Attr], attrs: Attrs, names: Names) -> bytes:
    """The attributes of all ``rows`` that ``attrs`` has a value for."""
    return b"".join(pack_row(row, attrs[row.name], names) for row in rows if attrs.get(row.name) is not None)


def simple_rows(attrs: Mapping[str, Attr]) -> tuple[Attr, ...]:
    """The rows that are one attribute each: with a number, and a link or a payload."""
    return tuple(row for row in attrs.values() if row.wire and (row.type.pack or row.type.ref == "link"))


def unpack_rows(rows: Iterable[Attr], found: Mapping[int, memoryview], names: Names) -> dict[str, Value]:
    """The values of those of ``rows`` that are among the attributes ``found``."""
    values: dict[str, Value] = {}
    for row in rows:
        if (payload := found.get(row.wire)) is None:
            continue
        if row.type.ref == "link":
            values[row.name] = names.name(int.from_bytes(payload[:4], "little"))
        else:
            assert row.type.unpack is not None, row.name
            values[row.name] = row.type.unpack(bytes(payload))
    return values


def dump_objects(
    context: Context,
    asked: bytes,
    decode: Callable[[memoryview, Names], Object | None],
    what: str,
    mark: bytes = b"",
) -> list[Object]:
    """The objects that a dump brings; one whose link has gone meanwhile is left out.

    Decoding waits for the end of the dump, for some decoders note what they meet, and
    one that is interrupted is repeated.  A message without ``mark`` anywhere in it is not
    looked at: of thousands of addresses and neighbours most are the kernel's own.
    """

    def take(_kind: int, payload: memoryview) -> bytes | None:
        message = bytes(payload)
        return message if mark in message else None

    objects = []
    for payload in context.socket.dump(asked, take, what, mark=mark):
        try:
            obj = decode(memoryview(payload), context.names)
        except UnknownLinkError:
            continue
        if obj is not None:
            objects.append(obj)
    return objects


def dump_of_family(
    context: Context,
    asked: bytes,
    decode: Callable[[memoryview, Names], Object | None],
    what: str,
    mark: bytes = b"",
) -> list[Object]:
    """As ``dump_objects``; nothing where the kernel does without this address family."""
    try:
        return dump_objects(context, asked, decode, what, mark)
    except KernelError as error:
        if error.refusals[0].errno in (errno.EOPNOTSUPP, errno.EAFNOSUPPORT):
            return []
        raise


def goal(step: Step, way: frozenset[str] = frozenset()) -> Attrs:
    """What the object shall hold after ``step``: what was said, over what it had; None is left out.

    The attributes ``way`` say together where it leads: if one of them changes,
    nothing of what the others were stays.  Whose it was is not kept: it becomes
    netgroupd's unless the opposite is said.  One of another kind in its place has
    nothing of it.
    """
    before = step.before.attrs if step.before and step.op is Op.CHANGE else NOTHING
    after = step.after.attrs if step.after else NOTHING
    if before and after.get("kind") != before.get("kind") and "kind" in after:
        before = NOTHING
    if step.attrs is after and before is NOTHING and None not in after.values():
        return after  # as it is with nearly all that are made
    stale = way - after.keys() - step.attrs.keys() if way & step.attrs.keys() else frozenset[str]()
    held = {**before, UNOWNED: None, **after, **step.attrs}
    return {name: value for name, value in held.items() if value is not None and name not in stale}


def single(step: AnyStep) -> Step:
    """The step itself, for classes that have no group messages."""
    assert isinstance(step, Step)
    return step


def blamer(paths: Mapping[tuple[int, ...], str]) -> Callable[[AnyStep, tuple[int, ...]], str]:
    """Names what stands at a path of attribute numbers, or at the nearest one above it."""

    def blame(_step: AnyStep, path: tuple[int, ...]) -> str:
        while path:
            if name := paths.get(path):
                return name
            path = path[:-1]
        return ""

    return blame


def paths_of(rows: Iterable[Attr], *above: int) -> dict[tuple[int, ...], str]:
    """Where in a message each of ``rows`` is."""
    return {(*above, row.wire): row.name for row in rows if row.wire}
