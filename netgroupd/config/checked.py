# SPDX-License-Identifier: GPL-2.0-or-later
"""What the checks of a whole configuration look at, and what they have in common."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import NamedTuple

from netgroupd.config.report import Report
from netgroupd.config.sections.entries import Compiled, Sink, told
from netgroupd.config.sections.links import Links
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State, records
from netgroupd.model.value import Value


class Checked(NamedTuple):
    """What the checks look at; the links by kind and by master, as most checks are about few of them."""

    state: State
    links: Links
    sink: Sink
    report: Report
    by_kind: Mapping[Value, Mapping[str, Attrs]]
    by_master: Mapping[str, Sequence[str]]
    words: Mapping[Value, Set[str]]  # what is said of the links of a kind: of most attributes nothing
    rules: Sequence[Object]  # of traffic control; of those in a row that differ by what they match one

    @classmethod
    def of(cls, state: State, links: Links, sink: Sink) -> "Checked":
        """Sort the links."""
        by_kind: defaultdict[Value, dict[str, Attrs]] = defaultdict(dict)
        by_master: defaultdict[str, list[str]] = defaultdict(list)
        words: defaultdict[Value, set[str]] = defaultdict(set)
        for name, attrs in links.attrs.items():
            kind = attrs.get("kind")
            by_kind[kind][name] = attrs
            words[kind].update(attrs)
            if master := attrs.get("master"):
                by_master[str(master)].append(name)
        return cls(state, links, sink, links.report, dict(by_kind), dict(by_master), words, list(_runs(state)))

    def of_kinds(self, kinds: Iterable[str]) -> list[tuple[str, Attrs]]:
        """The links of some kinds, with what files and masters say of them."""
        return [*chain.from_iterable(self.by_kind[kind].items() for kind in kinds if kind in self.by_kind)]

    def saying(self, field: str, kinds: Iterable[str] | None = None) -> Iterator[tuple[str, Attrs]]:
        """The links, or those of some kinds, of which a field is said."""
        said = {kind for kind, words in self.words.items() if field in words}
        found = self.links.attrs.items() if kinds is None else self.of_kinds([kind for kind in kinds if kind in said])
        yield from ((name, attrs) for name, attrs in (found if said else ()) if field in attrs)

    def attrs(self, name: str) -> Attrs:
        """The attributes of a link, those of its group too; of one that no file names, none."""
        link = self.state.link(name)
        return link.attrs if link else {}

    def entry(self, obj: Object) -> Compiled:
        """The entry that an object is from."""
        return self.sink.entries[obj.cls][obj.key]

    def refuse(self, obj: Object, field: str, what: str, hint: str = "") -> None:
        """Tell what is wrong with a field of an object, or with "" the object, for the first of those of one entry."""
        self.report.once(self.entry(obj).place(field), what, hint)

    def refuse_link(self, name: str, field: str, what: str, hint: str = "") -> None:
        """Tell what is wrong with an attribute of a link, for the first of those of one block."""
        self.report.once(self.links.place(name, field), what, hint)

    def missing_link(self, obj: Object, name: Value, field: str) -> None:
        """Tell that nothing describes the link that an object names, and has; unless what does could not be read."""
        if name in self.links.unsound:
            return
        hint = self.links.known.meant(str(name)) or self.report.nearest(str(name), self.links.attrs)
        hint = hint or "name it under `links`"
        place = self.entry(obj).place(field)
        self.report.missing(place, f"there is no link {name!r}, for {told(obj.cls, obj.key)}", hint)

    def domain(self, name: str) -> str:
        """The VRF that a link's addresses are in, "" for none; a port of a bridge is in the bridge's."""
        for _ in range(_DEEPEST):
            attrs = self.attrs(name)
            if attrs.get("kind") == "vrf" or name in self.links.unsound:  # which may be meant to be one
                return name
            if not attrs.get("master"):
                return ""
            name = str(attrs["master"])
        return ""


_DEEPEST = 8


def _runs(state: State) -> Iterator[Object]:
    attrs: Attrs = NOTHING
    place: Key = ()
    for rule in state.of("filter").values():
        if rule.attrs is not attrs or rule.key[:4] != place:
            attrs, place = rule.attrs, rule.key[:4]
            yield rule


def named(attrs: Attrs, by_attr: Sequence[str]) -> Iterator[tuple[str, Value]]:
    """The links that attributes name, and under which key of the file."""
    for field in by_attr:
        if attrs.get(field) is not None:
            yield field, attrs[field]
    for field in _LISTS.keys() & attrs.keys():
        for record in records(attrs, field):
            if record.get("dev") is not None:
                yield _LISTS[field], record["dev"]


_LISTS = {"nexthops": "nexthops", "actions": "action"}  # attributes of several records, by the key in files
