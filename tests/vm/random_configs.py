# SPDX-License-Identifier: GPL-2.0-or-later
"""Random configurations, each a random change of the one before: what the files may say, as the check of them has it.

All that is in one comes from the samples of every kind and attribute.
"""

import copy
import json
import random
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from netgroupd.errors import ConfigError
from netgroupd.model import CLASSES
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.link import COMMON
from tests.engine.universe import state_of
from tests.vm import (
    l3_cases,
    link_cases,
    random_belonging,
    random_bridged,
    random_ends,
    random_exchanges,
    random_kinds,
    random_layer_3,
    random_on_links,
    random_reworks,
    random_sections,
    random_tunnels,
)
from tests.vm.test_ethtool import OTHERS as OF_DRIVERS
from tests.vm.test_vfs import OTHERS as OF_FUNCTIONS

Config: TypeAlias = dict[str, Any]
Move: TypeAlias = Callable[[random.Random, Config], None]

_MACS = tuple(f"02:00:00:00:00:{number:02x}" for number in range(4))
_NAMES = ("low0", "low1", "low2", "low3", "d0", "d1", "br0", "br1", "p0", "p1", "p2", "vx0", "vx1", "vx2", "red")
NAMES_OF_LINKS = (*_NAMES, "a", "b", "c", "e", "other", "another")
_GROUPS = ("g0", "g1", "g2")
CARD = "card"
ELSEWHERE = ("blue", "violet")
"""Other network namespaces."""
_FEATURES = ("gro", "gso", "tso", "sg", "tx", "rx-udp-gro-forwarding", "tx-nocache-copy")
_OF_LINKS = {"address": "addresses", "bridge_vlan": "vlans", "vlan_global": "vlan_global", "mst": "mst"}
_LISTS = {
    "route": "routes",
    "rule": "rules",
    "neighbour": "neighbours",
    "fdb": "fdb",
    "mdb": "mdb",
}
_BASES = {kind: {"kind": kind, **link_cases.BASE.get(kind, {})} for kind in KINDS if kind != "netdevsim"}
# Queues are received into where there are processors to receive; a simulated card has as many as it is made with.
_COMMON = [case for case in link_cases.of_all_links() if case.name not in ("numrxqueues", "numtxqueues")]
_PATCHED = [*link_cases.of_all_links(patched=True)]
_OF_KINDS = [case for case in link_cases.of_kinds() if case.kind != "netdevsim"]
_OF_PORTS = [*link_cases.of_ports()]

START: Mapping[str, Any] = {
    "links": {
        "lo": {"up": True},
        "d0": {
            "kind": "dummy",
            "up": True,
            "addresses": ["192.0.2.1/24", "192.0.2.2/24", "2001:db8::1/64", "2001:db8::2/64"],
        },
        "d1": {"kind": "dummy", "up": True, "addresses": ["198.51.100.1/24", "2001:db8:1::1/64"]},
        "br0": {
            "kind": "bridge",
            "up": True,
            "vlan_filtering": True,
            "mcast_igmp_version": 3,
            "mcast_mld_version": 2,
        },
        "br1": {"kind": "bridge", "vlan_filtering": True, "mcast_vlan_snooping": True},
        "p0": {"kind": "dummy", "up": True, "master": "br0", "port": {"vlan_tunnel": True}},
        "p1": {"kind": "dummy", "master": "br1"},
        "p2": {"kind": "dummy"},
        "red": {"kind": "vrf", "table": 10, "up": True},
        "vx0": {"kind": "vxlan", "id": 10, "dstport": 4789, "remote": "192.0.2.99", "dev": "d0", "up": True},
        "vx1": {"kind": "vxlan", "external": True, "dstport": 4790},
        "vx2": {"kind": "vxlan", "external": True, "vnifilter": True, "dstport": 4791, "up": True},
        "low0": {"kind": "dummy", "up": True},
        "low1": {"kind": "dummy"},
        "low2": {"kind": "dummy"},
        "low3": {"kind": "dummy"},
    },
    "nexthops": {
        "1": {"via": "192.0.2.9", "dev": "d0"},
        "2": {"via": "198.51.100.9", "dev": "d1"},
        "3": {"via": "192.0.2.8", "fdb": True},
        "4": {"group": [{"id": 3}], "fdb": True},
        "5": {"via": "192.0.2.7", "fdb": True},
        "6": {"group": [{"id": 5}], "fdb": True},
        "7": {"via": "2001:db8::9", "dev": "d0"},
        "8": {"via": "2001:db8::a", "dev": "d0"},
    },
    "sysctl": {"net.mpls.platform_labels": 1000, "net.vrf.strict_mode": 1},
}
"""What the samples of routes and the like stand on."""


