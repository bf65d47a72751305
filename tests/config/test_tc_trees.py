# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree of qdiscs and classes of a link: what hangs on what, and what cannot."""

import pytest

from tests.config.reading import attrs, desired, keys, told

_HTB = "{kind: htb, handle: '1:'}"
_CLASSES = "classes: [{classid: '1:1', rate: 5}, {classid: '1:10', parent: '1:1', rate: 5}]"
TREES = [
    (
        f"qdiscs: {_HTB}, classes: [{{classid: '1:1', parent: '1:2', rate: 5}}, "
        "{classid: '1:2', parent: '1:1', rate: 5}]",
        "classes of lo are in each other in a loop: 1:1 in 1:2 in 1:1",
    ),
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
        "qdiscs: [{kind: ets, handle: '1:', strict: 3}, {kind: pfifo, parent: '1:4', handle: '2:'}]",
        "there is no band 1:4 on lo: its ets has 3, for qdisc lo 1:4; raise its `bands`",
    ),
    (
        f"qdiscs: {_HTB}, classes: {{classid: '1:10', parent: '1:1', rate: 5}}",
        "there is no class 1:1 on lo, for class",
    ),
    (
        f"qdiscs: {_HTB}, classes: {{classid: '1:10', parent: '2:1', rate: 5}}",
        "class 1:10 cannot be in 2:1, which is of",
    ),
    (
        f"qdiscs: {_HTB}, classes: {{classid: '1:10', kind: hfsc, ls: 5}}",
        "class 1:10 is of the kind hfsc, and its qdisc",
    ),
    (
        "qdiscs: {kind: drr, handle: '1:'}, classes: [{classid: '1:1'}, {classid: '1:2', parent: '1:1'}]",
        "no class can be in 1:1 of lo: it is of the kind drr; only hfsc, htb can have some",
    ),
    (
        "qdiscs: [{kind: prio, handle: '1:'}, {kind: mqprio, parent: '1:1', handle: '2:'}]",
        "parent: mqprio is at root, not at 1:1",
    ),
    (
        "qdiscs: {kind: ets, handle: '1:', bands: 2}, filters: {parent: '1:1', pref: 1, matchall: {}, action: drop}",
        "no rules can be in 1:1 of lo: it is of the kind ets; only hfsc, htb can have some",
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


@pytest.mark.parametrize(
    "said",
    ["ingress: {pref: 1, matchall: {}, action: drop}, egress_block: 7", "ingress: [], egress_block: 7", "ingress: []"],
)
def test_qdisc_of_the_hooks_may_be_said_beside_them(said: str) -> None:
    block = "block 7: {filters: {pref: 1, matchall: {}, action: drop}}"
    both, alone = f"tc: {{lo: {{{said}, qdiscs: {{kind: clsact}}}}, {block}}}\n", f"tc: {{lo: {{{said}}}, {block}}}\n"
    assert desired(both).state.of("qdisc") == desired(alone).state.of("qdisc")


_TEMPLATE = "chains: {parent: ingress, chain: 5, protocol: ip, flower: {dst_ip: 0.0.0.0/24, ip_proto: tcp}}, "
_HOOK = "chains: [{parent: ingress, atomic: true}, "
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
    ("chains: {parent: ingress, flower: {dst_ip: 10.0.0.1}}", "this template needs 'chain'; each chain has its own"),
    ("chains: {parent: ingress, atomic: false}", "this chain needs 'flower', its template, or atomic: true"),
    ("chains: {parent: ingress, atomic: true, flower: {dst_ip: 10.0.0.1}}", "a chain that is atomic has no template"),
    (
        _HOOK
        + "], ingress: [{pref: 1, chain: 33554431, matchall: {}}, {pref: 1, u32: {}, action: goto chain 33554431}]",
        "",
    ),
    (_HOOK + "], egress: {pref: 1, chain: 33554432, matchall: {}}", ""),
    ("ingress: {pref: 1, flower: {indev: nosuch}}", "there is no link 'nosuch', for filter lo ingress 1 indev nosuch"),
    ("ingress: {pref: 1, u32: {indev: lo}}", ""),
    ("ingress: {pref: 1, matchall: {}, action: {skbedit: {queue_mapping: 1}}}", "cannot have queue_mapping; it is for"),
    ("ingress: {pref: 1, matchall: {}, skip_sw: true, action: {skbedit: {queue_mapping: 1}}}", ""),
    ("ingress: {pref: 1, fw: {mark: 5}}", "filter lo ingress 1 mark 0x5 needs a classid or an action; the kernel does"),
    ("ingress: {pref: 1, fw: {mark: 5}, action: drop}", ""),
]
_SHARED = "actions: {gact 7: drop}\ntc:\n  lo: {ingress_block: 7}\n  block 7: {filters: {pref: 1, %s}}\n"
IN_BLOCK = [
    ("flow: {keys: dst}", "mode map needs a baseclass other than the first; a block has no qdisc"),
    ("flow: {keys: dst, baseclass: '1:5'}", ""),
    ("matchall: {}, skip_hw: true, action: gact 7", "cannot have skip_hw beside an action that is shared; the kernel"),
    ("matchall: {}, skip_sw: true, action: [pipe, gact 7]", "cannot have skip_sw beside an action that is shared"),
    ("matchall: {}, skip_hw: false, action: gact 7", ""),
    ("matchall: {}, skip_hw: true, action: drop", ""),
]


@pytest.mark.parametrize(("said", "want"), IN_BLOCK, ids=[row[0] for row in IN_BLOCK])
def test_rule_that_the_kernel_never_takes_is_told(said: str, want: str) -> None:
    found = told(_SHARED % said)
    assert [want in problem for problem in found] == [True] * bool(want), "\n".join(found)


