# SPDX-License-Identifier: GPL-2.0-or-later
"""Random links of every kind, also one above the other, with the words of their own; and addresses that change hands.

Of the links that there are most are of few kinds: here each kind is as likely as any.
"""

import random
from collections.abc import Mapping
from typing import Any, TypeAlias

from tests.vm import link_cases

Config: TypeAlias = dict[str, Any]

# The keys that a capture speaks of are in files that somebody is to write.
_CASES = [case for case in link_cases.of_kinds() if case.kind not in ("netdevsim", "wireguard")]
_BY_KIND = {kind: [case for case in _CASES if case.kind == kind] for kind in sorted({case.kind for case in _CASES})}
_NAMES = ("k0", "k1", "k2", "k3")
_LOWERS = ("low0", "low1", "low2", "low3", "p2", "d1", "bond0", "low0.100")
_ABOVE: tuple[Mapping[str, Any], ...] = (
    {"kind": "vlan", "id": 7},
    {"kind": "vlan", "id": 8, "protocol": "802.1ad"},
    {"kind": "vlan", "id": 9, "loose_binding": True},
    {"kind": "macvlan", "mode": "bridge"},
    {"kind": "macvlan", "mode": "passthru"},
    {"kind": "macvtap", "mode": "vepa"},
    {"kind": "ipvlan", "mode": "l3"},
    {"kind": "ipvlan", "mode": "l2", "private": True},
    {"kind": "macsec", "encrypt": True},
    {"kind": "vxlan", "id": 77, "dstport": 4877, "remote": "239.7.7.7"},
)
_STACK = ("s0", "s1", "s2")
_SOURCES = ("192.0.2.1", "192.0.2.2", "198.51.100.1", "2001:db8::1", "2001:db8::2", "2001:db8:1::1")


def _named(config: Config) -> list[str]:
    return [name for name in config["links"] if name != "lo" and "[" not in name]


def link(rng: random.Random, config: Config) -> None:
    """Have a link of some kind."""
    kind = rng.choice([*_BY_KIND])
    base = {name: _other(rng, value) for name, value in link_cases.BASE.get(kind, {}).items()}
    name = rng.choice(_NAMES)
    if "peer" in base:
        config["links"][base["peer"]] = {"kind": kind, "peer": name}
    config["links"][name] = {"kind": kind, **base, "up": rng.random() < 0.7}
    words(rng, config, name)


def _other(rng: random.Random, value: Any) -> Any:
    return rng.choice(_LOWERS) if value == "low0" and rng.random() < 0.5 else value


def words(rng: random.Random, config: Config, name: str = "") -> None:
    """Say some of the words of its kind of a link, or take some back."""
    links = config["links"]
    if not name:
        by_kind: dict[str, list[str]] = {}
        for each in _named(config):
            by_kind.setdefault(str(links[each].get("kind")), []).append(each)
        kinds = sorted(by_kind.keys() & _BY_KIND.keys())
        if not kinds:
            return
        name = rng.choice(by_kind[rng.choice(kinds)])
    body = links[name]
    cases = _BY_KIND[body["kind"]]
    for case in rng.sample(cases, min(len(cases), rng.choice((1, 1, 2)))):
        if case.name in body and case.name not in link_cases.BASE.get(case.kind, {}) and rng.random() < 0.2:
            del body[case.name]
            continue
        for without in link_cases.BASE.get(case.kind, {}).keys() - case.attrs.keys():
            body.pop(without, None)
        body |= {key: value for key, value in case.attrs.items() if key not in body}
        body[case.name] = rng.choice((case.first, case.second))


def stack(rng: random.Random, config: Config) -> None:
    """Have links one above the other, the uppermost with addresses, in a VRF or a bridge; or without one of them."""
    links = config["links"]
    below = rng.choice([name for name in _LOWERS if name in links] or ["low0"])
    links.setdefault(below, {})["up"] = True
    for name in _STACK[: rng.randint(1, 3)]:
        said = dict(rng.choice(_ABOVE))
        field = "dev" if said["kind"] == "vxlan" else "link"
        links[name] = {**said, field: below, "up": rng.random() < 0.9}
        below = name
    how = rng.random()
    if how < 0.3:
        links[below]["master"] = rng.choice(("red", "br0", "br1", "green"))
    if how > 0.2:
        links[below]["addresses"] = ["10.77.0.1/24", "10.77.0.2/24", "2001:db8:77::1/64", "2001:db8:77::2/64"]
        config.setdefault("routes", []).append({"to": "10.78.0.0/16", "via": "10.77.0.9"})


def change_hands(rng: random.Random, config: Config) -> None:
    """Addresses go to another link, or come in another order."""
    links = config["links"]
    having = [name for name in _named(config) if links[name].get("addresses")]
    if not having:
        return
    one = links[rng.choice(having)]
    if rng.random() < 0.4:
        rng.shuffle(one["addresses"])
        return
    other = links[rng.choice(_named(config))]
    taken = rng.sample(one["addresses"], rng.randint(1, len(one["addresses"])))
    one["addresses"] = [address for address in one["addresses"] if address not in taken]
    other["addresses"] = [*other.get("addresses", ()), *taken]


def peer(rng: random.Random, config: Config) -> None:
    """Have a link that leads to one other host, which has addresses of either end."""
    number = rng.randrange(3)
    body = config["links"].setdefault(rng.choice(("low0", "low1", "d1", "p2", *_NAMES[:1])), {})
    said = {"address": f"10.79.0.{number}/32", "peer": f"10.79.1.{number + rng.randrange(2)}"}
    if rng.random() < 0.3:
        said = {"address": f"2001:db8:79::{number + 1}/128", "peer": f"2001:db8:79:1::{number + 1}"}
    kept = [one for one in body.get("addresses", ()) if "79" not in str(one)]
    body["addresses"] = [*kept, said]


def source(rng: random.Random, config: Config) -> None:
    """Have a route prefer to send from some address."""
    routes = config.setdefault("routes", [])
    at = rng.choice(_SOURCES)
    same_family = (one for one in routes if "type" not in one and (":" in str(one["to"])) == (":" in at))
    fitting = [one for one in same_family if not str(one["to"]).isdigit()]
    if fitting and rng.random() < 0.5:
        rng.choice(fitting)["src"] = at
        return
    to, dev = ("2001:db8:75::/64", "d0") if ":" in at else ("10.75.0.0/24", "d0")
    routes.append({"to": to, "dev": dev, "src": at, "metric": rng.choice((7, 8))})


def labels(rng: random.Random, config: Config) -> None:
    """Have a route for a label of MPLS, which is swapped, taken off, or leads by several ways."""
    ways: tuple[Config, ...] = (
        {"via": "192.0.2.9", "dev": "d0", "as": [rng.randint(100, 103)]},
        {"via": "2001:db8::9", "dev": "d0", "as": [200, 201]},
        {"via": "198.51.100.9", "dev": "d1"},
        {"nexthops": [{"via": "192.0.2.9", "dev": "d0", "as": [300]}, {"via": "198.51.100.9", "dev": "d1"}]},
    )
    said = {"to": str(rng.randint(100, 103)), "family": "mpls", **rng.choice(ways)}
    if rng.random() < 0.3:
        said["ttl_propagate"] = rng.random() < 0.5
    routes = config.setdefault("routes", [])
    config["routes"] = [*(one for one in routes if one["to"] != said["to"]), said]


MOVES = (
    (link, 6),
    (words, 10),
    (stack, 4),
    (change_hands, 3),
    (peer, 2),
    (source, 2),
    (labels, 2),
)
"""What can be changed, and how often it is."""
