# SPDX-License-Identifier: GPL-2.0-or-later
"""Chains with templates: RTM_NEWCHAIN, RTM_DELCHAIN, and one dump of each hook."""

from collections.abc import Iterator, Mapping

from netgroupd.kernel import message
from netgroupd.kernel.message import attributes, nest, text, u32
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.request import Codec, Context, Request, Selection
from netgroupd.kernel.rows import blamer, single
from netgroupd.kernel.tc import flower
from netgroupd.kernel.tc.qdiscs import hooks_of_rules
from netgroupd.kernel.tc.tcmsg import CHAIN, HEADER, KIND, OPTIONS, RTM_DELCHAIN, RTM_GETCHAIN, RTM_NEWCHAIN, Place
from netgroupd.model.state import Object
from netgroupd.model.tc.protocol import protocol_name, protocol_number
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, Op


def dump(context: Context, selection: Selection) -> list[Object]:
    """The chains of the selected hooks that have a template; the others come and go with their rules."""
    found: list[Object] = []
    for where, parent in sorted(hooks_of_rules(context, selection)):
        try:
            place = Place.of(where, parent, context.names)
        except UnknownLinkError:
            continue
        header = HEADER.pack(0, 0, 0, place.ifindex, 0, place.parent, 0)
        asked = message.request(RTM_GETCHAIN, message.NLM_F_DUMP, header)
        payloads = context.socket.dump(asked, lambda _kind, payload: bytes(payload), "dump of chains")
        for payload in place.told(payloads):
            told = attributes(memoryview(payload), HEADER.size)
            if KIND in told and OPTIONS in told:
                found.append(_decode(told, where, parent))
    return found


def _decode(told: Mapping[int, memoryview], where: str, parent: str) -> Object:
    options = attributes(told[OPTIONS])
    attrs: dict[str, Value] = {"flower": flower.unpack(options)}
    protocol = int.from_bytes(options[flower.ETH_TYPE], "big") if flower.ETH_TYPE in options else 3
    attrs["protocol"] = protocol_name(protocol)
    return Object("chain", (where, parent, int.from_bytes(told[CHAIN], "little")), attrs)


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message that a step takes."""
    one = single(step)
    where, parent, chain = one.object.key
    assert isinstance(chain, int)
    place = Place.of(str(where), str(parent), context.names)
    header = HEADER.pack(0, 0, 0, place.ifindex, 0, place.parent, 0)
    if one.op is Op.DELETE:
        yield message.request(RTM_DELCHAIN, 0, header, u32(CHAIN, chain))
        return
    attrs = one.object.attrs
    template = attrs.get("flower") or {}
    assert isinstance(template, Mapping)
    options = flower.options(tuple(sorted(template.items())), protocol_number(attrs.get("protocol", "all")))
    how = message.NLM_F_CREATE | message.NLM_F_EXCL
    yield message.request(RTM_NEWCHAIN, how, header, u32(CHAIN, chain), text(KIND, "flower"), nest(OPTIONS, options))


CODEC = Codec(dump, encode, blamer({(CHAIN,): "chain", (KIND,): "flower"}), HEADER.size)
