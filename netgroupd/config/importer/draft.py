# SPDX-License-Identifier: GPL-2.0-or-later
"""A configuration while it is put together from another tool's files."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from netgroupd.config.importer.fold import Body, fold_names
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
        self._remarks: dict[Problem, list[str]] = {}

    def link(self, name: str) -> Body:
        """Give the body of a link or VRF, a new one if need be."""
        if name in self.vrfs:
            return self.vrfs[name]
        return self.links.setdefault(name, {})

    def put(self, place: Place, name: str, key: str, value: object) -> None:
        """Set one attribute of a link; a second value is remarked on."""
        body = self.link(name)
        self.places.setdefault((name, key), place)
        if body.setdefault(key, value) != value:
            self.remark(place, f"{key} is {body[key]} already", f"{value} is left out", name)

    def append(self, name: str, key: str, value: object) -> None:
        """Add to one of the lists under a link."""
        values = self.link(name).setdefault(key, [])
        if value not in values:
            values.append(value)

    def address(self, place: Place, name: str, entry: Body) -> None:
        """Add an address to a link."""
        self.places.setdefault((name, str(entry["address"])), place)
        self.append(name, "addresses", entry if len(entry) > 1 else entry["address"])

    def setting(self, place: Place, name: str, key: str, value: object) -> None:
        """Set one of the kernel's settings of a link; a second value is remarked on."""
        settings = self.link(name).setdefault("sysctl", {})
        if settings.setdefault(key, value) != value:
            self.remark(place, f"{key} is {settings[key]} already", f"{value} is left out", name)

    def entry(self, section: str, body: Mapping[str, Any]) -> None:
        """Add to one of the sections that are lists."""
        entry = {key: value for key, value in body.items() if value is not None}
        if entry not in self.lists[section]:
            self.lists[section].append(entry)

    def remark(self, place: Place, message: str, hint: str = "", name: str = "") -> None:
        """List what is not taken over, and of which link."""
        column = len(place.text) - len(place.text.lstrip()) + 1
        problem = Problem(place.file, place.line, column, message, hint, place.text, warning=True)
        names = self._remarks.setdefault(problem, [])
        if name and name not in names:
            names.append(name)

    def remarks(self) -> tuple[Problem, ...]:
        """Tell every remark once, with the links it is about as ranges."""
        return tuple(
            problem._replace(message=f"{', '.join(fold_names(names))}: {problem.message}") if names else problem
            for problem, names in self._remarks.items()
        )