def text(config: Config) -> str:
    """What the file says: JSON is YAML."""
    lines = (f"{json.dumps(section)}: {_lines(said)}" for section, said in config.items())
    return "{" + ",\n".join(lines) + "}\n"


def _lines(said: Any) -> str:
    """One entry a line, for who has to read it."""
    if isinstance(said, dict):
        return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in said.items()) + "}"
    return "[\n" + ",\n".join(f"  {json.dumps(value)}" for value in said) + "]"


def _other_links(rng: random.Random, said: Any, config: Config) -> Any:
    """The same, with other links here and there."""
    if isinstance(said, Mapping):
        return {name: _other_links(rng, value, config) for name, value in said.items()}
    if isinstance(said, list | tuple):
        return [_other_links(rng, value, config) for value in said]
    return rng.choice(_names(config)) if said in _NAMES and rng.random() < 0.2 else said


def _link(rng: random.Random, config: Config) -> Config:
    """A link that there is."""
    body: Config = config["links"][rng.choice(_names(config))]
    return body


def _names(config: Config) -> list[str]:
    """The links that files can make."""
    return [name for name in config["links"] if name != "lo"]


def _put(body: Config, name: str, value: Any) -> None:
    if name.startswith("port."):
        body.setdefault("port", {})[name[5:]] = value
    else:
        body[name] = value


def _add_link(rng: random.Random, config: Config) -> None:
    base = _other_links(rng, _BASES[rng.choice([*_BASES])], config)
    name = rng.choice(NAMES_OF_LINKS)
    if base["kind"] in PAIRS:
        config["links"][base["peer"]] = {"kind": base["kind"], "peer": name}
    config["links"][name] = {**base, "up": rng.random() < 0.7}


def _set_attribute(rng: random.Random, config: Config) -> None:
    body = _link(rng, config)
    kind = body.get("kind")
    master = config["links"].get(body.get("master"), {}).get("kind")
    cases = rng.choice(
        (
            _COMMON,
            [case for case in _OF_KINDS if case.kind == kind],
            [case for case in _OF_PORTS if case.kind == master],
        )
    )
    if not cases:
        return
    case = rng.choice(cases)
    if case.kind == kind:
        for name in link_cases.BASE.get(str(kind), {}).keys() - case.attrs:
            body.pop(name, None)
    for name, value in case.attrs.items():
        if name not in ("kind", "link") or not case.kind:
            _put(body, name, value)
    _put(body, case.name, _other_links(rng, rng.choice((case.first, case.second)), config))
    if not case.kind and case.name != "protodown":
        body["kind"] = kind


def _set_patched(rng: random.Random, config: Config) -> None:
    case = rng.choice(_PATCHED)
    _put(_link(rng, config), case.name, rng.choice((case.first, case.second)))


def _set_master(rng: random.Random, config: Config) -> None:
    masters = [name for name, body in config["links"].items() if body.get("kind") in ("bridge", "bond", "team", "vrf")]
    body = _link(rng, config)
    body.pop("port", None)
    body["master"] = rng.choice([*masters, None])


def _set_mac(rng: random.Random, config: Config) -> None:
    for _ in range(2):
        _link(rng, config)["mac"] = rng.choice(_MACS)


def _set_up(rng: random.Random, config: Config) -> None:
    _link(rng, config)["up"] = rng.random() < 0.7


def _swap_bodies(rng: random.Random, config: Config) -> None:
    links = config["links"]
    one, other = rng.choice(_names(config)), rng.choice(_names(config))
    links[one], links[other] = links[other], links[one]


