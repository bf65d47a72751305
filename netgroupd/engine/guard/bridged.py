# SPDX-License-Identifier: GPL-2.0-or-later
"""The VLANs in which the packets of a way go through bridges: what is done to others does not concern it."""

from collections.abc import Collection, Mapping

from netgroupd.model.state import Key, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of

_PROTOCOL = "802.1q"

Vlans = Mapping[Key, Object]


def vlans_by_bridge(
    carrying: Mapping[str, str], links: Mapping[Key, Object], vlans: Vlans
) -> dict[str, frozenset[Value]]:
    """Those that are known, of the bridges among what carries a way; ``carrying`` tells for which link each does.

    Tagged is what goes to a VLAN of the bridge, and what leaves by the bridge itself is in its own VLAN of
    packets without a tag.  What comes in by a port may be in any.
    """
    found = {}
    for name, above in carrying.items():
        bridge, upper = links.get((name,)), links.get((above,))
        if kind_of(bridge) != "bridge":
            continue
        own = _untagged(name, vlans) if upper is None or kind_of(upper) == "vrf" else frozenset[Value]()
        tagged = _tagged(bridge, carrying, links) if bridge else None
        if tagged is not None and (own or (upper and upper.attrs.get("link") == name)):
            found[name] = own | tagged
    return found


def _tagged(bridge: Object, carrying: Collection[str], links: Mapping[Key, Object]) -> frozenset[Value] | None:
    """The VLANs of a bridge that have a link of their own which carries the way; None if one is of another protocol."""
    uppers = [link for name in carrying if (link := links.get((name,))) and link.attrs.get("link") == bridge.name]
    protocols = {upper.attrs.get("protocol", _PROTOCOL) for upper in uppers}
    if any(kind_of(upper) != "vlan" for upper in uppers):
        return None
    same = protocols <= {bridge.attrs.get("vlan_protocol", _PROTOCOL)}
    return frozenset(upper.attrs.get("id") for upper in uppers) if same else None


def _untagged(name: str, vlans: Vlans) -> frozenset[Value]:
    return frozenset(key[1] for key, vlan in vlans.items() if key[0] == name and vlan.attrs.get("pvid"))
