# SPDX-License-Identifier: GPL-2.0-or-later
"""Which module reads and writes which class of objects, in the order of dumping: links bring the names."""

from collections.abc import Mapping

from netgroupd.kernel import addresses, bridge_vlans, fdb, links, neighbours, nexthops, routes, rules, sysctls
from netgroupd.kernel.request import Codec
from netgroupd.kernel.tc import chains, filters, qdiscs

CODECS: Mapping[str, Codec] = {
    "link": links.CODEC,
    "sysctl": sysctls.CODEC,
    "bridge_vlan": bridge_vlans.CODEC,
    "address": addresses.CODEC,
    "neighbour": neighbours.CODEC,
    "fdb": fdb.CODEC,
    "nexthop": nexthops.CODEC,
    "route": routes.CODEC,
    "rule": rules.CODEC,
    "qdisc": qdiscs.CODEC,
    "tclass": qdiscs.CLASS_CODEC,
    "chain": chains.CODEC,
    "filter": filters.CODEC,
}
