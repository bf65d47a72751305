# SPDX-License-Identifier: GPL-2.0-or-later
"""Queueing disciplines, under ``tc qdisc``'s names."""

from typing import NamedTuple

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.tc import cake, ets, mqprio, taprio
from netgroupd.model.tc.handle import HANDLE, OWN_HANDLE, PARENT, handle_number
from netgroupd.model.tc.lists import PRIOMAP, so_many
from netgroupd.model.tc.rates import LINK_LAYERS
from netgroupd.model.tc.sizes import STAB
from netgroupd.model.tc.units import (
    CHANCE,
    CURVE,
    FINE_TIME,
    LONG_TIME_NS,
    PERCENT,
    RATE,
    RATE32,
    SHORT_TIME_NS,
    SIZE,
    TIME,
    TIME_NS,
    size,
)
from netgroupd.model.value import FLAG, LINK, NAME, U16, U32, Type, Value, number, several, word

_GEMODEL = so_many(PERCENT, 4, "percentages: p, r, 1-h and 1-k")
_LOSS_STATES = so_many(PERCENT, 5, "percentages: p13, p31, p32, p14 and p23")
_SLOT = so_many(LONG_TIME_NS, 2, "times, from the least to the longest")


def _is_some(_had: Value, wanted: Value) -> bool:
    """Whether something is sent: what is not sent stays, so that it goes with its qdisc alone."""
    return wanted is not None


_MOST_SIGNED = (1 << 31) - 1
_SIGNED = number(32, -_MOST_SIGNED - 1, _MOST_SIGNED)
OF_LEAVES = frozenset({"prio", "quantum"})  # among the classes of htb
_MINOR = number(32, 0, 0xFFFF)
_DEFAULT_EXPECTED = "a class like 1:10, or its number within the qdisc, where that of 1:10 is 0x10 or 16"


def _parse_default(raw: object) -> Value:
    """The number of a class: as a handle it is hexadecimal, alone it is decimal."""
    try:
        if ":" not in str(raw):
            return _MINOR.parse(raw)
        if minor := handle_number(str(HANDLE.parse(raw))) & 0xFFFF:
            return minor
    except ValueError:
        pass
    raise ValueError(f"expected {_DEFAULT_EXPECTED}")


def _default_text(value: Value) -> str:
    return f"{value:#x}" if isinstance(value, int) else str(value)


DEFAULT_CLASS = Type(_DEFAULT_EXPECTED, _parse_default, {"oneOf": [_MINOR.schema, HANDLE.schema]}, text=_default_text)


class QdiscKind(NamedTuple):
    """A kind of qdisc: its options, and those of its classes."""

    name: str
    doc: str
    options: dict[str, Attr] = {}  # noqa: RUF012  # never changed
    classes: dict[str, Attr] = {}  # noqa: RUF012
    needs: frozenset[str] = frozenset()
    """The options without which it lets nothing through."""


def _options(*rows: Attr) -> dict[str, Attr]:
    return table(rows)


