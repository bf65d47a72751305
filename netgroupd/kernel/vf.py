# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual functions: IFLA_VFINFO_LIST of their card, read for one card and written for all functions of one.

The kernel tells of functions only whom it is asked for, for a driver may take long.  It
does what a message says of one function after the other, and what one is refused the
next are not told.  How many there are is a file in sysfs, outside of any namespace.
"""

import errno
import struct
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from sys import byteorder

from netgroupd.kernel.links.numbers import (
    IFLA_EXT_MASK,
    IFLA_IFNAME,
    IFLA_PARENT_DEV_NAME,
    RTM_GETLINK,
    RTM_SETLINK,
    SKIP_STATS,
)
from netgroupd.kernel.links.write import header
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import NLM_F_DUMP, attr, attributes, nest, text, u32, walk
from netgroupd.kernel.netlink.request import Call, Codec, Context, Request, Selection
from netgroupd.kernel.rows import goal, single
from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import NO_MAC, Value
from netgroupd.model.vf import CLASS, USUAL
from netgroupd.plan.step import AnyStep, Op, RangeStep, Step

_BODY = 16
_NUMBER, _LIST, _BUS = 21, 22, 57
_MARK = _BUS.to_bytes(2, byteorder)
_FUNCTION = 1
_MAC, _RATE, _VLANS, _VLAN = 1, 6, 12, 1
_ASKED = 1 | SKIP_STATS
_FILE = "sriov_numvfs"
_OF = "physfn"
_DEVICES = Path("/sys/bus")
_OF_VLAN = ("vlan", "qos", "proto")
_OF_RATE = ("min_tx_rate", "max_tx_rate")
_GUIDS = ("node_guid", "port_guid")
_NONE = 0xFFFFFFFF  # of a setting that the driver does not tell
_TAG = CLASS.attrs["proto"].type
_SETTINGS = tuple(CLASS.attrs[name] for name in ("spoofchk", "state", "query_rss", "trust"))

Told = Mapping[int, memoryview]


def _cards(context: Context, selection: Selection) -> Iterator[tuple[str, Told]]:
    """The selected cards that are there, with what the kernel tells of each and of its functions."""
    names = _all_with_functions(context) if selection.everything else sorted(selection.cards)
    for name in names:
        asked = message.request(RTM_GETLINK, 0, header(0), text(IFLA_IFNAME, name), u32(IFLA_EXT_MASK, _ASKED))
        for payload in context.socket.ask(asked, _whole)[1]:
            yield name, attributes(memoryview(payload), _BODY)


def _whole(_kind: int, payload: memoryview) -> bytes:
    return bytes(payload)


def _on_a_bus(context: Context) -> list[Told]:
    """What the kernel tells of the links that are on a bus, and perhaps of others: of very many links few are."""

    def take(_kind: int, payload: memoryview) -> bytes | None:
        told = bytes(payload)
        return told if _MARK in told else None

    asked = message.request(RTM_GETLINK, NLM_F_DUMP, header(0), u32(IFLA_EXT_MASK, SKIP_STATS))
    found = context.socket.dump(asked, take, "read the cards")
    return [attributes(memoryview(told), _BODY) for told in found]


def _all_with_functions(context: Context) -> list[str]:
    """The cards that have functions; the others need not be asked for theirs."""
    found = []
    for told in _on_a_bus(context):
        try:
            has_some = int((_directory(told) / _FILE).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
        if has_some:
            found.append(_text(told, IFLA_IFNAME))
    return sorted(found)


def _text(told: Told, kind: int) -> str:
    return bytes(told.get(kind, b"")).rstrip(b"\0").decode(errors="surrogateescape")


def _directory(told: Told) -> Path:
    """Where the device of a link is in sysfs.

    Raises:
        OSError: It has none.
    """
    bus, device = (_text(told, kind) for kind in (_BUS, IFLA_PARENT_DEV_NAME))
    if not bus or not device:
        raise OSError(errno.EOPNOTSUPP, "it is no network card")
    return _DEVICES / bus / "devices" / device


def dump(context: Context, selection: Selection) -> list[Object]:
    """All functions of the selected cards."""
    found = []
    for name, told in _cards(context, selection):
        for _, start, end in walk(told[_LIST]) if _LIST in told else ():
            function = attributes(told[_LIST], start, end)
            if _MAC in function:
                number = int.from_bytes(function[_MAC][:4], "little")
                found.append(Object("vf", (name, number), _read(function)))
    return found


def _read(function: Told) -> dict[str, Value]:
    """What one function has; what its driver does not tell is left out."""
    attrs: dict[str, Value] = {"mac": bytes(function[_MAC][4:10]).hex(":")}
    if _VLANS in function:
        inner = attributes(function[_VLANS])
        _, attrs["vlan"], attrs["qos"] = struct.unpack_from("=III", inner[_VLAN])
        tag = bytes(inner[_VLAN][12:14])
        # A driver that knows of no other tags may tell of none.
        attrs["proto"] = _TAG.unpack(tag) if _TAG.unpack and any(tag) else USUAL["proto"]
    if _RATE in function:
        _, attrs["min_tx_rate"], attrs["max_tx_rate"] = struct.unpack_from("=III", function[_RATE])
    for row in _SETTINGS:
        payload = bytes(function.get(row.wire, b""))[4:8]
        if payload and int.from_bytes(payload, "little") != _NONE and row.type.unpack:
            attrs[row.name] = row.type.unpack(payload)
    for name in _GUIDS:
        if (wire := CLASS.attrs[name].wire) in function:
            (guid,) = struct.unpack_from("=Q", function[wire], 8)
            attrs[name] = int(guid).to_bytes(8, "big").hex(":")
    return attrs


def encode(step: AnyStep, context: Context) -> Iterator[Request]:
    """The one message about all functions of a card."""
    steps = step.steps if isinstance(step, RangeStep) else (single(step),)
    told = b"".join(part for one in steps for part in _told(one))
    if told:
        yield message.request(RTM_SETLINK, 0, header(context.names.index(steps[0].object.name)), nest(_LIST, told))


def _told(step: Step) -> Iterator[bytes]:
    """What is said of one function; each GUID apart, for the kernel does not look at what stands beside one."""
    number = step.object.key[1]
    assert isinstance(number, int)
    parts = b"".join(_parts(number, step.attrs, {**USUAL, **goal(step)}))
    if parts:
        yield nest(_FUNCTION, parts)
    for name in _GUIDS:
        if said := step.attrs.get(name):
            guid = int(str(said).replace(":", ""), 16)
            yield nest(_FUNCTION, attr(CLASS.attrs[name].wire, struct.pack("=I4xQ", number, guid)))


def _parts(number: int, said: Attrs, whole: Attrs) -> Iterator[bytes]:
    """What is ``said``, and of the ``whole`` what goes with it: a VLAN and its tag, both rates."""
    if "mac" in said:
        mac = bytes.fromhex(str(said["mac"] or NO_MAC).replace(":", ""))
        yield attr(_MAC, struct.pack("=I32s", number, mac))
    if not said.keys().isdisjoint(_OF_VLAN):
        assert _TAG.pack
        vlan = struct.pack("=III2s2x", number, whole["vlan"], whole["qos"], _TAG.pack(whole["proto"]))
        yield nest(_VLANS, attr(_VLAN, vlan))
    if not said.keys().isdisjoint(_OF_RATE):
        yield attr(_RATE, struct.pack("=III", number, *(whole[name] for name in _OF_RATE)))
    for row in _SETTINGS:
        if row.name in said and row.type.pack:
            yield attr(row.wire, struct.pack("=I", number) + row.type.pack(said[row.name]))


def dump_numbers(context: Context, selection: Selection) -> list[Object]:
    """How many functions each of the selected cards has; what is no card has no number of them."""
    return [
        Object("sriov", (name,), {"num_vfs": int.from_bytes(told[_NUMBER], "little")})
        for name, told in _cards(context, selection)
        if _NUMBER in told
    ]


def encode_number(step: AnyStep, context: Context) -> Iterator[Request]:
    """Writing the number; to delete it is to take all functions away."""
    one = single(step)
    number = 0 if one.op is Op.DELETE else one.object.attrs["num_vfs"]
    yield Call(partial(_write, context, one.object.name, number))


def _write(context: Context, name: str, number: Value) -> None:
    """Have a card have so many functions.

    Raises:
        OSError: There is no such card, or its driver refuses.
    """
    told = next((told for _, told in _cards(context, Selection(cards=frozenset({name})))), None)
    if told is None:
        raise OSError(errno.ENODEV, f"there is no link {name!r}")
    directory = _directory(told)
    try:
        (directory / _FILE).write_text(f"{number}\n", encoding="ascii")
    except FileNotFoundError as error:
        raise OSError(errno.EOPNOTSUPP, "it has no virtual functions") from error
    except OSError as error:
        if error.errno == errno.EROFS:
            raise OSError(errno.EROFS, "/sys is read-only for netgroupd") from error
        raise


def blame(step: AnyStep, _path: tuple[int, ...]) -> str:
    """What was said, for the kernel does not tell which of it a driver refuses, nor that there is no such function."""
    return ", ".join(single(step).attrs)


def card_of(context: Context, name: str) -> str:
    """The card that a link is a virtual function of, if both are in this namespace; "" for none."""
    told = next((told for _, told in _cards(context, Selection(cards=frozenset({name})))), {})
    try:
        device = (_directory(told) / _OF).readlink().name
    except OSError:
        return ""
    for card in _on_a_bus(context):
        if _text(card, IFLA_PARENT_DEV_NAME) == device:
            return _text(card, IFLA_IFNAME)
    return ""


CODEC = Codec(dump, encode, blame)
COUNT_CODEC = Codec(dump_numbers, encode_number)
