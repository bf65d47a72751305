# SPDX-License-Identifier: GPL-2.0-or-later
"""What no part of a rule of traffic control tells alone: its size, the others of its preference, shared actions.

Rules of one entry have their attributes in common, and are looked at once.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from netgroupd.config.checked import Checked
from netgroupd.config.sections.entries import told
from netgroupd.config.semantic.atomic import is_atomic
from netgroupd.model.rule import split_mark
from netgroupd.model.state import Attrs, Key, Object, records
from netgroupd.model.tc import room
from netgroupd.model.tc.action import shared
from netgroupd.model.tc.filter import incoming_link
from netgroupd.model.tc.flower import KEYS
from netgroupd.model.tc.handle import numbered_by
from netgroupd.model.tc.masked import halves
from netgroupd.model.value import Value

_MOST_RULES = 4095
_SPAN = re.compile(r"[0-9]+-[0-9]+")  # of ports, which has no mask


def shared_actions(checked: Checked) -> None:
    """Every action that a filter has together with others is described."""
    described = checked.state.of("action")
    seen: Attrs = {}
    for obj in checked.state.of("filter").values():
        if obj.attrs is seen:
            continue
        seen = obj.attrs
        for record in records(seen, "actions"):
            if (key := shared(record["kind"])) and key not in described:
                told_, hint = f"there is no action {record['kind']!r}", "describe it under `actions`"
                checked.report.missing(checked.entry(obj).place("action"), told_, hint)


def sizes(checked: Checked) -> None:
    """Every filter fits into a message, and into what the kernel tells of it."""
    seen: Attrs = {}
    for obj in checked.state.of("filter").values():
        if obj.attrs is seen:
            continue
        seen = obj.attrs
        match: Mapping[str, Value] = dict(obj.key[4])  # type: ignore[arg-type]  # pairs, as filter.key makes
        hint = "let it `goto chain` to another with the rest of its actions"
        sent, dumped = room.taken(match, seen)
        if dumped > room.MOST_TOLD:
            told_ = f"this rule takes {dumped:,} bytes, and the kernel tells of none that takes over {room.MOST_TOLD:,}"
        elif sent > room.MOST_SENT:
            told_ = f"this rule takes {sent:,} bytes, and a message has room for {room.MOST_SENT:,}"
            hint = "describe its policers under `actions`, which takes their tables of rates out of it"
        else:
            continue
        checked.refuse(obj, "action", told_, hint)


def preferences(checked: Checked) -> None:
    """The filters of one chain that have one preference are of one kind, for one protocol and, of fw, of one mask."""
    first: dict[Key, Key] = {}
    rules = checked.state.of("filter")
    fits: tuple[Key | Value, ...] = ()
    for key, obj in rules.items():
        place, kind, protocol = key[:4], obj.attrs.get("kind"), obj.attrs.get("protocol")
        if (place, kind, protocol) == fits and kind != "fw":
            continue
        other = rules[first.setdefault(place, key)]
        for name, mine, theirs in zip(("kind", "protocol", "mask"), _common(obj), _common(other), strict=True):
            if mine != theirs:
                there = checked.report.where(checked.entry(other).at)
                told_ = f"{told('filter', key)} is of the {name} {mine}, and another of its pref is of {theirs}"
                checked.refuse(obj, "", told_, f"the other is at {there}; give one of them another pref")
                break
        else:
            fits = place, kind, protocol


def _common(rule: Object) -> tuple[Value, Value, str]:
    """What the rules of one preference have in common."""
    kind = rule.attrs.get("kind")
    mask = hex(split_mark(str(dict(rule.key[4])["mark"]))[1]) if kind == "fw" else ""  # type: ignore[arg-type]  # pairs
    return kind, rule.attrs.get("protocol"), mask


def incoming_links(checked: Checked) -> None:
    """The links that rules say packets come in by are there."""
    links = checked.links
    for rule in checked.rules:
        name = incoming_link(rule.key)
        if name and name not in links.attrs and name not in links.known:
            checked.missing_link(rule, name, str(rule.attrs["kind"]))


def templates(checked: Checked) -> None:
    """The rules of a chain with a template are of flower, and match no more bits than that."""
    chains = {key: chain for key, chain in checked.state.of("chain").items() if "flower" in chain.attrs}
    for rule in checked.rules if chains else ():
        chain = chains.get(rule.key[:3])
        if chain is None:
            continue
        there = f"the template is at {checked.report.where(checked.entry(chain).at)}"
        if rule.attrs["kind"] != "flower":
            told_ = f"{told('filter', rule.key)} is of {rule.attrs['kind']}, and the template of its chain is of flower"
            checked.refuse(rule, "", told_, there)
        elif name := _beyond(rule, chain):
            told_ = f"{told('filter', rule.key)} matches more of {name} than the template of its chain has"
            checked.refuse(rule, "", told_, there)


def _beyond(rule: Object, chain: Object) -> str:
    """What a rule matches that its template does not have, or not with all those bits; "" if it fits."""
    template = chain.attrs["flower"]
    assert isinstance(template, Mapping)
    if "all" == chain.attrs.get("protocol", "all") != rule.attrs.get("protocol"):
        return "the protocol"
    match: Mapping[str, Value] = dict(rule.key[4])  # type: ignore[arg-type]  # pairs, as filter.key makes
    for name, value in match.items():
        if name.startswith("mpls_"):  # several keys are one there
            continue
        if name not in template:
            return name
        mine, theirs = (_mask(name, one) for one in (value, template[name]))
        if len(mine) == len(theirs) and any(bits & ~had for bits, had in zip(mine, theirs, strict=True)):
            return name
    return ""


def _mask(name: str, value: Value) -> bytes:
    """The bits that count of a key with a mask; of others and of spans of ports nothing is looked at."""
    known = KEYS[name]
    masked = any(wire.mask for wire in known.variants.values()) and known.type.pack is not None
    return halves(known.type.pack(value))[1] if masked and not _SPAN.fullmatch(str(value)) else b""  # type: ignore[misc]


def received(checked: Checked) -> None:
    """The queue that a packet is to go out by is none of those that come in, but in hardware."""
    for rule in checked.rules:
        if rule.key[1] != "ingress" or rule.attrs.get("skip_sw"):
            continue
        if any(one["kind"] == "skbedit" and "queue_mapping" in one for one in records(rule.attrs, "actions")):
            hint = "it is for what goes out; on what comes in only hardware does it, with skip_sw"
            place = checked.entry(rule).place("action")
            checked.report.once(place, f"{told('filter', rule.key)} cannot have queue_mapping", hint)


def hash_tables(checked: Checked) -> None:
    """Every hash table of u32 is described once, and where its rules are."""
    rules = list(_u32_rules(checked))
    found = _Tables(checked)
    for rule, match in rules:
        if "divisor" in match:
            found.describe(rule, match)
        found.listed_apart(rule)
    for rule, match in rules:
        if "divisor" not in match:
            found.check(rule, match)
    found.check_ways()


def _u32_rules(checked: Checked) -> Iterator[tuple[Object, Mapping[str, Value]]]:
    other: Attrs = {}
    for rule in checked.state.of("filter").values():
        if rule.attrs is other:
            continue
        if rule.attrs.get("kind") != "u32":
            other = rule.attrs
            continue
        yield rule, dict(rule.key[4])  # type: ignore[arg-type]  # pairs, as filter.key makes


class _Tables:
    """The hash tables of a configuration, by where they are and their number."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._tables: dict[tuple[object, ...], Object] = {}
        self._divisors: dict[tuple[object, ...], Value] = {}
        self._prefs: dict[tuple[object, ...], Object] = {}
        self._reached: set[tuple[object, ...]] = set()
        self._rules: Counter[tuple[object, ...]] = Counter()

    def _error(self, rule: Object, told_: str, hint: str = "") -> None:
        self._checked.report.once(self._checked.entry(rule).at, told_, hint)

    def _other(self, rule: Object) -> str:
        return f"the other is at {self._checked.report.where(self._checked.entry(rule).at)}"

    def describe(self, table: Object, match: Mapping[str, Value]) -> None:
        """Note a table."""
        number, attrs = match["table"], table.attrs
        key = (table.key[0], numbered_by(str(table.key[1])), number)
        if (first := self._tables.setdefault(key, table)) is not table:
            self._error(table, f"hash table {number} of {table.key[0]} is described twice", self._other(first))
        self._divisors[*table.key[:4], number] = match["divisor"]
        if attrs.get("actions") or attrs.get("classid") is not None:
            self._error(table, f"hash table {number} has no action and no class", "the rules in it have")
        if is_atomic(self._checked.state.of("chain"), table):
            hint = "its rules are built beside the old ones, and a table has one number"
            self._error(table, "a chain that is atomic has no hash tables", hint)

    def listed_apart(self, rule: Object) -> None:
        """Rules of one preference are in one chain of one hook: the kernel lists those of all of them together."""
        where, parent, chain, pref, _ = rule.key
        first = self._prefs.setdefault((where, numbered_by(str(parent)), pref), rule)
        if first.key[1:3] != (parent, chain):
            told_ = f"u32 rules of pref {pref} are in two chains or hooks of {where}, which the kernel lists together"
            self._error(rule, told_, f"{self._other(first)}; give one of them another pref")

    def check(self, rule: Object, match: Mapping[str, Value]) -> None:
        """Look at a rule that is in a table, or leads to one."""
        table, link = match.get("table"), match.get("link")
        for number in (table, link):
            if number is not None and (*rule.key[:4], number) not in self._divisors:
                hint = "describe it as u32: {table: …, divisor: 256} with the same pref"
                self._error(rule, f"there is no hash table {number} of pref {rule.key[3]}", hint)
        buckets, bucket = self._divisors.get((*rule.key[:4], table)), match.get("bucket")
        if isinstance(buckets, int) and isinstance(bucket, int) and bucket >= buckets:
            self._error(rule, f"bucket {bucket} is beyond hash table {table}, which has {buckets}")
        self._count(rule, table, bucket)
        if link is not None:
            self._reached.add((*rule.key[:4], link))
            if rule.attrs.get("actions") or rule.attrs.get("classid") is not None:
                hint = "what no rule of the table decides goes on to the next rule"
                self._error(rule, "a rule that leads to a hash table has no action and no class", hint)

    def _count(self, rule: Object, table: Value, bucket: Value) -> None:
        """Look for more rules beside each other than the kernel has numbers for."""
        place = (*rule.key[:4], table, bucket)
        self._rules[place] += 1
        if self._rules[place] == _MOST_RULES + 1:
            where = f"bucket {bucket} of hash table {table}" if table else f"pref {rule.key[3]} of {rule.key[0]}"
            hint = "put some into another bucket" if table else "give some another pref, or put them into a hash table"
            self._error(rule, f"{where} has more than {_MOST_RULES:,} rules of u32, which the kernel refuses", hint)

    def check_ways(self) -> None:
        """Look for tables that no packet gets to."""
        for table in self._tables.values():
            number = dict(table.key[4])["table"]  # type: ignore[arg-type]  # as above
            if (*table.key[:4], number) not in self._reached:
                self._error(table, f"no rule leads to hash table {number}", f"one with link: {number} does")
