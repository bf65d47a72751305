# SPDX-License-Identifier: GPL-2.0-or-later
"""The sections of all documents -> one list of items for each section.

Items of one key stay apart here: ``swp[1-6]`` of one file and ``swp3`` of
another meet only when both are expanded, and are compared there.
"""

from collections.abc import Iterable
from typing import NamedTuple

from netgroupd.config.called import called_here
from netgroupd.config.node import Mapping, Node, Scalar, Sequence, kind_of
from netgroupd.config.report import Report

KEYED = ("groups", "links", "vrfs", "nexthops", "sysctl", "actions", "tc")
LISTED = ("routes", "rules", "neighbours", "fdb", "mdb")
SECTIONS = (*KEYED, *LISTED)


class Item(NamedTuple):
    """One entry of a section: its key ("" in a list), place and value."""

    key: str
    at: int
    node: Node


def merge(roots: Iterable[Mapping], report: Report) -> dict[str, list[Item]]:
    """Collect the items of each section in the order of the files."""
    sections: dict[str, list[Item]] = {name: [] for name in SECTIONS}
    for root in roots:
        for name, entry in root.entries.items():
            if name in sections:
                sections[name] += _items(name, entry.value, report)
            else:
                hint = called_here(name, SECTIONS) or report.nearest(name, SECTIONS)
                report.unread(entry.at, f"unknown section {name!r}", hint or "known are " + ", ".join(SECTIONS))
    return sections


def _items(section: str, node: Node, report: Report) -> list[Item]:
    if isinstance(node, Scalar) and node.null:
        return []
    if section in LISTED and isinstance(node, Sequence):
        return [Item("", item.at, item) for item in node.items]
    if section in KEYED and isinstance(node, Mapping):
        return [Item(key, entry.at, entry.value) for key, entry in node.entries.items()]
    name, example = ("numbers", "1") if section == "nexthops" else ("names", "eth1")
    wanted = "a list, with - in front of each" if section in LISTED else f"a mapping of {name}"
    hint = f"what each is called stands before it, as in {example}: {{…}}" if isinstance(node, Sequence) else ""
    report.unread(node.at, f"{section!r} must be {wanted}, not {kind_of(node)}", hint)
    return []