def _swap_names(rng: random.Random, config: Config) -> None:
    """Everything that was one's is the other's, whoever speaks of them."""
    one, other = rng.choice(NAMES_OF_LINKS), rng.choice(NAMES_OF_LINKS)
    names = {one: other, other: one}

    def renamed(said: Any) -> Any:
        if isinstance(said, dict):
            return {names.get(name, name): renamed(value) for name, value in said.items()}
        if isinstance(said, list | tuple):
            return [renamed(value) for value in said]
        return names.get(said, said) if isinstance(said, str) else said

    swapped = renamed(config)
    config.clear()
    config.update(swapped)


def _set_group(rng: random.Random, config: Config) -> None:
    groups = config.setdefault("groups", {})
    name = rng.choice(_GROUPS)
    body = groups.setdefault(name, {})
    if rng.random() < 0.3 and (others := groups.keys() - {name}):
        body["members"] = [rng.choice(sorted(others))]
    elif rng.random() < 0.6:
        case = rng.choice([case for case in _COMMON if COMMON[case.name].group])
        body[case.name] = rng.choice((case.first, case.second))
    _link(rng, config)["group"] = name


def _set_feature(rng: random.Random, config: Config) -> None:
    parts = _link(rng, config).setdefault("ethtool", {})
    parts.setdefault("features", {})[rng.choice(_FEATURES)] = rng.random() < 0.5


def _set_own_setting(rng: random.Random, config: Config) -> None:
    random_on_links.setting(rng, _link(rng, config))


def _set_tc(rng: random.Random, config: Config) -> None:
    names = _names(config)
    random_on_links.traffic_control(rng, config.setdefault("tc", {}), rng.choice(names), names)


def _move(rng: random.Random, config: Config) -> None:
    random_belonging.move(rng, config, rng.choice(ELSEWHERE))


def _set_card(rng: random.Random, config: Config) -> None:
    # A driver that tells of no error correction at all cannot be brought back to it.
    begun = {"kind": "netdevsim", "id": 7, "num_vfs": 2, "ethtool": {"fec": {"modes": ["off"]}}}
    card = config["links"].setdefault(CARD, begun)
    if card.get("kind") != "netdevsim" or rng.random() < 0.2:
        card["num_vfs"] = rng.randrange(4)
    elif rng.random() < 0.5:
        name = rng.choice([*OF_FUNCTIONS])
        card.setdefault("vfs", {}).setdefault(str(rng.randrange(2)), {})[name] = OF_FUNCTIONS[name]
    else:
        part = rng.choice(("rings", "coalesce", "pause", "fec"))
        name = rng.choice([*OF_DRIVERS[part]])
        card.setdefault("ethtool", {}).setdefault(part, {})[name] = rng.choice(OF_DRIVERS[part][name])


def _entry(case: l3_cases.Case, value: object) -> Config:
    """A sample as an entry of a list in a file."""
    names = [row.name for row in CLASSES[case.cls].key]
    if case.cls == "fdb":
        names.insert(4, "dst")
    key = dict(zip(names, case.key, strict=True))
    key.pop("selectors", None)
    said = {name: each for name, each in {**key, **case.base, case.name: value}.items() if each is not None}
    if case.cls in ("neighbour", "fdb", "mdb"):
        said = {"dev": said.pop("link"), **said}
    return said


def _add_sample(rng: random.Random, config: Config) -> None:
    cls = rng.choice(sorted({case.cls for case in l3_cases.CASES}))
    case = rng.choice([case for case in l3_cases.CASES if case.cls == cls])
    entry = _other_links(rng, _entry(case, rng.choice((case.first, case.second))), config)
    if cls == "sysctl":
        config["sysctl"][entry["path"].replace("/", ".")] = entry.get("value", "1")
    elif cls == "nexthop":
        config["nexthops"][str(entry.pop("id") + rng.randrange(2))] = entry
    elif cls in _LISTS:
        if cls == "rule":  # one that all packets meet may let no gateway be found
            entry.setdefault("from", "203.0.113.0/24" if entry["family"] == "inet" else "2001:db8:9::/48")
        _set_entry(rng, config.setdefault(_LISTS[cls], []), entry)
    else:
        link = config["links"].get(entry.pop("link"))
        if link is not None and cls == "token":
            link["token"] = entry["token"]
        elif link is not None:
            _set_entry(rng, link.setdefault(_OF_LINKS.get(cls, "vnis"), []), entry)


