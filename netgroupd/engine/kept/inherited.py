# SPDX-License-Identifier: GPL-2.0-or-later
"""(a link, the one that it stands on) -> what a new one has from that, and not by itself; and what a card has."""

from netgroupd.kernel.usual import differing_from
from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import TEAMING

_FLAGS = {"vlan": frozenset({"arp", "multicast"})}
# Of a card it is what it can send at once; of a virtual link it is what somebody has set.
_SIZES = frozenset({"gso_max_size", "gso_max_segs", "gso_ipv4_max_size"})
_SIZED = frozenset({"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap"})

_COSTS = (2, 4, 19, 100)  # which the kernel gives to the ports of bridges by their speed
_CHANNEL = "0001"  # the port in the id of a channel, where none is said
_TAG = 16  # what MACsec puts before a packet; a check value comes behind it


def flags_of_lower(kind: str) -> frozenset[str]:
    """The flags that a link of some kind has from the one below it."""
    return _FLAGS.get(kind, frozenset())


def inherited(link: Object, lower: Object | None) -> Attrs:
    """What a link like this begins with above ``lower``, if there is one, or because of its ports."""
    kind, names = kind_of(link), flags_of_lower(kind_of(link))
    if kind in _SIZED and not kind_of(lower):
        names |= _SIZES
    found = {name: lower.attrs[name] for name in names if name in lower.attrs} if lower else {}
    if lower and kind == "macsec":
        found["sci"] = str(lower.attrs.get("mac")).replace(":", "") + _CHANNEL
    if (lower or kind in TEAMING) and link.attrs.get("port.cost") in _COSTS:
        found["port.cost"] = link.attrs["port.cost"]
    return found


def mtu_above(lower: Object, link: Object) -> Value:
    """The MTU that a link like this begins with above ``lower``."""
    mtu, check = lower.attrs.get("mtu"), link.attrs.get("icvlen", 16)
    if kind_of(link) == "macsec" and isinstance(mtu, int) and isinstance(check, int):
        return mtu - _TAG - check
    return mtu


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
