# SPDX-License-Identifier: GPL-2.0-or-later
"""Random traffic control and kernel settings of links that come, go, and become others meanwhile."""

import random
from collections.abc import Mapping
from typing import Any

from tests.vm import random_tc_trees
from tests.vm.random_tc_rules import ATOMIC, SHARED, draw_groups, shared_actions, template

_LINKS = ("v0", "v1", "v2")  # as the samples of rules call them
_PLACES = ("ingress", "egress")
_BLOCKS = {"block 7": 7, "block 8": 8}
_SETTINGS = {
    "ipv4.rp_filter": (0, 1, 2),
    "ipv4.arp_notify": (0, 1),
    "ipv4.forwarding": (0, 1),
    "ipv6.accept_ra": (0, 1, 2),
    "ipv6.disable_ipv6": (0, 1),
    "ipv6.addr_gen_mode": (0, 1),
    "ipv6.keep_addr_on_down": (-1, 0, 1),
    "ipv6.forwarding": (0, 1),
    "ipv4.neigh.base_reachable_time_ms": (20000, 40000),
    "ipv6.neigh.retrans_time_ms": (500, 2000),
    "mpls.input": (0, 1),
}


def setting(rng: random.Random, body: dict[str, Any]) -> None:
    """Say one of a link."""
    name = rng.choice([*_SETTINGS])
    body.setdefault("sysctl", {})[name] = rng.choice(_SETTINGS[name])


def traffic_control(rng: random.Random, tc: dict[str, Any], name: str, links: list[str]) -> None:
    """Say what a link has of it, or some of that."""
    said = tc.setdefault(name, {})
    how = rng.random()
    if how < 0.3:
        for part in ("qdiscs", "classes", "filters"):
            said.pop(part, None)
        said |= random_tc_trees.draw(rng).text()
    elif how < 0.5:
        place = rng.choice(_PLACES)
        said.pop(place, None)
        block = rng.choice([*_BLOCKS])
        said[f"{place}_block"] = _BLOCKS[block]
        tc.setdefault(block, {"filters": _rules(rng, "block", links), "chains": _chains(rng)})
    else:
        place = rng.choice(_PLACES)
        said.pop(f"{place}_block", None)
        said[place] = _rules(rng, place, links)
        others = [chain for chain in said.get("chains", ()) if chain["parent"] != place]
        said["chains"] = [*others, *({"parent": place, **chain} for chain in _chains(rng))]


def tidy(config: dict[str, Any]) -> None:
    """Leave out traffic control of links that are not here, and blocks that none is in; have up what VLANs are on."""
    tc, links = config.get("tc", {}), config["links"]
    for lower in {name.rpartition(".")[0] for name in links} & links.keys():
        links[lower]["up"] = True
    for name in [
        name for name in tc if name not in _BLOCKS and links.get(name, {"netns": ""}).get("netns") is not None
    ]:
        del tc[name]
    for said in tc.values():
        if "chains" in said:
            said["chains"] = [chain for chain in said["chains"] if chain.get("parent", "chains") in said]
    for name, number in _BLOCKS.items():
        if not any(said.get(f"{place}_block") == number for said in tc.values() for place in _PLACES):
            tc.pop(name, None)


def _chains(rng: random.Random) -> list[Any]:
    """What is said of chains of rules."""
    return [chain for chain in (template(rng), ATOMIC) if rng.random() < 0.2]


def _rules(rng: random.Random, place: str, links: list[str]) -> list[Any]:
    """Rules that lead to links that there are."""
    names = {name: rng.choice(links) for name in _LINKS}
    rules = [rule for group in draw_groups(rng, place, 2).values() for rule in group]
    own = (rule for rule in rules if not any(f"{kind} {number}" in str(rule) for kind, number in SHARED.items()))
    return [_renamed(rule, names) for rule in own]


def actions(rng: random.Random, links: list[str]) -> dict[str, Any]:
    """What every action that rules share does, with links that there are."""
    said: dict[str, Any] = _renamed(shared_actions(rng), {name: rng.choice(links) for name in _LINKS})
    return said


def _renamed(said: Any, names: dict[str, str]) -> Any:
    if isinstance(said, Mapping):
        return {name: _renamed(value, names) for name, value in said.items()}
    if isinstance(said, list | tuple):
        return [_renamed(value, names) for value in said]
    return names.get(said, said) if isinstance(said, str) else said
