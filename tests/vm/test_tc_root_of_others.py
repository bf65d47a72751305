# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees of qdiscs that others have made, in the place of which files put theirs: told, and whole again afterwards."""

import pytest

from tests.vm.hosts import EngineIn, here

LINK = "links: {d0: {kind: dummy, up: true}}\n"
HTB = (
    "qdisc add dev d0 root handle 1: htb default 10",
    "class add dev d0 parent 1: classid 1:10 htb rate 10mbit",
    "class add dev d0 parent 1: classid 1:20 htb rate 5mbit",
    "qdisc add dev d0 parent 1:20 handle 20: fq_codel limit 77",
    "filter add dev d0 parent 1: protocol ip pref 3 flower dst_ip 10.0.0.1 classid 1:20",
    "filter add dev d0 parent 1:20 protocol ip pref 4 flower dst_ip 10.0.0.8 action drop",
)
PRIO = (
    "qdisc add dev d0 root handle 7: prio",
    "qdisc add dev d0 parent 7:1 handle 8: htb",
    "class add dev d0 parent 8: classid 8:3 htb rate 1mbit",
    "filter add dev d0 parent 7: protocol ip pref 4 flower dst_ip 10.0.0.8 classid 7:2",
)
LOST = "what is not netgroupd's goes with the qdiscs that are deleted: rules ({}), qdiscs (1), classes ({}) on d0"


def tree() -> list[str]:
    parents = ("1:", "1:20", "7:")
    rules = [here(f"tc filter show dev d0 parent {parent}") for parent in parents]
    return [here("tc qdisc show dev d0"), *sorted(here("tc class show dev d0").splitlines()), *rules]


@pytest.mark.parametrize(
    ("theirs", "ours", "lost"),
    [
        pytest.param(HTB, "{kind: prio, handle: '1:'}", LOST.format(2, 2), id="with_the_same_handle"),
        pytest.param(HTB, "{kind: fq_codel}", LOST.format(2, 2), id="without_classes"),
        pytest.param(PRIO, "{kind: htb, handle: '7:'}", LOST.format(1, 1), id="with_classes_of_its_own"),
    ],
)
def test_tree_of_others_is_told_and_whole_again(
    engine_in: EngineIn, theirs: tuple[str, ...], ours: str, lost: str
) -> None:
    engine_in("here", LINK).apply()
    for command in theirs:
        here(f"tc {command}")
    before = tree()
    engine = engine_in("here", f"{LINK}tc: {{d0: {{qdiscs: {ours}}}}}\n")
    assert engine.diff().warnings == (lost,)
    engine.apply(confirm_s=60.0)
    assert not engine.diff().steps
    engine.rollback()
    assert tree() == before


def test_nothing_is_told_of_a_tree_of_ours(engine_in: EngineIn) -> None:
    tree = "{kind: htb, handle: '1:'}, classes: {classid: '1:7', parent: '1:', kind: htb, rate: 1mbit}"
    engine_in("here", f"{LINK}tc: {{d0: {{qdiscs: {tree}}}}}\n").apply()
    for ours in ("{kind: prio, handle: '1:'}", "{kind: fq_codel}"):
        assert not engine_in("here", f"{LINK}tc: {{d0: {{qdiscs: {ours}}}}}\n").diff().warnings
    assert not engine_in("here", LINK).diff().warnings
