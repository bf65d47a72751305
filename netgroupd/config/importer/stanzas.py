# SPDX-License-Identifier: GPL-2.0-or-later
"""interfaces(5) text -> stanzas.

Lines end in a backslash to go on; ``auto``, ``allow-*``, ``source`` and
``iface`` begin something; what is indented or not belongs to the ``iface``
above it.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from netgroupd.config.importer.draft import Place


class Option(NamedTuple):
    """One line of a stanza."""

    name: str
    value: str
    place: Place


class Stanza(NamedTuple):
    """One ``iface``, or one of the lines that stand alone."""

    word: str  # iface, auto, source, ...
    rest: str
    place: Place
    options: list[Option]


_ALONE = ("auto", "source", "source-directory", "no-auto-down", "no-scripts", "mapping", "template", "rename")
_WITH_OPTIONS = ("iface", "interface", "vlan", "mapping", "template")


def stanzas(lines: Iterable[Place]) -> Iterator[Stanza]:
    """Group the lines of one file."""
    current: Stanza | None = None
    for place in _joined(lines):
        word, _, rest = place.text.strip().partition(" ")
        word, rest = word.strip(), rest.strip()
        if "\t" in word:
            word, _, more = word.partition("\t")
            rest = f"{more} {rest}".strip()
        if word in ("iface", "interface", "vlan", *_ALONE) or word.startswith("allow-"):
            if current:
                yield current
            current = Stanza(word, rest, place, [])
        elif current and current.word in _WITH_OPTIONS:
            # bridge_ports is how ifupdown and its other tools write it.
            current.options.append(Option(word.lower().replace("_", "-"), rest, place))
        else:
            if current:
                yield current
                current = None
            yield Stanza("", place.text.strip(), place, [])
    if current:
        yield current


def _joined(lines: Iterable[Place]) -> Iterator[Place]:
    """Leave out comments, and join the lines that go on."""
    waiting: Place | None = None
    for line in lines:
        place = line if waiting is None else waiting._replace(text=f"{waiting.text} {line.text.strip()}")
        waiting = None
        if place.text.lstrip().startswith("#") or not place.text.strip():
            continue
        if place.text.rstrip().endswith("\\"):
            waiting = place._replace(text=place.text.rstrip()[:-1].rstrip())
            continue
        yield place
    if waiting:
        yield waiting
