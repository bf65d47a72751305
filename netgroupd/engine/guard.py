# SPDX-License-Identifier: GPL-2.0-or-later
"""Refuse a plan that would cut the way of the default route, or of the session that asks.

The way is the link that packets leave by, the links below and above it that
carry them, and the address that they leave with.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from netgroupd.engine.observe import Connection
from netgroupd.engine.session import Session
from netgroupd.errors import GuardError
from netgroupd.kernel.request import Selection
from netgroupd.model.state import Key, Object, State
from netgroupd.plan.compare import kind_of
from netgroupd.plan.present import noun
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step

# Documentation addresses: nothing but a default route leads there.
ANYWHERE = ("192.0.2.1", "2001:db8::1")
_DEFAULTS = frozenset({"0.0.0.0/0", "::/0"})
_MAIN_TABLE = 254
_REROUTING = frozenset({"via", "dev", "nexthops", "nhid", "type", "src"})


class Way(NamedTuple):
    """How a packet leaves: whose way it is, the link, the source address."""

    whose: str
    link: str
    source: str


def refuse_cuts(plan: Plan, ways: Iterable[Way], links: Mapping[Key, Object], allow: frozenset[str]) -> None:
    """Let ``plan`` pass, or say which steps would cut which way.

    Raises:
        GuardError: It would cut a way that is not allowed to be.
    """
    carriers: dict[str, str] = {}
    sources: dict[str, str] = {}
    for way in ways:
        sources.setdefault(way.source, way.whose)
        for name in _carriers(way.link, links):
            carriers.setdefault(name, way.whose)
    told = []
    for step in singles(plan.steps):
        cut = _cuts(step, carriers, sources)
        if cut and cut[0] not in allow:
            told.append(_sentence(step, *cut))
    if told:
        raise GuardError("\n".join(told))


def ways_of(kernel: Connection, session: Session) -> list[Way]:
    """The ways of the default routes, and of the session that asks."""
    asked = [(address, "the default route") for address in ANYWHERE]
    if session.peer:
        asked.insert(0, (session.peer, f"your session from {session.peer}"))
    ways = [Way(whose, *way) for address, whose in asked if (way := kernel.way_to(address))]
    return [*ways, Way("your session", "", session.local)] if session.local else ways


def links_around(kernel: Connection, ways: Iterable[Way], actual: State) -> dict[Key, Object]:
    """The actual links, and those of the ways where they are none of ours."""
    links = dict(actual.of("link"))
    missing = {way.link for way in ways} - {"", *(str(key[0]) for key in links)}
    while missing:
        found = kernel.dump(Selection(links=frozenset(missing))).of("link")
        links.update({key: link for key, link in found.items() if key not in links})
        below = {
            str(link.attrs[name]) for link in found.values() for name in ("link", "master") if link.attrs.get(name)
        }
        missing = {name for name in below if (name,) not in links} if found else set()
    return links


def _carriers(start: str, links: Mapping[Key, Object]) -> Iterator[str]:
    """All links that carry what leaves by ``start``."""
    ports = _ports(links)
    seen = {"lo"}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in seen or (name,) not in links:
            continue
        seen.add(name)
        yield name
        attrs = links[name,].attrs
        if attrs.get("master"):
            yield str(attrs["master"])
        if attrs.get("link"):
            waiting.append(str(attrs["link"]))
        waiting += [port for port in ports.get(name, ()) if _leads_out(port, links)]


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


def _cuts(step: Step, carriers: Mapping[str, str], sources: Mapping[str, str]) -> tuple[str, str] | None:
    """The link that a step would cut, and whose way that is."""
    obj = step.object
    if obj.cls == "link":
        return (obj.name, carriers[obj.name]) if obj.name in carriers and _severs(step) else None
    if obj.cls == "address" and step.op is Op.DELETE:
        plain = str(obj.key[1]).partition("/")[0]
        return (obj.name, sources[plain]) if plain in sources else None
    if obj.cls == "bridge_vlan" and step.op is Op.DELETE:
        return (obj.name, carriers[obj.name]) if obj.name in carriers else None
    if obj.cls == "route" and _reroutes(step):
        return str((step.before or obj).attrs.get("dev") or obj.key[2]), "the default route"
    return None


def _reroutes(step: Step) -> bool:
    """Whether a step takes away the default route or leads it elsewhere."""
    _, table, destination, *_ = step.object.key
    if table != _MAIN_TABLE or destination not in _DEFAULTS:
        return False
    return step.op is Op.DELETE or (step.op is Op.CHANGE and bool(step.attrs.keys() & _REROUTING))


def _severs(step: Step) -> bool:
    """Whether a step about a link interrupts what the link carries."""
    if step.op is Op.CREATE:
        return False
    return step.op is Op.DELETE or step.attrs.get("up") is False or bool(step.attrs.keys() & {"master", "netns"})


def _sentence(step: Step, link: str, whose: str) -> str:
    obj = step.object
    what = f"{noun(obj)} {' '.join(str(field) for field in obj.key if field)}"
    where = f"{obj.origin}: " if obj.origin else ""
    return f"{where}to {step.op} {what} would cut the way of {whose}; allow {link!r} to be cut if that is meant"