def codel_ticks(time: int) -> int:
    """Microseconds as codel keeps them, in units of 1024 ns."""
    return -(-time * 1000 // 1024)


def _parse_codel_time(raw: object) -> Value:
    got = TIME.parse(raw)
    assert isinstance(got, int)
    told = codel_ticks(got) * 1024 // 1000  # by the kernel
    if told > _MOST_CODEL_TIME:
        raise ValueError(f"expected {TIME.expected}, up to {_MOST_CODEL_TIME}")
    return told


_MOST_CODEL_TIME = 0xFFFFFFFF - 1024  # whatever it is rounded to has 32 bits
_CODEL_TIME = TIME._replace(parse=_parse_codel_time)
_LIMIT = Attr("limit", U32, "The most that may wait.")
_QUEUE = (Attr("limit", U32, "The most packets that may wait.", 2), Attr("target", _CODEL_TIME, "Acceptable delay.", 1))
_CE_THRESHOLD = Attr(
    "ce_threshold", _CODEL_TIME, "Delay above which packets are marked.", 7, nullable=True, in_place=_is_some
)
_RATE = Attr("rate", RATE, "Rate that is guaranteed.")
_FRAMING = (
    Attr("overhead", U16, "Bytes that the link adds to each packet."),
    Attr("mpu", U16, "The fewest bytes that a packet takes there."),
    Attr("linklayer", word(8, LINK_LAYERS), "Whether the link takes them in cells of ATM."),
)
_EARLY = (
    Attr("min", SIZE, "Average bytes below which nothing is dropped early."),
    Attr("max", SIZE, "Average bytes at which `probability` is reached."),
    Attr("ewma", number(8, 1, 31), "Weight of a packet in the average; follows from a burst."),
    Attr("scell_log", number(8, 0, 31), "How the average ages; follows from a burst and a size of packets."),
    Attr("probability", CHANCE, "Percent dropped at `max`."),
    Attr("ecn", FLAG, "Mark instead of dropping."),
    Attr("harddrop", FLAG, "Drop above `max` even what could be marked."),
)

KINDS = {
    kind.name: kind
    for kind in (
        QdiscKind("clsact", "The hooks ingress and egress."),
        QdiscKind("ingress", "The hook ingress."),
        QdiscKind("noqueue", "No queue at all."),
        QdiscKind("mq", "A queue for each of the hardware's."),
        QdiscKind("pfifo", "A queue of packets.", _options(_LIMIT)),
        QdiscKind("bfifo", "A queue of bytes.", _options(Attr("limit", SIZE, "Bytes that may wait."))),
        QdiscKind(
            "prio",
            "Bands, each before the next.",
            _options(
                Attr("bands", number(32, 2, 16), "How many bands."),
                Attr("priomap", PRIOMAP, "The band of each priority of packets, 16 numbers."),
            ),
        ),
        QdiscKind("ets", "Bands, some before the next, and others that share by weight.", _options(*ets.OPTIONS)),
        QdiscKind(
            "fq_codel",
            "Fair queues with a bounded delay.",
            _options(
                *_QUEUE,
                Attr("interval", _CODEL_TIME, "Over which the delay is looked at.", 3),
                Attr("ecn", FLAG, "Mark instead of dropping.", 4),
                Attr("flows", number(32, 1, 65536), "How many queues.", 5, Change.RECREATE),
                Attr("quantum", SIZE, "Bytes of one queue at a time.", 6),
                _CE_THRESHOLD,
                Attr("drop_batch", U32, "Packets to drop at once.", 8),
                Attr("memory_limit", SIZE, "Bytes of memory.", 9),
                Attr("ce_threshold_selector", number(8), "What DSCP and ECN are for packets to be so marked.", 10),
                Attr("ce_threshold_mask", number(8), "Which bits of these count; 0 is for all packets.", 11),
            ),
        ),
        QdiscKind(
            "codel",
            "A queue with a bounded delay.",
            _options(
                *_QUEUE,
                Attr("interval", _CODEL_TIME, "Over which the delay is looked at.", 3),
                Attr("ecn", FLAG, "Mark instead of dropping.", 4),
                _CE_THRESHOLD._replace(wire=5),
            ),
        ),
        QdiscKind("cake", "All that a slow link needs, in one.", _options(*cake.OPTIONS)),
        QdiscKind(
            "fq",
            "Fair queues with pacing.",
            _options(
                Attr("limit", U32, "The most packets that may wait.", 1),
                Attr("flow_limit", U32, "The most packets of a flow.", 2),
                Attr("quantum", SIZE, "Bytes of one flow at a time.", 3),
                Attr("initial_quantum", size(0, 0x7FFFFFFF), "Bytes of a new flow.", 4),
                Attr("pacing", FLAG, "Pace flows.", 5),
                Attr("maxrate", RATE32, "The most of a flow.", 7),
                Attr("buckets_log", number(32, 1, 18), "Size of the table of flows.", 8),
                Attr("refill_delay", TIME, "After which a flow has its credit again.", 9),
                Attr("orphan_mask", U32, "How packets without socket are spread.", 10),
                Attr("low_rate_threshold", RATE32, "Below which a packet is paced by itself.", 11),
                Attr("ce_threshold", TIME, "Delay above which packets are marked.", 12),
                Attr("timer_slack", TIME_NS, "How late a packet may go, to save timers.", 13),
                Attr("horizon", TIME, "How far ahead a packet may be timed.", 14),
                Attr("horizon_drop", FLAG, "Drop what is timed further ahead.", 15),
            ),
        ),
        QdiscKind(
            "tbf",
            "A bucket of tokens.",
            _options(
                _RATE,
                Attr("burst", SIZE, "Bytes that may go at once."),
                Attr("limit", SIZE, "Bytes that may wait."),
                Attr("peakrate", RATE, "The most for a moment.", nullable=True),
                Attr("mtu", SIZE, "Bytes that may go at once at `peakrate`.", nullable=True),
                *_FRAMING,
            ),
            needs=frozenset({"rate", "burst", "limit"}),
        ),
        QdiscKind(
            "htb",
            "Classes that lend to each other.",
            _options(
                Attr("default", DEFAULT_CLASS, "The class of what no filter knows.", 0, Change.RECREATE),
                Attr("r2q", number(32, 1), "Divides rates to quanta.", 0, Change.RECREATE),
                Attr("direct_qlen", U32, "The most packets that go past the classes.", 5, Change.RECREATE),
                Attr("offload", FLAG, "Leave it to the hardware.", 9, Change.RECREATE),
            ),
            _options(
                _RATE,
                Attr("ceil", RATE, "The most with what others lend."),
                Attr("burst", SIZE, "Bytes that may go at once at `rate`."),
                Attr("cburst", SIZE, "Bytes that may go at once at `ceil`."),
                Attr("prio", number(32, 0, 7), "Lower ones are lent to first, of those with no class below them."),
                Attr("quantum", size(1), "Bytes of one class at a time, of those with no class below them."),
                *_FRAMING,
            ),
        ),
        QdiscKind(
            "hfsc",
            "Classes with curves of service.",
            _options(Attr("default", DEFAULT_CLASS, "The class of what no filter knows.")),
            _options(
                Attr(
                    "rt",
                    CURVE,
                    "Real time: first slope, its length, second slope.",
                    1,
                    nullable=True,
                    in_place=_is_some,
                ),
                Attr(
                    "ls",
                    CURVE,
                    "Link sharing: first slope, its length, second slope.",
                    2,
                    nullable=True,
                    in_place=_is_some,
                ),
                Attr(
                    "ul",
                    CURVE,
                    "Upper limit: first slope, its length, second slope.",
                    3,
                    nullable=True,
                    in_place=_is_some,
                ),
            ),
        ),
        QdiscKind(
            "drr",
            "Classes that share by weight; what no filter puts into one is dropped.",
            {},
            _options(Attr("quantum", size(1), "Bytes of one class at a time; the MTU if not mentioned.")),
        ),
        QdiscKind(
            "sfq",
            "Fair queues by hash.",
            _options(
                Attr("quantum", SIZE, "Bytes of one queue at a time.", 0, Change.RECREATE),
                Attr("perturb", number(32, 0, 0x7FFFFFFF), "Seconds until the hash changes.", 0, Change.RECREATE),
                Attr("limit", U32, "The most packets that may wait.", 0, Change.RECREATE),
                Attr("divisor", U32, "Size of the hash table.", 0, Change.RECREATE),
                Attr("flows", U32, "How many queues.", 0, Change.RECREATE),
                Attr("depth", U32, "The most packets of a queue.", 0, Change.RECREATE),
                Attr("headdrop", FLAG, "Drop the oldest packets, not the newest.", 0, Change.RECREATE),
                *(row._replace(change=Change.RECREATE) for row in _EARLY),
            ),
        ),
        QdiscKind(
            "red",
            "Random early detection.",
            _options(
                Attr("limit", SIZE, "Bytes that may wait."),
                *_EARLY,
                Attr("avpkt", size(1, 65535), "Average size of packets.", silent=True),
                Attr("burst", U32, "Packets that may come at once.", silent=True),
                Attr("adaptive", FLAG, "Adapt the probability; false where that is said."),
                Attr("nodrop", FLAG, "Queue what cannot be marked; with `ecn`.", 0, Change.RECREATE),
            ),
        ),
        QdiscKind(
            "netem",
            "An emulated network.",
            _options(
                Attr("limit", U32, "The most packets that may wait."),
                Attr("delay", FINE_TIME, "Delay added."),
                Attr("jitter", FINE_TIME, "How much it varies."),
                Attr("loss", PERCENT, "Percent lost."),
                Attr("duplicate", PERCENT, "Percent sent twice."),
                Attr("gap", U32, "Every how many packets one overtakes, 1 where `reorder` is said and it is not."),
                Attr("reorder", PERCENT, "Percent that overtakes."),
                Attr("corrupt", PERCENT, "Percent with a bit flipped."),
                Attr("rate", RATE, "Rate of the emulated link."),
                Attr("packet_overhead", _SIGNED, "Bytes that this link adds to each packet."),
                Attr("cell_size", U32, "Bytes of its cells, if it has some."),
                Attr("cell_overhead", _SIGNED, "Bytes that it adds to each cell."),
                Attr("delay_corr", PERCENT, "How much each delay depends on the last."),
                Attr("loss_corr", PERCENT, "How much each loss depends on the last."),
                Attr("duplicate_corr", PERCENT, "How much each duplicate depends on the last."),
                Attr("reorder_corr", PERCENT, "How much each overtaking depends on the last."),
                Attr("corrupt_corr", PERCENT, "How much each corruption depends on the last."),
                Attr("loss_gemodel", _GEMODEL, "Loss after Gilbert and Elliot: p, r, 1-h, 1-k.", nullable=True),
                Attr("loss_state", _LOSS_STATES, "Loss of four states: p13, p31, p32, p14, p23.", nullable=True),
                Attr("ecn", FLAG, "Mark instead of losing, where a packet can be marked."),
                Attr("slot", _SLOT, "Let packets go at times so far apart.", nullable=True, in_place=_is_some),
                Attr("slot_packets", number(32, 0, (1 << 31) - 2), "The most packets at a time, 0 for any."),
                Attr("slot_bytes", number(32, 0, (1 << 31) - 2), "The most bytes at a time, 0 for any."),
            ),
        ),
        QdiscKind(
            "cbs",
            "A rate for time-sensitive packets, by credits.",
            _options(
                Attr("idleslope", number(32, 0, _MOST_SIGNED), "Kilobits per second of credit while it waits."),
                Attr("sendslope", number(32, -_MOST_SIGNED - 1, 0), "Kilobits per second of credit while it sends."),
                Attr("hicredit", number(32, 0, _MOST_SIGNED), "The most credit, in bytes."),
                Attr("locredit", number(32, -_MOST_SIGNED - 1, 0), "The least credit, in bytes."),
                Attr("offload", FLAG, "Leave it to the hardware.", 0, Change.RECREATE),
            ),
            needs=frozenset({"idleslope", "sendslope", "hicredit", "locredit"}),
        ),
        QdiscKind(
            "etf",
            "Packets at their time; those that have none, or whose time is over, are dropped.",
            _options(
                Attr("delta", SHORT_TIME_NS, "How long before its time a packet is sent.", 0, Change.RECREATE),
                Attr("offload", FLAG, "Leave it to the hardware.", 0, Change.RECREATE),
                Attr("deadline_mode", FLAG, "Times are the latest, and none is waited for.", 0, Change.RECREATE),
                Attr("skip_sock_check", FLAG, "Take the times of other qdiscs, as taprio.", 0, Change.RECREATE),
            ),
        ),
        QdiscKind("mqprio", "Traffic classes on hardware queues.", _options(*mqprio.OPTIONS)),
        QdiscKind("taprio", "Traffic classes in turn, by the clock.", _options(*taprio.OPTIONS), {}, taprio.NEEDED),
    )
}


def _union(kinds: dict[str, QdiscKind], part: str) -> tuple[Attr, ...]:
    """Every option of any kind once: the harder one where kinds differ in what a change takes."""
    found: dict[str, Attr] = {}
    for kind in kinds.values():
        options: dict[str, Attr] = getattr(kind, part)
        for name, row in options.items():
            if name not in found or row.change is Change.RECREATE:
                found[name] = row
    return tuple(found.values())


_KIND = Attr("kind", NAME, "Which discipline.", change=Change.RECREATE)
_BLOCK: Type = number(32, 1)
BLOCKS = ("ingress_block", "egress_block")
"""What puts a hook of a link into a shared block."""

CLASS = Class(
    "qdisc",
    "A queueing discipline.",
    (
        Attr("link", LINK, "The link."),
        Attr("parent", PARENT, "root, clsact, or the class that it is in."),
    ),
    table(
        (
            _KIND,
            Attr("handle", OWN_HANDLE, "Its own handle, like 1:.", change=Change.RECREATE),
            Attr("hooks", several(NAME), "Which of its hooks are owned as a whole.", silent=True),
            Attr("in_use", FLAG, "Whether somebody else uses one of its hooks.", silent=True),
            Attr("ingress_block", _BLOCK, "The shared block of the hook ingress.", 13, Change.RECREATE, nullable=True),
            Attr("egress_block", _BLOCK, "The shared block of the hook egress.", 14, Change.RECREATE, nullable=True),
            Attr("stab", STAB, "How many bytes the link takes for a packet, as all of it counts them.", nullable=True),
            *_union(KINDS, "options"),
        )
    ),
)
TCLASS = Class(
    "tclass",
    "A class of a queueing discipline.",
    (Attr("link", LINK, "The link."), Attr("classid", HANDLE, "Its handle, like 1:10.")),
    table(
        (
            _KIND,
            Attr("parent", PARENT, "The class, or the qdisc, that it is in.", change=Change.RECREATE),
            *_union(KINDS, "classes"),
        )
    ),
)
