# SPDX-License-Identifier: GPL-2.0-or-later
"""Random words of the files beside those of single links: ports, VRFs, VLANs by name, ranges, trees, groups."""

import random
from typing import Any

from tests.vm import random_on_links
from tests.vm.random_tc_rules import SHARED

_PLAIN = ("p0", "p1", "p2", "low0", "low1", "low2", "low3", "d1")
_VRFS = {"red": 10, "green": 11, "white": 12}
_VIDS = (100, 101, 102, 300)
_BRIDGES = ("br0", "br1", "br2")
_TREES = (1, 2)
_STATES = ("disabled", "listening", "learning", "forwarding", "blocking")
_GROUPS = range(20, 25)
_HOPS = {"inet": (1, 2), "inet6": (7, 8)}


def _several(rng: random.Random) -> Any:
    """Some links, as a list, a range or names of VLANs."""
    how = rng.random()
    if how < 0.25:
        first = rng.randrange(3)
        return f"low[{first}-{rng.randint(first, 3)}]"
    names = rng.sample(_PLAIN, rng.randint(0, 3))
    return [f"{name}.{rng.choice(_VIDS)}" if rng.random() < 0.3 else name for name in names]


def ports(rng: random.Random, config: dict[str, Any]) -> None:
    """Say on the side of the master who its ports are."""
    masters = [name for name, body in config["links"].items() if body.get("kind") in ("bridge", "bond", "team")]
    if not masters:
        return
    master = config["links"][rng.choice(masters)]
    said = _several(rng)
    _free(config, said)
    master["ports"] = said


def _free(config: dict[str, Any], said: Any) -> None:
    """Have links in no other list, most of the time."""
    names = [f"low{number}" for number in range(4)] if isinstance(said, str) else said
    for body in (*config["links"].values(), *config.get("vrfs", {}).values()):
        for key in ("ports", "links"):
            if isinstance(body.get(key), list):
                body[key] = [name for name in body[key] if name not in names]
            elif body.get(key) == said or (body.get(key) and isinstance(said, str)):
                del body[key]
    for name in names:
        body = config["links"].get(name, {})
        body.pop("master", None)
        body.pop("port", None)


def vrf(rng: random.Random, config: dict[str, Any]) -> None:
    """Describe a VRF, or say who is in it."""
    vrfs = config.setdefault("vrfs", {})
    name = rng.choice([*_VRFS])
    if name in vrfs and rng.random() < 0.15:
        del vrfs[name]
        return
    body = vrfs.setdefault(name, {"table": _VRFS[name], "up": True})
    if rng.random() < 0.1:
        body["table"] = rng.choice((*_VRFS.values(), 13))
    said = _several(rng)
    _free(config, said)
    body["links"] = said
    if rng.random() < 0.3:
        config["sysctl"]["net.vrf.strict_mode"] = rng.randrange(2)
    if rng.random() < 0.5:
        to = rng.choice(("10.70.0.0/16", "2001:db8:70::/48"))
        way = {"type": "blackhole"} if rng.random() < 0.5 else {"dev": rng.choice(_PLAIN)}
        config.setdefault("routes", []).append({"to": to, "vrf": name, **way})


def vlan_by_name(rng: random.Random, config: dict[str, Any]) -> None:
    """Say something of a VLAN that is made for its name."""
    lower, number = rng.choice(_PLAIN), rng.randrange(4)
    name = f"{lower}.{rng.choice(_VIDS)}"
    if lower in config["links"]:
        config["links"][lower]["up"] = True
    said = rng.choice(
        (
            {"up": True},
            {"addresses": [f"10.60.{number}.1/24", f"2001:db8:60:{number}::1/64"]},
            {"mtu": 1400},
            {"egress_qos": {"1": 2}} if rng.random() < 0.1 else {"alias": "a VLAN"},
        )
    )
    config["links"].setdefault(name, {}).update(said)


