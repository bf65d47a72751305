# SPDX-License-Identifier: GPL-2.0-or-later
"""Actions as attributes, and back.

Every action has one structure that begins alike (index, capabilities, control,
counts), what its kind adds to that, and attributes of its own.  One that filters
share is referred to by its index: of what else its structure holds the kernel looks
at the size alone.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.netlink.message import attr, attributes, nest, text, u32, u64, walk
from netgroupd.kernel.tc import programs
from netgroupd.kernel.tc.actions import nat as actions_nat
from netgroupd.kernel.tc.actions import pedit as actions_pedit
from netgroupd.kernel.tc.actions import police as actions_police
from netgroupd.kernel.tc.actions import tunnel as actions_tunnel
from netgroupd.kernel.tc.actions.police import pack_police, police_counts, unpack_police
from netgroupd.kernel.tc.actions.rows import packed, read, simple
from netgroupd.kernel.tc.programs import Numbers
from netgroupd.model.state import integer
from netgroupd.model.tc.action import (
    COOKIE,
    CSUMS,
    FIELDS,
    HW_STATS,
    MPLS_STEPS,
    VLAN_STEPS,
    control_number,
    control_text,
    shared,
    usual_control,
)
from netgroupd.model.tc.action_whole import takes
from netgroupd.model.tc.masked import halves, kept
from netgroupd.model.value import Value

_KIND, _OPTIONS, _COOKIE, _FLAGS, _HW_STATS = 1, 2, 6, 7, 8
_BITS = struct.Struct("=II")  # values, and which of them are said
_EVERY_WAY = 3  # of counting in hardware
_OF_ANY = ("cookie", "no_percpu", "hw_stats")  # fields that actions of all kinds have
_KNOWN = 1 << 10
_NO_PERCPU = 1
GENERIC = struct.Struct("=IIIii")  # index, capabilities, control, references, binds
_U32 = struct.Struct("=I")
_HW_STATS_NAMES = {number: name for name, number in HW_STATS.items()}

Fields = Mapping[str, Value]


class Form(NamedTuple):
    """How one kind is laid out: the number of its structure, and what it adds.

    ``rest`` is how many bytes follow in the structure what all kinds have in it.
    ``older`` is its number where an action has nothing of what was added to its kind later.
    """

    parms: int
    pack: Callable[[Fields, Names], tuple[bytes, bytes]]
    """What follows in the structure, and the attributes beside it."""
    unpack: Callable[[bytes, Mapping[int, memoryview], Names], dict[str, Value]]
    rest: int = 0
    older: int = 0

    def number_in(self, options: Mapping[int, memoryview]) -> int:
        """The number of the structure among the ``options`` of an action."""
        return self.older if self.older in options and self.parms not in options else self.parms


_GACT_PROB = 3
_PROB = struct.Struct("=HHI")  # by which chance, one in how many, what then
_CHANCES = {"netrand": 1, "determ": 2}
_CHANCE_NAMES = {number: name for name, number in _CHANCES.items()}


def _pack_gact(fields: Fields, _names: Names) -> tuple[bytes, bytes]:
    if "random" not in fields:
        return b"", b""
    chance, control, every = str(fields["random"]).split()
    return b"", attr(_GACT_PROB, _PROB.pack(_CHANCES[chance], int(every), control_number(control)))


def _unpack_gact(_rest: bytes, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    if _GACT_PROB not in found:
        return {}
    chance, every, control = _PROB.unpack_from(found[_GACT_PROB])
    return {"random": f"{_CHANCE_NAMES[chance]} {control_text(control)} {every}"}


_DIRECTIONS = {("egress", "redirect"): 1, ("egress", "mirror"): 2, ("ingress", "redirect"): 3, ("ingress", "mirror"): 4}
_MIRRED_BLOCK = 4
_DIRECTION_NAMES = {number: pair for pair, number in _DIRECTIONS.items()}


def _pack_mirred(fields: Fields, names: Names) -> tuple[bytes, bytes]:
    side = "ingress" if "ingress" in fields else "egress"
    number = _DIRECTIONS[side, str(fields.get(side, "redirect"))]
    if "block" in fields:
        return struct.pack("=iI", number, 0), u32(_MIRRED_BLOCK, integer(fields, "block"))
    return struct.pack("=iI", number, names.index(str(fields["dev"]))), b""


def _unpack_mirred(rest: bytes, found: Mapping[int, memoryview], names: Names) -> dict[str, Value]:
    number, index = struct.unpack_from("=iI", rest)
    side, what = _DIRECTION_NAMES[number]
    if _MIRRED_BLOCK in found:
        return {side: what, "block": int.from_bytes(found[_MIRRED_BLOCK], "little")}
    try:
        return {side: what, "dev": names.name(index)}
    except UnknownLinkError:
        return {side: what}  # the link has gone, and packets that are sent there are lost


_VLAN = {"id": 3, "protocol": 4, "priority": 6, "dst_mac": 7, "src_mac": 8}
_VLAN_WORDS = {number: word for word, number in VLAN_STEPS.items()}


def _pack_vlan(fields: Fields, _names: Names) -> tuple[bytes, bytes]:
    return struct.pack("=i", VLAN_STEPS[str(fields["do"])]), simple("vlan", _VLAN, fields)


def _unpack_vlan(rest: bytes, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    return {"do": _VLAN_WORDS[_U32.unpack_from(rest)[0]], **read("vlan", _VLAN, found)}


_SKBEDIT = {"priority": 3, "queue_mapping": 4, "ptype": 7, "queue_mapping_max": 10}
_SKB_MARK, _SKB_MASK, _SKB_FLAGS, _INHERIT, _BY_HASH = 5, 8, 9, 0x20, 0x40


def _pack_skbedit(fields: Fields, _names: Names) -> tuple[bytes, bytes]:
    more = simple("skbedit", _SKBEDIT, fields)
    if "mark" in fields:
        value, mask = halves(packed("skbedit", "mark", fields["mark"]))
        more += attr(_SKB_MARK, value) + attr(_SKB_MASK, mask)
    flags = (_INHERIT if fields.get("inheritdsfield") else 0) | (_BY_HASH if "queue_mapping_max" in fields else 0)
    return b"", more + (u64(_SKB_FLAGS, flags) if flags else b"")


def _unpack_skbedit(_rest: bytes, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    fields = read("skbedit", _SKBEDIT, found)
    unpack = FIELDS["skbedit"]["mark"].unpack
    if _SKB_MARK in found and unpack:
        mask = bytes(found[_SKB_MASK]) if _SKB_MASK in found else b"\xff" * 4
        fields["mark"] = unpack(kept(bytes(found[_SKB_MARK]), mask) + mask)
    fields["inheritdsfield"] = bool(_SKB_FLAGS in found and found[_SKB_FLAGS][0] & _INHERIT)
    return fields


_MPLS = {"protocol": 4, "label": 5, "tc": 6, "ttl": 7, "bos": 8}
_MPLS_WORDS = {number: word for word, number in MPLS_STEPS.items()}


def _pack_mpls(fields: Fields, _names: Names) -> tuple[bytes, bytes]:
    return struct.pack("=i", MPLS_STEPS[str(fields["do"])]), simple("mpls", _MPLS, fields)


def _unpack_mpls(rest: bytes, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    """Without the protocol that the kernel tells of a step that takes none."""
    step = _MPLS_WORDS[_U32.unpack_from(rest)[0]]
    told = read("mpls", _MPLS, found)
    return {"do": step, **{name: value for name, value in told.items() if takes("mpls", step, name)}}


def _pack_csum(fields: Fields, _names: Names) -> tuple[bytes, bytes]:
    what = fields.get("of", ())
    assert isinstance(what, tuple)
    return _U32.pack(sum(CSUMS[str(name)] for name in what)), b""


def _unpack_csum(rest: bytes, _found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    (bits,) = _U32.unpack_from(rest)
    return {"of": tuple(name for name, bit in CSUMS.items() if bits & bit)}


_SAMPLE = {"rate": 3, "trunc": 4, "group": 5}


def _pack_sample(fields: Fields, _names: Names) -> tuple[bytes, bytes]:
    return b"", simple("sample", _SAMPLE, {"rate": 1, "group": 0, **fields})


def _unpack_sample(_rest: bytes, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    return read("sample", _SAMPLE, found)


def _pack_connmark(fields: Fields, _names: Names) -> tuple[bytes, bytes]:
    return struct.pack("=HH", integer(fields, "zone"), 0), b""


def _unpack_connmark(rest: bytes, _found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    return {"zone": struct.unpack_from("=H", rest)[0]}


_PROGRAM = Numbers(3, 4, 5, 6, 9)


def _pack_bpf(fields: Fields, _names: Names) -> tuple[bytes, bytes]:
    return b"", programs.pack(fields, _PROGRAM)


def _unpack_bpf(_rest: bytes, found: Mapping[int, memoryview], _names: Names) -> dict[str, Value]:
    said = programs.unpack(found, _PROGRAM)
    return said | programs.current(said, found, _PROGRAM)


_COUNTS = GENERIC.size - 8
FORMS = {
    "gact": Form(2, _pack_gact, _unpack_gact),
    "mirred": Form(2, _pack_mirred, _unpack_mirred, 8),
    "vlan": Form(2, _pack_vlan, _unpack_vlan, 4),
    "skbedit": Form(2, _pack_skbedit, _unpack_skbedit),
    "pedit": Form(4, actions_pedit.pack, actions_pedit.unpack, 4, older=2),
    "tunnel_key": Form(2, actions_tunnel.pack, actions_tunnel.unpack, 4),
    "mpls": Form(2, _pack_mpls, _unpack_mpls, 4),
    "ct": Form(1, actions_nat.pack_ct, actions_nat.unpack_ct),
    "nat": Form(1, actions_nat.pack_nat, actions_nat.unpack_nat, 16),
    "csum": Form(1, _pack_csum, _unpack_csum, 4),
    "sample": Form(2, _pack_sample, _unpack_sample),
    "bpf": Form(2, _pack_bpf, _unpack_bpf),
    "connmark": Form(1, _pack_connmark, _unpack_connmark, 4),
}


@lru_cache(_KNOWN)
def _start(parms: int, size: int, index: int, control: str) -> bytes:
    """What the options of most kinds begin with: their structure, up to the ``size`` bytes that are of the kind."""
    generic = GENERIC.pack(index, 0, control_number(control), 0, 0)
    return attr(parms, generic + bytes(size))[: -size or None]


def _options(kind: str, index: int, fields: Fields, names: Names) -> bytes:
    if kind == "police":
        return pack_police(index, fields)
    form = FORMS[kind]
    rest, more = form.pack(fields, names)
    said = fields.get("control")
    return _start(form.parms, len(rest), index, str(said) if said else usual_control(fields)) + rest + more


@lru_cache(_KNOWN)
def _around(place: int, size: int, kind: str, *said: Value) -> tuple[bytes, bytes]:
    """What stands before and behind ``size`` bytes of options, where an action has these of the fields that any has."""
    fields = dict(zip(_OF_ANY, said, strict=True))
    tail = b""
    if fields["cookie"] is not None and COOKIE.pack:
        tail += attr(_COOKIE, COOKIE.pack(fields["cookie"]))
    if fields["no_percpu"]:
        tail += attr(_FLAGS, _BITS.pack(_NO_PERCPU, _NO_PERCPU))
    if fields["hw_stats"] is not None:
        tail += attr(_HW_STATS, _BITS.pack(HW_STATS[str(fields["hw_stats"])], _EVERY_WAY))
    whole = nest(place, text(_KIND, kind), nest(_OPTIONS, bytes(size)), tail)
    start = len(whole) - size - len(tail)
    return whole[:start], tail


def pack_action(place: int, index: int, fields: Fields, names: Names) -> bytes:
    """One action; the kernel gives it an index where ``index`` is 0."""
    kind = str(fields["kind"])
    options = _options(kind, index, fields, names)
    before, behind = _around(place, len(options), kind, *map(fields.get, _OF_ANY))
    return before + options + behind


@lru_cache(_KNOWN)
def _pack_shared(place: int, kind: str) -> bytes:
    """A reference to an action that filters share; b"" for what is none."""
    if not (found := shared(kind)):
        return b""
    kind, index = found
    if kind == "police":
        options = pack_police(index, {})
    else:
        form = FORMS[kind]
        options = attr(form.parms, GENERIC.pack(index, 0, 0, 0, 0) + bytes(form.rest))
    return nest(place, text(_KIND, kind), nest(_OPTIONS, options))


def _pack_one(place: int, fields: Fields, names: Names) -> bytes:
    return _pack_shared(place, str(fields["kind"])) or pack_action(place, 0, fields, names)


def pack_actions(number: int, actions: Value, names: Names) -> bytes:
    """The attribute of a filter that holds its actions, in order."""
    if not isinstance(actions, tuple) or not actions:
        return b""
    records = [fields for fields in actions if isinstance(fields, Mapping)]
    return nest(number, *(_pack_one(place, fields, names) for place, fields in enumerate(records, 1)))


def policer_alone(options: memoryview) -> bytes:
    """The actions of a rule that was told to police, and knows of no actions: that one, as if it were among them."""
    return nest(1, text(_KIND, "police"), nest(_OPTIONS, bytes(options)))


class Held(NamedTuple):
    """What an action is told apart by, and by how many it is held: itself and filters, or filters alone."""

    kind: str
    number: int
    references: int
    binds: int

    @property
    def stands(self) -> bool:
        """Whether it is there without filters too."""
        return self.references > self.binds

    @property
    def is_shared(self) -> bool:
        """Whether several filters have it together, and it goes with the last of them."""
        return self.binds > 1 and not self.stands


def held(kind: str, options: Mapping[int, memoryview]) -> Held:
    """Read it out of an action's options; of a kind that netgroupd does not know, only which."""
    if kind == "police":
        return Held(kind, *police_counts(options))
    if not (form := FORMS.get(kind)):
        return Held(kind, 0, 0, 0)
    index, _, _, references, binds = GENERIC.unpack_from(options[form.number_in(options)])
    return Held(kind, index, references, binds)


