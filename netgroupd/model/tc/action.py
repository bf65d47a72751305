# SPDX-License-Identifier: GPL-2.0-or-later
"""Actions of filters, as records: {kind: mirred, egress: redirect, dev: swp2}.

In files an action is one word (``drop``) or a mapping of its kind to what it
does (``{mirred: {egress: redirect, dev: swp2}}``).  What only ``control`` says is
of kind gact.  ``police 7`` is one that several filters share: its kind is that
text, and what it does is described by itself.
"""

import re
from collections.abc import Mapping

from netgroupd.model.tc import nat
from netgroupd.model.tc.action_whole import whole
from netgroupd.model.tc.bpf import PROGRAM
from netgroupd.model.tc.helper import HELPER
from netgroupd.model.tc.masked import masked_number
from netgroupd.model.tc.options import GENEVE, tunnel, unmasked
from netgroupd.model.tc.pedit import MUNGE
from netgroupd.model.tc.protocol import PROTOCOL
from netgroupd.model.tc.rates import LINK_LAYERS
from netgroupd.model.tc.units import RATE, SIZE
from netgroupd.model.value import (
    FLAG,
    IP,
    LINK,
    MAC,
    U8,
    U16,
    U32,
    U64,
    Type,
    Value,
    inside,
    number,
    raise_each,
    record,
    several,
    word,
)

CONTROLS = {
    "pass": 0,
    "reclassify": 1,
    "drop": 2,
    "pipe": 3,
    "stolen": 4,
    "queued": 5,
    "repeat": 6,
    "trap": 8,
    "continue": 0xFFFFFFFF,
}
"""``tc`` has no word for 4 to 6, which other programs use; 7 is said by programs alone, which say where to."""
_CONTROL_NAMES = {number: name for name, number in CONTROLS.items()}
_ALIASES = {"ok": "pass", "shot": "drop"}
_JUMP, _GOTO = 0x10000000, 0x20000000
_MOST_FURTHER = 0x0FFFFFFF
_FURTHER = re.compile(r"(goto chain|jump) ([0-9]{1,9})")
_CONTROL_EXPECTED = "one of " + ", ".join(CONTROLS) + ", goto chain N, or jump N"


def control_number(text: str) -> int:
    """What is to happen next, as the kernel has it."""
    if text in CONTROLS:
        return CONTROLS[text]
    what, _, last = text.rpartition(" ")
    return (_GOTO if what == "goto chain" else _JUMP) | int(last)


def control_text(value: int) -> str:
    """What is to happen next, as ``tc`` prints it."""
    if value in _CONTROL_NAMES:
        return _CONTROL_NAMES[value]
    return f"{'goto chain' if value & _GOTO else 'jump'} {value & _MOST_FURTHER}"


def chain_led_to(action: Value) -> int | None:
    """The chain that an action, as a record, leads to; None if it leads to none."""
    found = _FURTHER.fullmatch(str(action.get("control"))) if isinstance(action, Mapping) else None
    return int(found[2]) if found and found[1] == "goto chain" else None


def _parse_control(raw: object) -> Value:
    text = _ALIASES.get(str(raw), str(raw))
    if text in CONTROLS:
        return text
    found = _FURTHER.fullmatch(text)
    if not found or int(found[2]) > _MOST_FURTHER:
        raise ValueError(f"expected {_CONTROL_EXPECTED}")
    return f"{found[1]} {int(found[2])}"


CONTROL = Type(_CONTROL_EXPECTED, _parse_control, {"type": "string"})

_CHANCE = re.compile(r"(netrand|determ) (\S+) ([0-9]{1,5})")
_CHANCE_EXPECTED = "as in: determ drop 10, that is drop every tenth, or netrand for one in ten by lot"


def _parse_chance(raw: object) -> Value:
    found = _CHANCE.fullmatch(str(raw))
    control = str(_parse_control(found[2])) if found else ""
    if not found or control not in CONTROLS or not 0 < int(found[3]) <= 10000:
        raise ValueError(f"expected {_CHANCE_EXPECTED}")
    return f"{found[1]} {control} {int(found[3])}"


CHANCE = Type(_CHANCE_EXPECTED, _parse_chance, {"type": "string"})

_HEX = re.compile(r"([0-9a-fA-F]{2}){1,16}")


def _parse_cookie(raw: object) -> Value:
    if not _HEX.fullmatch(str(raw)):
        raise ValueError("expected up to 16 bytes in hexadecimal")
    return str(raw).lower()


COOKIE = Type(
    "up to 16 bytes in hexadecimal",
    _parse_cookie,
    {"type": "string"},
    lambda value: bytes.fromhex(str(value)),
    lambda payload: bytes(payload).hex(),
)

