# SPDX-License-Identifier: GPL-2.0-or-later
"""Of which links a configuration lists entries, and what it names as ports: what it does so no more is to go.

And what it takes out of the VLANs of bridges, which is back in them when it does so no more; and whether it says of
VLANs what ranges of them do not tell.

Kept as text, which is read only where something is there that nobody asks for.
"""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from netgroupd.model.bridge_vlan import is_out, is_said_apart
from netgroupd.model.owner import LISTED
from netgroupd.model.state import State


class Named(NamedTuple):
    """Links, each behind the class of the entries, its master, or the VLAN that it is out of."""

    listed: frozenset[tuple[str, str]] = frozenset()
    ports: frozenset[tuple[str, str]] = frozenset()
    out: frozenset[tuple[str, str]] = frozenset()
    vlans_apart: bool = False


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
    out: dict[str, list[str]] = {}
    for (name, vid), vlan in state.of("bridge_vlan").items():
        if is_out(vlan):
            out.setdefault(str(vid), []).append(str(name))
    return json.dumps([listed, ports, out, is_said_apart(state)], separators=(",", ":"))


@lru_cache(maxsize=4)
def named_in(texts: Iterable[str]) -> Named:
    """What all of ``texts`` together name."""
    found = Named()
    for listed, ports, *more in (json.loads(text) for text in texts if text):
        out = more[0] if more else {}  # which older versions did not note, and still later ones not what follows
        found = Named(
            found.listed | _pairs(listed),
            found.ports | _pairs(ports),
            found.out | _pairs(out),
            found.vlans_apart or any(more[1:]),
        )
    return found


def _pairs(links: dict[str, list[str]]) -> frozenset[tuple[str, str]]:
    return frozenset((key, name) for key, names in links.items() for name in names)