OF_HOOKS = [
    ("{ingress_block: 7, egress_block: 7}", "both hooks of lo cannot be in block 7; the kernel has a link once in a"),
    ("{ingress_block: 7, egress_block: 8}", ""),
    ("{filters: {pref: 1, parent: '1:', matchall: {}, action: {ct: {zone: 5}}}}", "cannot have ct; the kernel takes"),
    ("{ingress: {pref: 1, matchall: {}, action: {ct: {zone: 5}}}}", ""),
]


@pytest.mark.parametrize(("said", "want"), OF_HOOKS, ids=[row[0] for row in OF_HOOKS])
def test_hook_that_the_kernel_never_takes_is_told(said: str, want: str) -> None:
    found = [problem for problem in told(f"tc: {{lo: {said}}}\n") if "warning" not in problem]
    assert [want in problem for problem in found] == [True] * bool(want), "\n".join(found)


@pytest.mark.parametrize(("said", "want"), OF_CHAINS, ids=[row[0] for row in OF_CHAINS])
def test_rule_that_does_not_fit_where_it_is_is_told(said: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{{said}}}\n")
    assert [want in problem for problem in found] == [True] * bool(want), "\n".join(found)


OF_HOOKS = [
    (
        "], ingress: {pref: 1, chain: 33554432, matchall: {}}",
        "2:79: the chains of a hook that is atomic have numbers up",
    ),
    ("], ingress: {pref: 1, matchall: {}, action: [goto chain 33554432, drop]}", "2:94: the chains of a hook that is"),
    ("{parent: ingress, chain: 5, atomic: true}]", "2:50: all chains of lo ingress are atomic together, and nothing"),
    (
        "{parent: ingress, chain: 5, flower: {dst_ip: 0.0.0.0/24}}]",
        "2:50: all chains of lo ingress are atomic together, and nothing more can be said of chain 5; "
        "that is said at a.yaml:2; leave out one of them",
    ),
]


@pytest.mark.parametrize(("said", "want"), OF_HOOKS, ids=[row[1] for row in OF_HOOKS])
def test_what_cannot_be_in_a_hook_that_is_atomic_is_told(said: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{{_HOOK}{said}}}\n")
    assert any(problem.startswith(f"a.yaml:{want}") for problem in found), "\n".join(found)


@pytest.mark.parametrize("action", ["goto chain 5", "{random: determ drop 10, control: goto chain 5}"])
def test_shared_action_that_goes_to_a_chain_is_told(action: str) -> None:
    found = told(f"actions:\n  gact 7: {action}\n")
    assert [problem.partition(";")[0] for problem in found] == ["a.yaml:2:11: action gact 7 cannot go to a chain"]


def test_all_chains_of_a_hook_or_block_are_atomic_together() -> None:
    found = desired(
        "links: {'e[1-2]': {}}\ntc:\n  e[1-2]: {chains: {parent: ingress, atomic: true}, ingress: []}\n"
        "  block 7: {chains: {atomic: true}, filters: {pref: 1, matchall: {}}}\n"
    )
    assert keys(found, "chain") == [("e1", "ingress", None), ("e2", "ingress", None), ("block 7", "", None)]


@pytest.mark.parametrize("again", ["10.0.0.1", "10.0.0.[1-3]"])
def test_rule_that_another_line_has_too_is_told_with_both(again: str) -> None:
    rules = [f"{{pref: 1, flower: {{dst_ip: '{dst}'}}, action: drop}}" for dst in ("10.0.0.[0-1]", again)]
    found = told(f"tc:\n  lo:\n    ingress:\n    - {rules[0]}\n    - {rules[1]}\n")
    assert found == ["a.yaml:5:7: filter lo ingress 1 dst_ip 10.0.0.1 is described twice; the other is at a.yaml:4"]


@pytest.mark.parametrize("default", ["16", "0x10", "1:10", "'1:10'", "'01:0010'"])
def test_default_class_is_a_number_or_a_handle(default: str) -> None:
    found = desired(f"tc: {{lo: {{qdiscs: {{kind: htb, handle: '1:', default: {default}}}}}}}\n")
    assert attrs(found, "qdisc", "lo", "root")["default"] == 0x10


_SEVERAL = (
    "tc:\n  lo:\n    qdiscs: [{kind: drr, handle: '1:'}, {kind: %s, parent: '1:5', handle: '15:'}]\n"
    "    classes: {classid: '[1,15]:5', quantum: 2000}\n"
)


def test_classes_of_several_qdiscs_are_of_the_kind_of_all_of_these() -> None:
    found = desired(_SEVERAL % "drr").state.of("tclass")
    assert {key[1]: one.attrs["kind"] for key, one in found.items()} == {"1:5": "drr", "15:5": "drr"}


def test_classes_of_several_kinds_are_no_range() -> None:
    hint = "describe its qdisc with this handle, or say which `kind` it is"
    assert told(_SEVERAL % "hfsc") == [f"a.yaml:4:14: no qdisc here has such a class; {hint}"]


@pytest.mark.parametrize(
    ("said", "want"),
    [
        ("filters: {parent: ingress, pref: 1, matchall: {}}", {"kind": "ingress", "ingress_block": None}),
        (
            "chains: {parent: ingress, chain: 5, protocol: ip, flower: {ip_proto: tcp}}",
            {"kind": "ingress", "ingress_block": None},
        ),
        ("classes: []", {"kind": "ingress"}),
    ],
    ids=["rules", "a_template", "none"],
)
def test_qdisc_ingress_with_rules_is_in_no_block_of_which_nothing_is_said(said: str, want: dict[str, object]) -> None:
    text = f"tc: {{lo: {{qdiscs: {{kind: ingress}}, {said}}}}}\n"
    assert attrs(desired(text), "qdisc", "lo", "clsact") == want