DIRECTION = word(8, {"redirect": 1, "mirror": 2})
VLAN_STEPS = {"pop": 1, "push": 2, "modify": 3, "pop_eth": 4, "push_eth": 5}
TUNNEL_STEPS = {"set": 1, "unset": 2}
MPLS_STEPS = {"pop": 1, "push": 2, "modify": 3, "dec_ttl": 4, "mac_push": 5}
CSUMS = {"iph": 1, "icmp": 2, "igmp": 4, "tcp": 8, "udp": 16, "udplite": 32, "sctp": 64}
_IMPLICIT_NULL = 3  # stands for no label at all, and is on no packet


def _parse_label(raw: object) -> Value:
    if (got := _LABEL.parse(raw)) == _IMPLICIT_NULL:
        raise ValueError("expected a label that a packet can have, which 3 is not")
    return got


_LABEL = number(32, 0, (1 << 20) - 1)
LABEL = _LABEL._replace(parse=_parse_label)
_SEVERAL_SUMS = several(word(8, CSUMS), unique=True)


def _parse_sums(raw: object) -> Value:
    named = _SEVERAL_SUMS.parse(raw)
    assert isinstance(named, tuple)
    return tuple(name for name in CSUMS if name in named)  # in the order of the kernel's bits


_SUMS = _SEVERAL_SUMS._replace(parse=_parse_sums)

HW_STATS = {"disabled": 0, "immediate": 1, "delayed": 2, "any": 3}
COMMON: Mapping[str, Type] = {
    "control": CONTROL,
    "cookie": COOKIE,
    "no_percpu": FLAG,
    "hw_stats": word(32, HW_STATS),
}
FIELDS: dict[str, Mapping[str, Type]] = {
    "gact": {"random": CHANCE},
    "mirred": {"egress": DIRECTION, "ingress": DIRECTION, "dev": LINK, "block": number(32, 1)},
    "vlan": {
        "do": word(8, VLAN_STEPS),
        "id": number(16, 0, 4094),
        "protocol": PROTOCOL,
        "priority": number(8, 0, 7),
        "dst_mac": MAC,
        "src_mac": MAC,
    },
    "skbedit": {
        "priority": U32,
        "queue_mapping": U16,
        "queue_mapping_max": U16,
        "mark": masked_number(32, order="little", hexadecimal=True),
        "ptype": word(16, {"host": 0, "broadcast": 1, "multicast": 2, "otherhost": 3}),
        "inheritdsfield": FLAG,
    },
    "police": {
        "rate": RATE,
        "burst": SIZE,
        "mtu": SIZE,
        "peakrate": RATE,
        "pkts_rate": U64,
        "pkts_burst": U64,
        "conform": CONTROL,
        "overhead": U16,
        "mpu": U16,
        "linklayer": word(8, LINK_LAYERS),
    },
    "pedit": {"munge": MUNGE},
    "tunnel_key": {
        "do": word(8, TUNNEL_STEPS),
        "id": number(32, order=">"),
        "src_ip": IP,
        "dst_ip": IP,
        "dst_port": number(16, order=">"),
        "tos": U8,
        "ttl": U8,
        "csum": FLAG,
        "nofrag": FLAG,
        "geneve_opts": unmasked(GENEVE),
        "vxlan_opts": unmasked(tunnel("vxlan_opts")),
        "erspan_opts": unmasked(tunnel("erspan_opts")),
    },
    "mpls": {
        "do": word(8, MPLS_STEPS),
        "protocol": PROTOCOL,
        "label": LABEL,
        "tc": number(8, 0, 7),
        "ttl": number(8, 1),
        "bos": number(8, 0, 1),
    },
    "ct": {
        "zone": U16,
        "mark": masked_number(32, order="little", hexadecimal=True),
        "label": masked_number(128, hexadecimal=True),
        "commit": FLAG,
        "force": FLAG,
        "clear": FLAG,
        "nat": FLAG,
        "nat_src": nat.RANGE,
        "nat_dst": nat.RANGE,
        "helper": HELPER,
    },
    "nat": {"direction": word(8, {"ingress": 0, "egress": 1}), "old": nat.OLD, "new": nat.NEW},
    "csum": {"of": _SUMS},
    "sample": {"rate": number(32, 1), "group": U32, "trunc": U32},
    "connmark": {"zone": U16},
    "bpf": PROGRAM,
}
NEEDED = {
    "vlan": {"do"},
    "tunnel_key": {"do"},
    "mpls": {"do"},
    "pedit": {"munge"},
    "nat": {"direction", "old", "new"},
}
_RECORDS = {kind: record({**fields, **COMMON}, frozenset(NEEDED.get(kind, ()))) for kind, fields in FIELDS.items()}
_EXPECTED = (
    f"{_CONTROL_EXPECTED}, a mapping of one kind ({', '.join(FIELDS)}) to what it does,"
    " or one that is shared, such as police 7"
)
_SHARED = re.compile(rf"({'|'.join(FIELDS)}) ([1-9][0-9]{{0,9}})")
_MOST_INDEX = 0xFFFFFFFF


