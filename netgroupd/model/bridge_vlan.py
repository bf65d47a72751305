# SPDX-License-Identifier: GPL-2.0-or-later
"""The VLANs of bridge ports and of bridges themselves, under ``bridge vlan``'s names."""

from collections.abc import Iterable, Iterator, Mapping

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.model.value import FLAG, LINK, U32, Value, number, word

DEFAULT_VID = 1
"""The VLAN that a bridge and its ports are in by themselves, unless `vlan_default_pvid` says another."""

STATES = {"disabled": 0, "listening": 1, "learning": 2, "forwarding": 3, "blocking": 4}

CLASS = Class(
    "bridge_vlan",
    "A VLAN that a bridge port, or the bridge itself, is a member of.",
    (
        Attr("link", LINK, "The port, or the bridge."),
        Attr("vid", number(16, 1, 4094), "The VLAN."),
    ),
    table(
        (
            Attr("member", FLAG, "false takes it out of a VLAN that its bridge puts it into by itself."),
            Attr("pvid", FLAG, "Packets without a tag belong to it."),
            Attr("untagged", FLAG, "Send its packets without a tag."),
            Attr(
                "tunnel_id",
                number(32, 1, (1 << 24) - 1),
                "The VNI that it is mapped to.",
                1,
                Change.IN_PLACE,
                nullable=True,
            ),
            Attr("state", word(8, STATES), "Its spanning-tree state on this port.", 3),
            Attr("mcast_router", number(8, 0, 3), "Whether a multicast router is there: 0 no, 1 as heard, 2 yes.", 6),
            Attr("mcast_max_groups", U32, "The most multicast groups of the port in this VLAN, 0 for any number.", 8),
            Attr("neigh_suppress", FLAG, "Answer for known neighbours in this VLAN.", 9),
        )
    ),
)

USUAL: Mapping[str, Value] = {"state": "forwarding", "mcast_router": 1, "mcast_max_groups": 0}
"""What a VLAN has that a port or bridge is new to."""

OF_PORTS = ("tunnel_id", "mcast_max_groups", "neigh_suppress")
"""What the VLANs of a bridge itself do not have."""

LOST_IN_RANGES = frozenset({"mcast_max_groups", "neigh_suppress"})
"""What VLANs may differ in that the kernel tells of as one range, with what the first of them has."""

OUT: Attrs = {"member": False}
"""What is wanted of a VLAN that a link is not to be in."""

_KIND = "bridge"
AS_LONG_AS_ASKED = 3
"""The ``mcast_router`` that becomes 1 again by itself, some minutes later; only a port takes it."""


def is_out(vlan: Object) -> bool:
    """Whether a link is not to be in a VLAN."""
    return vlan.attrs.get("member") is False


def is_said_apart(state: State) -> bool:
    """Whether something is said of VLANs that ranges of them do not tell."""
    return any(not LOST_IN_RANGES.isdisjoint(vlan.attrs) for vlan in state.of("bridge_vlan").values())


def vlans_joined(state: State) -> Mapping[Key, Object]:
    """The VLANs that links are in, or are to be in."""
    vlans = state.of("bridge_vlan")
    return {key: vlan for key, vlan in vlans.items() if not is_out(vlan)} if any(map(is_out, vlans.values())) else vlans


def bridge_of(link: Object) -> str:
    """The bridge that a link is, which may have a master too, or has as its master; "" is none."""
    return link.name if link.attrs.get("kind") == "bridge" else str(link.attrs.get("master") or "")


def bridged(names: Iterable[str], state: State) -> Iterator[Object]:
    """Those links of some names that are bridges, or ports of what is known to be one; no others are in VLANs."""
    in_some = {str(key[0]) for key in state.of("bridge_vlan")}
    for name in names:
        link = state.link(name)
        bridge = state.link(bridge_of(link)) if link else None
        if link and (name in in_some or (bridge and bridge.attrs.get("kind") == "bridge")):
            yield link


def default_vid(link: Object, state: State) -> Value:
    """The VLAN that a bridge, or the one that ``link`` is a port of, puts both into by itself; 0 is none."""
    bridge = state.link(bridge_of(link))
    if bridge is None:
        return DEFAULT_VID
    return bridge.attrs.get("vlan_default_pvid", DEFAULT_VID) if bridge.attrs.get("kind", _KIND) == _KIND else 0


def taken_out(names: Iterable[str], actual: State) -> Iterator[Key]:
    """For each link of some names that is not in the VLAN that its bridge puts it into: its name, and that VLAN."""
    vlans = actual.of("bridge_vlan")
    for link in bridged(names, actual):
        bridge = actual.link(bridge_of(link))
        vid = bridge.attrs.get("vlan_default_pvid") if bridge else DEFAULT_VID
        if vid and (link.name, vid) not in vlans:
            yield link.name, vid
