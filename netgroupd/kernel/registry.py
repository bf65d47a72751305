# SPDX-License-Identifier: GPL-2.0-or-later
"""Which module reads and writes which class of objects, in the order of dumping: links bring the names.

A module is loaded when its class is first needed: what looks at links only
would otherwise spend most of its time on loading the others.
"""

from functools import cache
from importlib import import_module

from netgroupd.kernel.request import Codec

_PLACES = {
    "link": "links.CODEC",
    "sysctl": "sysctls.CODEC",
    "token": "tokens.CODEC",
    "bridge_vlan": "bridge_vlans.CODEC",
    "vlan_global": "vlan_global.CODEC",
    "mst": "mst.CODEC",
    "vni": "vnis.CODEC",
    "ethtool": "ethtool.CODEC",
    "sriov": "vf.COUNT_CODEC",
    "vf": "vf.CODEC",
    "address": "addresses.CODEC",
    "neighbour": "neighbours.CODEC",
    "fdb": "fdb.CODEC",
    "mdb": "mdb.CODEC",
    "nexthop": "nexthops.CODEC",
    "route": "routes.CODEC",
    "rule": "rules.CODEC",
    "qdisc": "tc.qdiscs.CODEC",
    "tclass": "tc.qdiscs.CLASS_CODEC",
    "action": "tc.actions_shared.CODEC",
    "chain": "tc.chains.CODEC",
    "filter": "tc.filters.CODEC",
}

CLASSES = tuple(_PLACES)


@cache
def codec(cls: str) -> Codec:
    """What reads and writes the objects of a class."""
    module, _, name = _PLACES[cls].rpartition(".")
    found = getattr(import_module(f"netgroupd.kernel.{module}"), name)
    assert isinstance(found, Codec)
    return found