def shared(kind: Value) -> tuple[str, int] | None:
    """The kind and index of an action that is shared."""
    found = _SHARED.fullmatch(str(kind))
    return (found[1], int(found[2])) if found and int(found[2]) <= _MOST_INDEX else None


def _parse(raw: object) -> Value:
    if isinstance(raw, str):
        if shared(raw):
            return {"kind": raw}
        try:
            return {"kind": "gact", "control": CONTROL.parse(raw)}
        except ValueError:
            if raw not in FIELDS:
                raise ValueError(f"expected {_EXPECTED}") from None
            raw = {raw: {}}
    if not isinstance(raw, Mapping) or len(raw) != 1 or next(iter(raw)) not in FIELDS:
        raise ValueError(f"expected {_EXPECTED}")
    kind, said = next(iter(raw.items()))
    try:
        fields = _RECORDS[kind].parse(said or {})
        assert isinstance(fields, Mapping)
        return {"kind": kind, **whole(kind, fields)}
    except ValueError as error:
        raise_each([*inside(error, f"{kind}: ")])
        raise


_CONTROLS = {"gact": "drop", "mirred": "stolen", "police": "reclassify"}  # others are there to go on behind them
_USUAL_OF_MOST: Mapping[str, Value] = {"control": "pipe", "hw_stats": "any", "no_percpu": False}
_MORE: Mapping[str, Mapping[str, Value]] = {
    "vlan": {"protocol": "802.1q"},
    "skbedit": {"inheritdsfield": False},
    "police": {"overhead": 0, "mpu": 0, "linklayer": "ethernet", "conform": "pass"},
    "tunnel_key": {"csum": True, "nofrag": False, "dst_port": 0, "tos": 0, "ttl": 0},
    "mpls": {"protocol": "mpls_uc"},
    "ct": {"commit": False, "force": False, "clear": False, "zone": 0},
    "csum": {"of": ()},
    "sample": {"rate": 1, "group": 0},
    "connmark": {"zone": 0},
}
_USUAL = {
    kind: {**_USUAL_OF_MOST, "control": _CONTROLS.get(kind, "pipe"), **_MORE.get(kind, {})}
    for kind in FIELDS | _CONTROLS
}
_NOTHING = frozenset[str]()
_OF_HOST: Mapping[str, frozenset[str]] = {"mpls": frozenset({"ttl"})}
_STAYING = frozenset({"cookie", "no_percpu", "trunc", "random"})


def usual_control(fields: Mapping[str, Value]) -> str:
    """What comes next where nothing is said: a mirrored packet goes on, a redirected one does not."""
    kind = str(fields["kind"])
    mirrors = kind == "mirred" and "mirror" in (fields.get("egress"), fields.get("ingress"))
    return "pipe" if mirrors else _CONTROLS.get(kind, "pipe")


def usual(fields: Mapping[str, Value]) -> Mapping[str, Value]:
    """What an action is in what a file does not say of it, where it is something."""
    kind = str(fields["kind"])
    of_kind = _USUAL.get(kind, _USUAL_OF_MOST)
    if kind == "mirred":
        return {**of_kind, "control": usual_control(fields), **({} if "ingress" in fields else {"egress": "redirect"})}
    if kind == "police":  # with a rate comes a table of so many bytes
        return {**of_kind, "mtu": 2040 if fields.get("rate") else 0xFFFFFFFF}
    if kind == "vlan" and fields.get("do") == "push":
        return {**of_kind, "priority": 0}
    return {**of_kind, "nat": "nat_src" in fields or "nat_dst" in fields} if kind == "ct" else of_kind


def staying(kind: str, *, alone: bool) -> frozenset[str]:
    """What stays as it is where a file does not say it: each host has its own, or the kernel takes none away.

    An action of one filter is made anew, but one that stands ``alone`` is changed.
    """
    of_host = _OF_HOST.get(kind, _NOTHING)
    return of_host | _STAYING if alone else of_host


ACTION = Type(
    _EXPECTED,
    _parse,
    {
        "anyOf": [
            CONTROL.schema,
            {"type": "string", "pattern": f"^({'|'.join(FIELDS)}) [0-9]+$"},
            *(
                {"type": "object", "properties": {kind: one.schema}, "required": [kind], "additionalProperties": False}
                for kind, one in _RECORDS.items()
            ),
        ]
    },
)
_SEVERAL = several(ACTION)
_MOST = 32  # TCA_ACT_MAX_PRIO


def _parse_several(raw: object) -> Value:
    if isinstance(raw, list | tuple) and len(raw) > _MOST:
        raise ValueError(f"expected at most {_MOST} actions, not {len(raw)}")
    return _SEVERAL.parse(raw)


ACTIONS = _SEVERAL._replace(parse=_parse_several)
