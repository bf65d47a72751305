# SPDX-License-Identifier: GPL-2.0-or-later
"""The sections ``links`` and ``vrfs`` -> every link with its own attributes.

A name shaped ``<link>.<vid>`` is that VLAN of that link, and is made when
something refers to it.  Ports are noted here and joined to their masters in
``ports``; attributes of groups come last, in ``expand``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from netgroupd.config.called import kind_here, name_here, unspaced
from netgroupd.config.expression import Env
from netgroupd.config.known import Known
from netgroupd.config.merge import Item
from netgroupd.config.node import Entry, Node, Scalar, kind_of
from netgroupd.config.node import Mapping as MappingNode
from netgroupd.config.ranges import LIMIT, Pattern, Range
from netgroupd.config.sections.entries import Form, Made, compile_entries
from netgroupd.config.sections.linkname import objection, too_long
from netgroupd.config.values import Record, Values, fixed
from netgroupd.model.attr import Attr
from netgroupd.model.kinds import KINDS
from netgroupd.model.link import COMMON
from netgroupd.model.state import NOTHING
from netgroupd.model.value import Value

# What is written under a link and is an object of another class, or several links' matter.
NESTED = frozenset(
    ("addresses", "vlans", "vlan_global", "mst", "vnis", "fdb", "mdb", "neighbours", "ethtool", "num_vfs", "vfs")
) | {"sysctl", "token", "ports", "port", "links"}
BESIDE = ("kind", *sorted(NESTED))

_DIGITS = 4  # of the largest id of a VLAN
_NAMELESS = Pattern("", (Range("", (), 0),), lambda env: "", True)  # of a key that cannot be read: no instances


class Block(NamedTuple):
    """One entry of the section: the names it stands for, and what it says of them."""

    at: int
    pattern: Pattern
    entries: Mapping[str, Entry]
    kind: str
    sound: bool = True  # or what it is could not be read, which is told

    def nested(self, name: str) -> Node | None:
        """What is written under one of the keys that are not attributes."""
        entry = self.entries.get(name)
        return entry.value if entry and not (isinstance(entry.value, Scalar) and entry.value.null) else None

    def written(self, attr: str) -> str:
        """The key that an attribute is set by, which may be a shorter one; "" where it is not."""
        if attr in self.entries:
            return attr
        short = (key for names in _SHORT.values() for key, whole in names.items() if whole == attr)
        return next((key for key in short if key in self.entries), "")

    def place(self, attr: str) -> int:
        """Where an attribute is set, or else the block."""
        written = self.written(attr)
        return self.entries[written].at if written else self.at


def _shaped(name: str) -> tuple[str, str]:
    """The link that a name shaped ``<link>.<vid>`` is a VLAN of, and its digits; "" for any other name."""
    lower, _, vid = name.rpartition(".")
    return (lower, vid) if lower and len(vid) <= _DIGITS and vid.isdecimal() and vid.isascii() else ("", "")


class Links:
    """Links as they come together: attributes by name, and the blocks they are from."""

    def __init__(self, values: Values, known: Known) -> None:
        self.values = values
        self.report = values.report
        self.known = known
        self.attrs: dict[str, dict[str, Value]] = {}
        self.places: dict[str, int] = {}
        self.blocks: list[Block] = []
        # Names of links whose kind cannot be read, or that no link can have: nothing is told that follows from these.
        self.unsound: set[str] = set()
        self._first: dict[str, Block] = {}
        self._more: dict[str, list[Block]] = {}

    def kind(self, name: str) -> str:
        """The kind of a link, as far as it is known; "" stands for hardware."""
        if name in self.attrs:
            return str(self.attrs[name].get("kind") or "")
        return "vlan" if self.lower_of(name) else ""

    def lower_of(self, name: str, kind: str = "") -> str:
        """The link that a name shaped ``<link>.<vid>`` is a VLAN of, or "" .

        One that somebody else has made is what it is, unless it is described as a VLAN.
        """
        lower, _ = _shaped(name)
        return lower if kind == "vlan" or (lower and name not in self.known) else ""

    def blocks_of(self, name: str) -> Iterable[Block]:
        """Every block that says something of a link."""
        if name in self._first:
            yield self._first[name]
            yield from self._more.get(name, ())

    def place(self, name: str, attr: str) -> int:
        """Where an attribute of a link is set, or the link itself."""
        for block in self.blocks_of(name):
            if block.written(attr):
                return block.place(attr)
        return self.places[name]

    def read(self, items: Sequence[Item], *, vrfs: bool = False) -> None:
        """Compile a section; blocks that say their kind first, as others may add to them."""
        blocks = [block for item in items if (block := self._block(item, vrfs=vrfs))]
        self.blocks += blocks

    def expand(self) -> None:
        """Make the links of all blocks read."""
        for block in sorted(self.blocks, key=lambda block: not block.kind):
            _Expansion(self, block).run()

    def _block(self, item: Item, *, vrfs: bool) -> Block | None:
        pattern = self.values.pattern(item.key, item.at)
        node = item.node
        if isinstance(node, Scalar) and node.null:
            node = MappingNode({}, node.at)
        if not isinstance(node, MappingNode):
            told = f"{item.key!r} must be a mapping of attributes, not {kind_of(node)}"
            self.report.error(node.at, told, _no_mapping(item.key, node))
            return Block(item.at, pattern, {}, "", False) if pattern else None
        entries: Mapping[str, Entry] = node.entries
        kind = "vrf" if vrfs else self._kind_of(node)
        if vrfs and "kind" in entries:
            self.report.error(entries["kind"].at, "links under 'vrfs' are of the kind vrf", "leave `kind` out")
        if pattern is None:
            self.report.partial = True
            pattern, entries = _NAMELESS, fixed(entries)
            if not kind:
                entries = _of_all_kinds(entries)
        if kind is None:  # its names are there, and what every link can have
            return Block(item.at, pattern, _of_all_kinds(entries), "", False)
        return Block(item.at, pattern, entries, kind)

    def _kind_of(self, node: MappingNode) -> str | None:
        entry = node.entries.get("kind")
        if not entry:
            named = (entry.value for key, entry in node.entries.items() if name_here(key, ("kind",)))
            return next((one.text for one in named if isinstance(one, Scalar) and one.text in KINDS), "")
        kind = self.values.constant(COMMON["kind"], entry.value)
        if kind is None or kind in KINDS:
            return None if kind is None else str(kind)
        hint = kind_here(str(kind)) or self.report.nearest(str(kind), KINDS) or "known are " + ", ".join(sorted(KINDS))
        self.report.error(entry.value.at, f"unknown kind {kind!r}", hint)
        return None

    def add(self, name: str, attrs: dict[str, Value], block: Block) -> None:
        """Hold a link; of one that is there already, what is new."""
        before = self.attrs.get(name)
        if before is None:
            if len(self.attrs) == LIMIT:
                self.report.once(block.at, f"with {name!r} there are over {LIMIT:,} links")
                self.report.partial = True
                return
            self.attrs[name] = attrs
            self.places[name] = block.at
            self._first[name] = block
            return
        for key, value in attrs.items():
            if key in before and before[key] != value:
                self._clash(name, key, block)
        self._more.setdefault(name, []).append(block)
        self.attrs[name] = {**attrs, **before}

    def _clash(self, name: str, key: str, block: Block) -> None:
        written = block.written(key)
        if key == "kind" or not written:
            what = f"two links are named {name!r}"
        else:
            what = f"{written!r} of {name!r} was set to another value"
        first = next((one for one in self.blocks_of(name) if one.written(key)), self._first[name])
        self.report.once(block.place(key), what, f"the other is at {self.report.where(first.place(key))}")

    def make_vlan(self, name: str, asker: str, at: int) -> dict[str, Value] | None:
        """Make the VLAN that a name is shaped as, and its lower links; grouped and up as who asks, down as they are.

        What is returned is its attributes, which are its own; None where it cannot be made.
        """
        lower, digits = _shaped(name)
        if not lower or name in self.known or len(self.attrs) >= LIMIT:
            return None
        vid = int(digits)
        # What stands before the dot is a link's name already, and digits do not spoil it.
        if wrong := too_long(name) if lower in self.attrs else objection(name):
            self.report.once(at, *wrong)
            return None
        if lower not in self.attrs and lower not in self.known and not self.make_vlan(lower, asker, at):
            return None
        if vid > 4094:
            self.report.once(at, f"{name!r} would be VLAN {vid}", "VLAN ids go from 0 to 4094")
        attrs: dict[str, Value] = {"kind": "vlan", "link": lower, "id": vid}
        of_asker, below = self.attrs.get(asker, NOTHING), self.attrs.get(lower, NOTHING)
        for key in ("group", "up"):
            if key in of_asker:
                attrs[key] = of_asker[key]
        if below.get("up") is False:
            attrs["up"] = False  # whatever its group says: the kernel lets it up with its lower link alone
        self.attrs[name] = attrs
        self.places[name] = at
        return attrs

    def make_peer(self, name: str, peer: str, at: int) -> None:
        """Make the other end of a pair, or make of what is there the other end."""
        before, kind = self.attrs.get(peer), self.attrs[name]["kind"]
        if before is None:
            if wrong := objection(peer):
                self.report.once(at, *wrong)
            of_asker = self.attrs[name]
            self.attrs[peer] = {"kind": kind, "peer": name}
            self.attrs[peer].update((key, of_asker[key]) for key in ("group", "up") if key in of_asker)
            self.places[peer] = at
        elif peer == name:
            self.report.once(at, f"{name!r} cannot be its own other end")
        elif before.get("kind", kind) != kind or before.get("peer", name) != name:
            told = f"{peer!r} cannot be the other end of {name!r}"
            has = f"it is the other end of {before['peer']!r}" if before.get("peer") else f"it is a {before['kind']}"
            self.report.once(at, told, f"{has}, at {self.report.where(self.places[peer])}")
        else:
            self.attrs[peer] = {**before, "kind": kind, "peer": name}


def _of_all_kinds(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """What can be judged without the kind: what every link can have, and what none can."""
    kinds = {key for kind in KINDS for key in rows_of(kind)} - COMMON.keys()
    return {key: entry for key, entry in entries.items() if key not in kinds}


def rows_of(kind: str) -> Mapping[str, Attr]:
    """What can be written of a link of a kind."""
    if kind not in _ROWS:
        rows = {**COMMON, **(KINDS[kind].attrs if kind in KINDS else {})}
        _ROWS[kind] = {**rows, **{short: rows[name] for short, name in _SHORT.get(kind, {}).items()}}
    return _ROWS[kind]


def _no_mapping(key: str, node: Node) -> str:
    """What was probably meant by something else than attributes in the place of a link's; or nothing."""
    known = {*rows_of(""), *BESIDE}
    if key in known:
        return f"{key!r} is an attribute: indent it below the link that it is of"
    if ":{" in key:
        return "a blank must follow the colon"
    return unspaced(node.text, known) if isinstance(node, Scalar) else ""


