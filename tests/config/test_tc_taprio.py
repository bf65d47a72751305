# SPDX-License-Identifier: GPL-2.0-or-later
"""What a file says of taprio, and what of it is told by line."""

import pytest

from tests.config.reading import attrs, desired, told

_TAPRIO = f"qdiscs: {{kind: taprio, num_tc: 2, map: {[0, 1] * 8}, clockid: TAI, "
WRONG = [
    ("qdiscs: {kind: taprio, num_tc: 2}", "this qdisc needs 'map' and 'queues' and 'sched_entry'"),
    (f"{_TAPRIO}queues: [1, 0], sched_entry: S 1 1ms}}", "queues: expected 4 numbers, count and offset of each of"),
    (f"{_TAPRIO}queues: [1, 0, 1, 1], sched_entry: []}}", "sched_entry: expected at least one"),
    (f"{_TAPRIO}queues: [1, 0, 1, 1], sched_entry: S 1 0}}", "sched_entry: expected an entry like S 03"),
    (f"{_TAPRIO}queues: [1, 0, 1, 1], sched_entry: T 1 1ms}}", "sched_entry: expected an entry like S 03"),
    (f"{_TAPRIO}queues: [1, 0, 1, 1], sched_entry: [S 1 2s, S 2 1s]}}", "sched_entry: expected intervals of 2147"),
    (f"{_TAPRIO}queues: [1, 0, 1, 1], sched_entry: S 1 1s, txtime_delay: 1}}", "txtime_delay: expected flags: 1"),
    (f"{_TAPRIO}queues: [1, 0, 1, 1], sched_entry: S 1 1ms, flags: 2}}", "clockid: expected one, but for flags: 2;"),
    (
        f"{_TAPRIO.replace('clockid: TAI, ', '')}queues: [1, 0, 1, 1], sched_entry: S 1 1ms}}",
        "clockid: expected one, but for flags: 2; the card has its own",
    ),
    (
        f"{_TAPRIO.replace('num_tc: 2', 'num_tc: 1')}queues: [1, 0], sched_entry: S 1 1ms}}",
        "map: expected none above 0 of num_tc 1, not 1",
    ),
]


@pytest.mark.parametrize(("said", "want"), WRONG, ids=[row[1] for row in WRONG])
def test_schedule_that_cannot_be_is_told(said: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{{said}}}\n")
    assert len(found) == 1
    assert want in found[0]


def test_schedule_is_what_the_kernel_makes_of_it() -> None:
    said = f"kind: taprio, num_tc: 1, map: {[0] * 16}, queues: [4, 0], clockid: TAI, sched_entry: [s 0xF 1ms, R 0 7]"
    found = attrs(desired(f"tc: {{lo: {{qdiscs: {{{said}}}}}}}\n"), "qdisc", "lo", "root")
    assert found == {
        "kind": "taprio",
        "num_tc": 1,
        "map": (0,) * 16,
        "queues": (4, 0),
        "clockid": "tai",
        "sched_entry": ("S 0f 1000000", "R 00 7"),
        "cycle_time": 1_000_007,
    }