class Structure(NamedTuple):
    """Which attributes are the structure of an action and its times, and where in the first by how many it is held."""

    number: int
    times: int
    counts: int


def structure(kind: str, options: Mapping[int, memoryview]) -> Structure | None:
    """That of an action by its options; None of a kind that netgroupd does not know."""
    if kind == "police":
        return Structure(actions_police.PARMS, actions_police.TIMES, actions_police.COUNTS)
    if not (form := FORMS.get(kind)):
        return None
    return Structure(form.number_in(options), 2 if form.parms == 1 else 1, _COUNTS)


def unpack_fields(kind: str, inside: Mapping[int, memoryview], names: Names) -> dict[str, Value]:
    """What an action is by its options; of a kind that netgroupd does not know, only that."""
    fields: dict[str, Value] = {"kind": kind}
    if kind == "police":
        fields |= unpack_police(inside)
    elif form := FORMS.get(kind):
        parms = bytes(inside[form.number_in(inside)])
        fields["control"] = control_text(GENERIC.unpack_from(parms)[2])
        fields |= form.unpack(parms[GENERIC.size :], inside, names)
    return fields


def unpack_of_any(found: Mapping[int, memoryview]) -> dict[str, Value]:
    """What an action says that one of any kind may say."""
    fields: dict[str, Value] = {"cookie": bytes(found[_COOKIE]).hex()} if _COOKIE in found else {}
    ways = int.from_bytes(found[_HW_STATS][:4], "little") if _HW_STATS in found else _EVERY_WAY
    fields["hw_stats"] = _HW_STATS_NAMES[ways]
    fields["no_percpu"] = bool(_FLAGS in found and found[_FLAGS][0] & _NO_PERCPU)
    return fields


