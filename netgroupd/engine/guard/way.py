# SPDX-License-Identifier: GPL-2.0-or-later
"""How packets leave, as the guard knows it, and whether that is within a network."""

from functools import lru_cache
from typing import NamedTuple

from netgroupd.engine.session import CONSOLE, Session
from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.value import Value, holds, ip_bytes, split_prefix

ALMOST_ALL = 2  # bits: some have the default route in halves or quarters


class Way(NamedTuple):
    """How a packet leaves: whose way it is, by which route, and where to.

    ``accept_ra`` is that of the link, where the route is learned.  ``session`` is the one whose way it is, if any.
    One to ``anywhere`` goes to some address that stands for all of them.  ``holders`` are the links that have its
    address here, where that is all that is known of it.  ``behind`` is the port of a bridge that it leaves by, if the
    bridge has learned it.  What comes the other way is ``came_by`` a link.  A tunnel's packets may have a ``mark``, and
    are of a ``protocol`` of their own.
    """

    whose: str
    route: Route
    to: str = ""
    accept_ra: str = "0"
    vrf: str = ""
    session: Session = CONSOLE
    holders: frozenset[str] = frozenset()
    anywhere: bool = False
    behind: str = ""
    came_by: str = ""
    mark: int = 0
    protocol: str = ""

    @property
    def link(self) -> str:
        """The link that it leaves by."""
        return self.route.link

    @property
    def family(self) -> str:
        """The address family of the packets."""
        return "inet6" if ":" in self.to else "inet"

    @property
    def is_routed(self) -> bool:
        """Whether there is a router between the ends."""
        return self.route.gateway not in ("", self.to)

    def coming(self) -> "Way":
        """The way of what the other end sends, as far as rules ask about it."""
        peer, local, peer_port, local_port = self.session
        session, route = Session(local, peer, local_port, peer_port), self.route._replace(source=self.to)
        came_by = self.link if self.family == "inet" else self.vrf  # IPv6 is in the VRF before rules are asked
        return self._replace(route=route, to=self.route.source, session=session, came_by=came_by)

    def is_from(self, prefix: Value) -> bool:
        """Whether the address that it leaves with is in a network."""
        return contains(prefix, self.route.source)

    def is_in(self, prefix: Value) -> bool:
        """Whether its end is in a network; anywhere is in none but nearly all of them."""
        return contains(prefix, self.to) and (not self.anywhere or length_of(prefix) <= ALMOST_ALL)


_end = lru_cache(maxsize=16)(ip_bytes)  # of the few ends of the ways, asked about for every new route


def contains(prefix: Value, address: str) -> bool:
    """Whether an address is in a prefix."""
    return holds(str(prefix), _end(address))


def length_of(prefix: Value) -> int:
    """How long a prefix is, in bits."""
    return split_prefix(str(prefix))[1]
