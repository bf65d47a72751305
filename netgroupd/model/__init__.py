# SPDX-License-Identifier: GPL-2.0-or-later
"""What netgroupd knows of: every class of object, by its name, lower ones first."""

from netgroupd.model import (
    address,
    bridge_vlan,
    ethtool,
    fdb,
    link,
    mdb,
    mst,
    neighbour,
    nexthop,
    route,
    rule,
    sysctl,
    token,
    vf,
    vlan_global,
    vni,
)
from netgroupd.model.attr import Class
from netgroupd.model.tc import chain, filter, qdisc, shared  # noqa: A004  # the kernel calls it a filter

CLASSES: dict[str, Class] = {
    described.name: described
    for described in (
        *(module.CLASS for module in (link, sysctl, token, bridge_vlan, vlan_global, mst, vni, ethtool)),
        *(vf.COUNT, vf.CLASS),
        *(module.CLASS for module in (address, neighbour, fdb, mdb)),
        *(module.CLASS for module in (nexthop, route, rule)),
        *(qdisc.CLASS, qdisc.TCLASS, shared.CLASS, chain.CLASS, filter.CLASS),
    )
}
