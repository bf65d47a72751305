# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of a pair of links: of one end alone, and no MACs where it has none."""

from netgroupd.config.checked import Checked
from netgroupd.model.kinds.pair import NETKIT, OF_PAIR


def pairs(checked: Checked) -> None:
    """The kernel takes what holds for both ends from the one that it makes first."""
    links = checked.links
    for name, attrs in checked.of_kinds([NETKIT.name]):
        peer = str(attrs.get("peer"))
        said = sorted(OF_PAIR & attrs.keys())
        if said and name > peer and not OF_PAIR.isdisjoint(checked.attrs(peer)):
            told = f"what holds for both ends of the pair {peer!r} and {name!r} is said of both"
            checked.refuse_link(name, said[0], told, f"say all of it of {peer!r}")
        if {name, peer} & links.unsound or not sends_packets(name, checked):
            continue
        if attrs.get("mac"):
            told = f"{name!r} cannot have a MAC: it is a netkit of mode l3, and sends packets without frames"
            checked.refuse_link(name, "mac", told, "set its mode to l2")
        if checked.attrs(str(attrs.get("master"))).get("kind") == "bridge":
            told = f"{name!r} cannot be a port of the bridge {attrs['master']!r}: it is a netkit of mode l3"
            checked.refuse_link(name, "master", told, "set its mode to l2")


def vlans_of_packets(checked: Checked) -> None:
    """A VLAN has the MAC of the link below it, or its own; where nothing is said it comes up with that."""
    links = checked.links
    for name, attrs in checked.of_kinds(["vlan"] if checked.by_kind.get(NETKIT.name) else ()):
        lower = str(attrs.get("link"))
        comes_up = attrs.get("up", checked.attrs(lower).get("up") and not attrs.get("loose_binding"))
        if "mac" not in attrs and comes_up and sends_packets(lower, checked):
            told = f"{name!r} has no MAC to come up with: {lower!r} is a netkit of mode l3, and has none"
            checked.report.once(links.places[name], told, "give it a mac")


def sends_packets(name: str, checked: Checked) -> bool:
    """Whether a link is an end of a pair that has no frames."""
    attrs = checked.attrs(name)
    other = checked.attrs(str(attrs.get("peer")))
    return attrs.get("kind") == NETKIT.name and attrs.get("mode", other.get("mode", "l3")) == "l3"