def unpack_action(payload: memoryview, names: Names) -> tuple[Held, dict[str, Value]]:
    """One action, whether it stands by itself or not; of a kind that netgroupd does not know, only which."""
    found = attributes(payload)
    kind = bytes(found[_KIND]).rstrip(b"\0").decode()
    inside = attributes(found[_OPTIONS]) if _OPTIONS in found else {}
    return held(kind, inside), unpack_fields(kind, inside, names) | unpack_of_any(found)


def _unpack_one(payload: memoryview, names: Names) -> dict[str, Value]:
    whose, fields = unpack_action(payload, names)
    return {"kind": f"{whose.kind} {whose.number}"} if whose.stands else fields


def unpack_actions(payload: memoryview, names: Names) -> tuple[Value, ...]:
    """The actions of a filter; of one that it shares, which."""
    return tuple(_unpack_one(payload[start:end], names) for _, start, end in walk(payload))


def held_by(payload: memoryview) -> Iterator[Held]:
    """The actions of a filter, as they are told apart and held."""
    for _, start, end in walk(payload):
        found = attributes(payload[start:end])
        if _OPTIONS in found:
            yield held(bytes(found[_KIND]).rstrip(b"\0").decode(), attributes(found[_OPTIONS]))


def has_shared(payload: memoryview) -> bool:
    """Whether a filter has one of its actions together with others, which no name says."""
    return any(one.is_shared for one in held_by(payload))
