# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wanted of links, without the rows that the running kernel does not have."""

from netgroupd.model.state import State


def without(desired: State, rows: frozenset[str]) -> tuple[State, tuple[str, ...]]:
    """The state without ``rows`` of links, and a warning for each row that some link asks for.

    The kernel would ignore them without a word, and the difference would never end.
    """
    if not rows:
        return desired, ()
    asking = {key: link for key, link in desired.of("link").items() if not rows.isdisjoint(link.attrs)}
    if not asking:
        return desired, ()
    counts = {row: sum(bool(link.attrs.get(row)) for link in asking.values()) for row in sorted(rows)}
    told = {key: link.without(*rows) for key, link in asking.items()}
    warnings = (f"this kernel has no {row!r}: {count} links are made without" for row, count in counts.items() if count)
    return desired.having(link={**desired.of("link"), **told}), tuple(warnings)
