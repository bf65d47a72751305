# SPDX-License-Identifier: GPL-2.0-or-later
"""(a link, the one that it stands on) -> what a new one has from that, and not by itself; and what a card has."""

from netgroupd.kernel.usual import differing_from
from netgroupd.model.state import NOTHING, Attrs, Object
from netgroupd.plan.compare import kind_of

_FLAGS = {"vlan": frozenset({"arp", "multicast"})}
# Of a card it is what it can send at once; of a virtual link it is what somebody has set.
_SIZES = frozenset({"gso_max_size", "gso_max_segs", "gso_ipv4_max_size"})
_SIZED = frozenset({"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap"})

_COSTS = (2, 4, 19, 100)  # which the kernel gives to the ports of bridges by their speed


def flags_of_lower(kind: str) -> frozenset[str]:
    """The flags that a link of some kind has from the one below it."""
    return _FLAGS.get(kind, frozenset())


def inherited(link: Object, lower: Object | None) -> Attrs:
    """What a link like this begins with below which is ``lower``."""
    if lower is None:
        return NOTHING
    names = flags_of_lower(kind_of(link))
    if kind_of(link) in _SIZED and not kind_of(lower):
        names |= _SIZES
    return {name: lower.attrs[name] for name in names if name in lower.attrs}


def of_port(card: Object, by_itself: Attrs) -> Attrs:
    """What somebody has told a card as a port."""
    found = differing_from(by_itself, card.attrs, [name for name in card.attrs if not name.startswith("port.")])
    if found.get("port.cost") in _COSTS:
        del found["port.cost"]
    return found


def is_held_down(link: Object, lower: Object | None) -> bool:
    """Whether a link is down that the kernel sets up by itself when it does so with the one below."""
    follows = kind_of(link) == "vlan" and not link.attrs.get("loose_binding")
    return follows and not link.attrs.get("up") and lower is not None and bool(lower.attrs.get("up"))
