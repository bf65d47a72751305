# SPDX-License-Identifier: GPL-2.0-or-later
"""Of which links a configuration lists entries, and what it names as ports: what it does so no more is to go.

Kept as text, which is read only where something is there that nobody asks for.
"""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from netgroupd.model.owner import LISTED
from netgroupd.model.state import State


class Named(NamedTuple):
    """Links, each behind the class of the entries, or behind its master."""

    listed: frozenset[tuple[str, str]] = frozenset()
    ports: frozenset[tuple[str, str]] = frozenset()


def ports_in(state: State) -> list[tuple[str, str]]:
    """What ``state`` names as ports, each behind its master."""
    links = state.of("link").values()
    return [(str(master), str(link.key[0])) for link in links if (master := link.attrs.get("master"))]


def text_of(state: State) -> str:
    """What ``state`` names so."""
    listed = {cls: [*dict.fromkeys(str(key[0]) for key in state.of(cls))] for cls in sorted(LISTED)}
    ports: dict[str, list[str]] = {}
    for master, port in ports_in(state):
        ports.setdefault(master, []).append(port)
    return json.dumps([listed, ports], separators=(",", ":"))


@lru_cache(maxsize=4)
def named_in(texts: Iterable[str]) -> Named:
    """What all of ``texts`` together name."""
    found = Named()
    for listed, ports in (json.loads(text) for text in texts if text):
        found = Named(found.listed | _pairs(listed), found.ports | _pairs(ports))
    return found


def _pairs(links: dict[str, list[str]]) -> frozenset[tuple[str, str]]:
    return frozenset((key, name) for key, names in links.items() for name in names)
