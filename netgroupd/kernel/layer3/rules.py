# SPDX-License-Identifier: GPL-2.0-or-later
"""Policy rules: RTM_NEWRULE, RTM_DELRULE and dumps per family, told apart by their protocol.

Two rules may differ in that or in their table alone, so one that changes hands, or
leads elsewhere, is made beside the other, which then goes: packets find one of
them all the time.
"""

import struct
from collections.abc import Iterator, Mapping, Set

from netgroupd.kernel import unsaid
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, attributes, u8, u32
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, dump_of_family, goal, pack_rows, paths_of, single, unpack_rows
from netgroupd.model.family import FAMILY_NAMES, OF_IP
from netgroupd.model.owner import PROTO
from netgroupd.model.rule import (
    ACTIONS,
    BY_KERNEL,
    CLASS,
    MISSING,
    WAY,
    action_of,
    key,
    mark_text,
    span_text,
    split_mark,
    split_span,
)
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import Value, ip_text, split_prefix
from netgroupd.plan.compare import UNOWNED, UNSAID
from netgroupd.plan.step import AnyStep, Op

RTM_NEWRULE, RTM_DELRULE, RTM_GETRULE = 32, 33, 34
_HEADER = struct.Struct("=BBBBBBBBI")  # family, dst and src length, tos, table, -, -, action, flags

_DST, _SRC, _PRIORITY, _FWMARK, _TUN_ID, _TABLE, _FWMASK = 1, 2, 6, 10, 12, 15, 16
_L3MDEV, _UIDS, _PROTOCOL, _SPORT, _DPORT = 19, 20, 21, 23, 24
_INVERT = 2
_MADE_BY_KERNEL = 2
_NONE = 0xFFFFFFFF  # "no suppression" in dumps
_PLAIN = tuple(
    CLASS.attrs[name]
    for name in ("iif", "oif", "dscp", "ipproto", "goto", "realms", "suppress_prefixlength", "suppress_ifgroup")
)
_SPANS = {"sport": (_SPORT, "=HH"), "dport": (_DPORT, "=HH"), "uidrange": (_UIDS, "=II")}
_SUPPRESSIONS = ("suppress_prefixlength", "suppress_ifgroup")
_ACTION_NAMES = {number: name for name, number in ACTIONS.items()}


def dump(context: Context, selection: Selection) -> list[Object]:
    """All rules that are netgroupd's; of ``everything``, also those of others, and what lacks of the kernel's own."""
    foreign, held = selection.everything, selection.held.get("rule")
    places = set[tuple[int, int]]()

    def decode(payload: memoryview, names: Names) -> Object | None:
        if foreign:
            places.add(_place(payload))
        return _decode(payload, names, foreign=foreign, held=held)

    found = []
    for name, family in OF_IP.items():
        places.clear()
        header = _HEADER.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)
        found += dump_of_family(
            context, message.request(RTM_GETRULE, message.NLM_F_DUMP, header), decode, "dump of rules"
        )
        if places:
            found += _missing(name, places)
    return found


def _place(payload: memoryview) -> tuple[int, int]:
    """The preference of a rule, and the table that it looks in."""
    found = attributes(payload, _HEADER.size)
    return _number(found, _PRIORITY), _number(found, _TABLE)


def _missing(family: str, places: Set[tuple[int, int]]) -> Iterator[Object]:
    """Which of the kernel's own rules are not there, each under a key that no file has."""
    for place in BY_KERNEL[family].items() - places:
        yield Object("rule", (family, place[0], (("lookup", place[1]),)), {MISSING: True})


def _decode(
    payload: memoryview, names: Names, *, foreign: bool = False, held: frozenset[Key] | None = None
) -> Object | None:
    family, dst_len, src_len, tos, _, _, _, action, flags = _HEADER.unpack_from(payload)
    found = attributes(payload, _HEADER.size)
    protocol = found[_PROTOCOL][0] if _PROTOCOL in found else 0
    if protocol != PROTO and (protocol == _MADE_BY_KERNEL or not (foreign or held)):
        return None
    attrs: dict[str, Value] = {"action": _ACTION_NAMES.get(action, action)}
    attrs |= {**_read_networks(found, dst_len, src_len), **unpack_rows(_PLAIN, found, names), **_read_selectors(found)}
    attrs |= {"tos": tos, "not": bool(flags & _INVERT)}
    if attrs["action"] == "lookup" and not attrs["l3mdev"]:
        attrs["lookup"] = _number(found, _TABLE)
    attrs = {name: value for name, value in attrs.items() if value != _NONE or name not in _SUPPRESSIONS}
    if protocol != PROTO:
        attrs[UNOWNED] = protocol
    identity = key(FAMILY_NAMES[family], _number(found, _PRIORITY), attrs)
    if held and (protocol == PROTO or identity not in held):
        return None
    if foreign and unsaid.of_rule(found):
        attrs[UNSAID] = True
    return Object("rule", identity, attrs)


