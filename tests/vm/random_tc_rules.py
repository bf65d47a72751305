# SPDX-License-Identifier: GPL-2.0-or-later
"""Random rules in the words of the configuration, of which neither the checks nor the kernel refuse any.

Rules of one chain and preference are drawn together, for the kernel has one classifier and one protocol for them.
"""

import random
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tests.vm.tc_action_cases import ACTION_CASES
from tests.vm.tc_flower_cases import FLOWER, Raw

Groups: TypeAlias = Mapping[tuple[int, int], tuple[Raw, ...]]  # by chain and preference
CLASSIFIERS = ("flower", "u32", "matchall", "fw", "basic", "bpf", "flow")

TEMPLATED = 5
_TEMPLATES: tuple[Raw, ...] = (
    {"dst_ip": "0.0.0.0/24", "ip_proto": "tcp"},
    {"dst_ip": "0.0.0.0/32", "ip_proto": "tcp"},
    {"dst_ip": "0.0.0.0/24", "ip_proto": "tcp", "src_ip": "0.0.0.0/8"},
)
ATOMIC: Raw = {"chain": 3, "atomic": True}
CHAINS = (0, 0, 0, 1, 3, TEMPLATED)
_PREFS = (1, 2, 3, 9, 10, 11, 20, 100, 49152, 65535)
_KINDS = ("flower",) * 5 + ("u32",) * 3 + ("hashed", "matchall", "fw", "basic", "bpf", "flow")
_KINDS_OF_CHAINS = tuple(kind for kind in _KINDS if kind != "hashed")
_FOR_HARDWARE = ("flower", "matchall", "u32")
SHARED = {"gact": 1, "police": 7, "mirred": 3, "vlan": 4, "pedit": 5, "csum": 6, "skbedit": 8, "tunnel_key": 2}
_ALONE = ("_opts", "enc_", "mpls_", "cfm", "vlan_", "ppp")  # keys that others say something of already
_RANGES = {"dst_ip": "10.[0-2].0.[1-4]", "src_ip": "192.0.2.[8-12,30]"}
_U32: tuple[Raw, ...] = (
    {"match": {"ip dst": "10.0.0.0/8", "ip protocol": 6}},
    {"match": "0x0a000101/0xffffffff at 16"},
    {"match": {"ip dst": "10.0.0.[1-5]"}},
    {"match": {"ip dport": 53}},
    {"mark": "0x5/0xf", "indev": "v0"},
    {"mark": "0/0xf"},
    {"match": "0/0 at 0"},
    {"match": {"ip protocol": 17}, "mark": "0x[1-3]"},
)
_BASIC = (
    "cmp(u8 at 9 layer network eq 6)",
    "not cmp(u16 at 2 layer transport mask 0xff gt 5) or u32(0x0a000000/0xff000000 at 16)",
    "meta(fwmark shift 1 mask 0xf gt 3) and meta(dev eq v1)",
    "not (meta(vlan eq 5) or u32(0x0a000000/0xff000000 at 16)) and meta(pkt_len lt 9)",
    "meta(fwmark eq [1-4])",
)
_BPF = ("4,40 0 0 12,21 0 1 2048,6 0 0 262144,6 0 0 0", "1,6 0 0 0", "1,6 0 0 4294967295")
_FLOW: tuple[Raw, ...] = (
    {"keys": ["src", "dst"], "mode": "hash", "divisor": 256, "baseclass": "1:3"},
    {"keys": ["mark"], "mode": "map", "baseclass": "1:5", "mask": 255, "xor": 1, "rshift": 4, "addend": 2},
    {"keys": "src", "mode": "hash", "xor": 0, "rshift": 0, "perturb": 9, "baseclass": "1:2"},
)
_WORDS = ("drop", "pass", "goto chain 1", "goto chain 3", "goto chain 5", "continue", "reclassify")


