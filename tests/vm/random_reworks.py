# SPDX-License-Identifier: GPL-2.0-or-later
"""What operators do to hosts that run: one thing becomes another, with all that stands on it."""

import random
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Config: TypeAlias = dict[str, Any]

_MASTERS = ("bridge", "bond", "team", "vrf")
_VIDS = (100, 101, 200)
_PROTOCOLS = ("802.1q", "802.1ad")
_LIKELY = 0.5


def said_anew(config: Config, called: Callable[[str], str]) -> None:
    """Have every word, also of keys, be what it is ``called`` by now."""

    def anew(said: Any) -> Any:
        if isinstance(said, dict):
            return {called(name): anew(value) for name, value in said.items()}
        if isinstance(said, list | tuple):
            return [anew(value) for value in said]
        return called(said) if isinstance(said, str) else said

    renamed = anew(config)
    config.clear()
    config.update(renamed)


def _plain(config: Config) -> list[str]:
    """The names of links that are no ranges."""
    return [name for name in config["links"] if name != "lo" and "[" not in name]


def _link(rng: random.Random, config: Config) -> str:
    return rng.choice(_plain(config))


def rename(rng: random.Random, config: Config) -> None:
    """Another name of a link, of its VLANs, and in all that speaks of them."""
    old = _link(rng, config)
    new = rng.choice(("eth0", "up", f"{old}x")) if len(old) < 8 else old[:4]
    if new in config["links"] or "." in old:
        return
    speaking = re.compile(rf"{re.escape(old)}(?=\.|$)")
    said_anew(config, lambda word: speaking.sub(new, word, count=1) if speaking.match(word) else word)


def renumber(rng: random.Random, config: Config) -> None:
    """Another number of a VLAN, with all that stands on it."""
    vlans = [name for name in _plain(config) if "." in name]
    if not vlans:
        return
    old = rng.choice(vlans)
    new = f"{old.partition('.')[0]}.{rng.choice(_VIDS)}"
    if new not in config["links"]:
        said_anew(config, lambda word: new if word == old else word)


def vlan_protocol(rng: random.Random, config: Config) -> None:
    """Another tag of a VLAN, or of all those of a bridge."""
    links = config["links"]
    vlans = [name for name in _plain(config) if "." in name or links[name].get("kind") == "vlan"]
    bridges = [name for name in _plain(config) if links[name].get("kind") == "bridge"]
    if vlans and rng.random() < _LIKELY:
        links[rng.choice(vlans)]["protocol"] = rng.choice(_PROTOCOLS)
    elif bridges:
        links[rng.choice(bridges)]["vlan_protocol"] = rng.choice(_PROTOCOLS)


def through_a_bridge(rng: random.Random, config: Config) -> None:
    """What a link is by itself goes to a bridge, bond or VRF, of which it becomes a port; or comes back from there."""
    links = config["links"]
    one = links[_link(rng, config)]
    masters = [name for name in _plain(config) if links[name].get("kind") in _MASTERS]
    if not masters:
        return
    if (master := one.pop("master", None)) in links:
        one.pop("port", None)
        giver, taker = links[master], one
    else:
        one["master"] = rng.choice(masters)
        giver, taker = one, links[one["master"]]
    for name in ("addresses", "neighbours", "mac", "mtu"):
        if name in giver and (name == "addresses" or rng.random() < _LIKELY):
            taker[name] = giver.pop(name)


def from_master_to_master(rng: random.Random, config: Config) -> None:
    """All ports of one are another's."""
    links = config["links"]
    masters = [name for name in _plain(config) if links[name].get("kind") in _MASTERS]
    if len(masters) < 2:
        return
    one, other = rng.sample(masters, 2)
    for body in links.values():
        if body.get("master") == one:
            body["master"] = other
            if rng.random() < _LIKELY:
                body.pop("port", None)
    if "ports" in links[one]:
        links[other]["ports"] = links[one].pop("ports")


