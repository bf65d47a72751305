# SPDX-License-Identifier: GPL-2.0-or-later
"""What links have of the links beside them: MACs of bridges, VLANs and ports of bonds, MTUs of bridges.

A bridge that was given neither takes the least MAC and the least MTU of its
ports, and takes others when its ports change; the kernel does not say which it
was given. To ask for what was lent would pin it.  A port of a bond keeps its own
MAC for when it leaves, and would lose that to one that it is told.
"""

from collections.abc import Iterable

from netgroupd.model.kinds import WITHOUT_OWN_MAC
from netgroupd.model.state import Object, State
from netgroupd.model.value import NO_MAC, Value
from netgroupd.plan.compare import kind_of

_BORROWERS = frozenset({"bridge", "bond", "team", "vlan", "macsec"})
_EXCHANGING = frozenset({"balance-tlb", "balance-alb"})  # MACs among their ports
ALONE = 1500
"""The MTU of a bridge without ports."""


def sharing_a_mac(links: Iterable[Object]) -> frozenset[str]:
    """The macvlans that have all of the link below (passthru), and these: each has the MAC that either was told last.

    The link below has its own again when its macvlan goes.
    """
    shared = [link for link in links if link.attrs.get("mode") == "passthru"]
    return frozenset(str(name) for link in shared for name in (link.name, link.attrs.get("link")))


def least_of_ports(actual: State) -> dict[str, int]:
    """The MTU that a bridge has of its ports where it was told none, by the master of these."""
    found: dict[str, int] = {}
    for link in actual.of("link").values():
        if (master := str(link.attrs.get("master") or "")) and isinstance(mtu := link.attrs.get("mtu"), int):
            found[master] = min(mtu, found.get(master, mtu))
    return found


class Lent:
    """Who has what of whom, among some links."""

    def __init__(self, borrowers: Iterable[Object], actual: State) -> None:
        self._macs: dict[str, set[Value]] = {}
        links = actual.of("link")
        for link in borrowers:
            if (master := links.get((link.attrs.get("master"),))) and _gives_mac(master):
                self._macs[link.name] = {master.attrs.get("mac")}
            elif kind_of(link) in _BORROWERS and not _gives_mac(link):
                self._macs[link.name] = {NO_MAC}
        self._mtus = least_of_ports(actual) if self._macs else {}
        for link in links.values() if self._macs else ():
            if (above := str(link.attrs.get("master"))) in self._macs:
                self._macs[above].add(link.attrs.get("mac"))
            if link.name in self._macs and (lower := links.get((link.attrs.get("link"),))):
                self._macs[link.name].add(lower.attrs.get("mac"))

    def without(self, obj: Object, names: frozenset[str]) -> Object:
        """``obj`` without those of its attributes called ``names`` that it has of others."""
        kind = kind_of(obj)
        borrowed = kind in WITHOUT_OWN_MAC or obj.attrs.get("mac") in self._macs.get(obj.name, ()) or _has_none(obj)
        lent = {"mac"} if borrowed else set()
        if kind == "bridge" and obj.attrs.get("mtu") == self._mtus.get(obj.name, ALONE):
            lent.add("mtu")
        if not (lent := lent & names):
            return obj
        attrs = dict(obj.attrs)  # which copies sixty of them faster than it chooses among them
        for name in lent:
            attrs.pop(name, None)
        return obj._replace(attrs=attrs)


def _has_none(link: Object) -> bool:
    """Whether it has the MAC of a port, and without any what it had last; it takes no other."""
    attrs = link.attrs
    return attrs.get("mode") == "active-backup" and attrs.get("fail_over_mac") not in (None, "none")


def _gives_mac(link: Object) -> bool:
    """Whether all ports of a link have its MAC, and their own again when they leave it."""
    attrs = link.attrs
    steady = attrs.get("mode") not in _EXCHANGING and attrs.get("fail_over_mac") in (None, "none")
    return kind_of(link) == "team" or (kind_of(link) == "bond" and steady)
