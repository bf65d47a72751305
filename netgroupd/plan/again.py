# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that stay while another which they name is made anew: they are told of it again, or made anew, too.

A port is none any more when its master has gone, and has no other one to send by when that has; a tunnel sends by the
number of a link that is none.
"""

from collections.abc import Container, Iterator, Mapping

from netgroupd.model.kinds import RING_PORTS
from netgroupd.model.state import NOTHING, Attrs, Key, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.narrowed import kept_mtu

# What a link of a kind names for good, and does not go with.
_FOR_GOOD = {"hsr": RING_PORTS, "xfrm": ("dev",)}
_BACKUP = "port.backup_port"
_TOLD = ("master", "dev", _BACKUP)


def broken(
    haves: Mapping[Key, Object], wants: Mapping[Key, Object], gone: Container[str], going: Container[str]
) -> Iterator[tuple[str, str]]:
    """The links that are wanted and lose one that goes or moves, each with that: it does not come back."""
    for key, link in haves.items():
        rows = _FOR_GOOD.get(kind_of(link))
        if rows and key in wants and link.name not in gone:
            yield from ((link.name, lower) for row in rows if (lower := str(link.attrs.get(row))) in going)


def told_again(
    haves: Mapping[Key, Object],
    wants: Mapping[Key, Object],
    changed: Mapping[str, Attrs],
    gone: Container[str],
    replaced: Container[object],
) -> Iterator[tuple[str, Attrs]]:
    """What links that stay are told beside what is ``changed``, when what they name is ``replaced``."""
    for key, have in haves.items():
        attrs, want = have.attrs, wants.get(key)
        named = [field for field in _TOLD if attrs.get(field) in replaced]
        if not (named and want) or have.name in gone:
            continue
        told = changed.get(have.name, NOTHING)
        said = {**attrs, **want.attrs, **told}
        again = {field: attrs[field] for field in named if said[field] == attrs[field]}
        if _BACKUP in again and _master(wants.get((again[_BACKUP],))) != said.get("master"):
            del again[_BACKUP]
        if again:
            yield have.name, {**kept_mtu(have, again), **told, **again}


def _master(link: Object | None) -> Value:
    return link.attrs.get("master") if link else None
