# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens of links: IFLA_INET6_TOKEN, read in a dump of RTM_GETLINK of AF_INET6 and written with RTM_SETLINK.

The kernel takes one only for a link that listens to routers, and not even takes one away of another.
"""

from collections.abc import Iterator
from contextlib import suppress

from netgroupd.kernel.features import IFLA_AF_SPEC, RTM_GETLINK
from netgroupd.kernel.links_write import header
from netgroupd.kernel.message import NLM_F_DUMP, attributes, nest, request
from netgroupd.kernel.names import Names, UnknownLinkError
from netgroupd.kernel.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, dump_of_family, pack_rows, paths_of, simple_rows, single, unpack_rows
from netgroupd.model.state import Attrs, Object
from netgroupd.model.token import CLASS, NONE
from netgroupd.plan.step import AnyStep

_AF_INET6 = 10
_RTM_SETLINK = 19
_BODY = 16
_INDEX_AT = 4
_PROTINFO = 12
_ROWS = simple_rows(CLASS.attrs)
_WITHOUT: Attrs = {"token": NONE}


def dump(context: Context, selection: Selection) -> list[Object]:
    """The tokens of the selected links, of which one without IPv6 has none."""
    asked = request(RTM_GETLINK, NLM_F_DUMP, bytes((_AF_INET6,)) + bytes(_BODY - 1))
    found = {obj.name: obj for obj in dump_of_family(context, asked, _decode, "dump of tokens")}
    if selection.everything:
        return [*found.values()]
    for name in selection.links - found.keys():
        with suppress(UnknownLinkError):
            context.names.index(name)
            found[name] = Object("token", (name,), _WITHOUT)
    return [obj for name, obj in found.items() if name in selection.links]


def _decode(payload: memoryview, names: Names) -> Object | None:
    told = attributes(payload, _BODY).get(_PROTINFO)
    if told is None:
        return None
    name = names.name(int.from_bytes(payload[_INDEX_AT : _INDEX_AT + 4], "little"))
    attrs = unpack_rows(_ROWS, attributes(told), names)
    return Object("token", (name,), _WITHOUT if attrs == _WITHOUT else attrs) if attrs else None


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one = single(step)
    told = nest(IFLA_AF_SPEC, nest(_AF_INET6, pack_rows(_ROWS, one.attrs, context.names)))
    yield request(_RTM_SETLINK, 0, header(context.names.index(one.object.name)), told)


CODEC = Codec(dump, encode, blamer(paths_of(_ROWS, IFLA_AF_SPEC, _AF_INET6)))
