# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of qdiscs and classes: a structure, attributes, or one behind the other, kind by kind."""

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple

from netgroupd.kernel.netlink.message import attr, attributes, u8, u32, u64
from netgroupd.kernel.tc.cake import pack_cake, unpack_cake
from netgroupd.kernel.tc.ets import pack_ets, unpack_ets
from netgroupd.kernel.tc.mqprio import pack_mqprio, unpack_mqprio
from netgroupd.kernel.tc.netem import pack_netem, unpack_netem
from netgroupd.kernel.tc.rates import RATESPEC_SIZE, framing, is_wide, pack_rate, unpack_rate
from netgroupd.kernel.tc.red import pack_early, pack_red, unpack_early, unpack_red
from netgroupd.kernel.tc.taprio import pack_taprio, unpack_taprio
from netgroupd.model.attr import Attr
from netgroupd.model.state import Attrs, integer, integers
from netgroupd.model.tc.lists import USUAL_PRIOMAP
from netgroupd.model.tc.qdisc import KINDS, codel_ticks
from netgroupd.model.tc.rates import LINK_LAYER_NAMES, LINK_LAYERS, size_of, ticks
from netgroupd.model.value import Value

_U32 = struct.Struct("=I")
_U16 = struct.Struct("=H")


class Options(NamedTuple):
    """Both ways of one kind's options."""

    pack: Callable[[Attrs], bytes]
    unpack: Callable[[memoryview], dict[str, Value]]
    whole: bool = True
    """Whether a change must say everything again; otherwise it says what changes, and the kernel may refuse more."""
    nested: bool = False
    """Whether the kernel wants the attribute that holds them marked as a nest, as it does of newer kinds."""


def _nothing() -> Options:
    return Options(lambda _attrs: b"", lambda _payload: {})


_CODELS = frozenset({"codel", "fq_codel"})
_CODEL_TIMES = frozenset({"target", "interval", "ce_threshold"})
_BYTES = frozenset({"horizon_drop", "ce_threshold_selector", "ce_threshold_mask"})
_NEVER = ((1 << 64) - 1) // 1000 & 0xFFFFFFFF  # what fq tells of a threshold that it does not have


