# SPDX-License-Identifier: GPL-2.0-or-later
"""The entries of ``chains``: one chain, or all of a hook; and what is wrong with an entry by itself."""

from typing import NamedTuple

from netgroupd.config.sections.entries import Compiled, Form, Made
from netgroupd.model.tc import chain
from netgroupd.model.value import Value

FORM = Form.of(chain.CLASS, leave="where", needs=("parent",))
FORM_OF_BLOCK = FORM._replace(required=frozenset())  # a block has one hook


class Wrong(NamedTuple):
    """Where something is wrong, what, and what would be right."""

    at: int
    told: str
    hint: str = ""


def wrong(entry: Compiled) -> Wrong | None:
    """What an entry cannot say, or lacks."""
    atomic, template = entry.attrs.get("atomic"), "flower" in entry.entries
    if atomic and template:
        return Wrong(entry.place("flower"), "a chain that is atomic has no template")
    if template and "chain" not in entry.entries:
        return Wrong(entry.at, "this template needs 'chain'", "each chain has its own")
    if not atomic and not template:
        hint = "a chain with neither is there as soon as a rule is in it"
        return Wrong(entry.at, "this chain needs 'flower', its template, or atomic: true", hint)
    return None


def number_of(made: Made) -> Value:
    """The chain that an entry is about, or ``chain.ALL``."""
    return made.keys.get("chain", chain.ALL)


def too_high(made: Made) -> Wrong | None:
    """The number of a chain without room for the two beside it."""
    number = number_of(made)
    if not made.attrs.get("atomic") or not isinstance(number, int) or number <= chain.MOST_ATOMIC:
        return None
    told = f"a chain that is atomic has a number up to {chain.MOST_ATOMIC}"
    return Wrong(made.entry.place("chain"), told, "those of the two that it changes between are above")