def ranges(rng: random.Random, config: dict[str, Any]) -> None:
    """Say the same of several links."""
    first = rng.randrange(3)
    last = rng.randint(first, 4)
    key = rng.choice((f"low[{first}-{min(last, 3)}]", f"n[a={first}-{last}]"))
    said: dict[str, Any] = {"kind": "dummy"} if key.startswith("n") else {}
    what = rng.choice(
        (
            {"up": True},
            {"mtu": 1450},
            {"addresses": ["10.50.{1}.1/24", "2001:db8:50:{1}::1/64"]},
            {"master": rng.choice(_BRIDGES)},
            {"alias": "link {1}"},
        )
    )
    config["links"].setdefault(key, {}).update({**said, **what})


def action(rng: random.Random, config: dict[str, Any]) -> None:
    """Have rules share an action, or it do something else."""
    names = [name for name in config["links"] if name != "lo" and "[" not in name]
    config["actions"] = random_on_links.actions(rng, names)
    shared = f"gact {SHARED['gact']}" if rng.random() < 0.5 else f"police {SHARED['police']}"
    hook = config.setdefault("tc", {}).setdefault(rng.choice(names), {}).setdefault("ingress", [])
    hook.append({"pref": rng.randint(1, 900), "protocol": "ip", "flower": {"ip_proto": "udp"}, "action": shared})


def nexthop_group(rng: random.Random, config: dict[str, Any]) -> None:
    """Have a group of nexthops, with or without weights, and perhaps a route by it."""
    family = rng.choice([*_HOPS])
    members = rng.sample(_HOPS[family], rng.randint(1, 2))
    said: dict[str, Any] = {
        "group": [{"id": one, **({"weight": rng.randint(1, 9)} if rng.random() < 0.6 else {})} for one in members]
    }
    if rng.random() < 0.4:
        said |= {"group_type": "resilient", "buckets": rng.choice((8, 32)), "idle_timer": rng.choice((60, 90))}
    number = rng.choice(_GROUPS)
    config["nexthops"][str(number)] = said
    if rng.random() < 0.7:
        to = "10.71.{}.0/24" if family == "inet" else "2001:db8:71:{}::/64"
        config.setdefault("routes", []).append({"to": to.format(rng.randrange(3)), "nhid": number})


def trees(rng: random.Random, config: dict[str, Any]) -> None:
    """Put VLANs of a bridge into spanning trees, and say what its ports do there."""
    name = rng.choice(_BRIDGES)
    bridge = config["links"].setdefault(name, {"kind": "bridge"})
    bridge |= {"vlan_filtering": True, "mst_enabled": rng.random() < 0.9}
    for body in config["links"].values():
        if body.get("master") == name and rng.random() < 0.8:
            body["vlans"] = [{"vid": vid} for vid in rng.sample(_VIDS, 2)]
            body["mst"] = [{"msti": tree, "state": rng.choice(_STATES)} for tree in _TREES if rng.random() < 0.7]
            vids = [entry["vid"] for entry in body["vlans"]]
            bridge["vlan_global"] = [{"vid": vid, "msti": rng.choice((0, *_TREES))} for vid in vids]


def entries(rng: random.Random, config: dict[str, Any]) -> None:
    """List what a port or a bridge forwards, or no more."""
    name = rng.choice(_PLAIN)
    body = config["links"].get(name)
    if body is None or config["links"].get(str(body.get("master")), {}).get("kind") != "bridge":
        return
    number = rng.randrange(4)
    vlan = {"vlan": rng.choice(_VIDS)} if rng.random() < 0.3 else {}
    if rng.random() < 0.6:
        entry = {"mac": f"02:00:00:00:50:0{number}", "where": "master", "state": "static", **vlan}
        body.setdefault("fdb", []).append(entry)
    else:
        entry = {"group": f"239.1.1.{number}", "port": name, **({"vid": vlan["vlan"]} if vlan else {})}
        config["links"][body["master"]].setdefault("mdb", []).append(entry)


MOVES = (
    (ports, 4),
    (vrf, 5),
    (vlan_by_name, 3),
    (ranges, 3),
    (action, 1),
    (nexthop_group, 3),
    (trees, 2),
    (entries, 3),
)
"""What can be changed, and how often it is."""
