# SPDX-License-Identifier: GPL-2.0-or-later
"""What of links no rtnetlink message does: ioctls, files, and generic netlink, as calls in their place in the order."""

import struct
from collections.abc import Iterator
from functools import partial

from netgroupd.errors import KernelError
from netgroupd.kernel.links import netdevsim, team, tuntap, wireguard
from netgroupd.kernel.links.numbers import IFLA_IFNAME, IFLA_PARENT_DEV_NAME, RTM_GETLINK, RTM_NEWLINK
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink.message import NLM_F_DUMP, attributes, request, text
from netgroupd.kernel.netlink.request import Call, Context, Selection
from netgroupd.model.kinds import KINDS
from netgroupd.model.state import NOTHING, Attrs, Object
from netgroupd.model.value import Value

_PARENT_PREFIX = "netdevsim"

_WIREGUARD = frozenset(KINDS["wireguard"].attrs)
_TEAM = frozenset(KINDS["team"].attrs)


def configure(kind: str, index: int, before: Attrs, attrs: Attrs, context: Context) -> Iterator[Call]:
    """Yield what sets rows that no message sets, on a link that exists."""
    names = attrs.keys()
    if kind == "wireguard" and names & _WIREGUARD:
        yield Call(partial(wireguard.configure, context.generic, index, before, attrs))
    if kind == "team" and names & _TEAM:
        yield Call(partial(team.configure, context.generic, index, attrs))
    if kind == "tun" and before and names & {"user", "user_group"}:
        yield Call(partial(tuntap.change, context.netns, context.names.name(index), {**before, **attrs}, attrs))
    if names & team.PORT_ROWS:
        master = str(attrs.get("master") or before.get("master"))
        yield Call(partial(team.configure_port, context.generic, context.names.index(master), index, attrs))


def plug(name: str, number: int, context: Context) -> int:
    """Make a simulated card, and give its link the name; the index that the kernel chose.

    Raises:
        OSError: The kernel refuses.
    """
    netdevsim.create(context.netns, number)
    parent = f"{_PARENT_PREFIX}{number}".encode()

    def decode(_kind: int, payload: memoryview) -> bytes | None:
        found = bytes(attributes(payload, 16).get(IFLA_PARENT_DEV_NAME, b"")).rstrip(b"\0")
        return bytes(payload[:16]) if found == parent else None

    header = context.socket.dump(request(RTM_GETLINK, NLM_F_DUMP, bytes(16)), decode)[0]
    tell(context, request(RTM_NEWLINK, 0, header[:8] + bytes(8), text(IFLA_IFNAME, name)))
    (index,) = struct.unpack_from("=i", header, 4)
    context.names.note(name, index)
    return int(index)


def tell(context: Context, message: bytes) -> None:
    """Send one message outside of the batch.

    Raises:
        OSError: The kernel refuses.
    """
    answer, _ = context.socket.ask(message)
    if answer.errno:
        raise OSError(answer.errno, answer.sentence)


def _told(link: Object, context: Context, selection: Selection) -> Iterator[tuple[str, dict[str, Value]]]:
    kind, index = link.attrs.get("kind"), context.names.index(link.name)
    if kind == "wireguard":
        yield link.name, wireguard.read(context.generic, index, selection.key_files.get(link.name, ()))
    elif kind == "team":
        for port, options in team.read(context.generic, index).items():
            yield context.names.name(port or index), options


def complete(links: list[Object], context: Context, selection: Selection) -> list[Object]:
    """Add to the links what only generic netlink knows of them."""
    more: dict[str, dict[str, Value]] = {}
    for link in links:
        try:
            for name, attrs in _told(link, context, selection):
                more.setdefault(name, {}).update(attrs)
        except (KernelError, UnknownLinkError):
            continue  # it has gone meanwhile
    if not more:
        return links
    return [link.having(more.get(link.name, NOTHING)) for link in links]
