# SPDX-License-Identifier: GPL-2.0-or-later
"""The MACs of links -> those that somebody has chosen: one that is drawn by lot, or follows from others, says nothing.

The kernel does not tell them apart, but what it draws is marked as local and has no pattern.
"""

from collections import defaultdict
from collections.abc import Mapping

from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import NO_MAC
from netgroupd.plan.compare import kind_of
from netgroupd.plan.depth import named_by
from netgroupd.plan.fate import TEAMING
from netgroupd.plan.fold import Row, fold

_LOCAL = 0x02
_ZEROS = 3  # of five bytes, which one of a million drawn by lot has


def chosen_macs(actual: State) -> dict[str, str]:
    """The MACs of links that are made which somebody has chosen, for one of them or by counting up those of a kind."""
    links = actual.of("link")
    of_ports = {(link.attrs.get("master"), link.attrs.get("mac")) for link in links.values()}
    rows: dict[str, list[Row]] = defaultdict(list)
    for link in links.values():
        mac = link.attrs.get("mac")
        if not kind_of(link) or mac == NO_MAC or (link.name, mac) in of_ports or _is_of_another(link, links):
            continue
        if len(str(mac)) == len(NO_MAC):  # that of a tunnel is its IP address
            rows[kind_of(link)].append((link.name, str(mac)))
    return {
        name: mac
        for found in rows.values()
        for counted in (_counts(found),)
        for name, mac in found
        if counted or _is_chosen(mac)
    }


def _is_of_another(link: Object, links: Mapping[Key, Object]) -> bool:
    """Whether a link has the MAC of what it stands on, or of the bond that it is a port of; a bridge gives none."""
    named = (links.get((name,)) for name in named_by(link))
    return any(
        other and other.attrs.get("mac") == link.attrs.get("mac")
        for other in named
        if other and (other.name != link.attrs.get("master") or kind_of(other) in TEAMING)
    )


def _is_chosen(mac: str) -> bool:
    drawn = bytes.fromhex(mac.replace(":", ""))
    return not drawn[0] & _LOCAL or drawn[1:].count(0) >= _ZEROS


def _counts(rows: list[Row]) -> bool:
    """Whether the MACs fold as the names do, and not because any two of them are one distance apart."""
    patterns = fold(rows)
    return len(rows) > 2 * len(patterns) and len(patterns) == len(fold(row[:1] for row in rows))
