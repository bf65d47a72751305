# SPDX-License-Identifier: GPL-2.0-or-later
"""Random addresses, routes, rules, nexthops, neighbours and settings, each with several of its words at once."""

import random
from collections.abc import Mapping
from typing import Any, TypeAlias

from tests.vm.l3_cases import CASES

Config: TypeAlias = dict[str, Any]

_LINKS = ("d0", "d1", "br0", "red", "low0", "low1", "p2", "low0.100", "d1.101", "low[0-1]")
_WAYS = {
    "inet": (
        {"via": "192.0.2.9"},
        {"via": "192.0.2.10", "dev": "d0"},
        {"via": "198.51.100.9", "dev": "d1"},
        {"via": "203.0.113.9", "dev": "d0", "onlink": True},
        {"via": "2001:db8::9", "dev": "d0"},
        {"dev": "d1"},
        {"dev": "low0"},
    ),
    "inet6": (
        {"via": "2001:db8::9", "dev": "d0"},
        {"via": "2001:db8:1::9", "dev": "d1"},
        {"via": "2001:db8:77::1", "dev": "d0", "onlink": True},
        {"dev": "d1"},
        {"dev": "low0"},
    ),
}
_ENCAPS = {
    "inet": (
        {"type": "mpls", "labels": [100, 200], "ttl": 9},
        {"type": "mpls", "labels": [300]},
        {"type": "ip", "id": 10, "dst": "50.1.1.2", "ttl": 5},
        {"type": "seg6", "mode": "encap", "segs": ["2001:db8::5"]},
    ),
    "inet6": (
        {"type": "mpls", "labels": [100]},
        {"type": "ip6", "id": 10, "dst": "2001:db8::99"},
        {"type": "seg6", "mode": "encap", "segs": ["2001:db8::5", "2001:db8::6"]},
        {"type": "seg6", "mode": "inline", "segs": ["2001:db8::7"]},
    ),
}
_TO = {
    "inet": ("10.72.[0-2].0/24", "10.72.1.0/24", "10.72.0.0/16", "10.72.1.0/25", "10.73.0.1/32"),
    "inet6": ("2001:db8:72:[0-2]::/64", "2001:db8:72:1::/64", "2001:db8:72::/48", "2001:db8:73::1/128"),
}
_NOWHERE = ("blackhole", "unreachable", "prohibit", "throw")
_HOPS = range(30, 34)
_SETTINGS: Mapping[str, tuple[int, ...]] = {
    "ipv4.conf.{}.rp_filter": (0, 1, 2),
    "ipv4.conf.{}.forwarding": (0, 1),
    "ipv4.conf.{}.arp_ignore": (0, 1),
    "ipv6.conf.{}.forwarding": (0, 1),
    "ipv6.conf.{}.accept_ra": (0, 1, 2),
    "ipv6.conf.{}.disable_ipv6": (0, 1),
    "ipv6.conf.{}.keep_addr_on_down": (-1, 0, 1),
    "ipv6.conf.{}.addr_gen_mode": (0, 1),
}


def _values(cls: str, start: str) -> dict[str, tuple[object, ...]]:
    """What each attribute may be of the samples of a class, of those whose place begins so."""
    cases = [case for case in CASES if case.cls == cls and case.where.startswith(start)]
    return {case.name: (case.first, case.second) for case in cases if case.name not in case.base}


_METRICS = {
    name: values
    for name, values in _values("route", "ipv4").items()
    if name in ("mtu", "window", "advmss", "hoplimit", "initcwnd", "rto_min", "congctl", "features", "lock", "quickack")
}
_SELECTORS = {
    family: {
        name: values
        for name, values in _values("rule", family).items()
        if name not in ("action", "goto", "l3mdev", "lookup", "from", "tos", "dscp", "realms")
    }
    for family in _WAYS
}


def _some(rng: random.Random, values: Mapping[str, tuple[object, ...]], most: int) -> Config:
    drawn = {name: rng.choice(values[name]) for name in rng.sample(sorted(values), rng.randint(0, most))}
    return {name: value for name, value in drawn.items() if value is not None}