def _tables(first: int) -> tuple[Raw, ...]:
    """Rules through hash tables; the last three of them may be missing."""
    second = first + 1
    return (
        {"table": first, "divisor": 4},
        {"link": first, "hashkey": "0x00ff0000 at 8", "match": {"ip protocol": 17}},
        {"table": second, "divisor": 256},
        {"table": first, "bucket": 1, "link": second, "hashkey": "0xff at 12", "offset": "mask 0xf00 at 0 shift 6 eat"},
        {"table": first, "bucket": 0, "match": "1/1 at 0"},
        {"table": second, "bucket": "[7-9]", "match": "2/3 at nexthdr+2"},
        {"match": {"ip dst": "10.0.0.7"}},
    )


def _own_prefs(place: str, chain: int) -> int:
    """Where the preferences of u32 begin that a chain has for itself: the kernel lists those of one link together."""
    return 1000 * (1 + ("1:", "ingress", "egress", "block").index(place)) + 100 * chain


def template(rng: random.Random) -> Raw:
    """What the rules of a chain may look at."""
    return {"chain": TEMPLATED, "protocol": "ip", "flower": rng.choice(_TEMPLATES)}


def some(rng: random.Random, values: tuple[Raw, ...]) -> list[Raw]:
    """A few of them, in some order."""
    return rng.sample(values, rng.randint(1, min(3, len(values))))


def shared_actions(rng: random.Random) -> Raw:
    """What every action that rules share does."""
    return {f"{kind} {number}": _said(kind, rng.choice(ACTION_CASES[kind])) for kind, number in SHARED.items()}


def _said(kind: str, action: object) -> object:
    return action[kind] if isinstance(action, Mapping) else action


def _actions(rng: random.Random, place: str) -> object:
    """What is to be done: a word, a shared one, or one or two that the rule has for itself."""
    refused = {"egress": (), "ingress": ("skbedit",), "1:": ("ct",), "block": ("skbedit",)}[place]
    names = [name for name in ACTION_CASES if not name.startswith(refused)]
    if rng.random() < 0.3:
        return rng.choice(_WORDS)
    drawn = []
    for name in rng.sample(names, rng.randint(1, 2)):
        own = rng.choice(ACTION_CASES[name])
        drawn.append(f"{name} {SHARED[name]}" if name in SHARED and rng.random() < 0.4 else own)
    return [*drawn, *(["pass"] if rng.random() < 0.2 else [])]


def _flower(rng: random.Random) -> tuple[str, list[Raw]]:
    name = rng.choice(tuple(FLOWER))
    protocol, base, *values = FLOWER[name]
    matches: list[Raw] = [{**base, name: value} for value in rng.sample(values, rng.randint(1, 2))]
    if protocol == "ip" and "dst_ip" not in base and not name.startswith(_ALONE):
        other = rng.choice(("dst_ip", "src_ip", "ip_ttl"))
        if other != name:
            matches.append({**matches[0], other: rng.choice(("0x1/0x1", 5)) if other == "ip_ttl" else _RANGES[other]})
    return protocol, matches


