# SPDX-License-Identifier: GPL-2.0-or-later
"""Random links that the kernel tells apart by ends, keys or numbers, which change, also for those of each other."""

import random
from collections.abc import Mapping
from typing import Any, TypeAlias

from tests.vm import random_kinds

Config: TypeAlias = dict[str, Any]

_TUNNELS = ("t0", "t1", "t2", "t3")
_IPV4 = ("gre", "gretap", "ipip", "sit", "vti", "erspan")
_IPV6 = ("ip6gre", "ip6gretap", "ip6tnl", "vti6", "ip6erspan")
_KEYED = ("gre", "gretap", "vti", "erspan", "ip6gre", "ip6gretap", "vti6", "ip6erspan")
_NEAR = {"4": ("192.0.2.1", "192.0.2.2", "198.51.100.1"), "6": ("2001:db8::1", "2001:db8::2", "2001:db8:1::1")}
_FAR = {"4": ("203.0.113.1", "203.0.113.2", "203.0.113.3"), "6": ("2001:db8:5::1", "2001:db8:5::2")}
_LOWERS = ("d0", "d1", "low0", "low1")
_NUMBERED = ("q0", "q1", "q2", "q3")
_TELLING = ("local", "remote", "ikey", "okey", "dev", "link", "id", "dstport", "if_id", "protocol", "listen_port")


def _one_of(rng: random.Random, name: str, values: tuple[object, ...], likely: float) -> Config:
    return {name: rng.choice(values)} if rng.random() < likely else {}


def tunnel(rng: random.Random, config: Config) -> None:
    """Have a tunnel between other ends, or one of another kind or family between them."""
    links = config["links"]
    name = rng.choice(_TUNNELS)
    was = links.get(name, {})
    kind = was["kind"] if was and rng.random() < 0.5 else rng.choice(_IPV4 + _IPV6)
    family = "6" if kind in _IPV6 else "4"
    always = 1.0 if kind.endswith("erspan") else 0.6
    kept = {word: was[word] for word in ("up", "addresses", "master", "mtu", "group", "alias", "sysctl") if word in was}
    links[name] = {
        "kind": kind,
        "up": rng.random() < 0.8,
        **kept,
        **_one_of(rng, "local", _NEAR[family], 0.8),
        **_one_of(rng, "remote", _FAR[family], 0.9),
        **_one_of(rng, "dev", _LOWERS, 0.3),
    }
    for key in ("ikey", "okey") if kind in _KEYED else ():
        links[name] |= _one_of(rng, key, (1, 2, 3), always)
    if kind == was.get("kind"):
        links[name] = {**was, **links[name]}
    elif rng.random() < 0.5:
        random_kinds.words(rng, config, name)
    if rng.random() < 0.3:
        number = rng.randrange(3)
        links[name]["addresses"] = [f"10.83.{number}.1/30", f"2001:db8:83:{number}::1/64"]


def numbered(rng: random.Random, config: Config) -> None:
    """Have a link of a number: a VLAN, or a tunnel with one."""
    drawn: tuple[Config, ...] = (
        {"kind": "vlan", "link": rng.choice(("low0", "low1", "p2")), "id": rng.choice((5, 6, 7))},
        {"kind": "vlan", "link": "low0", "id": rng.choice((5, 6)), "protocol": rng.choice(("802.1q", "802.1ad"))},
        {"kind": "geneve", "id": rng.choice((5, 6)), "remote": rng.choice((*_FAR["4"], *_FAR["6"]))},
        {"kind": "vxlan", "id": rng.choice((5, 6)), "dstport": 4801, **_one_of(rng, "remote", _FAR["4"], 0.7)},
        {"kind": "xfrm", "if_id": rng.choice((5, 6, 7)), **_one_of(rng, "dev", _LOWERS, 0.5)},
        {"kind": "bareudp", "dstport": rng.choice((6635, 6636)), "ethertype": rng.choice(("mpls_uc", "ipv4"))},
        {"kind": "vrf", "table": rng.choice((30, 31, 32))},
        {"kind": "wireguard", "listen_port": rng.choice((51820, 51821))},
    )
    name = rng.choice(_NUMBERED)
    kept = {word: value for word, value in config["links"].get(name, {}).items() if word in ("up", "addresses", "mtu")}
    config["links"][name] = {"up": rng.random() < 0.8, **kept, **rng.choice(drawn)}
    if rng.random() < 0.3:
        config["links"][name]["addresses"] = [f"10.84.{name[1]}.1/24", f"2001:db8:84:{name[1]}::1/64"]


def exchange(rng: random.Random, config: Config) -> None:
    """Two links of a kind, or three, are between each other's ends, or have each other's numbers."""
    links = config["links"]
    by_kind: dict[str, list[Config]] = {}
    for name, body in links.items():
        if "[" not in name and not body.keys().isdisjoint(_TELLING):
            by_kind.setdefault(str(body.get("kind")), []).append(body)
    several = [bodies for bodies in by_kind.values() if len(bodies) > 1]
    if not several:
        return
    bodies = rng.choice(several)
    bodies = rng.sample(bodies, min(len(bodies), rng.choice((2, 2, 3))))
    names = [name for name in _TELLING if any(name in body for body in bodies) and rng.random() < 0.7]
    told = [{name: body.pop(name) for name in names if name in body} for body in bodies]
    for body, said in zip(bodies, (*told[1:], told[0]), strict=True):
        body.update(said)


_ABOVE: Mapping[str, tuple[object, ...]] = {
    "ingress_qos_map": (["1:2", "3:4"], ["3:5"], ["1:3"], []),
    "egress_qos_map": (["1:2", "3:4"], ["3:5"], ["1:3"], []),
    "macaddr": (["02:00:00:00:00:01", "02:00:00:00:00:02"], ["02:00:00:00:00:02"], []),
    "mode": ("source", "bridge", "private", "l2", "l3"),
}


def above(rng: random.Random, config: Config) -> None:
    """Have other words of a link that stands on another."""
    kinds = {"vlan": ("ingress_qos_map", "egress_qos_map"), "macvlan": ("mode", "macaddr"), "ipvlan": ("mode",)}
    bodies = [body for body in config["links"].values() if body.get("kind") in kinds]
    if bodies:
        body = rng.choice(bodies)
        name = rng.choice(kinds[body["kind"]])
        body[name] = rng.choice(_ABOVE[name])


MOVES = (
    (tunnel, 6),
    (numbered, 4),
    (exchange, 5),
    (above, 2),
)
"""What can be changed, and how often it is."""