def addresses(rng: random.Random, config: Config) -> None:
    """Have a link have some addresses of one subnet, in some order, and more said of each or not."""
    name = rng.choice(_LINKS)
    drawn: list[Any] = []
    for number in rng.sample(range(1, 6), rng.randint(1, 4)):
        if rng.random() < 0.5:
            at, more = f"10.40.0.{number}/{rng.choice((24, 24, 24, 32))}", _of_ipv4(rng, name)
        else:
            at, more = f"2001:db8:40::{number}/64", _of_ipv6(rng)
        drawn.append({"address": at, **more} if more else at)
    body = config["links"].setdefault(name, {})
    kept = [one for one in body.get("addresses", ()) if ".40.0." not in str(one) and ":40::" not in str(one)]
    body["addresses"] = [*kept, *drawn] if rng.random() < 0.5 else [*drawn, *kept]


def _of_ipv4(rng: random.Random, name: str) -> Config:
    said: Mapping[str, tuple[object, ...]] = {
        "metric": (50, 60),
        "broadcast": ("10.40.0.255", "10.40.0.254"),
        "noprefixroute": (True,),
        "scope": ("link", "host"),
        "valid_lft": (5000,),
        **({"label": (f"{name}:one", f"{name}:two")} if "[" not in name else {}),
    }
    return _some(rng, said, 2) if rng.random() < 0.5 else {}


def _of_ipv6(rng: random.Random) -> Config:
    said: Mapping[str, tuple[object, ...]] = {
        "metric": (50, 60),
        "nodad": (True,),
        "home": (True,),
        "mngtmpaddr": (True,),
        "noprefixroute": (True,),
        "preferred_lft": (3000, 0),
    }
    return _some(rng, said, 3) if rng.random() < 0.5 else {}


def route(rng: random.Random, config: Config) -> None:
    """Have another route, with several things said of it, in place of one or not."""
    family = rng.choice([*_WAYS])
    said: Config = {"to": rng.choice(_TO[family]), **_way(rng, family, config)}
    if rng.random() < 0.3:
        said |= {"vrf": rng.choice(("red", "green"))} if rng.random() < 0.4 else {"table": rng.choice((100, 1000))}
    if rng.random() < 0.3:
        said["metric"] = rng.choice((10, 20, 4000000000))
    if family == "inet" and rng.random() < 0.1:
        said["tos"] = rng.choice((4, 8))
    if "type" not in said:
        said |= _some(rng, _METRICS, 3) if rng.random() < 0.4 else {}
    entries = config.setdefault("routes", [])
    own = [at for at, one in enumerate(entries) if one["to"] == said["to"]]
    if own and rng.random() < 0.5:
        entries[rng.choice(own)] = said
    else:
        entries.append(said)


def _way(rng: random.Random, family: str, config: Config) -> Config:
    how = rng.random()
    if how < 0.15:
        return {"type": rng.choice(_NOWHERE)}
    if how < 0.3:
        hops = [number for number, hop in config["nexthops"].items() if _fits(hop, family, config)]
        return {"nhid": int(rng.choice(hops))} if hops else {"type": "blackhole"}
    if how < 0.6:
        ways = rng.sample(_WAYS[family], rng.randint(2, 3))
        return {"nexthops": [{**_leading(rng, family, way), **_weight(rng)} for way in ways]}
    return _leading(rng, family, rng.choice(_WAYS[family]))


def other_gateways(rng: random.Random, config: Config) -> None:
    """Have a route of several ways lead by another gateway, by one way more or less, or by another part of each."""
    several = [one for one in config.get("routes", ()) if len(one.get("nexthops", ())) > 1 and "family" not in one]
    if not several:
        return
    ways = rng.choice(several)["nexthops"]
    how = rng.random()
    if how < 0.4:
        way = rng.choice(ways)
        if "via" in way:
            head, _, last = way["via"].rpartition(":" if ":" in way["via"] else ".")
            way["via"] = f"{way['via'][: len(head) + 1]}{10 + int(last, 16) % 5}"
    elif how < 0.6:
        ways.pop(rng.randrange(len(ways)))
    elif how < 0.8:
        ways.append(rng.choice(ways) | {"weight": rng.randint(1, 256)})
    else:
        rng.shuffle(ways)
        ways[0] |= {"weight": rng.randint(1, 256)}


def _weight(rng: random.Random) -> Config:
    return {"weight": rng.randint(1, 256)} if rng.random() < 0.4 else {}


