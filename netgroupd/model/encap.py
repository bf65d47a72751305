# SPDX-License-Identifier: GPL-2.0-or-later
"""Lightweight tunnels: what a route or nexthop wraps packets in, as after ``ip route … encap``.

A record whose ``type`` says which other keys it may have.
"""

from collections.abc import Mapping, Set

from netgroupd.model.value import FLAG, IP4, IP6, LINK, U8, U32, U64, Type, Value, number, record, several, word

LABEL = number(32, 0, (1 << 20) - 1)
SEG6_MODES = {"inline": 0, "encap": 1, "l2encap": 2, "encap.red": 3, "l2encap.red": 4}
SEG6_ACTIONS = {
    "End": 1,
    "End.X": 2,
    "End.T": 3,
    "End.DX2": 4,
    "End.DX6": 5,
    "End.DX4": 6,
    "End.DT6": 7,
    "End.DT4": 8,
    "End.B6": 9,
    "End.B6.Encaps": 10,
    "End.DT46": 16,
}

_OF_ACTIONS = {
    "End.X": {"nh6"},
    "End.T": {"table"},
    "End.DX2": {"oif"},
    "End.DX6": {"nh6"},
    "End.DX4": {"nh4"},
    "End.DT4": {"vrftable"},
    "End.DT46": {"vrftable"},
    "End.B6": {"segs"},
    "End.B6.Encaps": {"segs"},
}
"""What an action needs; others it does not have.  One has the table of a VRF, or another."""
_WITH_A_TABLE = "End.DT6"
_TABLES = {"table", "vrftable"}


def _exact(names: Mapping[str, int], expected: str) -> Type:
    """One of ``names``, whose case matters."""

    def parse(raw: object) -> Value:
        if str(raw) not in names:
            raise ValueError(f"expected {expected}")
        return str(raw)

    return Type(expected, parse, {"enum": list(names)})


SEG6_ACTION = _exact(SEG6_ACTIONS, "one of " + ", ".join(SEG6_ACTIONS))
_FLAGS = {"csum": FLAG, "key": FLAG, "seq": FLAG}

FIELDS: dict[str, dict[str, Type]] = {
    "ip": {"id": U64, "src": IP4, "dst": IP4, "ttl": U8, "tos": U8, **_FLAGS},
    "ip6": {"id": U64, "src": IP6, "dst": IP6, "hoplimit": U8, "tc": U8, **_FLAGS},
    "mpls": {"labels": several(LABEL), "ttl": U8},
    "seg6": {"mode": word(32, SEG6_MODES), "segs": several(IP6)},
    "seg6local": {
        "action": SEG6_ACTION,
        "segs": several(IP6),
        "table": U32,
        "vrftable": U32,
        "nh4": IP4,
        "nh6": IP6,
        "iif": LINK,
        "oif": LINK,
    },
}
NEEDED = {"mpls": {"labels"}, "seg6": {"segs"}, "seg6local": {"action"}}
_RECORDS = {kind: record(fields, frozenset(NEEDED.get(kind, ()))) for kind, fields in FIELDS.items()}
_KINDS = ", ".join(FIELDS)


def plain(encap: Mapping[str, Value]) -> dict[str, Value]:
    """An encapsulation as the kernel has it: of a tunnel it shows zeros for what was not given."""
    if encap["type"] == "seg6":
        return {"mode": "encap", **encap}
    if encap["type"] in ("ip", "ip6"):
        return {name: value for name, value in encap.items() if value not in (0, False, "0.0.0.0", "::")}
    return dict(encap)


def _parse(raw: object) -> Value:
    kind = raw.get("type") if isinstance(raw, Mapping) else None
    if not isinstance(raw, Mapping) or not isinstance(kind, str) or kind not in FIELDS:
        raise ValueError(f"expected a mapping with a type: one of {_KINDS}")
    rest = _RECORDS[kind].parse({key: value for key, value in raw.items() if key != "type"})
    assert isinstance(rest, Mapping)
    if kind == "seg6local":
        _check_action(str(rest["action"]), rest.keys() - {"action"})
    return plain({"type": kind, **rest})


def _check_action(action: str, said: Set[str]) -> None:
    needed: Set[str] = _OF_ACTIONS.get(action, frozenset())
    if action == _WITH_A_TABLE:
        needed = said & _TABLES or _TABLES
        if len(needed) > 1:
            raise ValueError(f"{action} has a table or a vrftable, and needs one of them")
    for name in sorted(needed - said):
        raise ValueError(f"{name!r} is missing, which {action} needs")
    for name in sorted(said - needed):
        raise ValueError(f"{action} has no {name!r}")


def _schema(kind: str) -> dict[str, object]:
    rows = FIELDS[kind]
    return {
        "type": "object",
        "properties": {"type": {"const": kind}, **{name: row.schema for name, row in rows.items()}},
        "required": ["type", *sorted(NEEDED.get(kind, ()))],
        "additionalProperties": False,
    }


ENCAP = Type(f"a mapping with a type: one of {_KINDS}", _parse, {"oneOf": [_schema(kind) for kind in FIELDS]})
