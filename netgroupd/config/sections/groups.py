# SPDX-License-Identifier: GPL-2.0-or-later
"""The section ``groups`` -> groups with ids, and the attributes that their members have of them.

A group without an id gets one from netgroupd's own range, by its name, so that
it stays when others come and go.  Groups inside a group get ids that begin like
its own: one mask then addresses them all.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

from netgroupd.config.merge import Item
from netgroupd.config.node import Entry, Scalar, kind_of
from netgroupd.config.node import Mapping as MappingNode
from netgroupd.config.node import Sequence as SequenceNode
from netgroupd.config.report import Report
from netgroupd.config.values import Values
from netgroupd.model.attr import Attr
from netgroupd.model.link import COMMON
from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.state import Attrs, Group
from netgroupd.model.value import FLAG, GROUP, Value, number, several, word

DEFAULT = "netgroupd"
# As a word of iproute2's table, where they are written for "ip".
_NAME = re.compile(r"[^\s#]{1,63}")
_SPACE_BITS = 16
_DEEPEST = 8
_ID = Attr("id", number(32, 1), "Its number in the kernel; one of netgroupd's own if not mentioned.")
_MEMBERS = Attr("members", several(GROUP), "The groups inside it, whose links have its attributes too.")
_DRIFT = Attr("drift", word(8, {"report": 0, "repair": 1, "ignore": 2}), "What happens to changes by others.")
_ONLINE = Attr("online", FLAG, "Whether the host waits for its links before it is online, as it does if not mentioned.")
_OF_GROUPS = frozenset({"id", "members", "drift", "online"})
# What links are made with; hardware is there already, and has it or not.
OF_MADE = frozenset({"lightweight", "l2only"})
ROWS: Mapping[str, Attr] = {
    **{row.name: row for row in (_ID, _MEMBERS, _DRIFT, _ONLINE)},
    **{name: row for name, row in COMMON.items() if row.group or name in OF_MADE},
}


class _Draft(NamedTuple):
    """A group as the files have it, before ids and inheritance."""

    name: str
    at: int
    attrs: dict[str, Value]
    places: dict[str, int]


def expand_groups(items: Sequence[Item], values: Values) -> dict[str, Group]:
    """Read the section; the group of all links that name none is always there."""
    report = values.report
    drafts: dict[str, _Draft] = {}
    for item in items:
        pattern = values.pattern(item.key, item.at)
        if pattern is None:
            continue
        node = item.node
        if isinstance(node, Scalar) and node.null:
            node = MappingNode({}, node.at)
        if not isinstance(node, MappingNode):
            hint = "groups inside of it are its members: {members: […]}" if isinstance(node, SequenceNode) else ""
            report.error(node.at, f"group {item.key!r} must be a mapping of attributes, not {kind_of(node)}", hint)
            continue
        record = values.record(node.entries, ROWS, pattern.ranges)
        for text, env in pattern.instances():
            attrs = {**record.shared, **values.evaluate(record, env, str(text))} if record.varying else record.shared
            _put(drafts, _Draft(str(text), item.at, dict(attrs), _places(node.entries)), report)
    return _assemble(drafts, report)


def _places(entries: Mapping[str, Entry]) -> dict[str, int]:
    return {key: entry.at for key, entry in entries.items()}


def _objection(name: str) -> str:
    """What is right where this cannot name a group: a number is that of one, and "ip" is to read the name."""
    sound = _NAME.fullmatch(name) and not name.isdigit() and name.isprintable()
    return "" if sound else "expected 1 to 63 characters without blanks and #, not only digits"


def _put(drafts: dict[str, _Draft], draft: _Draft, report: Report) -> None:
    if _objection(draft.name):
        report.error(draft.at, f"{draft.name!r} cannot name a group", _objection(draft.name))
        return
    first = drafts.setdefault(draft.name, draft)
    if first is draft:
        return
    for key, value in draft.attrs.items():
        if key in first.attrs and first.attrs[key] != value:
            before = report.where(first.places[key])
            report.error(draft.places[key], f"{key!r} of group {draft.name!r} was set to another value", f"at {before}")
    first.attrs.update(draft.attrs)
    first.places.update(draft.places)


def _assemble(drafts: dict[str, _Draft], report: Report) -> dict[str, Group]:
    within = _within(drafts, report)
    known = list(dict.fromkeys([*drafts, *within]))
    explicit = _explicit_ids(drafts, report)
    ids = _assign(known, within, explicit)
    if DEFAULT not in ids:
        ids[DEFAULT] = GROUP_BASE
    missing = [name for name in known if name not in ids]
    if missing and not report.failed:
        hint = f"there is room for {1 << _SPACE_BITS - 1:,}, and less with groups inside of groups; give some an id"
        report.error(drafts[missing[0]].at, "too many groups without an id", hint)
    effective: dict[str, Attrs] = {}
    for name in ids:
        _inherit(name, drafts, within, effective, report)
    return {name: _group(name, number, drafts.get(name), within, effective, report) for name, number in ids.items()}


def _group(
    name: str,
    number: int,
    draft: _Draft | None,
    within: Mapping[str, tuple[str, ...]],
    effective: Mapping[str, Attrs],
    report: Report,
) -> Group:
    drift = str(draft.attrs.get("drift", "report")) if draft else "report"
    online = draft is None or draft.attrs.get("online") is not False
    origin = report.origin(draft.at) if draft else None
    return Group(name, number, effective[name], within.get(name, ()), drift, origin, online)


def _within(drafts: Mapping[str, _Draft], report: Report) -> dict[str, tuple[str, ...]]:
    """Turn members into parents; a loop is an error and a member that nobody describes doubtful."""
    parents: dict[str, tuple[str, ...]] = {}
    for draft in drafts.values():
        members = draft.attrs.get("members", ())
        assert isinstance(members, tuple)
        for member in map(str, members):
            if wrong := _objection(member):
                report.error(draft.places["members"], f"{member!r} cannot name a group", wrong)
            elif member not in drafts and member != DEFAULT and not report.partial:
                others = (one for one in drafts if one != draft.name)
                hint = report.nearest(member, others) or f"it is made, for links that say 'group: {member}'"
                report.warn(draft.places["members"], f"group {member!r} is not described", hint)
            parents[member] = (*parents.get(member, ()), draft.name)
    for name in drafts:
        if wrong := _tangle(name, parents):
            report.error(drafts[name].at, wrong)
            parents[name] = ()
    return parents


def _tangle(name: str, parents: Mapping[str, tuple[str, ...]]) -> str:
    """What is wrong with what a group is inside of."""
    around = set(parents.get(name, ()))
    for _ in range(_DEEPEST):
        if name in around:
            return f"group {name!r} is inside itself"
        around = {outer for inner in around for outer in parents.get(inner, ())}
    return f"group {name!r} is inside of over {_DEEPEST} others" if around else ""


def _inherit(
    name: str,
    drafts: Mapping[str, _Draft],
    within: Mapping[str, tuple[str, ...]],
    effective: dict[str, Attrs],
    report: Report,
) -> Attrs:
    if name in effective:
        return effective[name]
    got: dict[str, Value] = {}
    source: dict[str, str] = {}
    own = _said(name, drafts)
    for parent in within.get(name, ()):
        for key, value in _inherit(parent, drafts, within, effective, report).items():
            if key in got and got[key] != value and key not in own:
                told = f"group {name!r} gets two values of {key!r}, of {source[key]!r} and {parent!r}"
                at = drafts[name].at if name in drafts else drafts[parent].at
                report.error(at, told, "set it in the group itself")
            got.setdefault(key, value)
            source.setdefault(key, parent)
    got.update((key, value) for key, value in own.items() if key not in _OF_GROUPS)
    effective[name] = got
    return got


def _explicit_ids(drafts: Mapping[str, _Draft], report: Report) -> dict[str, int]:
    by_id: dict[int, str] = {}
    found: dict[str, int] = {}
    for name, draft in drafts.items():
        number = draft.attrs.get("id")
        if not isinstance(number, int):
            continue
        if number == GROUP_BASE and name != DEFAULT and "id" not in _said(DEFAULT, drafts):
            told = f"{number} is the id of the group {DEFAULT!r}, which has all links that name none"
            report.error(draft.places["id"], told, f"take another one, or give {DEFAULT!r} one")
        if number in by_id:
            other = by_id[number]
            where = report.where(drafts[other].places["id"])
            report.error(draft.places["id"], f"groups {other!r} and {name!r} have the same id {number}", f"see {where}")
        by_id[number] = name
        found[name] = number
    return found


def _said(name: str, drafts: Mapping[str, _Draft]) -> Attrs:
    return drafts[name].attrs if name in drafts else {}


def _assign(known: Sequence[str], within: Mapping[str, tuple[str, ...]], explicit: Mapping[str, int]) -> dict[str, int]:
    """Give every group a block of ids for itself and those inside it, the larger blocks first."""
    children: dict[str, list[str]] = {}
    roots = []
    for name in known:
        if name in explicit or name == DEFAULT:
            continue
        parents = within.get(name, ())
        if parents and parents[0] not in explicit and parents[0] != DEFAULT:
            children.setdefault(parents[0], []).append(name)
        else:
            roots.append(name)
    bits: dict[str, int] = {}
    for name in roots:
        _measure(name, children, bits)
    ids = dict(explicit)
    if sum(1 << bits[name] for name in roots) > 1 << _SPACE_BITS - 1:
        return ids  # beyond half of the space, finding a place by the name would take for ever
    taken = {number - GROUP_BASE for number in explicit.values()}
    _place(roots, GROUP_BASE, _SPACE_BITS, children, bits, ids, {0, *taken})
    return ids


def _measure(name: str, children: Mapping[str, Sequence[str]], bits: dict[str, int]) -> None:
    inside = children.get(name, ())
    for child in inside:
        _measure(child, children, bits)
    room = 1 + 2 * sum(1 << bits[child] for child in inside)
    bits[name] = (room - 1).bit_length()


def _place(
    names: Sequence[str],
    base: int,
    space: int,
    children: Mapping[str, Sequence[str]],
    bits: Mapping[str, int],
    ids: dict[str, int],
    taken: set[int],
) -> None:
    """Put each block at the place its name hashes to, or at the next free one."""
    for name in sorted(names, key=lambda name: (-bits[name], name)):
        width = 1 << bits[name]
        slots = 1 << max(space - bits[name], 0)
        first = crc32(name.encode()) % slots
        for step in range(slots):
            offset = (first + step) % slots * width
            block = range(offset, offset + width)
            if taken.isdisjoint(block):
                taken.update(block)
                ids[name] = base + offset
                _place(children.get(name, ()), base + offset, bits[name], children, bits, ids, {0})
                break