def _leading(rng: random.Random, family: str, way: Config) -> Config:
    """The way, perhaps through a tunnel."""
    return {**way, "encap": rng.choice(_ENCAPS[family])} if rng.random() < 0.2 and "via" in way else way


def _fits(hop: Config, family: str, config: Config) -> bool:
    """Whether a route of a family may lead by a nexthop."""
    if hop.get("fdb"):
        return False
    members = [config["nexthops"].get(str(member["id"]), {}) for member in hop.get("group") or ()]
    return all((":" in str(one.get("via"))) == (family == "inet6") for one in members or [hop])


def nexthop(rng: random.Random, config: Config) -> None:
    """Have another nexthop, or a group of some, of a VXLAN's entries or of routes."""
    number, family = rng.choice(_HOPS), rng.choice([*_WAYS])
    how = rng.random()
    if how < 0.4:
        way = rng.choice([way for way in _WAYS[family] if "dev" in way])
        said = _leading(rng, family, way)
    elif how < 0.5:
        said = {"family": family, "blackhole": True}
    elif how < 0.7:
        members = rng.sample(("3", "5"), rng.randint(1, 2))
        said = {"group": [{"id": int(member)} for member in members], "fdb": True}
    else:
        said = {"group": _members(rng, family, number, config)}
    config["nexthops"][str(number)] = said


def _members(rng: random.Random, family: str, number: int, config: Config) -> list[Config]:
    found = [int(each) for each, hop in config["nexthops"].items() if "group" not in hop and _fits(hop, family, config)]
    members = [member for member in found if member != number]
    drawn = rng.sample(members, min(len(members), rng.randint(1, 3)))
    return [{"id": member, **_weight(rng)} for member in drawn]


def rule(rng: random.Random, config: Config) -> None:
    """Have another rule that several things of a packet are looked at for, in place of one or not."""
    family = rng.choice([*_SELECTORS])
    source = "203.0.113.0/24" if family == "inet" else "2001:db8:9::/48"
    said = {"family": family, "pref": rng.choice((200, 201, "[202-204]")), "from": source}
    said |= _some(rng, _SELECTORS[family], 4)
    does: tuple[Config, ...] = (
        {"lookup": rng.choice((100, 1000))},
        {"vrf": rng.choice(("red", "green"))},
        {"l3mdev": True},
        {"goto": 300},
        {"action": rng.choice(("nop", "blackhole", "unreachable", "prohibit"))},
    )
    said |= rng.choice(does)
    if said.get("not"):  # one that nearly all packets meet lets no gateway be found
        said["action"] = "nop"
        for elsewhere in ("lookup", "vrf", "l3mdev", "goto", *(name for name in said if name.startswith("suppress"))):
            said.pop(elsewhere, None)
    entries = config.setdefault("rules", [])
    if entries and rng.random() < 0.3:
        entries[rng.randrange(len(entries))] = said
    else:
        entries.insert(rng.randrange(len(entries) + 1), said)


def neighbours(rng: random.Random, config: Config) -> None:
    """List the neighbours of a link under it."""
    body = config["links"].get(rng.choice(("d0", "d1", "low0", "br0")))
    if body is None:
        return
    drawn: list[Config] = []
    for number in rng.sample(range(4), rng.randint(0, 3)):
        ip = rng.choice((f"192.0.2.{60 + number}", f"2001:db8::{60 + number}", f"192.0.2.[n=7{number}-79]"))
        lladdr = "{02:00:00:00:60:00 + n}" if "n=" in ip else f"02:00:00:00:60:0{number}"
        more: Mapping[str, tuple[object, ...]] = {"state": ("noarp",), "extern_learn": (True,)}
        drawn.append({"ip": ip, "lladdr": lladdr, **_some(rng, more, 1)})
    if rng.random() < 0.2:
        drawn.append({"ip": "192.0.2.90", "proxy": True})
    body["neighbours"] = drawn


def setting(rng: random.Random, config: Config) -> None:
    """Say how all links are, or those that come."""
    name = rng.choice([*_SETTINGS])
    config["sysctl"][f"net.{name.format(rng.choice(('all', 'default')))}"] = rng.choice(_SETTINGS[name])


MOVES = (
    (addresses, 5),
    (route, 7),
    (other_gateways, 3),
    (nexthop, 4),
    (rule, 4),
    (neighbours, 2),
    (setting, 2),
)
"""What can be changed, and how often it is."""