def _set_entry(rng: random.Random, entries: list[Any], entry: Config) -> None:
    """One more, or in the place of another."""
    if entries and rng.random() < 0.3:
        entries[rng.randrange(len(entries))] = entry
    else:
        entries.insert(rng.randrange(len(entries) + 1), entry)


def _remove(rng: random.Random, config: Config) -> None:
    """Take away one thing somewhere."""
    section = config[rng.choice([*config])]
    while section:
        place = rng.choice([*section]) if isinstance(section, dict) else rng.randrange(len(section))
        inner = section[place]
        if not isinstance(inner, dict | list) or rng.random() < 0.4:
            del section[place]
            return
        section = inner


Moves: TypeAlias = tuple[tuple[Move, int], ...]

_OWN: Moves = (
    (_add_link, 6),
    (_set_attribute, 12),
    (_set_master, 4),
    (_set_mac, 2),
    (_set_up, 2),
    (_swap_bodies, 1),
    (_swap_names, 1),
    (_set_group, 3),
    (_set_feature, 1),
    (_set_card, 2),
    (_set_own_setting, 3),
    (_move, 3),
    (random_belonging.further_names, 3),
    (random_belonging.groups_of_groups, 3),
    (_set_tc, 5),
    (_add_sample, 16),
    (_remove, 8),
)
_THEMES: tuple[Moves, ...] = (
    ((_set_tc, 8), (_remove, 2)),
    ((_move, 6), (random_ends.tunnel, 2)),
    random_sections.MOVES,
    random_layer_3.MOVES,
    random_bridged.MOVES,
    random_reworks.MOVES,
    random_kinds.MOVES,
    random_exchanges.MOVES,
    random_tunnels.MOVES,
    random_ends.MOVES,
)
MOVES: Moves = (*_OWN, *(move for theme in _THEMES[2:] for move in theme))
"""What can be changed, and how often it is."""
_PATCHED_TOO: Moves = ((_set_patched, 2),)
_OFTEN = 10


def moves_of(rng: random.Random, *, patched: bool) -> Moves:
    """What can be changed in a life: in some of them mostly one or two things, which then meet each other."""
    may = (*MOVES, *_PATCHED_TOO * patched)
    themes = rng.sample(_THEMES, rng.choice((0, 0, 1, 1, 2)))
    return (*may, *((move, weight * _OFTEN) for theme in themes for move, weight in theme))


def is_right(config: Config) -> bool:
    """Whether the check of the files lets it pass, and all of it can come back.

    No nexthop goes some time after the carrier of its link, or leads by another link than the VRF that it is told;
    no VXLAN stays larger than the link below it, or the ports of that; and nobody but who is told so has a port of a
    VRF take all packets, for the kernel then makes it so for good.
    """
    try:
        state = state_of(text(config))
    except ConfigError:
        return False
    below = (state.link(str(hop.attrs.get("dev"))) for hop in state.of("nexthop").values())
    if any(link and (link.attrs.get("carrier") is False or link.attrs.get("kind") == "vrf") for link in below):
        return False
    of_rings = {link.attrs.get(port) for link in state.of("link").values() for port in ("slave1", "slave2")}
    masters = (state.link(str(link.attrs.get("master"))) for link in state.of("link").values() if link.name in of_rings)
    if any(master and master.attrs.get("kind") == "vrf" for master in masters):
        return False
    links = state.of("link").values()
    carrying = {link.attrs.get("dev") for link in links if link.attrs.get("kind") == "vxlan"}
    sized = (link for link in links if "mtu" in link.attrs)
    return all(carrying.isdisjoint((link.name, link.attrs.get("master"))) for link in sized)


def changed(rng: random.Random, config: Mapping[str, Any], moves: int, may: Moves = MOVES) -> Config:
    """Another configuration, ``moves`` moves away at most, of those that it ``may`` make."""
    now = copy.deepcopy(dict(config))
    for move in rng.choices([move for move, _ in may], [weight for _, weight in may], k=moves):
        then = copy.deepcopy(now)
        move(rng, then)
        random_on_links.tidy(then)
        now = then if is_right(then) else now
    return now
