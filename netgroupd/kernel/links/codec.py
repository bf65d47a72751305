# SPDX-License-Identifier: GPL-2.0-or-later
"""Links: which dump brings those that are wanted with the least."""

from array import array
from collections.abc import Iterable, Iterator
from operator import attrgetter

from netgroupd.kernel.features import NAME_ONLY
from netgroupd.kernel.links.again import Again
from netgroupd.kernel.links.nests import DATA, ELSEWHERE, PORT
from netgroupd.kernel.links.numbers import (
    IFLA_EXT_MASK,
    IFLA_GROUP,
    IFLA_GROUP_MASK,
    IFLA_IFNAME,
    IFLA_MASTER,
    RTM_GETLINK,
    SKIP_STATS,
)
from netgroupd.kernel.links.other import complete
from netgroupd.kernel.links.read import Reader
from netgroupd.kernel.links.seen import Notes, Reading
from netgroupd.kernel.links.write import encode, header
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import NLM_F_DUMP, request, text, u32
from netgroupd.kernel.netlink.request import Codec, Context, Selection
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.model.collector import uncollected
from netgroupd.model.link import COMMON
from netgroupd.model.state import Object
from netgroupd.plan.step import AnyStep, Step

_EXACT = 0xFFFFFFFF
_WHAT = "read the links"
_NAME = attrgetter("name")
FEW = 64
"""So many links cost less asked for one by one than a dump of all."""


def dump(context: Context, selection: Selection) -> Iterable[Object]:
    """Read the selected links, and the names of all that came on the way.

    Raises:
        KernelError: The dump was refused or never came whole.
    """
    few = not selection.groups and len(selection.links) <= FEW
    with uncollected():
        found = None
        if not selection.everything and (few or context.features.dump_group):
            found = _by_group(context, selection)
        if found is None:
            found = _all(context, selection)
    if not ELSEWHERE.isdisjoint({link.attrs["kind"] for link in found}):
        found = complete(found, context, selection)
    return found


def _all(context: Context, selection: Selection) -> list[Object]:
    asked = request(RTM_GETLINK, NLM_F_DUMP, header(0), u32(IFLA_EXT_MASK, context.features.skip))
    if selection.everything:
        return _in_bulk(context, (asked,), selection.rows, whole=True)
    return _read(context, (asked,), Reader(context.names, selection.has_link, selection.rows), whole=True)


def _by_group(context: Context, selection: Selection) -> list[Object] | None:
    """The links of the groups and what else is wanted by name; None if that is so much that all are cheaper."""
    skip = u32(IFLA_EXT_MASK, context.features.skip)
    selectors = *_selectors(selection), *(u32(IFLA_MASTER, context.names.index(each)) for each in selection.masters)
    asked = tuple(request(RTM_GETLINK, NLM_F_DUMP, header(0), skip, each) for each in selectors)
    found = _in_bulk(context, asked, selection.rows, whole=False) if asked else []
    missing = selection.links and selection.links.difference(map(_NAME, found))
    if len(missing) > FEW:
        read_names(context)
        missing = frozenset(filter(context.names.knows, missing))
    if len(missing) > FEW:
        return None
    reader = Reader(context.names, rows=selection.rows)
    for name in sorted(missing):
        one = request(RTM_GETLINK, 0, header(0), text(IFLA_IFNAME, name), skip)
        found += context.socket.ask(one, reader.read)[1]
    reader.finish()
    return found


def _in_bulk(context: Context, asked: tuple[bytes, ...], rows: frozenset[str] | None, *, whole: bool) -> list[Object]:
    """The links that some dumps bring; those that are as they were last time are not read again."""
    seen = context.seen
    if seen is None or rows is None:
        return _read(context, asked, Reader(context.names, rows=rows), whole=whole)
    last = seen.last if seen.last and seen.last.links else None  # where there was none, all are read
    if last and (last.asked, last.rows) == (asked, rows) and (reading := _read_again(context, last, whole=whole)):
        seen.last = reading
        return list(reading.links)
    seen.last = None  # while the next comes into being the memory is for that
    notes = Notes.empty()
    reader = Reader(context.names, rows=rows, notes=notes)
    found = _read(context, asked, reader, whole=whole)
    # Or else others changed something meanwhile: it was repeated, or a link came in two of the dumps.
    if len(found) == len(notes.marks) == len(reader.by_index):
        seen.last = Reading(asked, rows, tuple(found), array("i", reader.by_index), notes, reader.beyond)
    return found


def _read(context: Context, asked: tuple[bytes, ...], reader: Reader, *, whole: bool) -> list[Object]:
    """The links that some dumps bring.

    They come in the order of their numbers, each as it is: when others make and
    remove links all the time, those that stay are all there nevertheless.
    """
    found: list[Object] = []
    for one in asked:
        found += context.socket.dump(one, reader.read, _WHAT, enough=True)
    reader.finish(whole=whole)
    return found


def _read_again(context: Context, last: Reading, *, whole: bool) -> Reading | None:
    again = Again(last)
    for one in last.asked:
        context.socket.dump(one, again.take, _WHAT, enough=True, skim=again.skim)
    return again.reading(context.names, whole=whole)


def _selectors(selection: Selection) -> Iterator[bytes]:
    # A group that is the start of a range stands for all of it, the others for themselves.
    mask = selection.group_mask
    ranges = {group for group in selection.groups if group and group & mask == group and mask != _EXACT}
    for group in sorted(ranges):
        yield u32(IFLA_GROUP, group) + u32(IFLA_GROUP_MASK, mask)
    for group in sorted(selection.groups - ranges):
        if group & mask not in ranges:
            yield u32(IFLA_GROUP, group)


def read_names(context: Context) -> None:
    """Note the names of all links, with the shortest messages there are."""
    bits = NAME_ONLY if context.features.name_only else context.features.skip
    reader = Reader(context.names, lambda _name, _group: False)
    asked = request(RTM_GETLINK, NLM_F_DUMP, header(0), u32(IFLA_EXT_MASK, bits))
    context.socket.dump(asked, reader.read, "read the names of links")
    reader.finish(whole=True)


def find(socket: Socket, wanted: str | int) -> tuple[str, int] | None:
    """Ask for one link by name or index."""
    if isinstance(wanted, int):
        asked = request(RTM_GETLINK, 0, header(wanted), u32(IFLA_EXT_MASK, SKIP_STATS))
    else:
        asked = request(RTM_GETLINK, 0, header(0), text(IFLA_IFNAME, wanted), u32(IFLA_EXT_MASK, SKIP_STATS))
    names = Names()
    reader = Reader(names)
    socket.ask(asked, reader.read)
    reader.finish()
    return next(iter(names), None)


_BY_NUMBER = {row.wire: name for name, row in COMMON.items() if row.wire}


def blame(step: AnyStep, path: tuple[int, ...]) -> str:
    """Which row is at ``path`` in a link message."""
    kind = str(step.object.attrs.get("kind") or "") if isinstance(step, Step) else ""
    match path:
        case (18, 2, number, *_) if kind in DATA and number in DATA[kind].by_number:
            return DATA[kind].by_number[number].names[0]
        case (18, 5, number, *_):
            names = [wires.by_number[number].names[0] for wires in PORT.values() if number in wires.by_number]
            return f"port {names[0]}" if len(names) == 1 else "port"
        case (number, *_):
            return _BY_NUMBER.get(number, "")
    return ""


CODEC = Codec(dump, encode, blame, 16)