def _above(name: str, links: Mapping[str, Any]) -> set[str]:
    """The links that stand on one."""
    found, fresh = {name}, [name]
    while fresh:
        below = fresh.pop()
        uppers = {upper for upper, body in links.items() if below in (body.get("link"), body.get("dev"))}
        uppers |= {upper for upper in links if upper.startswith(f"{below}.")}
        uppers |= {upper for upper, body in links.items() if below in (body.get("ports") or ())}
        if (master := links[below].get("master")) in links:
            uppers.add(str(master))
        fresh += uppers - found
        found |= uppers
    return found


def mtu_of_a_stack(rng: random.Random, config: Config) -> None:
    """Another MTU of a link and of all that stands on it."""
    links, mtu = config["links"], rng.choice((1300, 1400, 1500, 9000))
    for name in _above(_link(rng, config), links):
        if links[name].get("kind") not in ("vxlan", "vrf"):
            links[name]["mtu"] = mtu


def exchange_macs(rng: random.Random, config: Config) -> None:
    """Two links have the MACs of each other."""
    links = config["links"]
    named = [name for name in _plain(config) if links[name].get("mac")]
    if len(named) > 1:
        one, other = rng.sample(named, 2)
        links[one]["mac"], links[other]["mac"] = links[other]["mac"], links[one]["mac"]


def rename_group(rng: random.Random, config: Config) -> None:
    """Another name of a group."""
    if groups := [*config.get("groups", ())]:
        old = rng.choice(groups)
        new = f"{old}x" if len(old) < 4 else "g0"
        if new not in groups:
            said_anew(config, lambda word: new if word == old else word)


def renumber_nexthop(rng: random.Random, config: Config) -> None:
    """Another number of a nexthop, in its groups and routes too; or other members of a group."""
    hops = config["nexthops"]
    groups = [number for number in hops if hops[number].get("group")]
    if groups and rng.random() < _LIKELY:
        members = hops[rng.choice(groups)]["group"]
        if len(members) > 1 and rng.random() < _LIKELY:
            members.pop(rng.randrange(len(members)))
        else:
            rng.choice(members)["weight"] = rng.randint(1, 9)
        return
    old, new = rng.choice([*hops]), str(rng.randrange(40, 44))
    if new in hops:
        return
    hops[new] = hops.pop(old)
    using = [member for hop in hops.values() for member in hop.get("group") or () if member["id"] == int(old)]
    for member in using:
        member["id"] = int(new)
    for route in config.get("routes", ()):
        if route.get("nhid") == int(old):
            route["nhid"] = int(new)


def reorder_rules(rng: random.Random, config: Config) -> None:
    """The same rules at each other's places."""
    rules = config.get("rules", [])
    prefs = [rule.get("pref") for rule in rules]
    rng.shuffle(prefs)
    for rule, pref in zip(rules, prefs, strict=True):
        if pref is not None:
            rule["pref"] = pref


def another_lower(rng: random.Random, config: Config) -> None:
    """What stands on one link stands on another."""
    links, other = config["links"], _link(rng, config)
    lowers = sorted({str(lower) for body in links.values() if (lower := body.get("link") or body.get("dev"))})
    one = rng.choice(lowers or [other])
    for name, body in links.items():
        for below in ("link", "dev"):
            if body.get(below) == one and other != name:
                body[below] = other


def another_table(rng: random.Random, config: Config) -> None:
    """Another table of a VRF."""
    bodies = [body for body in config["links"].values() if body.get("kind") == "vrf"]
    bodies += [*config.get("vrfs", {}).values()]
    if bodies:
        rng.choice(bodies)["table"] = rng.randrange(20, 24)


def several(rng: random.Random, config: Config) -> None:
    """Two of these at once."""
    for move, _ in rng.sample(_ALONE, 2):
        move(rng, config)


_ALONE: tuple[tuple[Callable[[random.Random, Config], None], int], ...] = (
    (rename, 2),
    (renumber, 1),
    (vlan_protocol, 1),
    (through_a_bridge, 3),
    (from_master_to_master, 2),
    (mtu_of_a_stack, 2),
    (exchange_macs, 1),
    (rename_group, 1),
    (renumber_nexthop, 2),
    (reorder_rules, 1),
    (another_lower, 2),
    (another_table, 1),
)
MOVES = (*_ALONE, (several, 3))
"""What can be changed, and how often it is."""
