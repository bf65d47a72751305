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
    (
        f"qdiscs: [{_HTB}, {{kind: pfifo, parent: '1:1', stab: {{overhead: 4}}}}], "
        "classes: {classid: '1:1', rate: 5}",
        "the qdisc in 1:1 of lo can have no stab; one at root can, or one in a class of mq",
    ),
    ("qdiscs: {kind: htb, parent: clsact}", "parent: htb is at root or a class like 1:10, not at clsact"),
    ("qdiscs: {kind: clsact, parent: root}", "parent: clsact is at clsact, not at root"),
]


@pytest.mark.parametrize(("said", "want"), TREES, ids=[row[1] for row in TREES])
def test_tree_of_queues_that_cannot_be_is_told(said: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{{said}}}\n")
    assert [problem.partition(": ")[2].startswith(want) for problem in found] == [True], "\n".join(found)


def test_qdisc_of_the_hooks_is_at_the_hooks() -> None:
    assert keys(desired("tc: {lo: {qdiscs: {kind: clsact}}}\n"), "qdisc") == [("lo", "clsact")]


_TEMPLATE = "chains: {parent: ingress, chain: 5, protocol: ip, flower: {dst_ip: 0.0.0.0/24, ip_proto: tcp}}, "
OF_CHAINS = [
    ("chains: {parent: ingress, chain: 5}", "this chain needs 'flower', its template, or atomic: true; a chain with"),
    (_TEMPLATE + "ingress: {pref: 1, chain: 5, protocol: ip, flower: {dst_ip: 10.0.0.1}}", "matches more of dst_ip"),
    (_TEMPLATE + "ingress: {pref: 1, chain: 5, protocol: ip, flower: {src_ip: 10.0.0.0/8}}", "matches more of src_ip"),
    (_TEMPLATE + "ingress: {pref: 1, chain: 5, matchall: {}}", "is of matchall, and the template of its chain is of"),
    (
        "chains: {parent: ingress, chain: 5, flower: {dst_ip: 0.0.0.0/32}}, "
        "ingress: {pref: 1, chain: 5, protocol: ip, flower: {dst_ip: 10.0.0.1}}",
        "matches more of the protocol",
    ),
    (_TEMPLATE + "ingress: {pref: 1, chain: 5, protocol: ip, flower: {dst_ip: 10.0.0.0/8}}", ""),
    (_TEMPLATE + "ingress: {pref: 1, chain: 5, flower: {dst_ip: 10.0.7.0/24}}", ""),
    (_TEMPLATE + "ingress: {pref: 1, chain: 6, matchall: {}}", ""),
    ("ingress: {pref: 1, flower: {indev: nosuch}}", "there is no link 'nosuch', for filter lo ingress 1 indev nosuch"),
    ("ingress: {pref: 1, u32: {indev: lo}}", ""),
    ("ingress: {pref: 1, matchall: {}, action: {skbedit: {queue_mapping: 1}}}", "cannot have queue_mapping; it is for"),
    ("ingress: {pref: 1, matchall: {}, skip_sw: true, action: {skbedit: {queue_mapping: 1}}}", ""),
]


@pytest.mark.parametrize(("said", "want"), OF_CHAINS, ids=[row[0] for row in OF_CHAINS])
def test_rule_that_does_not_fit_where_it_is_is_told(said: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{{said}}}\n")
    assert [want in problem for problem in found] == [True] * bool(want), "\n".join(found)


@pytest.mark.parametrize("again", ["10.0.0.1", "10.0.0.[1-3]"])
def test_rule_that_another_line_has_too_is_told_with_both(again: str) -> None:
    rules = [f"{{pref: 1, flower: {{dst_ip: '{dst}'}}, action: drop}}" for dst in ("10.0.0.[0-1]", again)]
    found = told(f"tc:\n  lo:\n    ingress:\n    - {rules[0]}\n    - {rules[1]}\n")
    assert found == ["a.yaml:5:7: filter lo ingress 1 dst_ip 10.0.0.1 is described twice; the other is at a.yaml:4"]


@pytest.mark.parametrize("default", ["16", "0x10", "1:10", "'1:10'", "'01:0010'"])
def test_default_class_is_a_number_or_a_handle(default: str) -> None:
    found = desired(f"tc: {{lo: {{qdiscs: {{kind: htb, handle: '1:', default: {default}}}}}}}\n")
    assert attrs(found, "qdisc", "lo", "root")["default"] == 0x10
