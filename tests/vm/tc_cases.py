# SPDX-License-Identifier: GPL-2.0-or-later
"""What every key, action, option and kind of traffic control is set to on a real kernel."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from netgroupd.model.state import Object
from netgroupd.model.tc import filter as filters
from netgroupd.model.tc import layers, queues
from netgroupd.model.tc.action import ACTION, FIELDS
from netgroupd.model.tc.flower import KEYS
from netgroupd.model.tc.qdisc import CLASS as QDISC
from netgroupd.model.tc.qdisc import KINDS
from netgroupd.model.tc.rates import settled
from netgroupd.model.value import Value
from tests.vm.tc_action_cases import ACTION_CASES
from tests.vm.tc_flower_cases import FLOWER, Raw
from tests.vm.tc_qdisc_cases import BOUNDED, CLASSES, QDISCS, STABS

SETUP = """
link add v0 numtxqueues 4 type veth peer name v1 numtxqueues 2
link add v2 type dummy
link set v0 up
link set v1 up
link set v2 up
""".strip().splitlines()

CLSACT = Object("qdisc", ("v0", "clsact"), {"kind": "clsact", "hooks": ("ingress", "egress")})


class Case(NamedTuple):
    """Objects that are there first, then those that the first are changed to."""

    id: str
    first: tuple[Object, ...]
    second: tuple[Object, ...] = ()


def rules_of(case: Case) -> list[Object]:
    """The filters among the objects of a case."""
    return [obj for obj in (*case.first, *case.second) if obj.cls == "filter"]


def rule(
    kind: str,
    match: Raw,
    *,
    pref: int = 10,
    protocol: str = "all",
    chain: int = 0,
    parent: str = "ingress",
    **said: object,
) -> Object:
    """A rule at the hook ingress of v0, read as a file would be."""
    rows = filters.CLASS.attrs
    attrs: dict[str, Value] = {name: rows[name].type.parse(value) for name, value in said.items()}
    attrs |= {"kind": kind, "protocol": rows["protocol"].type.parse(protocol)}
    parsed = filters.RECORDS[kind].parse(match)
    assert isinstance(parsed, Mapping)
    if kind == "flower":
        parsed = layers.fitted(parsed, attrs["protocol"])
    return Object("filter", filters.key("v0", parent, chain, pref, parsed), attrs)


_POLICER = {"police": {"rate": "1mbit", "burst": "10k", "peakrate": "2mbit", "mtu": 2000, "conform": "pipe"}}
_BPF = "4,40 0 0 12,21 0 1 2048,6 0 0 262144,6 0 0 0"
_TWO = "meta(vlan eq 5) or u32(0x0a000000/0xff000000 at 16)"
CLASSIFIERS: dict[str, tuple[Object, Object]] = {
    "matchall": (rule("matchall", {}, actions="drop"), rule("matchall", {}, actions="pass")),
    "u32": (
        rule("u32", {"match": {"ip dst": "10.0.0.0/8", "ip protocol": 6}}, protocol="ip", actions="drop"),
        rule("u32", {"match": "0x0a000001/0xffffffff at 16"}, protocol="ip", classid="1:5"),
    ),
    "u32-more": (
        rule("u32", {"mark": "0x5/0xf", "indev": "v0"}, actions="drop"),
        rule("u32", {"match": {"ip6 dst": "2001:db8::/36", "tcp dst": 80}}, protocol="ipv6", actions="drop"),
    ),
    "u32-skip_hw": (
        rule("u32", {"match": {"ip dst": "10.0.0.0/8"}}, protocol="ip", actions="drop", skip_hw=True),
        rule("u32", {"match": {"ip dst": "10.0.0.0/8"}}, protocol="ip", actions="drop", skip_hw=False),
    ),
    "fw": (rule("fw", {"mark": "0x5"}, classid="1:5"), rule("fw", {"mark": "0x6/0xff"}, classid="1:5", actions="drop")),
    "basic": (rule("basic", {}, actions="drop"), rule("basic", {}, classid="1:7")),
    "basic-match": (
        rule("basic", {"match": "cmp(u8 at 9 layer network eq 6)"}, actions="drop"),
        rule(
            "basic",
            {"match": "not cmp(u16 at 2 layer transport mask 0xff gt 5) or u32(0x0a000000/0xff000000 at 16)"},
            actions="drop",
        ),
    ),
    "basic-meta": (
        rule("basic", {"match": "meta(fwmark shift 1 mask 0xf gt 3) and meta(dev eq v1)"}, actions="drop"),
        rule("basic", {"match": f"not ({_TWO}) and (meta(pkt_len lt 9) or not ({_TWO}))"}, actions="drop"),
    ),
    "bpf": (
        rule("bpf", {"bytecode": _BPF}, actions="drop"),
        rule("bpf", {"bytecode": "1,6 0 0 0"}, direct_action=True),
    ),
    "flow": (
        rule("flow", {"keys": ["src", "dst"], "mode": "hash", "divisor": 256}),
        rule(
            "flow",
            {"keys": ["mark"], "mode": "map", "baseclass": "1:5", "mask": 255, "xor": 1, "rshift": 4, "addend": 2},
        ),
    ),
    "flow-usual": (
        rule("flow", {"keys": "dst", "addend": 0, "mask": 0xFFFFFFFF, "baseclass": "1:"}),
        rule("flow", {"keys": "src", "mode": "hash", "xor": 0, "rshift": 0, "perturb": 0}),
    ),
    "u32-unmarked": (rule("u32", {"mark": "0/0"}, actions="drop"), rule("u32", {"mark": "0/0xf"}, actions="drop")),
    "flower-any": (
        rule("flower", {"dst_ip": "0.0.0.0/0", "ip_tos": "0/0", "ct_mark": "0/0"}, protocol="ip", actions="drop"),
        rule("flower", {"src_ip": "::/0", "dst_ip": "2001:db8::/32"}, protocol="ipv6", actions="drop"),
    ),
    "flower-classid": (
        rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", classid="1:5"),
        rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", classid="1:6"),
    ),
    "flower-skip_hw": (
        rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", actions="drop", skip_hw=True),
        rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", actions="drop", skip_hw=False),
    ),
    "flower-protocol": (rule("flower", {}, protocol="ip"), rule("flower", {}, protocol="ipv6")),
    "flower-kind": (rule("flower", {}, actions="drop"), rule("matchall", {}, actions="drop")),
    "flower-chain": (
        rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", chain=5, actions="drop"),
        rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", chain=6, actions="drop"),
    ),
    "flower-pref": (
        rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", pref=1, actions="drop"),
        rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", pref=65535, actions="drop"),
    ),
    "flower-many-actions": (
        rule(
            "flower", {}, actions=[{"vlan": {"do": "push", "id": 5}}, {"mirred": {"egress": "redirect", "dev": "v2"}}]
        ),
        rule("flower", {}, actions=[{"skbedit": {"mark": 1}}, {"vlan": {"do": "push", "id": 5}}, "pass"]),
    ),
    "largest": (
        rule("bpf", {"bytecode": f"3900,{','.join(['6 0 0 0'] * 3900)}"}, actions=["drop", "drop"]),
        rule("matchall", {}, actions=[_POLICER] * 30),
    ),
    "flower-egress": (
        rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", parent="egress", actions="drop"),
        rule("flower", {"dst_ip": "10.0.0.2"}, protocol="ip", parent="egress", actions="drop"),
    ),
}


def qdisc(kind: str, said: Raw, *, parent: str = "root", handle: str = "1:") -> Object:
    """A qdisc of v0, read as a file would be."""
    rows = {**KINDS[kind].options, "stab": QDISC.attrs["stab"]}
    named = {name: None if value is None else rows[name].type.parse(value) for name, value in said.items()}
    attrs = queues.whole(kind, named)
    return Object("qdisc", ("v0", parent), {"kind": kind, "handle": handle, **attrs})


def tclass(kind: str, said: Raw, classid: str = "1:10", parent: str = "1:") -> Object:
    """A class of v0, read as a file would be."""
    rows = KINDS[kind].classes
    attrs = settled({name: rows[name].type.parse(value) for name, value in said.items()})
    return Object("tclass", ("v0", classid), {"kind": kind, "parent": parent, **attrs})


def _flower() -> Iterator[Case]:
    for name, (protocol, base, first, second) in FLOWER.items():
        rules = (rule("flower", {**base, name: value}, protocol=protocol, actions="drop") for value in (first, second))
        yield Case(f"flower-{name}", *((CLSACT, one) for one in rules))


def _actions() -> Iterator[Case]:
    for name, (first, second) in ACTION_CASES.items():
        hook = "egress" if name.startswith("skbedit") else "ingress"
        match = {"src_ip": "10.0.0.1"}
        rules = (rule("flower", match, protocol="ip", parent=hook, actions=one) for one in (first, second))
        yield Case(f"action-{name}", *((CLSACT, one) for one in rules))


def _qdiscs() -> Iterator[Case]:
    for kind, options in QDISCS.items():
        for name, (base, *values) in options.items():
            yield Case(f"{kind}-{name}", *((qdisc(kind, {**base, name: value}),) for value in values))
    for kind, options in CLASSES.items():
        for name, (base, *values) in options.items():
            root = qdisc(kind, {})
            yield Case(f"{kind}-class-{name}", *((root, tclass(kind, {**base, name: value})) for value in values))
    for place, (kind, first, second) in enumerate(BOUNDED):
        yield Case(f"{kind}-bounded-{place}", (qdisc(kind, first),), (qdisc(kind, second),))
    for name, first, second in STABS:
        kind = name.partition("-")[0]
        yield Case(f"{kind}-stab{name.removeprefix(kind)}", (qdisc(kind, first),), (qdisc(kind, second),))
    for kind in ("noqueue", "mq"):
        yield Case(kind, (qdisc(kind, {}),), (qdisc("pfifo", {"limit": 5}),))
    yield Case("ingress", (Object("qdisc", ("v0", "clsact"), {"kind": "ingress", "hooks": ("ingress",)}),))


def hashed(match: Raw, actions: object = ()) -> Object:
    """A rule or a hash table of u32."""
    return rule("u32", match, protocol="ip", actions=actions)


def _hash_tables() -> Iterator[Case]:
    """Tables that lead to each other, with rules that come, go and take each other along."""
    first, second = hashed({"table": 1, "divisor": 4}), hashed({"table": 2, "divisor": 256})
    way = hashed({"link": 1, "hashkey": "0x00ff0000 at 8", "match": {"ip protocol": 17}})
    behind = {"link": 2, "hashkey": "0xff at 12", "offset": "mask 0xf00 at 0 shift 6 eat"}
    further = hashed({"table": 1, "bucket": 1, **behind})
    leaves = [hashed({"table": 2, "bucket": number, "match": "1/1 at 0"}, "drop") for number in (0, 255)]
    whole = (CLSACT, first, second, way, further, *leaves)
    yield Case("u32-tables", whole, (CLSACT,))
    other = hashed({"table": 2, "bucket": 7, "match": "2/3 at nexthdr+2"}, "drop")
    yield Case(
        "u32-rules-of-tables", whole, (CLSACT, first, second, hashed({"link": 2, "offset": "plus 8"}), way, other)
    )
    yield Case("u32-divisor", whole, (CLSACT, hashed({"table": 1, "divisor": 16}), *whole[2:]))


def _trees() -> Iterator[Case]:
    """What hangs on each other, and what goes with what it hangs on."""
    root, leaf = qdisc("htb", {"default": 0x10}), qdisc("fq_codel", {}, parent="1:10", handle="10:")
    parent = tclass("htb", {"rate": 1000000}, "1:1", "1:")
    child = tclass("htb", {"rate": 500000}, "1:10", "1:1")
    into = rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", classid="1:10", parent="1:")
    tree = (root, parent, child, leaf, into)
    yield Case("tree", tree, (root, parent, child))
    yield Case("tree-recreated", tree, (qdisc("htb", {"default": 0x20}), parent, child, leaf, into))
    other = qdisc("hfsc", {})
    yield Case("tree-replaced", tree, (other, tclass("hfsc", {"ls": [0, 0, 125000]}, "1:10", "1:")))
    template = {"dst_ip": "0.0.0.0/24", "ip_proto": "tcp"}
    chain = Object(
        "chain", ("v0", "ingress", 5), {"protocol": "ip", "flower": filters.RECORDS["flower"].parse(template)}
    )
    yield Case("chain", (CLSACT, chain), (CLSACT,))
    fits = {"dst_ip": "10.0.0.0/24", "ip_proto": "tcp"}
    into, inside = rule("matchall", {}, pref=1, actions="goto chain 5"), rule("flower", fits, protocol="ip", chain=5)
    wider = chain._replace(
        attrs={**chain.attrs, "flower": filters.RECORDS["flower"].parse({**template, "ip_tos": "0/3"})}
    )
    yield Case("chain-template", (CLSACT, into, inside), (CLSACT, chain, into, inside))
    yield Case("chain-template-changed", (CLSACT, chain, into, inside), (CLSACT, wider, into, inside))
    yield Case("chain-template-lost", (CLSACT, chain, inside), (CLSACT, inside))


def hook_in(block: int | None, link: str = "v0") -> Object:
    """The hook ingress of a link, in a block or by itself, as a file names it."""
    named: dict[str, Value] = {"hooks": ()} if block else {"hooks": ("ingress",)}
    return Object("qdisc", (link, "clsact"), {"kind": "clsact", "ingress_block": block, **named})


def _blocks() -> Iterator[Case]:
    """Hooks that go into a shared block, into another one and out of it, and their rules with them."""
    mine = rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", actions="drop")
    other = rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", chain=7, actions="drop")
    in_seven, in_eight = (mine._replace(key=(f"block {number}", "", *mine.key[2:])) for number in (7, 8))
    further = other._replace(key=("block 7", "", *other.key[2:]))
    whole = (hook_in(7), in_seven, further)
    yield Case("block", whole, (hook_in(7),))
    yield Case("block-entered", (hook_in(None), mine), whole)
    yield Case("block-left", whole, (hook_in(None), mine))
    yield Case("block-changed", whole, (hook_in(8), in_eight))
    both = (hook_in(7), hook_in(7, "v2"), in_seven, further)
    yield Case("block-left-by-one", both, (hook_in(8), hook_in(7, "v2"), in_seven, in_eight))
    yield Case("clsact-alone", (Object("qdisc", ("v0", "clsact"), {"kind": "clsact"}),))


def _classes() -> Iterator[Case]:
    """Classes that go, or move, while rules lead to them and others are below them."""
    root, top, other = qdisc("htb", {}), *(tclass("htb", {"rate": 1000000}, f"1:{number}", "1:") for number in (1, 2))
    below, moved = (tclass("htb", {"rate": 500000}, "1:10", f"1:{number}") for number in (1, 2))
    lowest = tclass("htb", {"rate": 100000}, "1:100", "1:10")
    into, elsewhere = (_into(classid) for classid in ("1:10", "1:2"))
    yield Case("class-with-its-rule", (root, other, top, below, into), (root, other, top))
    yield Case("class-that-a-rule-leaves", (root, other, top, below, into), (root, other, elsewhere))
    yield Case("class-that-a-rule-still-names", (root, other, top, below, into), (root, other, top, into))
    goto, last = _into("1:2", pref=5, actions="goto chain 7"), _into("1:10", chain=7)
    yield Case("class-of-a-chain", (root, other, top, below, goto, last), (root, other, _into("1:2", pref=5)))
    inner = qdisc("prio", {}, parent="1:100", handle="30:")
    inside = (inner, qdisc("pfifo", {"limit": 7}, parent="30:1", handle="31:"), _into("30:2", parent="30:"))
    rules = (_into("1:100"), _into("1:10", parent="1:1"))
    whole = (root, top, other, below, lowest, *rules)
    yield Case("class-moved", (*whole, *inside), (root, top, other, moved, lowest, *rules, *inside))
    yield Case("class-moved-with-less", (*whole, *inside), (root, top, other, moved, _into("1:10")))
    yield Case("class-makes-room", whole, (root, top, other, qdisc("pfifo", {"limit": 7}, parent="1:1", handle="40:")))
    hashes = map(hashed, ({"table": 1, "divisor": 4}, {"link": 1}, {"table": 1, "bucket": 1}))
    table, way, leaf = (one._replace(key=("v0", "1:", *one.key[2:])) for one in hashes)
    behind = (table, way, leaf._replace(attrs={**leaf.attrs, "classid": "1:10"}))
    yield Case("class-behind-a-table", (root, top, other, below, *behind), (root, top, other, moved, *behind))


def _into(classid: str, *, pref: int = 10, parent: str = "1:", chain: int = 0, actions: object = ()) -> Object:
    """A rule that leads to a class."""
    led = {"classid": classid, "actions": actions}
    return rule("flower", {"dst_ip": "10.0.0.1"}, protocol="ip", pref=pref, parent=parent, chain=chain, **led)


def action(kind: str, number: int, said: object) -> Object:
    """An action that filters share, read as a file would be."""
    return Object("action", (kind, number), {"actions": (ACTION.parse(said),)})


def _shared() -> Iterator[Case]:
    """Two filters of each kind of action that they have together, which then changes."""
    first, second = (tuple(action(kind, 7, ACTION_CASES[kind][place]) for kind in FIELDS) for place in (0, 1))
    rules = [
        rule("matchall", {}, pref=pref, actions=f"{kind} 7")
        for place, kind in enumerate(FIELDS)
        for pref in (2 * place + 1, 2 * place + 2)
    ]
    yield Case("shared", (CLSACT, *first, *rules), (CLSACT, *second, *rules))
    yield Case("shared-not", (CLSACT, *first, *rules), (CLSACT, rule("matchall", {}, actions="drop")))


def _all() -> Iterator[Case]:
    yield from _flower()
    yield from _actions()
    for name, pair in CLASSIFIERS.items():
        yield Case(f"filter-{name}", *((CLSACT, one) for one in pair))
    yield from _qdiscs()
    yield from _trees()
    yield from _blocks()
    yield from _classes()
    yield from _hash_tables()
    yield from _shared()


CASES = tuple(_all())
DESCRIBED = {
    *(("flower", name) for name in KEYS),
    *(("action", kind) for kind in FIELDS),
    *(("filter", kind) for kind in filters.MATCHES),
    *(("qdisc", f"{kind.name}-{name}") for kind in KINDS.values() for name in kind.options),
    *(("tclass", f"{kind.name}-{name}") for kind in KINDS.values() for name in kind.classes),
}
# No card here takes them; test_tc_mqprio has what the kernel and tc make of them.
_OF_HARDWARE = {("qdisc", f"mqprio-{name}") for name in ("mode", "shaper", "min_rate", "max_rate", "fp")}
TRIED = {
    *_OF_HARDWARE,
    *(("flower", name) for name in FLOWER),
    *(("action", name.partition("-")[0]) for name in ACTION_CASES),
    *(("filter", name.partition("-")[0]) for name in CLASSIFIERS),
    *(("qdisc", f"{kind}-{name}") for kind, options in QDISCS.items() for name in options),
    *(("tclass", f"{kind}-{name}") for kind, options in CLASSES.items() for name in options),
}