def _read_selectors(found: Mapping[int, memoryview]) -> dict[str, Value]:
    attrs: dict[str, Value] = {}
    for name, (number, code) in _SPANS.items():
        if number in found:
            attrs[name] = span_text(*struct.unpack_from(code, found[number]))
    if _FWMARK in found or _FWMASK in found:
        attrs["fwmark"] = mark_text(_number(found, _FWMARK), _number(found, _FWMASK, _NONE))
    if _TUN_ID in found:
        attrs["tun_id"] = int.from_bytes(found[_TUN_ID], "big")
    return attrs | {"l3mdev": bool(_number(found, _L3MDEV))}


def _read_networks(found: Mapping[int, memoryview], dst_len: int, src_len: int) -> dict[str, Value]:
    networks: dict[str, Value] = {}
    for name, number, length in (("to", _DST, dst_len), ("from", _SRC, src_len)):
        if number in found:
            networks[name] = f"{ip_text(bytes(found[number]))}/{length}"
    return networks


def _number(found: Mapping[int, memoryview], number: int, default: int = 0) -> int:
    return int.from_bytes(found[number], "little") if number in found else default


def _pack_network(attrs: Attrs, name: str, number: int) -> tuple[int, bytes]:
    """The length for the header, and the attribute; the whole network is said by neither."""
    if (network := attrs.get(name)) in (None, "default"):
        return 0, b""
    whole, length = split_prefix(str(network))
    return length, attr(number, whole) if length else b""


def _pack_selectors(attrs: Attrs) -> Iterator[bytes]:
    for name, (number, code) in _SPANS.items():
        if name in attrs:
            yield attr(number, struct.pack(code, *split_span(str(attrs[name]))))
    if "fwmark" in attrs:
        mark, mask = split_mark(str(attrs["fwmark"]))
        yield u32(_FWMARK, mark) + u32(_FWMASK, mask)
    if isinstance(tunnel := attrs.get("tun_id"), int):
        yield attr(_TUN_ID, tunnel.to_bytes(8, "big"))
    if attrs.get("l3mdev"):
        yield u8(_L3MDEV, 1)


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The messages that a step takes: a rule says the same to be deleted as to be made, and may meet others first."""
    one, standing = single(step), context.standing
    gone = one.before if one.op is not Op.CREATE else None
    met = standing.goes(gone.key, gone.attrs) if gone and standing else []
    yield from (_about(rule.key, rule.attrs, context, RTM_NEWRULE, message.NLM_F_CREATE) for rule in met)
    if one.op is not Op.DELETE:
        attrs = goal(one, WAY)
        if standing:
            standing.comes(one.object.key, attrs)
        # Not NLM_F_EXCL: with it a rule for all packets is refused beside one for some of them.
        yield _about(one.object.key, attrs, context, RTM_NEWRULE, message.NLM_F_CREATE)
    if gone:
        yield from [_about(gone.key, gone.attrs, context, RTM_DELRULE)] * (1 + len(met))


def _about(key: Key, attrs: Attrs, context: Context, kind: int, flags: int = 0) -> bytes:
    """The message about a rule that has ``attrs``."""
    family, pref, _ = key
    assert isinstance(pref, int)
    dst_len, dst = _pack_network(attrs, "to", _DST)
    src_len, src = _pack_network(attrs, "from", _SRC)
    action = ACTIONS[action_of(attrs)]
    tos, table = attrs.get("tos") or 0, attrs.get("lookup") or 0
    protocol = attrs.get(UNOWNED, PROTO)
    assert isinstance(table, int)
    assert isinstance(protocol, int)
    inverted = _INVERT if attrs.get("not") else 0
    low = table if table < 256 else 0
    return message.request(
        kind,
        flags,
        _HEADER.pack(OF_IP[str(family)], dst_len, src_len, tos, low, 0, 0, action, inverted),
        u32(_PRIORITY, pref),
        u8(_PROTOCOL, protocol),
        dst,
        src,
        u32(_TABLE, table) if table else b"",
        pack_rows(_PLAIN, attrs, context.names),
        *_pack_selectors(attrs),
    )


CODEC = Codec(
    dump,
    encode,
    blamer({**paths_of(CLASS.attrs.values()), (_PRIORITY,): "pref", (_FWMASK,): "fwmark"}),
    _HEADER.size,
)
