# SPDX-License-Identifier: GPL-2.0-or-later
"""Nexthop objects: RTM_NEWNEXTHOP, RTM_DELNEXTHOP and their dump, told apart by their protocol."""

import struct
from collections.abc import Iterator, Mapping

from netgroupd.kernel import unsaid
from netgroupd.kernel.layer3.encap import pack_encap, unpack_encap
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attr, attributes, nest, u16, u32
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, dump_objects, goal, pack_rows, paths_of, single, unpack_rows
from netgroupd.model.family import FAMILY_NAMES, OF_IP
from netgroupd.model.nexthop import CLASS, GROUP_TYPES, WAY
from netgroupd.model.owner import PROTO
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED, UNSAID
from netgroupd.plan.step import AnyStep, Op

RTM_NEWNEXTHOP, RTM_DELNEXTHOP, RTM_GETNEXTHOP = 104, 105, 106
_HEADER = struct.Struct("=BBBBI")  # family, scope, protocol, -, flags
_MEMBER = struct.Struct("=IBBH")  # id, weight - 1 low, weight - 1 high, -

_ID, _GROUP, _GROUP_TYPE, _BLACKHOLE, _ENCAP_TYPE, _ENCAP, _GROUPS, _FDB, _RES_GROUP = 1, 2, 3, 4, 7, 8, 9, 11, 12
_DEV = CLASS.attrs["dev"].wire
_PROTOCOL = 2  # where in the header it is
_ONLINK = 4
_MADE_BY_OPERATORS = frozenset({PROTO, 0, 3, 4})  # none said, RTPROT_BOOT, RTPROT_STATIC
_PLAIN = tuple(CLASS.attrs[name] for name in ("via", "dev"))
_RESILIENT = tuple(CLASS.attrs[name] for name in ("buckets", "idle_timer", "unbalanced_timer"))
_GROUP_TYPE_NAMES = {number: name for name, number in GROUP_TYPES.items()}


def dump(context: Context, selection: Selection) -> list[Object]:
    """All nexthops that are netgroupd's; of ``everything``, also those that somebody has set."""
    foreign, held = selection.everything, selection.held.get("nexthop")

    def decode(payload: memoryview, names: Names) -> Object | None:
        return _decode(payload, names, foreign=foreign, held=held)

    asked = message.request(RTM_GETNEXTHOP, message.NLM_F_DUMP, bytes(_HEADER.size))
    return dump_objects(context, asked, decode, "dump of nexthops")


def of_others(context: Context, index: int, *, groups: bool = False) -> list[Object]:
    """Those that lead through the link of that number, or with 0 all, or all ``groups``, whoever else made them."""

    def decode(payload: memoryview, names: Names) -> Object | None:
        if payload[_PROTOCOL] == PROTO:
            return None
        return _decode(payload, names, foreign=True, protocols=frozenset((payload[_PROTOCOL],)))

    told = u32(_DEV, index) if index else attr(_GROUPS, b"") if groups else b""
    asked = message.request(RTM_GETNEXTHOP, message.NLM_F_DUMP, bytes(_HEADER.size), told)
    return dump_objects(context, asked, decode, "dump of nexthops")


def members(context: Context) -> dict[int, frozenset[int]]:
    """The ids of the members of each group, whoever made it."""

    def take(_kind: int, payload: memoryview) -> tuple[int, frozenset[int]] | None:
        found = attributes(payload, _HEADER.size)
        if _GROUP not in found:
            return None
        inside = frozenset(member for member, *_ in _MEMBER.iter_unpack(found[_GROUP]))
        return int.from_bytes(found[_ID], "little"), inside

    asked = message.request(RTM_GETNEXTHOP, message.NLM_F_DUMP, bytes(_HEADER.size), attr(_GROUPS, b""))
    return dict(context.socket.dump(asked, take, "dump of nexthops"))


