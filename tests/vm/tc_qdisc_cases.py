# SPDX-License-Identifier: GPL-2.0-or-later
"""What every option of qdiscs and classes is set to on a real kernel: what it needs besides, and two values."""

from tests.vm.tc_flower_cases import Raw

_MAP = [0, 1] * 8
QDISCS: dict[str, dict[str, tuple[Raw, object, object]]] = {
    "pfifo": {"limit": ({}, 100, 200)},
    "bfifo": {"limit": ({}, 10000, 20000)},
    "prio": {"bands": ({"priomap": [0, 1] * 8}, 3, 4), "priomap": ({}, _MAP, [1] * 16)},
    "fq_codel": {
        "limit": ({}, 1000, 2000),
        "target": ({}, 6000, 8000),
        "interval": ({}, 200000, 300000),
        "ecn": ({}, False, True),
        "flows": ({}, 512, 256),
        "quantum": ({}, 1514, 2000),
        "drop_batch": ({}, 32, 64),
        "memory_limit": ({}, 1000000, 2000000),
    },
    "fq": {
        "limit": ({}, 1000, 2000),
        "flow_limit": ({}, 50, 60),
        "quantum": ({}, 3000, 4000),
        "initial_quantum": ({}, 15000, 16000),
        "pacing": ({}, False, True),
        "maxrate": ({}, 125000, 250000),
        "buckets_log": ({}, 8, 9),
        "refill_delay": ({}, 52000, 65000),
        "orphan_mask": ({}, 511, 255),
        "low_rate_threshold": ({}, 10000, 20000),
        "timer_slack": ({}, 20000, 30000),
        "horizon": ({}, 5000000, 6000000),
        "horizon_drop": ({}, False, True),
    },
    "tbf": {
        "rate": ({"burst": "10k", "limit": 20000}, "1mbit", "80gbit"),
        "burst": ({"rate": 125000, "limit": 20000}, 10000, 15000),
        "limit": ({"rate": 125000, "burst": 10000}, 20000, 30000),
        "peakrate": ({"rate": 125000, "burst": 10000, "limit": 20000, "mtu": 2000}, 250000, 300000),
        "mtu": ({"rate": 125000, "burst": 10000, "limit": 20000, "peakrate": 250000}, 2000, 3000),
    },
    "htb": {"default": ({}, 0x10, 0x20), "r2q": ({}, 10, 20), "direct_qlen": ({}, 100, 200)},
    "hfsc": {"default": ({}, 0x10, 0x20)},
    "sfq": {
        "quantum": ({}, 2000, 3000),
        "perturb": ({}, 10, 20),
        "limit": ({}, 100, 110),
        "divisor": ({}, 512, 1024),
        "flows": ({}, 64, 100),
        "depth": ({}, 50, 60),
    },
    "red": {
        "limit": ({"min": 10000, "max": 30000}, 100000, 200000),
        "min": ({"limit": 100000, "max": 30000}, 10000, 9000),
        "max": ({"limit": 100000, "min": 5000}, 30000, 40000),
        "probability": ({"limit": 100000, "min": 5000, "max": 30000}, "0.5%", 20),
        "ecn": ({"limit": 100000, "min": 5000, "max": 30000}, True, False),
        "harddrop": ({"limit": 100000, "min": 5000, "max": 30000, "ecn": True}, True, False),
        "adaptive": ({"limit": 100000, "min": 5000, "max": 30000}, True, False),
        "avpkt": ({"limit": 100000, "min": 5000, "max": 30000}, 500, 500),
        "burst": ({"limit": 100000, "min": 5000, "max": 30000}, 40, 40),
    },
    "netem": {
        "limit": ({}, 500, 600),
        "delay": ({}, 10000, 5_000_000),
        "jitter": ({"delay": 10000}, 1000, 2000),
        "loss": ({}, "0.3%", 10),
        "duplicate": ({}, 5, 10),
        "gap": ({"delay": 1000, "reorder": 50}, 5, 6),
        "reorder": ({"delay": 1000, "gap": 5}, 50, 60),
        "corrupt": ({}, 5, 10),
        "rate": ({}, 125000, 10_000_000_000),
    },
    "mqprio": {
        "num_tc": ({"map": _MAP, "queues": [2, 0, 2, 2]}, 2, 2),
        "map": ({"num_tc": 2, "queues": [2, 0, 2, 2]}, _MAP, [1, 0] * 8),
        "queues": ({"num_tc": 2, "map": _MAP}, [2, 0, 2, 2], [1, 0, 3, 1]),
        "hw": ({"num_tc": 2, "map": _MAP, "queues": [2, 0, 2, 2]}, False, False),
    },
}
# What the kernel takes for the nearest that it has.
BOUNDED: list[tuple[str, Raw, Raw]] = [
    ("fq", {"quantum": 100}, {"quantum": "2mb"}),
    ("fq_codel", {"quantum": 100, "drop_batch": 0}, {"memory_limit": 0xFFFFFFFF}),
    ("sfq", {"limit": 100, "flows": 128}, {"flows": 200, "divisor": 64, "depth": 200, "quantum": 9}),
    ("sfq", {"limit": 50000, "depth": 10}, {"limit": 0, "perturb": 0}),
    ("red", {"limit": 100000, "min": 0, "max": 0}, {"limit": 100000, "adaptive": True, "probability": 5}),
    ("netem", {"delay": 1000, "reorder": 50}, {"delay": 1000, "reorder": 0}),
    ("netem", {"delay": "9s", "jitter": "3s"}, {"delay": "9s", "jitter": 2_147_482}),
    ("sfq", {}, {"limit": 127, "flows": 128, "divisor": 1024, "depth": 127}),
    (
        "tbf",
        {"rate": 125000, "burst": 10000, "limit": 20000, "peakrate": 250000, "mtu": 2000},
        {"rate": 125000, "burst": 10000, "limit": 20000, "peakrate": 0},
    ),
]
CLASSES: dict[str, dict[str, tuple[Raw, object, object]]] = {
    "htb": {
        "rate": ({}, 125000, 10_000_000_000),
        "ceil": ({"rate": 125000}, 250000, 300000),
        "burst": ({"rate": 125000}, 10000, 20000),
        "cburst": ({"rate": 125000, "ceil": 250000}, 10000, 20000),
        "prio": ({"rate": 125000}, 1, 2),
        "quantum": ({"rate": 125000}, 2000, 3000),
    },
    "hfsc": {
        "rt": ({}, [125000, 1000, 250000], [0, 0, 250000]),
        "ls": ({}, [125000, 1000, 250000], [0, 0, 250000]),
        "ul": ({"ls": [0, 0, 125000]}, [125000, 1000, 250000], [0, 0, 250000]),
    },
}
