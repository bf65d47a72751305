# SPDX-License-Identifier: GPL-2.0-or-later
"""Chains with templates: RTM_NEWCHAIN, RTM_DELCHAIN, and one dump of each hook."""

import errno
import time
from collections.abc import Iterator, Mapping

from netgroupd.kernel import grace
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attributes, nest, text, u32
from netgroupd.kernel.netlink.request import Call, Codec, Context, Request, Selection
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.kernel.rows import blamer, single
from netgroupd.kernel.tc import flower
from netgroupd.kernel.tc.holders import rules_with
from netgroupd.kernel.tc.qdiscs import hooks_of_rules
from netgroupd.kernel.tc.tcmsg import CHAIN, HEADER, KIND, OPTIONS, RTM_DELCHAIN, RTM_GETCHAIN, RTM_NEWCHAIN, Place
from netgroupd.model.state import Object
from netgroupd.model.tc.action import chain_led_to
from netgroupd.model.tc.protocol import protocol_name, protocol_number
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, Op

_LONGEST_S = 30.0  # it takes a few periods of grace, which on a busy host are some 100 ms each


def dump(context: Context, selection: Selection) -> list[Object]:
    """The chains of the selected hooks that have a template; the others come and go with their rules."""
    found: list[Object] = []
    for where, parent, place in hooks_of_rules(context, selection):
        asked = message.request(RTM_GETCHAIN, message.NLM_F_DUMP, place.header())
        payloads = context.socket.dump(asked, lambda _kind, payload: bytes(payload), "dump of chains")
        for payload in filter(place.has, payloads):
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
    header = Place.of(str(where), str(parent), context.names).header()
    if one.op is Op.DELETE:
        yield Call(lambda: _delete(context, chain, header, for_good=not one.why))
        return
    attrs = one.object.attrs
    template = attrs.get("flower") or {}
    assert isinstance(template, Mapping)
    options = flower.options(tuple(sorted(template.items())), protocol_number(attrs.get("protocol", "all")))
    how = message.NLM_F_CREATE | message.NLM_F_EXCL
    yield message.request(RTM_NEWCHAIN, how, header, u32(CHAIN, chain), text(KIND, "flower"), nest(OPTIONS, options))


def _delete(context: Context, chain: int, header: bytes, *, for_good: bool) -> None:
    """Delete a chain; ``for_good``, and see that it has no template any more.

    Raises:
        OSError: The kernel refuses, or keeps the template.
    """
    socket, which = context.socket, header + u32(CHAIN, chain)
    answer, _ = socket.ask(message.request(RTM_DELCHAIN, 0, which))
    if answer.errno not in (0, errno.EINVAL):  # it went with its last rule, or is not there where one leads to it
        raise OSError(answer.errno, answer.sentence)
    end = time.monotonic() + _LONGEST_S
    while for_good and _keeps_template(socket, which):
        if time.monotonic() > end:
            raise OSError(errno.EBUSY, _held(context, chain))
        grace.passed()


def _held(context: Context, chain: int) -> str:
    """Who may keep a template: what once was the action of a rule of this hook, one of another may have as well."""
    told = "a rule leads to the chain, and the kernel keeps the template until none does"
    rules = rules_with(context, lambda action: chain_led_to(action) == chain)
    return f"{told}; to a chain of that number lead {rules}" if rules else told


def _keeps_template(socket: Socket, which: bytes) -> bool:
    """Whether a chain that is made has a template by itself.

    A rule that is deleted leads there until some time later, and what it leads to is not told.
    """
    socket.ask(message.request(RTM_NEWCHAIN, message.NLM_F_CREATE | message.NLM_F_EXCL, which))
    _, told = socket.ask(message.request(RTM_GETCHAIN, 0, which), _template)
    socket.ask(message.request(RTM_DELCHAIN, 0, which))
    return bool(told)


def _template(_kind: int, payload: memoryview) -> bool | None:
    return KIND in attributes(payload, HEADER.size) or None


CODEC = Codec(dump, encode, blamer({(CHAIN,): "chain", (KIND,): "flower"}), HEADER.size)
