# SPDX-License-Identifier: GPL-2.0-or-later
"""The links that carry what leaves by a link.

It itself, those below it, its bridge or VRF, what leads out of a bridge, and the other
end of a veth pair with the bridge that this one is a port of.  A tunnel's packets leave
by the link that it is bound to.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from netgroupd.model.state import Key, Object
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import TEAMING, peer_of

# What is behind such a port of a bridge is on this host, or a guest of it, unless more is known of it.
_INWARD = frozenset({"veth", "netkit", "tun", "dummy", "ifb", "nlmon"})
RING = ("slave1", "slave2")  # each of which carries all of it
INTERLINK = "interlink"  # who is behind it is none of the ring, and has no other way
_BELOW = ("link", "dev", *RING, INTERLINK)


class _Reached(NamedTuple):
    """How the search came to a link: from which one, and whether that has it as a port."""

    above: str
    as_port: bool = False


def carriers(start: str, links: Mapping[Key, Object], behind: str = "") -> Iterator[tuple[str, str]]:
    """All links that carry what leaves by ``start``, each with the one that it carries this for; "" for the first.

    Of the ports of a bridge all may, unless it is known which one its packets are sent by: the one they are ``behind``.
    """
    reached = _reached(start, links, behind)
    outward: set[str] = set()
    for name, how in reversed(reached.items()):
        if name in outward or _leads_out(links[name,], links):
            outward |= {name, how.above}
    # Where no port leads out it is one of the others: in a container the way out is a veth.
    left = {how.above for name, how in reached.items() if how.as_port and name in outward}
    carrying = {"": ""}
    for name, how in reached.items():
        if how.above in carrying and (name in outward or not how.as_port or how.above not in left):
            carrying[name] = how.above
    del carrying[""]
    for name, above in carrying.items():
        yield name, above
        master = str(links[name,].attrs.get("master") or "")
        if master and master not in carrying:
            yield master, name


def below(link: Object) -> tuple[str, ...]:
    """The links that one stands on, and the other end of a cable."""
    names = (*(link.attrs.get(field) for field in _BELOW), peer_of(link))
    return tuple(str(name) for name in names if name)


def spares(link: Object, links: Mapping[Key, Object]) -> list[Object]:
    """The links of which one does for another, below a bond, a team or a ring; none for others."""
    if kind_of(link) == "hsr":
        return [links[name,] for name in map(link.attrs.get, RING) if (name,) in links]
    return (
        [port for port in links.values() if port.attrs.get("master") == link.name] if kind_of(link) in TEAMING else []
    )


def _reached(start: str, links: Mapping[Key, Object], behind: str) -> dict[str, _Reached]:
    """Every link that may carry it, those above first."""
    ports = _ports(links)
    if (port := links.get((behind,))) and (bridge := port.attrs.get("master")):
        ports[str(bridge)] = [behind]
    found: dict[str, _Reached] = {}
    waiting = [(start, _Reached(""))]
    while waiting:
        name, how = waiting.pop()
        if name in found or (name,) not in links or name == "lo":
            continue
        found[name] = how
        link = links[name,]
        waiting += [(lower, _Reached(name)) for lower in below(link)]
        if how.above and peer_of(link) == how.above and kind_of(links.get((link.attrs.get("master"),))) == "bridge":
            waiting.append((str(link.attrs["master"]), _Reached(name)))
        waiting += [(port, _Reached(name, as_port=True)) for port in ports.get(name, ())]
    return found


def _ports(links: Mapping[Key, Object]) -> dict[str, list[str]]:
    ports: dict[str, list[str]] = {}
    for link in links.values():
        if master := link.attrs.get("master"):
            ports.setdefault(str(master), []).append(link.name)
    return ports


def _leads_out(link: Object, links: Mapping[Key, Object]) -> bool:
    """Whether a link is or stands on hardware, a bond, a tunnel, or something that nobody has looked at."""
    seen: set[str] = set()
    while (lower := str(link.attrs.get("link") or "")) and lower not in seen:
        if (lower,) not in links:
            return True
        seen.add(lower)
        link = links[lower,]
    return kind_of(link) not in (*_INWARD, "bridge")