def _owners(key: str) -> str:
    """Which kinds of links have a key, as a sentence; nothing where there is none."""
    kinds = [kind for kind in KINDS if key in rows_of(kind)]
    if not kinds:
        return ""
    *told, last = kinds if len(kinds) <= _FEW else [*kinds[: _FEW - 1], "others"]
    return f"links of the kind {' or '.join(filter(None, (', '.join(told), last)))} have it"


def references_of(kind: str) -> tuple[str, ...]:
    """The attributes of a kind that name other links."""
    if kind not in _REFERENCES:
        found = (row.name for row in rows_of(kind).values() if row.type.ref == "link")
        _REFERENCES[kind] = tuple(dict.fromkeys(found))
    return _REFERENCES[kind]


_FEW = 4
_ROWS: dict[str, Mapping[str, Attr]] = {}
_REFERENCES: dict[str, tuple[str, ...]] = {}
_SHORT = {"bridge": {"stp": "stp_state"}}  # everybody says stp, and only ip says stp_state


class _Expansion:
    """One block on its way to its links."""

    def __init__(self, links: Links, block: Block) -> None:
        self.links = links
        self.block = block
        self.records: dict[str, Record] = {}

    def run(self) -> None:
        """Add every link of the block."""
        links, block, values = self.links, self.block, self.links.values
        if not block.pattern.size:
            self._compile(block.kind)
        shaped = block.sound and block.kind in ("", "vlan") and not {"link", "id"} <= block.entries.keys()
        for text, env in block.pattern.instances():
            name = str(text)
            if wrong := objection(name):
                links.report.once(block.at, *wrong)
                links.unsound.add(name)
                continue
            lower = links.lower_of(name, block.kind) if shaped else ""
            kind = block.kind or ("vlan" if lower and name not in links.attrs else links.kind(name))
            if not block.sound:
                kind = ""
                links.unsound.add(name)
            record = self.records.get(kind) or self._compile(kind)
            attrs = record.shared
            if record.varying:
                attrs = {**attrs, **values.evaluate(record, env, name)}
            if lower and kind == "vlan":
                attrs = self._shaped(name, lower, attrs)
            links.add(name, attrs, block)

    def _compile(self, kind: str) -> Record:
        block = self.block
        # Without a kind, what could not be read may be what says it.
        entries = _of_all_kinds(block.entries) if not kind and self.links.report.partial else block.entries
        plain = {key: entry for key, entry in entries.items() if key not in NESTED and key != "kind"}
        plain = self._without_foreign(plain, kind)
        record = self.links.values.record(plain, rows_of(kind), block.pattern.ranges, BESIDE)
        if kind:
            record.shared["kind"] = kind
        self.records[kind] = record
        return record

    def _without_foreign(self, entries: dict[str, Entry], kind: str) -> dict[str, Entry]:
        """Tell of what only links of other kinds have, and leave it out."""
        rows = rows_of(kind)
        others = (key for key in entries.keys() - rows.keys() if not name_here(key, (*rows, *BESIDE)))
        foreign = {key: owners for key in others if (owners := _owners(key))}
        what = kind or "link without a kind"
        for key, owners in foreign.items():
            self.links.report.error(entries[key].at, f"unknown key {key!r} of a {what}", owners)
        return {key: entry for key, entry in entries.items() if key not in foreign}

    def _shaped(self, name: str, lower: str, attrs: dict[str, Value]) -> dict[str, Value]:
        """Say of a VLAN what its name says, and the file does not."""
        vid = int(name[len(lower) + 1 :])
        if vid > 4094 and "id" not in attrs:
            self.links.report.once(self.block.at, f"{name!r} would be VLAN {vid}", "VLAN ids go from 0 to 4094")
        return {"link": lower, "id": vid, **attrs}


def instances(block: Block) -> Iterable[tuple[str, Env]]:
    """The names that a block stands for, with the values of its ranges."""
    return ((str(text), env) for text, env in block.pattern.instances())


def written_under(links: Links, section: str, form: Form) -> Iterator[Made]:
    """What all links have under one key, such as ``addresses``."""
    for block in links.blocks:
        node = block.nested(section)
        if node is None:
            continue
        entries = compile_entries(node, form, block.pattern.ranges, links.values)
        for name, env in instances(block):
            for entry in entries:
                yield from entry.each(links.values, env, name)


def mappings_under(links: Links, section: str, expected: str) -> Iterator[tuple[Block, MappingNode]]:
    """What each block has under one key that holds a mapping by names of its own, such as ``vfs``."""
    for block in links.blocks:
        node = block.nested(section)
        if isinstance(node, MappingNode):
            yield block, node
        elif node is not None:
            links.report.error(node.at, f"{section!r} must be {expected}, not {kind_of(node)}")