def _decode(
    payload: memoryview,
    names: Names,
    *,
    foreign: bool = False,
    held: frozenset[Key] | None = None,
    protocols: frozenset[int] = _MADE_BY_OPERATORS,
) -> Object | None:
    family, _, protocol, _, flags = _HEADER.unpack_from(payload)
    if not held and protocol != PROTO and not (foreign and protocol in protocols):
        return None
    found = attributes(payload, _HEADER.size)
    key: Key = (int.from_bytes(found[_ID], "little"),)
    if held and (protocol == PROTO or key not in held):
        return None
    attrs: dict[str, Value] = {"fdb": _FDB in found}
    if _GROUP in found:
        attrs |= _read_group(found, names)
    else:
        attrs |= {"blackhole": _BLACKHOLE in found, "onlink": bool(flags & _ONLINK)}
        attrs["family"] = FAMILY_NAMES.get(family, family)
        if _BLACKHOLE not in found:
            attrs |= unpack_rows(_PLAIN, found, names)
    if _ENCAP_TYPE in found and (encap := unpack_encap(found[_ENCAP_TYPE], found[_ENCAP], names)):
        attrs["encap"] = encap
    if protocol != PROTO:
        attrs[UNOWNED] = protocol
    if foreign and unsaid.of_nexthop(found):
        attrs[UNSAID] = True
    return Object("nexthop", key, attrs)


def _read_group(found: Mapping[int, memoryview], names: Names) -> dict[str, Value]:
    members = tuple(
        {"id": member, "weight": (high << 8 | low) + 1}
        for member, low, high, _ in struct.iter_unpack(_MEMBER.format, found[_GROUP])
    )
    number = int.from_bytes(found.get(_GROUP_TYPE, b""), "little")
    attrs: dict[str, Value] = {"group": members, "group_type": _GROUP_TYPE_NAMES.get(number, number)}
    if _RES_GROUP in found:
        attrs |= unpack_rows(_RESILIENT, attributes(found[_RES_GROUP]), names)
    return attrs


def _pack_group(attrs: Attrs, names: Names) -> Iterator[bytes]:
    members = attrs["group"]
    assert isinstance(members, tuple)
    packed = []
    for member in members:
        assert isinstance(member, Mapping)
        weight = member.get("weight", 1)
        assert isinstance(weight, int)
        packed.append(_MEMBER.pack(member["id"], (weight - 1) & 0xFF, (weight - 1) >> 8, 0))
    yield attr(_GROUP, b"".join(packed))
    number = GROUP_TYPES[str(attrs.get("group_type", "mpath"))]
    yield u16(_GROUP_TYPE, number)
    if inside := pack_rows(_RESILIENT, attrs, names):
        yield nest(_RES_GROUP, inside)


def _family(attrs: Attrs) -> int:
    """Groups belong to no family; without a gateway to tell, and if nothing is said, it is IPv4."""
    if "group" in attrs:
        return 0
    told = "inet6" if ":" in str(attrs.get("via", "")) else "inet"
    return OF_IP[told if "via" in attrs else str(attrs.get("family", told))]


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one = single(step)
    identity = one.object.key[0]
    assert isinstance(identity, int)
    if one.op is Op.DELETE:
        yield message.request(RTM_DELNEXTHOP, 0, bytes(_HEADER.size), u32(_ID, identity))
        return
    attrs = goal(one, WAY)
    how = message.NLM_F_EXCL if one.op is Op.CREATE else message.NLM_F_REPLACE
    flags = _ONLINK if attrs.get("onlink") else 0
    parts = [_HEADER.pack(_family(attrs), 0, attrs.get(UNOWNED, PROTO), 0, flags), u32(_ID, identity)]
    parts += _pack_group(attrs, context.names) if "group" in attrs else [pack_rows(_PLAIN, attrs, context.names)]
    parts += [attr(number, b"") for number, name in ((_BLACKHOLE, "blackhole"), (_FDB, "fdb")) if attrs.get(name)]
    if "encap" in attrs:
        parts.append(pack_encap(attrs["encap"], _ENCAP_TYPE, _ENCAP, context.names))
    yield message.request(RTM_NEWNEXTHOP, message.NLM_F_CREATE | how, *parts)


CODEC = Codec(
    dump,
    encode,
    blamer(
        {
            **paths_of(_PLAIN),
            **paths_of(_RESILIENT, _RES_GROUP),
            **paths_of(CLASS.attrs[name] for name in ("blackhole", "encap", "group", "group_type", "fdb")),
            (_ID,): "id",
            (_ENCAP_TYPE,): "encap",
        }
    ),
    _HEADER.size,
)