def _word(row: Attr, value: Value, kind: str) -> bytes:
    """One option as four bytes, nearly all flags too."""
    assert isinstance(value, int)
    if row.name in _BYTES:
        return u8(row.wire, value)
    if kind in _CODELS and row.name in _CODEL_TIMES:
        value = -(-codel_ticks(value) * 1024 // 1000)  # the fewest microseconds that make so many ticks
    return u32(row.wire, int(value))


def _plain(kind: str) -> Options:
    """A kind whose options are one attribute each."""
    rows = [row for row in KINDS[kind].options.values() if row.wire]
    by_number = {row.wire: row for row in rows}

    def pack(attrs: Attrs) -> bytes:
        return b"".join(_word(row, attrs[row.name], kind) for row in rows if attrs.get(row.name) is not None)

    def unpack(payload: memoryview) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for number, value in attributes(payload).items():
            if row := by_number.get(number):
                got = int.from_bytes(value, "little")
                if row.name == "ce_threshold" and got == _NEVER:
                    continue
                found[row.name] = bool(got) if row.type.schema.get("type") == "boolean" else got
        return found

    return Options(pack, unpack, whole=False)


_FIFO = Options(
    lambda attrs: _U32.pack(integer(attrs, "limit")) if "limit" in attrs else b"",
    lambda payload: {"limit": _U32.unpack_from(payload)[0]},
)

_PRIO = struct.Struct("=i16B")


def _pack_prio(attrs: Attrs) -> bytes:
    return _PRIO.pack(integer(attrs, "bands", 3), *integers(attrs, "priomap", USUAL_PRIOMAP))


def _unpack_prio(payload: memoryview) -> dict[str, Value]:
    bands, *priomap = _PRIO.unpack_from(payload)
    return {"bands": bands, "priomap": tuple(priomap)}


_TBF_TAIL = struct.Struct("=III")  # limit, buffer, mtu


def _pack_tbf(attrs: Attrs) -> bytes:
    rate, peak = integer(attrs, "rate"), integer(attrs, "peakrate")
    burst, mtu = integer(attrs, "burst"), integer(attrs, "mtu")
    tail = _TBF_TAIL.pack(integer(attrs, "limit"), ticks(burst, rate), ticks(mtu, peak) if peak else 0)
    wide = u64(4, rate) if is_wide(rate) else b""
    framed = _framed(attrs)
    return (
        attr(1, pack_rate(rate, *framed) + pack_rate(peak, *framed) + tail)
        + wide
        + (u64(5, peak) if is_wide(peak) else b"")
    )


def _unpack_tbf(payload: memoryview) -> dict[str, Value]:
    found = attributes(payload)
    parms = bytes(found[1])
    rate = unpack_rate(parms, found.get(4))
    peak = unpack_rate(parms[RATESPEC_SIZE:], found.get(5))
    limit, burst, mtu = _TBF_TAIL.unpack_from(parms, 2 * RATESPEC_SIZE)
    more: dict[str, Value] = {"peakrate": peak, "mtu": size_of(mtu, peak)} if peak else {}
    return {"rate": rate, "burst": size_of(burst, rate), "limit": limit, **more, **_framing(parms)}


def _framed(attrs: Attrs) -> tuple[int, int, int]:
    """How the link takes packets, as ``pack_rate`` has it."""
    layer = LINK_LAYERS[str(attrs.get("linklayer", "ethernet"))]
    return layer, integer(attrs, "overhead"), integer(attrs, "mpu")


def _framing(rate: bytes) -> dict[str, Value]:
    """How a rate says that the link takes packets."""
    layer, overhead, mpu = framing(rate)
    return {"overhead": overhead, "mpu": mpu, "linklayer": LINK_LAYER_NAMES.get(layer, layer)}


_HTB = struct.Struct("=IIIII")  # version, rate to quantum, default, debug, direct packets
_HTB_CLASS = struct.Struct("=IIIII")  # buffer, ceiling's buffer, quantum, level, priority
_HTB_PARMS, _HTB_INIT, _DIRECT, _RATE64, _CEIL64, _OFFLOAD = 1, 2, 5, 6, 7, 9
_SPARE = 1600  # a packet more than what goes in a millisecond


def _pack_htb(attrs: Attrs) -> bytes:
    start = _HTB.pack(3, integer(attrs, "r2q", 10), integer(attrs, "default"), 0, 0)
    more = u32(_DIRECT, integer(attrs, "direct_qlen")) if "direct_qlen" in attrs else b""
    return attr(_HTB_INIT, start) + more + (attr(_OFFLOAD, b"") if attrs.get("offload") else b"")


def _unpack_htb(payload: memoryview) -> dict[str, Value]:
    found = attributes(payload)
    _, r2q, default, _, _ = _HTB.unpack_from(found[_HTB_INIT])
    direct = int.from_bytes(found.get(_DIRECT, b""), "little")
    return {"r2q": r2q, "default": default, "direct_qlen": direct, "offload": _OFFLOAD in found}


def _pack_htb_class(attrs: Attrs) -> bytes:
    rate = integer(attrs, "rate")
    ceil = integer(attrs, "ceil", rate)
    burst = ticks(integer(attrs, "burst", rate // 1000 + _SPARE), rate)
    cburst = ticks(integer(attrs, "cburst", ceil // 1000 + _SPARE), ceil)
    tail = _HTB_CLASS.pack(burst, cburst, integer(attrs, "quantum"), 0, integer(attrs, "prio"))
    wide = (u64(_RATE64, rate) if is_wide(rate) else b"") + (u64(_CEIL64, ceil) if is_wide(ceil) else b"")
    framed = _framed(attrs)
    return attr(_HTB_PARMS, pack_rate(rate, *framed) + pack_rate(ceil, *framed) + tail) + wide


def _unpack_htb_class(payload: memoryview) -> dict[str, Value]:
    found = attributes(payload)
    parms = bytes(found[_HTB_PARMS])
    rate = unpack_rate(parms, found.get(_RATE64))
    ceil = unpack_rate(parms[RATESPEC_SIZE:], found.get(_CEIL64))
    burst, cburst, quantum, _, prio = _HTB_CLASS.unpack_from(parms, 2 * RATESPEC_SIZE)
    return {
        "rate": rate,
        "ceil": ceil,
        "burst": size_of(burst, rate),
        "cburst": size_of(cburst, ceil),
        "quantum": quantum,
        "prio": prio,
        **_framing(parms),
    }


_CURVE = struct.Struct("=III")  # first slope, its length, second slope
_CURVES = {"rt": 1, "ls": 2, "ul": 3}


def _pack_hfsc_class(attrs: Attrs) -> bytes:
    return b"".join(
        attr(number, _CURVE.pack(*integers(attrs, name, (0, 0, 0))))
        for name, number in _CURVES.items()
        if attrs.get(name)
    )


def _unpack_hfsc_class(payload: memoryview) -> dict[str, Value]:
    found = attributes(payload)
    return {name: _CURVE.unpack_from(found[number]) for name, number in _CURVES.items() if number in found}


_DRR_QUANTUM = 1


def _pack_drr_class(attrs: Attrs) -> bytes:
    return u32(_DRR_QUANTUM, integer(attrs, "quantum")) if "quantum" in attrs else b""


def _unpack_drr_class(payload: memoryview) -> dict[str, Value]:
    return {"quantum": int.from_bytes(attributes(payload)[_DRR_QUANTUM], "little")}


_CBS = struct.Struct("=B3xiiii")  # offload, the most and the least credit, and the slopes
_CREDITS = ("hicredit", "locredit", "idleslope", "sendslope")


def _pack_cbs(attrs: Attrs) -> bytes:
    return attr(1, _CBS.pack(integer(attrs, "offload"), *(integer(attrs, name) for name in _CREDITS)))


def _unpack_cbs(payload: memoryview) -> dict[str, Value]:
    offload, *credits_ = _CBS.unpack_from(attributes(payload)[1])
    return {"offload": bool(offload), **dict(zip(_CREDITS, credits_, strict=True))}


_ETF = struct.Struct("=iiI")  # how long before, by which clock, flags
_TAI = 11  # the kernel takes no other clock
_ETF_FLAGS = {"deadline_mode": 1, "offload": 2, "skip_sock_check": 4}


def _pack_etf(attrs: Attrs) -> bytes:
    flags = sum(bit for name, bit in _ETF_FLAGS.items() if attrs.get(name))
    return attr(1, _ETF.pack(integer(attrs, "delta"), _TAI, flags))


def _unpack_etf(payload: memoryview) -> dict[str, Value]:
    delta, _, flags = _ETF.unpack_from(attributes(payload)[1])
    return {"delta": delta, **{name: bool(flags & bit) for name, bit in _ETF_FLAGS.items()}}


_SFQ = struct.Struct("=IiIIIII")  # quantum, perturb, limit, divisor, flows, depth, headdrop


def _pack_sfq(attrs: Attrs) -> bytes:
    names = ("quantum", "perturb", "limit", "divisor", "flows", "depth")
    return _SFQ.pack(*(integer(attrs, name) for name in names), integer(attrs, "headdrop")) + pack_early(attrs)


def _unpack_sfq(payload: memoryview) -> dict[str, Value]:
    quantum, perturb, limit, divisor, flows, depth, headdrop = _SFQ.unpack_from(payload)
    return {
        "quantum": quantum,
        "perturb": perturb,
        "limit": limit,
        "divisor": divisor,
        "flows": min(flows, limit),  # no more have packets, and where both are said it takes no more
        "depth": depth,
        "headdrop": bool(headdrop),
        **unpack_early(bytes(payload[_SFQ.size :])),
    }


QDISCS: Mapping[str, Options] = {
    "clsact": _nothing(),
    "ingress": _nothing(),
    "noqueue": _nothing(),
    "mq": _nothing(),
    "pfifo": _FIFO,
    "bfifo": _FIFO,
    "prio": Options(_pack_prio, _unpack_prio),
    "ets": Options(pack_ets, unpack_ets, nested=True),
    "fq_codel": _plain("fq_codel"),
    "codel": _plain("codel"),
    "cake": Options(pack_cake, unpack_cake, whole=False),
    "fq": _plain("fq"),
    "tbf": Options(_pack_tbf, _unpack_tbf),
    "htb": Options(_pack_htb, _unpack_htb),
    "hfsc": Options(
        lambda attrs: _U16.pack(integer(attrs, "default")), lambda payload: {"default": _U16.unpack_from(payload)[0]}
    ),
    "drr": _nothing(),
    "sfq": Options(_pack_sfq, _unpack_sfq),
    "red": Options(pack_red, unpack_red),
    "netem": Options(pack_netem, unpack_netem),
    "cbs": Options(_pack_cbs, _unpack_cbs),
    "etf": Options(_pack_etf, _unpack_etf),
    "mqprio": Options(pack_mqprio, unpack_mqprio),
    "taprio": Options(pack_taprio, unpack_taprio),
}
CLASSES: Mapping[str, Options] = {
    "htb": Options(_pack_htb_class, _unpack_htb_class),
    "hfsc": Options(_pack_hfsc_class, _unpack_hfsc_class),
    "drr": Options(_pack_drr_class, _unpack_drr_class),
}
assert QDISCS.keys() == KINDS.keys()
