# SPDX-License-Identifier: GPL-2.0-or-later
"""Which module reads and writes which class of objects, in the order of dumping: links bring the names.

A module is loaded when its class is first needed: what looks at links only
would otherwise spend most of its time on loading the others.
"""

from functools import cache
from importlib import import_module

from netgroupd.kernel.netlink.request import Codec

_PLACES = {
    "link": "links.codec.CODEC",
    "sysctl": "settings.sysctls.CODEC",
    "token": "layer3.tokens.CODEC",
    "bridge_vlan": "layer2.bridge_vlans.CODEC",
    "vlan_global": "layer2.vlan_global.CODEC",
    "mst": "layer2.mst.CODEC",
    "vni": "layer2.vnis.CODEC",
    "ethtool": "settings.ethtool.CODEC",
    "sriov": "vf.COUNT_CODEC",
    "vf": "vf.CODEC",
    "address": "layer3.addresses.CODEC",
    "neighbour": "layer3.neighbours.CODEC",
    "fdb": "layer2.fdb.CODEC",
    "mdb": "layer2.mdb.CODEC",
    "nexthop": "layer3.nexthops.CODEC",
    "route": "layer3.routes.CODEC",
    "rule": "layer3.rules.CODEC",
    "qdisc": "tc.qdiscs.CODEC",
    "tclass": "tc.qdiscs.CLASS_CODEC",
    "action": "tc.actions.shared.CODEC",
    "chain": "tc.chains.CODEC",
    "filter": "tc.filters.codec.CODEC",
}

CLASSES = tuple(_PLACES)


@cache
def codec(cls: str) -> Codec:
    """What reads and writes the objects of a class."""
    module, _, name = _PLACES[cls].rpartition(".")
    found = getattr(import_module(f"netgroupd.kernel.{module}"), name)
    assert isinstance(found, Codec)
    return found