def _matches(rng: random.Random, kind: str, place: str) -> tuple[str, list[Raw]]:
    """For which protocol rules of one preference are, and what each matches."""
    tables = _tables(10 + _own_prefs(place, 0) // 100)
    templated: list[Raw] = [{"ip_proto": "tcp", "dst_ip": "10.0.[0-3].0/24"}]
    drawn: Mapping[str, Callable[[], tuple[str, list[Raw]]]] = {
        "flower": lambda: _flower(rng),
        "templated": lambda: ("ip", templated),
        "u32": lambda: ("ip", some(rng, _U32)),
        "hashed": lambda: ("ip", list(tables[: rng.choice((2, 4, 7))])),
        "matchall": lambda: (rng.choice(("all", "ip", "ipv6")), [{}]),
        "fw": lambda: ("all", [{"mark": rng.choice(("0x5", "[1-4]", "0x6/0xff"))}]),
        "basic": lambda: (rng.choice(("all", "ip")), [{"match": one} for one in rng.sample(_BASIC, rng.randint(1, 3))]),
        "bpf": lambda: ("all", [{"bytecode": code} for code in rng.sample(_BPF, rng.randint(1, 2))]),
        "flow": lambda: ("all", some(rng, _FLOW)),
    }
    return drawn[kind]()


def _does(rng: random.Random, kind: str, match: Raw, place: str) -> Raw:
    """What a rule does with what it matches."""
    if kind == "u32" and ("divisor" in match or "link" in match):
        return {}
    said: dict[str, object] = {}
    if kind == "bpf" and rng.random() < 0.5:
        return {"direct_action": True}
    if kind != "flow" and (place.endswith(":") or rng.random() < 0.1):
        said["classid"] = f"1:{rng.randint(1, 6)}"
    if "classid" not in said or rng.random() < 0.3:
        said["action"] = _actions(rng, place)
    if kind in _FOR_HARDWARE and not _has_shared(said) and rng.random() < 0.1:
        said["skip_hw"] = rng.random() < 0.8
    return said


def _has_shared(said: Raw) -> bool:
    actions = said.get("action")
    return isinstance(actions, list) and any(str(action).startswith(tuple(SHARED)) for action in actions)


def _group(rng: random.Random, kind: str, chain: int, pref: int, place: str) -> tuple[Raw, ...]:
    """Rules of one chain and preference."""
    classifier = {"hashed": "u32", "templated": "flower"}.get(kind, kind)
    protocol, matches = _matches(rng, kind, place)
    at = {"pref": pref, "protocol": protocol, **({"chain": chain} if chain else {})}
    rules = ({**at, classifier: match, **_does(rng, classifier, match, place)} for match in matches)
    return tuple(_perhaps_optional(rng, rule, classifier) for rule in rules)


def _perhaps_optional(rng: random.Random, rule: Raw, kind: str) -> Raw:
    """One that may be left out, and may be one that is: for hardware that there is none of."""
    if kind not in _FOR_HARDWARE or _has_shared(rule) or "table" in str(rule) or rng.random() < 0.85:
        return rule
    said = {name: value for name, value in rule.items() if name != "skip_hw"}
    return {**said, "optional": True, **({"skip_sw": True} if rng.random() < 0.3 else {})}


def _pref(rng: random.Random, kind: str, chain: int, place: str) -> int:
    own = {"u32": rng.randint(1, 9), "hashed": 50}
    return _own_prefs(place, chain) + own[kind] if kind in own else rng.choice(_PREFS)


def draw_groups(rng: random.Random, place: str, most: int = 5) -> Groups:
    """Rules of a hook, block or qdisc."""
    drawn: dict[tuple[int, int], tuple[Raw, ...]] = {}
    for _ in range(rng.randint(0, most)):
        chain = 0 if place == "1:" else rng.choice(CHAINS)
        kind = "templated" if chain == TEMPLATED else rng.choice(_KINDS if chain == 0 else _KINDS_OF_CHAINS)
        pref = _pref(rng, kind, chain, place)
        drawn[chain, pref] = _group(rng, kind, chain, pref, place)
    return drawn


def touch_groups(rng: random.Random, groups: Groups, place: str) -> Groups:
    """The same rules after somebody has worked on them: some stay, change what they do, go, or come."""
    touched = dict(draw_groups(rng, place, 2))
    for (chain, pref), rules in groups.items():
        how = rng.choice(("stays", "stays", "does", "less", "goes", "moves"))
        kind = next(name for name in CLASSIFIERS if name in rules[0])
        if how == "stays" or (kind == "u32" and how in ("less", "moves") and "table" in str(rules)):
            touched[chain, pref] = rules
        elif how == "does":
            touched[chain, pref] = tuple(_done_otherwise(rng, rule, kind, place) for rule in rules)
        elif how == "less":
            touched[chain, pref] = rules[1:] or rules
        elif how == "moves":
            moved = _pref(rng, kind, chain, place)
            touched[chain, moved] = tuple({**rule, "pref": moved} for rule in rules)
    return touched


def _done_otherwise(rng: random.Random, rule: Raw, kind: str, place: str) -> Raw:
    kept = {name: rule[name] for name in ("pref", "protocol", "chain", kind) if name in rule}
    match = rule[kind]
    assert isinstance(match, Mapping)
    said = {**kept, **_does(rng, kind, match, place)}
    keeps_shared = "action" not in said and _has_shared(rule)  # which go with no flag
    return {name: value for name, value in said.items() if not (keeps_shared and name in ("skip_hw", "skip_sw"))}
