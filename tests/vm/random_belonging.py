# SPDX-License-Identifier: GPL-2.0-or-later
"""Random further names of links, which change hands; moves of several links to another namespace; groups of groups."""

import random
from typing import Any, TypeAlias

Config: TypeAlias = dict[str, Any]

_FURTHER = ("also0", "also1", "also2", "a-name-that-is-longer-than-those-of-links", "k3", "other")
_GROUPS = ("g0", "g1", "g2", "g3", "g4")
_OF_GROUPS: tuple[Config, ...] = (
    {"up": True},
    {"mtu": 1400},
    {"mtu": 1500},
    {"txqueuelen": 50},
    {"multicast": False},
    {"promisc": True},
    {"up": False},
)
_ADDRESSES = ("10.66.0.1/24", "10.66.0.2/24", "2001:db8:66::1/64")


def _named(config: Config) -> list[str]:
    return [name for name in config["links"] if name != "lo" and "[" not in name]


def further_names(rng: random.Random, config: Config) -> None:
    """Give a link further names, most of the time those that others have; or have two exchange all of theirs."""
    links = config["links"]
    one, other = (links[name] for name in rng.choices(_named(config), k=2))
    if rng.random() < 0.2:
        mine, theirs = one.pop("altnames", []), other.pop("altnames", [])
        one["altnames"], other["altnames"] = theirs, mine
        return
    taken = rng.sample([name for name in _FURTHER if name not in links], rng.randint(0, 3))
    for body in links.values() if rng.random() < 0.9 else ():
        if had := body.get("altnames"):
            body["altnames"] = [name for name in had if name not in taken]
    one["altnames"] = taken


def move(rng: random.Random, config: Config, where: str) -> None:
    """Take some links to another namespace, with what is on them, or bring them back."""
    links = config["links"]
    names = rng.sample(_named(config), min(3, len(_named(config))))
    names += [name for name in _named(config) if links[name].get("link") in names and rng.random() < 0.5]
    here = rng.random() < 0.4
    for name in names:
        body = links[name]
        if here:
            body.pop("netns", None)
            continue
        body["netns"] = where
        if rng.random() < 0.7:  # or it is refused
            body.pop("master", None)
            body.pop("port", None)
    first = links[names[0]]
    if rng.random() < 0.4:
        first |= {"up": True, "addresses": rng.sample(_ADDRESSES, 2)}


def groups_of_groups(rng: random.Random, config: Config) -> None:
    """Have groups inside of each other, some of which say something, and links in the one or other."""
    groups = config.setdefault("groups", {})
    depth = rng.randint(2, len(_GROUPS))
    names = rng.sample(_GROUPS, depth)
    for at, name in enumerate(names):
        body = groups.setdefault(name, {})
        body.pop("members", None)
        if inner := names[at + 1 :]:
            body["members"] = rng.sample(inner, rng.randint(1, min(2, len(inner))))
        if rng.random() < 0.4:
            groups[name] = {**body, **rng.choice(_OF_GROUPS)}
    for name in rng.sample(_named(config), min(4, len(_named(config)))):
        body = config["links"][name]
        body["group"] = rng.choice(names)
        for said in ("mtu", "txqueuelen", "multicast", "promisc"):
            if rng.random() < 0.5:
                body.pop(said, None)
