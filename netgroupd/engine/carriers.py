# SPDX-License-Identifier: GPL-2.0-or-later
"""The links that carry what leaves by a link: itself, those below it, its bridge or VRF, what leads out of a bridge."""

from collections.abc import Iterator, Mapping

from netgroupd.model.state import Key, Object
from netgroupd.plan.compare import kind_of


def carriers(start: str, links: Mapping[Key, Object]) -> Iterator[tuple[str, str]]:
    """All links that carry what leaves by ``start``, each with the one that it carries this for; "" for the first."""
    ports = _ports(links)
    seen = {"lo"}
    waiting = [(start, "")]
    while waiting:
        name, above = waiting.pop()
        if name in seen or (name,) not in links:
            continue
        seen.add(name)
        yield name, above
        attrs = links[name,].attrs
        if attrs.get("master"):
            yield str(attrs["master"]), name
        if attrs.get("link"):
            waiting.append((str(attrs["link"]), name))
        waiting += [(port, name) for port in ports.get(name, ()) if _leads_out(port, links)]


def _ports(links: Mapping[Key, Object]) -> dict[str, list[str]]:
    ports: dict[str, list[str]] = {}
    for link in links.values():
        if master := link.attrs.get("master"):
            ports.setdefault(str(master), []).append(link.name)
    return ports


def _leads_out(port: str, links: Mapping[Key, Object]) -> bool:
    """Whether there is hardware or a bond under a port; a guest's is not the way out."""
    seen: set[str] = set()
    while port not in seen:
        seen.add(port)
        link = links.get((port,))
        if kind_of(link) in ("", "bond", "team"):
            return True
        port = str(link.attrs.get("link")) if link else ""
    return False
