# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens of links: IFLA_INET6_TOKEN, read link by link or in a dump of AF_INET6, and written with RTM_SETLINK.

The kernel takes one only for a link that listens to routers, and not even takes one away of another.
"""

from collections.abc import Iterator
from contextlib import suppress

from netgroupd.kernel.links.codec import FEW
from netgroupd.kernel.links.numbers import (
    IFLA_AF_SPEC,
    IFLA_EXT_MASK,
    IFLA_IFNAME,
    RTM_GETLINK,
    RTM_SETLINK,
    SKIP_STATS,
)
from netgroupd.kernel.links.write import header
from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.netlink.message import NLM_F_DUMP, attributes, nest, request, text, u32
from netgroupd.kernel.netlink.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, dump_of_family, pack_rows, paths_of, simple_rows, single, unpack_rows
from netgroupd.model.family import INET6
from netgroupd.model.state import Attrs, Object
from netgroupd.model.token import CLASS, NONE
from netgroupd.plan.step import AnyStep

_BODY = 16
_INDEX_AT = 4
_PROTINFO = 12
_ROWS = simple_rows(CLASS.attrs)
_WITHOUT: Attrs = {"token": NONE}


def dump(context: Context, selection: Selection) -> list[Object]:
    """The tokens of the selected links, of which one without IPv6 has none."""
    if not selection.everything and len(selection.tokens) <= FEW:
        return [obj for name in sorted(selection.tokens) for obj in _of_link(name, context)]
    asked = request(RTM_GETLINK, NLM_F_DUMP, bytes((INET6,)) + bytes(_BODY - 1))
    found = {obj.name: obj for obj in dump_of_family(context, asked, _decode, "dump of tokens")}
    if selection.everything:
        return [*found.values()]
    for name in selection.tokens - found.keys():
        with suppress(UnknownLinkError):
            context.names.index(name)
            found[name] = Object("token", (name,), _WITHOUT)
    return [obj for name, obj in found.items() if name in selection.tokens]


def _of_link(name: str, context: Context) -> Iterator[Object]:
    """That of one link, where there is one: on a host of very many they are not all to be told."""
    asked = request(RTM_GETLINK, 0, header(0), text(IFLA_IFNAME, name), u32(IFLA_EXT_MASK, SKIP_STATS))
    for payload in context.socket.ask(asked, lambda _kind, payload: bytes(payload))[1]:
        families = attributes(memoryview(payload), _BODY).get(IFLA_AF_SPEC)
        told = attributes(families).get(INET6) if families is not None else None
        yield _token(name, told, context.names)


def _decode(payload: memoryview, names: Names) -> Object | None:
    told = attributes(payload, _BODY).get(_PROTINFO)
    if told is None:
        return None
    return _token(names.name(int.from_bytes(payload[_INDEX_AT : _INDEX_AT + 4], "little")), told, names)


def _token(name: str, told: memoryview | None, names: Names) -> Object:
    attrs = unpack_rows(_ROWS, attributes(told), names) if told is not None else _WITHOUT
    return Object("token", (name,), attrs if attrs and attrs != _WITHOUT else _WITHOUT)


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one = single(step)
    told = nest(IFLA_AF_SPEC, nest(INET6, pack_rows(_ROWS, one.attrs, context.names)))
    yield request(RTM_SETLINK, 0, header(context.names.index(one.object.name)), told)


CODEC = Codec(dump, encode, blamer(paths_of(_ROWS, IFLA_AF_SPEC, INET6)))
