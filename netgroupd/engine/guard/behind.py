# SPDX-License-Identifier: GPL-2.0-or-later
"""Behind which port of a bridge the neighbour is that a way leaves for: what is done to the others is no matter."""

from collections.abc import Mapping

from netgroupd.engine.guard.way import Way
from netgroupd.engine.observe import Connection
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Key, Object
from netgroupd.plan.compare import kind_of

_SAME_FRAMES = frozenset({"vlan", "macvlan"})  # what they send, a bridge below them looks up


def port_behind(kernel: Connection, way: Way, links: Mapping[Key, Object]) -> str:
    """The port, or "" where there is no bridge, or none that has learned it."""
    link, vlan = links.get((way.link,)), 0
    while way.route.lladdr and link and kind_of(link) in _SAME_FRAMES:
        vlan = int(str(link.attrs.get("id", vlan)))
        link = links.get((link.attrs.get("link"),))
    if not way.route.lladdr or not link or kind_of(link) != "bridge":
        return ""
    if not link.attrs.get("vlan_filtering"):
        vlan = 0
    elif not vlan:
        vlan = _untagged(kernel, link.name)
    return kernel.port_behind(link.name, way.route.lladdr, vlan)


def _untagged(kernel: Connection, bridge: str) -> int:
    vlans = kernel.dump(Selection(frozenset({"bridge_vlan"}), links=frozenset({bridge}))).of("bridge_vlan")
    return next((int(str(key[1])) for key, vlan in vlans.items() if key[0] == bridge and vlan.attrs.get("pvid")), 0)
