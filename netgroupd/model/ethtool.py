# SPDX-License-Identifier: GPL-2.0-or-later
"""What a driver is told of its device: offloads, rings, channels, coalescing, pause frames and what else ethtool sets.

Each part is an object of its own, for the kernel reads and sets it with a message of its own.
A link has it from the beginning, so it is neither made nor deleted.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.value import FLAG, LINK, U32, Type, Value, number, several, string, word

FEATURES, FLAGS = "features", "private_flags"
NAMED = frozenset({FEATURES, FLAGS})
"""The parts whose attributes the kernel or a driver names."""


class Part(NamedTuple):
    """One part: the messages that read and set it, and for some attributes where the kernel tells the most there is."""

    noun: str
    doc: str
    get: int
    set: int
    attrs: Mapping[str, Attr] = {}
    most: Mapping[str, int] = {}


_OF_FEATURES = "A feature, by the name that `ethtool -k` has for it."
_OF_FLAGS = "A flag, by the name that `ethtool --show-priv-flags` has for it."
_FEC = word(8, {"off": 0, "rs": 1, "baser": 2, "llrs": 3})
_WOL = ("phy", "ucast", "mcast", "bcast", "arp", "magic", "magicsecure", "filter")


def _counts(rows: Iterable[tuple[str, str, int]]) -> list[Attr]:
    return [Attr(name, U32, doc, wire) for name, doc, wire in rows]


def _switches(rows: Iterable[tuple[str, str, int]]) -> list[Attr]:
    return [Attr(name, FLAG, doc, wire) for name, doc, wire in rows]


_RINGS = (
    ("rx", "Descriptors for what comes in.", 6),
    ("rx_mini", "For small packets that come in.", 7),
    ("rx_jumbo", "For large packets that come in.", 8),
    ("tx", "Descriptors for what goes out.", 9),
    ("rx_buf_len", "Bytes of a buffer for what comes in.", 10),
    ("cqe_size", "Bytes of an entry in the queue of what is completed.", 12),
    ("tx_push_buf_len", "Bytes that are written to the device right away.", 15),
)
_CHANNELS = (
    ("rx", "Channels that only receive.", 6),
    ("tx", "Channels that only send.", 7),
    ("other", "Channels for other ends, such as the link's state.", 8),
    ("combined", "Channels that receive and send.", 9),
)
_COALESCE = (
    ("rx_usecs", "Microseconds from a packet that comes in to the interrupt.", 2),
    ("rx_frames", "Packets that come in to an interrupt.", 3),
    ("rx_usecs_irq", "The same while an interrupt is being handled.", 4),
    ("rx_frames_irq", "The same while an interrupt is being handled.", 5),
    ("tx_usecs", "Microseconds from a packet that is sent to the interrupt.", 6),
    ("tx_frames", "Packets that are sent to an interrupt.", 7),
    ("tx_usecs_irq", "The same while an interrupt is being handled.", 8),
    ("tx_frames_irq", "The same while an interrupt is being handled.", 9),
    ("stats_block_usecs", "Microseconds between updates of the statistics.", 10),
    ("pkt_rate_low", "Packets a second below which the values for few packets hold.", 13),
    ("rx_usecs_low", "As `rx_usecs`, with few packets.", 14),
    ("rx_frames_low", "As `rx_frames`, with few packets.", 15),
    ("tx_usecs_low", "As `tx_usecs`, with few packets.", 16),
    ("tx_frames_low", "As `tx_frames`, with few packets.", 17),
    ("pkt_rate_high", "Packets a second above which the values for many packets hold.", 18),
    ("rx_usecs_high", "As `rx_usecs`, with many packets.", 19),
    ("rx_frames_high", "As `rx_frames`, with many packets.", 20),
    ("tx_usecs_high", "As `tx_usecs`, with many packets.", 21),
    ("tx_frames_high", "As `tx_frames`, with many packets.", 22),
    ("sample_interval", "Seconds between looks at how many packets there are.", 23),
    ("tx_aggr_max_bytes", "Bytes that are sent together at most.", 26),
    ("tx_aggr_max_frames", "Packets that are sent together at most.", 27),
    ("tx_aggr_time_usecs", "Microseconds to wait for more to send together.", 28),
)
_CQE_MODES = (
    ("cqe_mode_tx", "Begin to count with each completion, of what is sent.", 24),
    ("cqe_mode_rx", "The same of what comes in.", 25),
)
_ADAPTIVE = (
    ("adaptive_rx", "Let the driver choose, by how much comes in.", 11),
    ("adaptive_tx", "Let the driver choose, by how much goes out.", 12),
)
_PUSHING = (
    ("tx_push", "Write what is sent to the device right away.", 13),
    ("rx_push", "Have the device write what comes in right away.", 14),
)
_PAUSE = (
    ("autoneg", "Agree with the other side on the rest.", 2),
    ("rx", "Stop sending when the other side asks for it.", 3),
    ("tx", "Ask the other side to stop.", 4),
)
_SPLIT = word(8, {"off": 1, "on": 2})
_DUPLEX = word(8, {"half": 0, "full": 1})

PARTS: Mapping[str, Part] = {
    FEATURES: Part(
        "features",
        "Offloads and other features, each `true` or `false`, by the names that `ethtool -k` prints, such as"
        " `tx-checksum-ip-generic` or `rx-gro`, or by its short words. Of these `tx`, `sg` and `tso` stand for all"
        " of their kind that the link can change.",
        11,
        12,
    ),
    "rings": Part(
        "rings",
        "How many packets wait in the rings between driver and device.",
        15,
        16,
        table([*_counts(_RINGS), *_switches(_PUSHING), Attr("tcp_data_split", _SPLIT, "Put headers apart.", 11)]),
        {"rx": 2, "rx_mini": 3, "rx_jumbo": 4, "tx": 5, "tx_push_buf_len": 16},
    ),
    "channels": Part(
        "channels",
        "How many queues with an interrupt of their own there are.",
        17,
        18,
        table(_counts(_CHANNELS)),
        {"rx": 2, "tx": 3, "other": 4, "combined": 5},
    ),
    "coalesce": Part(
        "coalescing of interrupts",
        "How many packets, and how much time, go to one interrupt.",
        19,
        20,
        table([*_counts(_COALESCE), *_switches((*_ADAPTIVE, *_CQE_MODES))]),
    ),
    "pause": Part(
        "pause frames",
        "Pause frames, by which one side asks the other to wait.",
        21,
        22,
        table(_switches(_PAUSE)),
    ),
    "fec": Part(
        "forward error correction",
        "Forward error correction.",
        29,
        30,
        table(
            (
                Attr("auto", FLAG, "Let the driver choose.", 3),
                Attr("modes", several(_FEC, ordered=False), "What is allowed; `off` is none.", 2),
            )
        ),
    ),
    "link_modes": Part(
        "link modes",
        "Speed and duplex. Of a link that has no carrier a driver may not tell them: then they are as wanted.",
        4,
        5,
        table(
            (
                Attr("autoneg", FLAG, "Agree with the other side on speed and duplex.", 2),
                Attr("speed", number(32, 0, 0x7FFFFFFF), "Mbit/s.", 5),
                Attr("duplex", _DUPLEX, "Both ways at once, or not.", 6),
            )
        ),
    ),
    "wol": Part(
        "wake-on-LAN",
        "What wakes a host that sleeps.",
        9,
        10,
        table(
            (
                Attr(
                    "modes",
                    several(word(8, dict(zip(_WOL, range(8), strict=True))), ordered=False),
                    "What does; an empty list is nothing.",
                    2,
                ),
            )
        ),
    ),
    FLAGS: Part(
        "private flags",
        "Flags that a driver has for itself, by the names that `ethtool --show-priv-flags` prints.",
        13,
        14,
    ),
}

CLASS = Class(
    "ethtool",
    "What a driver is told of its device.",
    (
        Attr("link", LINK, "The link."),
        Attr("part", string(20), "Which part of it."),
    ),
    {},
)

SHORT: Mapping[str, str] = {
    "rx": "rx-checksum",
    "rx-checksumming": "rx-checksum",
    "ufo": "tx-udp-fragmentation",
    "udp-fragmentation-offload": "tx-udp-fragmentation",
    "gso": "tx-generic-segmentation",
    "generic-segmentation-offload": "tx-generic-segmentation",
    "gro": "rx-gro",
    "generic-receive-offload": "rx-gro",
    "lro": "rx-lro",
    "large-receive-offload": "rx-lro",
    "rxvlan": "rx-vlan-hw-parse",
    "rx-vlan-offload": "rx-vlan-hw-parse",
    "txvlan": "tx-vlan-hw-insert",
    "tx-vlan-offload": "tx-vlan-hw-insert",
    "ntuple": "rx-ntuple-filter",
    "ntuple-filters": "rx-ntuple-filter",
    "rxhash": "rx-hashing",
    "receive-hashing": "rx-hashing",
    "tx-checksumming": "tx",
    "scatter-gather": "sg",
    "tcp-segmentation-offload": "tso",
}
"""What ethtool calls features besides, and what they are here."""

WORDS = tuple(word for word in SHORT if "-" not in word)
"""The short ones of these."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "tx": (
        "tx-checksum-ipv4",
        "tx-checksum-ip-generic",
        "tx-checksum-ipv6",
        "tx-checksum-fcoe-crc",
        "tx-checksum-sctp",
    ),
    "sg": ("tx-scatter-gather", "tx-scatter-gather-fraglist"),
    # Not tx-tcp-mangleid-segmentation: it changes what is sent, and drivers leave it off.
    "tso": ("tx-tcp-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp6-segmentation"),
}
"""The short words that are several features: those of a kind that a link can change."""

_NAME = re.compile(r"[a-z][a-z0-9-]{1,30}")
_FLAG_NAME = re.compile(r"[^\s\[\]{}]{1,31}")
_BOTH: Type = FLAG
_ROWS: dict[tuple[str, str], Attr] = {}


def row_of(part: Value, name: str) -> Attr | None:
    """The row of an attribute of a part; None where it has none of that name."""
    if part not in NAMED:
        found = PARTS.get(str(part))
        return found.attrs.get(name) if found else None
    key = (str(part), name)
    if key not in _ROWS and (_NAME if part == FEATURES else _FLAG_NAME).fullmatch(name):
        doc = _OF_FEATURES if part == FEATURES else _OF_FLAGS
        _ROWS[key] = Attr(SHORT.get(name, name) if part == FEATURES else name, _BOTH, doc)
    return _ROWS.get(key)
