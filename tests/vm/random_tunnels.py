# SPDX-License-Identifier: GPL-2.0-or-later
"""Random tunnels and what they know of their other ends: peers of WireGuard, entries and networks of VXLANs."""

import random
from collections.abc import Mapping
from typing import Any, TypeAlias

Config: TypeAlias = dict[str, Any]

_KEYS = tuple(f"{letter * 42}A=" for letter in "BCD")
_ALLOWED = ("10.90.0.0/24", "10.90.1.0/24", "10.90.0.0/16", "10.90.1.1/32", "0.0.0.0/0", "2001:db8:90::/48", "::/0")
_OF_PEER: Mapping[str, tuple[object, ...]] = {
    "endpoint": ("192.0.2.9:51820", "192.0.2.9:51821", "[2001:db8::9]:51820"),
    "persistent_keepalive": (25, 0),
}
_VXLANS = ("vx0", "vx1", "vx4")
_NEW: Mapping[str, object] = {"kind": "vxlan", "id": 44, "dstport": 4799, "up": True}
_ENDS = ("192.0.2.50", "192.0.2.51", "198.51.100.50", "203.0.113.50")
_TO_ALL = "00:00:00:00:00:00"
_OF_ENTRY: Mapping[str, tuple[object, ...]] = {
    "port": (4791, 4792),
    "vni": (20, 30),
    "via": ("d0", "d1"),
    "state": ("permanent", "static"),
}
_NETWORKS = ("[n=100-103]", "[n=102-105]", 104, 200, 201)
_FLOODING = ("192.0.2.50", "192.0.2.51", "239.5.5.5", "2001:db8::50", None)


def _some(rng: random.Random, values: Mapping[str, tuple[object, ...]], most: int) -> Config:
    return {name: rng.choice(values[name]) for name in rng.sample(sorted(values), rng.randint(0, most))}


def peers(rng: random.Random, config: Config) -> None:
    """Have a WireGuard know another peer, one less, or each the networks of others."""
    body = config["links"].setdefault("wg0", {"kind": "wireguard", "up": True})
    known = {peer["public_key"]: peer for peer in body.get("peers", ())}
    if len(known) > 1 and rng.random() < 0.5:
        networks = [network for peer in known.values() for network in peer.pop("allowed_ips", ())]
        for network in networks:
            rng.choice([*known.values()]).setdefault("allowed_ips", []).append(network)
    else:
        key = rng.choice(_KEYS)
        taken = rng.sample(_ALLOWED, rng.randint(0, 3))
        for peer in known.values():
            peer["allowed_ips"] = [network for network in peer.get("allowed_ips", ()) if network not in taken]
        known[key] = {"public_key": key, "allowed_ips": taken, **_some(rng, _OF_PEER, 2)}
        if rng.random() < 0.3:
            del known[rng.choice([*known])]
    body["peers"] = rng.sample([*known.values()], len(known))


def other_ends(rng: random.Random, config: Config) -> None:
    """Have a VXLAN send some addresses to one end each, and all that it does not know to several."""
    body = config["links"].setdefault(rng.choice(_VXLANS), dict(_NEW))
    told = [(_TO_ALL, end) for end in rng.sample(_ENDS, rng.randint(0, 3))]
    told += [(f"02:00:00:00:51:0{number}", rng.choice(_ENDS)) for number in rng.sample(range(3), rng.randint(0, 2))]
    of = {"src_vni": rng.choice((900, 901))} if body.get("external") else {}
    body["fdb"] = [{"mac": mac, "dst": end, **of, **_some(rng, _OF_ENTRY, 2)} for mac, end in told]


def networks(rng: random.Random, config: Config) -> None:
    """Have a VXLAN take other networks, some of which go to ends of their own."""
    body = config["links"].get("vx2")
    if body is not None:
        drawn = rng.sample(_NETWORKS, rng.randint(0, 3))
        body["vnis"] = [{"vni": one, **_some(rng, {"remote": _FLOODING}, 1)} for one in drawn]


MOVES = (
    (peers, 3),
    (other_ends, 3),
    (networks, 2),
)
"""What can be changed, and how often it is."""
