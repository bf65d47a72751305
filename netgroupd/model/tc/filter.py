# SPDX-License-Identifier: GPL-2.0-or-later
"""Filters, under ``tc filter``'s names.

A filter is told apart by where it hangs, its chain, its preference and what it
matches, not by its handle: that is the kernel's to give, so a rule put between
others renumbers nothing, and two rules that match the same are a mistake.
``match`` holds names and values, sorted; shared blocks are "block 7" in place of
the link, and have no parent.
"""

import re
from collections.abc import Mapping

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.rule import MARK, split_mark
from netgroupd.model.state import Key
from netgroupd.model.tc.action import ACTIONS
from netgroupd.model.tc.bpf import CURRENT, PROGRAM, one_program
from netgroupd.model.tc.ematch import CONDITIONS
from netgroupd.model.tc.flower import KEYS
from netgroupd.model.tc.handle import HANDLE, PARENT
from netgroupd.model.tc.layers import ADDRESSES
from netgroupd.model.tc.masked import halves
from netgroupd.model.tc.protocol import PROTOCOL
from netgroupd.model.tc.u32 import U32_FIELDS, U32_RULE
from netgroupd.model.value import FLAG, U32, Type, Value, number, record, several, string, word

FLOW_KEYS = (
    "src",
    "dst",
    "proto",
    "proto-src",
    "proto-dst",
    "iif",
    "priority",
    "mark",
    "nfct",
    "nfct-src",
    "nfct-dst",
    "nfct-proto-src",
    "nfct-proto-dst",
    "rt-classid",
    "sk-uid",
    "sk-gid",
    "vlan-tag",
    "rxhash",
)
_SEVERAL_FLOW_KEYS = several(word(8, {name: place for place, name in enumerate(FLOW_KEYS)}), unique=True)


def _parse_flow_keys(raw: object) -> Value:
    named = _SEVERAL_FLOW_KEYS.parse(raw)
    assert isinstance(named, tuple)
    return tuple(name for name in FLOW_KEYS if name in named)  # a set, in the order of the kernel's bits


_FLOW_KEY_SET = _SEVERAL_FLOW_KEYS._replace(parse=_parse_flow_keys)
MATCHES: dict[str, Mapping[str, Type]] = {
    "flower": {name: key.type for name, key in KEYS.items()},
    "matchall": {},
    "u32": U32_FIELDS,
    "fw": {"mark": MARK},
    "basic": {"match": CONDITIONS},
    "bpf": PROGRAM,
    "flow": {
        "keys": _FLOW_KEY_SET,
        "mode": word(32, {"map": 0, "hash": 1}),
        "divisor": U32,
        "baseclass": HANDLE,
        "perturb": U32,
        "mask": U32,
        "xor": U32,
        "rshift": number(32, 0, 31),
        "addend": U32,
    },
}
# The kernel reads these only beside such an ``ip_proto``, and takes the rule without them otherwise.
_BESIDE = {
    **dict.fromkeys(("src_port", "dst_port"), ("tcp", "udp", "sctp")),
    **dict.fromkeys(("icmp_type", "icmp_code"), ("icmp", "icmpv6")),
    "tcp_flags": ("tcp",),
    "l2tpv3_sid": ("l2tp",),
    "spi": ("esp", "ah"),
}


def _parse_flower(raw: object) -> Value:
    match = _FLOWER.parse(raw)
    assert isinstance(match, Mapping)
    for name in match.keys() & _BESIDE.keys():
        if match.get("ip_proto") not in _BESIDE[name]:
            raise ValueError(f"{name}: expected ip_proto {' or '.join(_BESIDE[name])} beside it")
    vain = [name for name, value in match.items() if type(value) is str and "/0" in value and _is_vain(name, value)]
    return {name: value for name, value in match.items() if name not in vain} if vain else match


def _is_vain(name: str, value: str) -> bool:
    """Whether no bit counts, which the kernel does not tell; of any address it keeps the family."""
    pack = KEYS[name].type.pack
    return name not in ADDRESSES and pack is not None and not any(halves(pack(value))[1])


def _parse_flow(raw: object) -> Value:
    match = _FLOW.parse(raw)
    assert isinstance(match, Mapping)
    keys = match["keys"]
    assert isinstance(keys, tuple)
    if not keys:
        raise ValueError("keys: expected one at least")
    if len(keys) > 1 and match.get("mode", "map") == "map":
        raise ValueError("mode: expected hash beside several keys, for one alone can be mapped to classes")
    said = {name: value for name, value in match.items() if value != _FLOW_DEFAULTS.get(name)}
    if "baseclass" in said and str(said["baseclass"]).partition(":")[2] in _FIRST_CLASS:
        del said["baseclass"]
    if "perturb" in said and said.get("mode") != "hash":
        raise ValueError("perturb: expected mode hash beside it, for nothing else is hashed anew")
    return {"mode": "map", **said}


