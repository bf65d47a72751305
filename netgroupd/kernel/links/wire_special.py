# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel holds in another way than one attribute for each row."""

import struct
from collections.abc import Mapping
from typing import Any

from netgroupd.kernel.links.wire import Wire, or_none
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import attr as pack_attr
from netgroupd.kernel.netlink.message import nest, u8, u32, walk
from netgroupd.model.state import Attrs
from netgroupd.model.value import Value, ip_bytes, ip_text, mac_text


def masked_bits(number: int, bits: Mapping[str, int]) -> Wire:
    """Flags as (values, mask), both u32: those not in the mask stay as they are."""
    pair = struct.Struct("=II")

    def pack(wanted: Attrs, _all: Attrs, _names: Names) -> bytes:
        told = [name for name in bits if name in wanted]
        values = sum(bits[name] for name in told if wanted[name])
        return pack_attr(number, pair.pack(values, sum(bits[name] for name in told)))

    def unpack(payload: bytes) -> Mapping[str, Value]:
        values, _ = pair.unpack_from(payload)
        return {name: bool(values & bit) for name, bit in bits.items()}

    return Wire(number, tuple(bits), pack, unpack)


def bits_of(number: int, code: str, bits: Mapping[str, int]) -> Wire:
    """Flags in one number, all of which are set at once."""
    layout = struct.Struct(code)

    def pack(_wanted: Attrs, everything: Attrs, _names: Names) -> bytes:
        return pack_attr(number, layout.pack(sum(bit for name, bit in bits.items() if everything.get(name))))

    def unpack(payload: bytes) -> Mapping[str, Value]:
        (values,) = layout.unpack_from(payload)
        return {name: values & bit == bit for name, bit in bits.items()}

    return Wire(number, tuple(bits), pack, unpack)


def qos_map(number: int, name: str) -> Wire:
    """Priorities as a list of (from, to); what is to go is mapped to 0."""
    pair = struct.Struct("=II")

    def pairs(value: Value) -> dict[int, int]:
        assert value is None or isinstance(value, tuple)
        split = (str(row).split(":") for row in value or ())
        return {int(source): int(target) for source, target in split}

    def pack(wanted: Attrs, everything: Attrs, _names: Names) -> bytes:
        before = everything.get(BEFORE + name)
        told = dict.fromkeys(pairs(before), 0) | pairs(wanted[name])
        return nest(number, *(pack_attr(1, pair.pack(*row)) for row in told.items()))

    def unpack(payload: bytes) -> Mapping[str, Value]:
        view = memoryview(payload)
        rows = sorted(pair.unpack_from(view, start) for _, start, _ in walk(view))
        return {name: tuple(f"{source}:{target}" for source, target in rows if target)}

    return Wire(number, (name,), pack, unpack)


BEFORE = "before."
"""What stands before the name of a row that says what the link has had so far."""


def addresses(number: int, name: str) -> Wire:
    """A list of addresses, numbered from 0; the whole list at once."""

    def pack(wanted: Attrs, _all: Attrs, _names: Names) -> bytes:
        value = wanted[name] or ()
        assert isinstance(value, tuple)
        return nest(number, *(pack_attr(place, ip_bytes(str(row))) for place, row in enumerate(value)))

    def unpack(payload: bytes) -> Mapping[str, Value]:
        view = memoryview(payload)
        return {name: tuple(ip_text(bytes(view[start:stop])) for _, start, stop in walk(view))}

    return Wire(number, (name,), pack, unpack)


def macs(number: int, name: str, *, mode: int, setting: int) -> Wire:
    """A list of MAC addresses, replaced as a whole by mode ``setting``; the order has no meaning.

    It is there in the mode source alone: the kernel empties it in another, and then takes no word of it.
    """

    def pack(wanted: Attrs, everything: Attrs, _names: Names) -> bytes:
        value = wanted[name] or ()
        assert isinstance(value, tuple)
        if not value and everything.get("mode") != "source":
            return b""
        rows = (pack_attr(4, bytes.fromhex(str(row).replace(":", ""))) for row in value)
        return pack_attr(mode, struct.pack("=I", setting)) + nest(number, *rows)

    def unpack(payload: bytes) -> Mapping[str, Value]:
        view = memoryview(payload)
        return {name: tuple(sorted(mac_text(bytes(view[start:stop])) for _, start, stop in walk(view)))}

    return Wire(number, (name,), pack, unpack)


