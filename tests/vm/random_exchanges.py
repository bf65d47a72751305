# SPDX-License-Identifier: GPL-2.0-or-later
"""Random exchanges: what one thing has another has, in one change; and links that become others under their names."""

import random
from typing import Any, TypeAlias

from netgroupd.model.kinds.pair import PAIRS
from tests.vm import link_cases
from tests.vm.random_reworks import said_anew

Config: TypeAlias = dict[str, Any]

_KINDS = ("dummy", "bridge", "bond", "team", "vrf", "vlan", "macvlan", "ipvlan", "vxlan", "gretap", "ifb", "tun")
_STAYING = ("up", "addresses", "master", "group", "neighbours", "sysctl", "mac", "mtu", "altnames", "vlans", "alias")
"""What is said of links of any kind."""


def _named(config: Config) -> list[str]:
    return [name for name in config["links"] if name != "lo" and "[" not in name]


def words(rng: random.Random, config: Config) -> None:
    """Two links of one kind exchange one or two of the words that either has."""
    links = config["links"]
    one = links[rng.choice(_named(config))]
    alike = [links[name] for name in _named(config) if links[name].get("kind") == one.get("kind")]
    other = rng.choice(alike)
    said = sorted((one.keys() | other.keys()) - {"kind", "peer"})
    for name in rng.sample(said, min(len(said), rng.choice((1, 1, 2)))):
        mine, theirs = ({name: body.pop(name)} if name in body else {} for body in (one, other))
        one |= theirs
        other |= mine


def names(rng: random.Random, config: Config) -> None:
    """Three links are called as each other, perhaps in all that speaks of them; or one's old name is a further one."""
    links = config["links"]
    if len(_named(config)) < 3:
        return
    old = rng.sample(_named(config), 3)
    new = dict(zip(old, (*old[1:], old[0]), strict=True))
    if rng.random() < 0.4:
        name = old[0][:6] + "z"
        if name not in links and "." not in old[0]:
            said_anew(config, lambda word: name if word == old[0] else word)
            config["links"][rng.choice((name, *old[1:]))]["altnames"] = [old[0]]
    elif rng.random() < 0.5:
        said_anew(config, lambda word: new.get(word, word))
    else:
        bodies = {name: links[name] for name in old}
        links.update({new[name]: body for name, body in bodies.items()})


def another_kind(rng: random.Random, config: Config) -> None:
    """A link is of another kind, with all that it has beside that, and that stands on it."""
    name = rng.choice(_named(config))
    body = config["links"][name]
    kind = rng.choice(_KINDS)
    if body.get("kind") in PAIRS:
        return
    config["links"][name] = {
        "kind": kind,
        **link_cases.BASE.get(kind, {}),
        **{said: body[said] for said in _STAYING if said in body},
    }


def numbers(rng: random.Random, config: Config) -> None:
    """Two nexthops, tables of VRFs, rules or routes are what the other was, under their own numbers."""
    links, hops = config["links"], config.get("nexthops", {})
    tables = [body for body in (*links.values(), *config.get("vrfs", {}).values()) if "table" in body]
    how = rng.random()
    if how < 0.3 and len(hops) > 1:
        one, other = rng.sample(sorted(hops), 2)
        hops[one], hops[other] = hops[other], hops[one]
    elif how < 0.6 and len(tables) > 1:
        _exchange(rng.sample(tables, 2), "table")
    elif how < 0.8 and len(rules := config.get("rules", [])) > 1:
        _exchange(rng.sample(rules, 2), "pref")
    elif len(routes := config.get("routes", [])) > 1:
        _exchange(rng.sample(routes, 2), rng.choice(("to", "metric", "table", "dev")))


def _exchange(two: list[Config], name: str) -> None:
    one, other = two
    if name in one and name in other:
        one[name], other[name] = other[name], one[name]


def pairs(rng: random.Random, config: Config) -> None:
    """The ends of two cables are each other's."""
    links = config["links"]
    ends = [name for name in _named(config) if links[name].get("kind") in PAIRS]
    kind = rng.choice(sorted(PAIRS))
    if not any(name in ends for name in ("y0", "y1", "y2", "y3")):
        for name, peer in (("y0", "y1"), ("y2", "y3")):
            links[name] = {"kind": kind, "peer": peer, "up": True, "addresses": [f"10.81.{name[1]}.1/24"]}
            links[peer] = {"kind": kind, "peer": name, "up": rng.random() < 0.8}
        return
    first, *rest = (name for name in ("y0", "y1", "y2", "y3") if name in links)
    rng.shuffle(rest)
    order = [first, *rest]
    for one, other in zip(order[::2], order[1::2], strict=False):
        links[one] |= {"kind": kind, "peer": other}
        links[other] |= {"kind": kind, "peer": one}


MOVES = (
    (words, 6),
    (names, 3),
    (another_kind, 3),
    (numbers, 3),
    (pairs, 2),
)
"""What can be changed, and how often it is."""