def _parse_fw(raw: object) -> Value:
    match = _FW.parse(raw)
    assert isinstance(match, Mapping)
    if not split_mark(str(match["mark"]))[0]:
        raise ValueError("mark: expected one above 0 before the mask, for it is the handle of the rule")
    return match


# What the kernel does not tell, for it is so without being said.
_FLOW_DEFAULTS = {**dict.fromkeys(("divisor", "perturb", "xor", "rshift", "addend"), 0), "mask": 0xFFFFFFFF}
_FIRST_CLASS = ("", "1")
_FLOWER, _BPF = (record(MATCHES[kind]) for kind in ("flower", "bpf"))
_FLOW, _FW = record(MATCHES["flow"], frozenset({"keys"})), record(MATCHES["fw"], frozenset({"mark"}))
_IN_HARDWARE = ("flower", "matchall", "u32", "bpf")
FLAGS_OF = {"skip_hw": _IN_HARDWARE, "skip_sw": _IN_HARDWARE, "direct_action": ("bpf",)}
"""The classifiers that have a flag."""
FOR_GOOD = frozenset({("bpf", "skip_hw"), ("bpf", "skip_sw")})
"""The flags that a rule of a classifier has as long as it is there."""
_BLOCK = re.compile(r"[1-9][0-9]{0,9}")
_MOST_BLOCKS = 0xFFFFFFFF
KINDS = {kind: place for place, kind in enumerate(MATCHES)}
SHARES = "shares"
"""The mark of a rule that has an action together with others that does not stand by itself, which no file can say."""
AGAIN = "again"
"""Of a rule that no file can say why: another of its preference matches the same."""
HOLDS = "holds"
"""The actions that a rule has for itself under the indices of shared ones that are wanted."""
RECORDS = {kind: record(fields) for kind, fields in MATCHES.items()}
RECORDS["flower"] = _FLOWER._replace(parse=_parse_flower)
RECORDS["fw"] = _FW._replace(parse=_parse_fw)
RECORDS["flow"] = _FLOW._replace(parse=_parse_flow)
RECORDS["u32"] = U32_RULE
RECORDS["bpf"] = _BPF._replace(parse=lambda raw: one_program(_BPF.parse(raw)))

CLASS = Class(
    "filter",
    "A rule of traffic control.",
    (
        Attr("where", string(63), 'The link, or a shared block like "block 7".'),
        Attr("parent", PARENT, "The hook, qdisc or class that it hangs on."),
        Attr("chain", number(32, 0, (1 << 28) - 1), "The chain, 0 if not mentioned."),
        Attr("pref", number(16, 1), "Its place in the chain; lower ones come first."),
        Attr("match", several(string()), "The names and values that it matches."),
    ),
    table(
        (
            Attr("kind", word(8, KINDS), "The classifier.", change=Change.RECREATE),
            Attr("protocol", PROTOCOL, "The protocol behind the Ethernet header.", change=Change.RECREATE),
            Attr("actions", ACTIONS, "What to do, one after the other."),
            Attr("classid", HANDLE, "The class that the packet goes into.", 1, nullable=True),
            Attr("skip_hw", FLAG, "Not in hardware."),
            Attr("skip_sw", FLAG, "Only in hardware."),
            Attr("handle", U32, "Its handle, which the kernel gives.", silent=True),
            Attr("optional", FLAG, "Whether the others stay when the kernel refuses it.", silent=True),
            Attr("direct_action", FLAG, "A BPF program says itself what is to happen."),
            Attr(CURRENT, FLAG, "Whether a BPF program is the one that is pinned now."),
            Attr(HOLDS, several(string()), "What it has under the indices of shared actions.", silent=True),
        )
    ),
)


def block(number_: int) -> str:
    """What stands for a shared block in the place of a link."""
    return f"block {number_}"


def block_number(where: str) -> int:
    """The number of a shared block; 0 where ``where`` is a link."""
    word_, _, last = where.partition(" ")
    number_ = int(last) if word_ == "block" and _BLOCK.fullmatch(last) else 0
    return number_ if number_ <= _MOST_BLOCKS else 0


def incoming_link(rule: Key) -> str:
    """The link that the packets which a rule is about come in by; "" for any."""
    match = rule[4]
    assert isinstance(match, tuple)
    return next((str(pair[1]) for pair in match if isinstance(pair, tuple) and pair[0] == "indev"), "")


def key(where: str, parent: str, chain: int, pref: int, match: Mapping[str, Value]) -> Key:
    """The key of a filter."""
    return (where, parent, chain, pref, tuple(sorted(match.items())))
