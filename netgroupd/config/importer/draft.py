# SPDX-License-Identifier: GPL-2.0-or-later
"""A configuration while it is put together from another tool's files."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from netgroupd.config.importer.fold import Body, fold_entries
from netgroupd.config.sections.linkname import objection
from netgroupd.errors import Problem


class Place(NamedTuple):
    """Where something stands in an old file."""

    file: str
    line: int
    text: str


class Draft:
    """Sections to be written, and remarks on what none of them can say."""

    def __init__(self) -> None:
        self.links: dict[str, Body] = {}
        self.vrfs: dict[str, Body] = {}
        self.lists: dict[str, list[Body]] = {"routes": [], "rules": [], "neighbours": [], "fdb": [], "mdb": []}
        self.sysctl: dict[str, str] = {}
        # By link, and by its attribute or address; that of the link itself is under "".
        self.places: dict[tuple[str, str], Place] = {}
        self._entries: set[tuple[str, str]] = set()  # as it takes long to look through many
        self._remarks: dict[tuple[Problem, str], None] = {}

    def link(self, name: str) -> Body:
        """Give the body of a link or VRF, a new one if need be."""
        if name in self.vrfs:
            return self.vrfs[name]
        return self.links.setdefault(name, {})

    def put(self, place: Place, name: str, key: str, value: object) -> None:
        """Set one attribute of a link; a second value is remarked on."""
        body = self.link(name)
        self.mention(place, name, key)
        if body.setdefault(key, value) != value:
            self.remark(place, f"{key} is {body[key]} already", f"{value} is left out", name)

    def mention(self, place: Place, name: str, key: str = "") -> None:
        """Keep where a link, or something of it, is first spoken of."""
        self.places.setdefault((name, ""), place)
        self.places.setdefault((name, key), place)

    def append(self, name: str, key: str, value: object) -> None:
        """Add to one of the lists under a link."""
        values = self.link(name).setdefault(key, [])
        if value not in values:
            values.append(value)

    def port(self, place: Place, master: str, name: str) -> None:
        """Make a link a port of another; what cannot name one is remarked on."""
        if wrong := objection(name):
            self.remark(place, *wrong, name=master)
            return
        self.mention(place, master)
        self.mention(place, name)
        self.append(master, "ports", name)

    def address(self, place: Place, name: str, entry: Body) -> None:
        """Add an address to a link."""
        self.mention(place, name, str(entry["address"]))
        self.append(name, "addresses", entry if len(entry) > 1 else entry["address"])

    def setting(self, place: Place, name: str, key: str, value: object) -> None:
        """Set one of the kernel's settings of a link; a second value is remarked on."""
        self.mention(place, name)
        settings = self.link(name).setdefault("sysctl", {})
        if settings.setdefault(key, value) != value:
            self.remark(place, f"{key} is {settings[key]} already", f"{value} is left out", name)

    def entry(self, section: str, body: Mapping[str, Any]) -> None:
        """Add to one of the sections that are lists."""
        entry = {key: value for key, value in body.items() if value is not None}
        if (written := (section, json.dumps(entry, sort_keys=True))) not in self._entries:
            self._entries.add(written)
            self.lists[section].append(entry)

    def remark(self, place: Place, message: str, hint: str = "", name: str = "") -> None:
        """List what is not taken over, and of which link."""
        column = len(place.text) - len(place.text.lstrip()) + 1
        problem = Problem(place.file, place.line, column, message, hint, place.text, warning=True)
        self._remarks.setdefault((problem, name))

    def remarks(self) -> tuple[Problem, ...]:
        """Tell every remark once, those of a line in a loop as one, with the links it is about as ranges."""
        of_line: dict[tuple[str, int], list[tuple[Problem, str]]] = {}
        for problem, name in self._remarks:
            of_line.setdefault((problem.file, problem.line), []).append((problem, name))
        files = list(dict.fromkeys(file for file, _ in of_line))
        in_order = sorted(of_line, key=lambda place: (files.index(place[0]), place[1]))
        return tuple(problem for place in in_order for problem in _folded(of_line[place]))


def _folded(told: list[tuple[Problem, str]]) -> Iterator[Problem]:
    """Join what is told of one line: what is the same but for a number, then what is the same of several names."""
    named = [(name, {"message": problem.message, "hint": problem.hint}) for problem, name in told]
    names: dict[tuple[str, str], list[str]] = {}
    for name, said in fold_entries(named):
        names.setdefault((said["message"], said["hint"]), []).append(name)
    for (message, hint), about in names.items():
        links = ", ".join(name for name in about if name)
        yield told[0][0]._replace(message=f"{links}: {message}" if links else message, hint=hint)