def either_family(name: str, four: int, six: int) -> tuple[Wire, Wire]:
    """One address, in one attribute for IPv4 and in another for IPv6; none is the zero address."""

    def pack(wanted: Attrs, everything: Attrs, _names: Names) -> bytes:
        value = wanted[name]
        if value is None:
            before = everything.get(BEFORE + name)
            return pack_attr(six, bytes(16)) if ":" in str(before) else pack_attr(four, bytes(4))
        payload = ip_bytes(str(value))
        return pack_attr(four if len(payload) == 4 else six, payload)

    wire = Wire(four, (name,), pack, lambda payload: {name: or_none(payload)}, True, or_none)
    return wire, wire._replace(number=six, written=False)


def gre_flags(number: int, way: str, *, erspan: bool = False) -> Wire:
    """Whether there are checksums, a key and sequence numbers, one way (``i`` or ``o``)."""
    bits = {} if erspan else {f"{way}csum": 0x8000, f"{way}seq": 0x1000}
    always = 0x1000 if erspan else 0
    key = f"{way}key"

    def pack(_wanted: Attrs, everything: Attrs, _names: Names) -> bytes:
        value = always | sum(bit for name, bit in bits.items() if everything.get(name))
        if everything.get("external"):
            value = 0
        return pack_attr(number, struct.pack(">H", value | (0x2000 if everything.get(key) is not None else 0)))

    def unpack(payload: bytes) -> Mapping[str, Value]:
        (value,) = struct.unpack_from(">H", payload)
        return {name: bool(value & bit) for name, bit in bits.items()} | {key: 0 if value & 0x2000 else None}

    return Wire(number, (*bits, key), pack, unpack)


def gre_key(number: int, name: str) -> Wire:
    """The key itself; that there is one is told by the flags before it."""

    def pack(_wanted: Attrs, everything: Attrs, _names: Names) -> bytes:
        return pack_attr(number, struct.pack(">I", everything.get(name) or 0))

    def unpack(payload: bytes) -> Mapping[str, Value]:
        (value,) = struct.unpack_from(">I", payload)
        return {name: value} if value else {}

    return Wire(number, (name,), pack, unpack)


def flowinfo(number: int) -> Wire:
    """Traffic class and flow label as the first word of an IPv6 header has them."""

    def pack(_wanted: Attrs, everything: Attrs, _names: Names) -> bytes:
        tclass: Any = everything.get("tclass") or 0
        label: Any = everything.get("flowlabel") or 0
        return pack_attr(number, struct.pack(">I", tclass << 20 | label))

    def unpack(payload: bytes) -> Mapping[str, Value]:
        (value,) = struct.unpack_from(">I", payload)
        return {"tclass": value >> 20 & 0xFF, "flowlabel": value & 0xFFFFF}

    return Wire(number, ("tclass", "flowlabel"), pack, unpack)


def replay() -> Wire:
    """Macsec's replay protection, which the kernel takes only together with its window."""

    def pack(_wanted: Attrs, everything: Attrs, _names: Names) -> bytes:
        window: Any = everything.get("window") or 0
        return u8(12, bool(everything["replay"])) + (u32(5, window) if everything["replay"] else b"")

    return Wire(12, ("replay",), pack, lambda payload: {"replay": bool(payload[0])})


def inherited_ttl(number: int, name: str, ttl: str) -> Wire:
    """Whether the TTL is that of what is inside; beside it the kernel does not look at ``ttl``, which says no to it."""

    def pack(wanted: Attrs, _all: Attrs, _names: Names) -> bytes:
        return u8(number, bool(wanted[name])) if wanted[name] or ttl not in wanted else b""

    return Wire(number, (name,), pack, lambda payload: {name: bool(payload[0])})


def supervision(name: str) -> Wire:
    """HSR is told the last byte of an address and reports the address."""

    def pack(wanted: Attrs, _all: Attrs, _names: Names) -> bytes:
        return pack_attr(3, struct.pack("=B", wanted[name]))

    return Wire(4, (name,), pack, lambda payload: {name: payload[5]})


PRIMARY = "primary"
"""What is no row, but says whether those of a pair are this end's or the other one's."""


def primary(number: int) -> Wire:
    """Whether this is the end of a pair that the rest is said of."""
    return Wire(
        number,
        (PRIMARY,),
        lambda _wanted, _all, _names: b"",
        lambda payload: {PRIMARY: any(payload)},
        written=False,
    )


def untold(number: int, name: str) -> Wire:
    """A flag that says of another row that what is told is not what was set."""
    return Wire(
        number,
        (name,),
        lambda _wanted, _all, _names: b"",
        lambda payload: {name: None} if any(payload) else {},
        written=False,
    )
