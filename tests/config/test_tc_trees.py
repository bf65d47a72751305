# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree of qdiscs and classes of a link: what hangs on what, and what cannot."""

import pytest

from tests.config.reading import attrs, desired, keys, told

_HTB = "{kind: htb, handle: '1:'}"
_CLASSES = "classes: [{classid: '1:1', rate: 5}, {classid: '1:10', parent: '1:1', rate: 5}]"
TREES = [
    (
        "qdiscs: [{kind: prio, handle: '1:'}, {kind: pfifo, parent: '1:1', handle: '1:'}]",
        "lo has two qdiscs with the handle",
    ),
    ("qdiscs: {kind: htb, handle: 'ffff:'}, ingress: []", "lo has two qdiscs with the handle ffff:"),
    (
        f"qdiscs: [{_HTB}, {{kind: pfifo, parent: '1:30'}}], {_CLASSES}",
        "there is no class 1:30 on lo, for qdisc lo 1:30",
    ),
    (
        f"qdiscs: [{_HTB}, {{kind: pfifo, parent: '1:1'}}], {_CLASSES}",
        "no qdisc can be in 1:1 of lo: there are classes",
    ),
    (
        "qdiscs: [{kind: fq_codel, handle: '1:'}, {kind: pfifo, parent: '1:1', handle: '2:'}]",
        "no qdisc can be in 1:1 of lo: it is of the kind fq_codel",
    ),
    (
        "qdiscs: [{kind: prio, handle: '1:'}, {kind: pfifo, parent: '1:4', handle: '2:'}]",
        "there is no band 1:4 on lo: its prio has 3, for qdisc lo 1:4; raise its `bands`",
    ),
    (
        f"qdiscs: {_HTB}, classes: {{classid: '1:10', parent: '1:1', rate: 5}}",
        "there is no class 1:1 on lo, for tclass",
    ),
    (
        f"qdiscs: {_HTB}, classes: {{classid: '1:10', parent: '2:1', rate: 5}}",
        "class 1:10 cannot be in 2:1, which is of",
    ),
    (
        f"qdiscs: {_HTB}, classes: {{classid: '1:10', kind: hfsc, ls: 5}}",
        "class 1:10 is of the kind hfsc, and its qdisc",
    ),
    ("qdiscs: {kind: prio, handle: '1:'}, classes: {classid: '1:1'}", "no classes are made of prio: it has its own"),
    (
        f"qdiscs: {_HTB}, filters: {{parent: '7:', pref: 1, u32: {{}}}}",
        "there is no qdisc 7: on lo, for filter lo 7: 1",
    ),
    (
        f"qdiscs: {_HTB}, filters: {{parent: '1:5', pref: 1, u32: {{}}}}",
        "there is no class 1:5 on lo, for filter lo 1:5",
    ),
    ("qdiscs: {kind: fq, handle: '1:'}, filters: {parent: '1:', pref: 1, u32: {}}", "no rules can be in 1: of lo"),
    ("qdiscs: {kind: htb, parent: clsact}", "parent: htb is at root or a class like 1:10, not at clsact"),
    ("qdiscs: {kind: clsact, parent: root}", "parent: clsact is at clsact, not at root"),
]


@pytest.mark.parametrize(("said", "want"), TREES, ids=[row[1] for row in TREES])
def test_tree_of_queues_that_cannot_be_is_told(said: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{{said}}}\n")
    assert [problem.partition(": ")[2].startswith(want) for problem in found] == [True], "\n".join(found)


def test_qdisc_of_the_hooks_is_at_the_hooks() -> None:
    assert keys(desired("tc: {lo: {qdiscs: {kind: clsact}}}\n"), "qdisc") == [("lo", "clsact")]


@pytest.mark.parametrize("default", ["16", "0x10", "1:10", "'1:10'", "'01:0010'"])
def test_default_class_is_a_number_or_a_handle(default: str) -> None:
    found = desired(f"tc: {{lo: {{qdiscs: {{kind: htb, handle: '1:', default: {default}}}}}}}\n")
    assert attrs(found, "qdisc", "lo", "root")["default"] == 0x10
