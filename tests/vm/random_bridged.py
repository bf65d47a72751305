# SPDX-License-Identifier: GPL-2.0-or-later
"""Random bridges and bonds with all that their ports may have at once, and groups that say it of many links."""

import random
from collections.abc import Mapping
from typing import Any, TypeAlias

Config: TypeAlias = dict[str, Any]

_BRIDGES = ("br0", "br1", "br2")
_TUNNEL = "vx3"
_PORTS = ("p0", "p1", "p2", "low0", "low1", "low2", "low3", "d1", "low0.100", "low[2-3]", _TUNNEL)
_SPANS = ("[v=100-102]", "[v=102-105]", "[v=300-301]", "[v=7,9,100]")
_OF_PORT: Mapping[str, tuple[object, ...]] = {
    "cost": (7, 9),
    "priority": (8, 16),
    "learning": (False, True),
    "flood": (False, True),
    "isolated": (True, False),
    "hairpin": (True, False),
    "neigh_suppress": (True, False),
    "neigh_vlan_suppress": (True, False),
    "locked": (True, False),
    "vlan_tunnel": (True, True, False),
    "mcast_router": (0, 2),
    "backup_port": ("p0", "low1", None),
}
_GLOBALLY: Mapping[str, tuple[object, ...]] = {
    "mcast_snooping": (False, True),
    "mcast_querier": (True, False),
    "mcast_igmp_version": (3, 2),
    "mcast_query_interval": (6000, 12500),
}
_SENDERS: Mapping[str, tuple[object, ...]] = {
    "src": ("192.0.2.7", None, None),
    "filter_mode": ("include", "exclude"),
    "source_list": (["192.0.2.7"], ["192.0.2.8", "192.0.2.7"], None),
}
_BONDS: Mapping[str, Mapping[str, tuple[object, ...]]] = {
    "active-backup": {"primary": ("low0", "low1", None), "fail_over_mac": ("none", "active"), "miimon": (100, 200)},
    "balance-xor": {"xmit_hash_policy": ("layer2", "layer3+4"), "miimon": (100, 0)},
    "802.3ad": {"lacp_rate": ("slow", "fast"), "min_links": (0, 1), "ad_select": ("stable", "count")},
    "balance-rr": {"packets_per_slave": (1, 3), "arp_interval": (0, 500)},
}
_GROUPS = ("g0", "g1", "g2", "g3")
_OF_GROUP: Mapping[str, tuple[object, ...]] = {
    "up": (True, True, False),
    "mtu": (1400, 1450, 1500),
    "master": ("br0", "br1", "red", None),
    "drift": ("repair", "report", "ignore"),
    "online": (False, True),
    "id": (70, 71, 72),
    "txqueuelen": (500, 1000),
    "multicast": (False, True),
    "alias": ("of a group", None),
}


def _some(rng: random.Random, values: Mapping[str, tuple[object, ...]], most: int) -> Config:
    return {name: rng.choice(values[name]) for name in rng.sample(sorted(values), rng.randint(0, most))}


def port(rng: random.Random, config: Config) -> None:
    """Have a port of a bridge in several VLANs, with tunnels or not, and say more of it."""
    name, bridge = rng.choice(_PORTS), rng.choice(_BRIDGES)
    config["links"].setdefault(bridge, {"kind": "bridge"})["vlan_filtering"] = rng.random() < 0.9
    body = config["links"].setdefault(name, {})
    if name == _TUNNEL:
        body |= {"kind": "vxlan", "external": True, "dstport": 4795, "up": True}
    said = _some(rng, _OF_PORT, 3)
    body |= {"master": bridge, "port": said}
    mapped = said.get("vlan_tunnel") or (name == _TUNNEL and rng.random() < 0.8)
    if mapped:
        said["vlan_tunnel"] = True
    body["vlans"] = [_vlans(rng, mapped=bool(mapped)) for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.3:
        body["vlans"].append({"vid": rng.choice((1, 100, 400)), "pvid": True, "untagged": True})
    if rng.random() < 0.1:
        body["vlans"].append({"vid": 1, "member": False})
    if name == _TUNNEL and rng.random() < 0.5:
        body["fdb"] = [
            {"mac": "00:00:00:00:00:00", "dst": f"192.0.2.{50 + each}", "src_vni": 900}
            for each in range(rng.randint(1, 3))
        ]


def _vlans(rng: random.Random, *, mapped: bool) -> Config:
    said: Config = {"vid": rng.choice(_SPANS)}
    if mapped and rng.random() < 0.7:
        said["tunnel_id"] = rng.choice(("{v + 1000}", "{v + 2000}"))
    more: Mapping[str, tuple[object, ...]] = {
        "untagged": (True,),
        "state": ("blocking", "forwarding"),
        "neigh_suppress": (True,),
        "mcast_router": (2, 0),
    }
    return said | _some(rng, more, 2)


def of_bridge(rng: random.Random, config: Config) -> None:
    """Say which VLANs a bridge is in itself, and what it does in which."""
    body = config["links"].setdefault(rng.choice(_BRIDGES), {"kind": "bridge"})
    body |= {"kind": "bridge", "vlan_filtering": True, "mcast_vlan_snooping": rng.random() < 0.7}
    body["vlans"] = [{"vid": rng.choice(_SPANS)} for _ in range(rng.randint(1, 2))]
    body["vlan_global"] = [{"vid": one["vid"], **_some(rng, _GLOBALLY, 2)} for one in body["vlans"]]
    if rng.random() < 0.4:
        body |= {"mcast_igmp_version": 3} if rng.random() < 0.8 else {}
        body["mdb"] = [
            {
                "group": f"239.1.1.{number}",
                "port": rng.choice(("p0", "p1", "p2", "low2")),
                "vid": rng.choice((1, 100)),
                **_some(rng, _SENDERS, 2),
            }
            for number in rng.sample(range(4), 2)
        ]


def bond(rng: random.Random, config: Config) -> None:
    """Have a bond of some mode over some links, perhaps a port of a bridge itself."""
    mode = rng.choice([*_BONDS])
    body = config["links"].setdefault("bond0", {})
    ports = rng.sample(("low0", "low1", "low2", "p2"), rng.randint(0, 3))
    for name in ports:
        config["links"].get(name, {}).pop("master", None)
        config["links"].get(name, {}).pop("port", None)
    body.clear()
    body |= {"kind": "bond", "mode": mode, "up": rng.random() < 0.8, "ports": ports, **_some(rng, _BONDS[mode], 2)}
    if rng.random() < 0.4:
        body["master"] = rng.choice(_BRIDGES)
    elif rng.random() < 0.5:
        body["addresses"] = ["10.80.0.1/24", "2001:db8:80::1/64"]


def group(rng: random.Random, config: Config) -> None:
    """Say what groups of links have, some of them inside of others."""
    groups = config.setdefault("groups", {})
    name = rng.choice(_GROUPS)
    said = _some(rng, _OF_GROUP, 3)
    if rng.random() < 0.4:
        said["members"] = rng.sample([other for other in _GROUPS if other > name] or ["g4"], 1)
    groups[name] = said
    for link in rng.sample(_PORTS, 2):
        if link in config["links"]:
            config["links"][link]["group"] = name
            if rng.random() < 0.5:
                config["links"][link].pop(rng.choice(("up", "mtu", "alias", "master")), None)


MOVES = (
    (port, 6),
    (of_bridge, 2),
    (bond, 2),
    (group, 4),
)
"""What can be changed, and how often it is."""
