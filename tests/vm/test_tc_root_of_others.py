# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees of qdiscs that others have made, in the place of which files put theirs: told, and whole again afterwards."""

import re

import pytest

from tests.vm.hosts import EngineIn, here

VXLAN = "links: {{vx: {{kind: vxlan, id: {}, dstport: 4789, local: 127.0.0.1, up: true}}}}\n"
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
WHERE = "what is not netgroupd's goes with the qdiscs and links that are deleted"
LOST = f"{WHERE}: rules ({{}}), qdiscs (1), classes ({{}}) on d0"


def tree(link: str = "d0") -> list[str]:
    parents = ("1:", "1:20", "7:")
    rules = [here(f"tc filter show dev {link} parent {parent}") for parent in parents]
    rules += [here(f"tc filter show dev {link} {hook}") for hook in ("ingress", "egress")]
    shown = [here(f"tc qdisc show dev {link}"), *sorted(here(f"tc class show dev {link}").splitlines()), *rules]
    return [re.sub("index .*|direct_packets_stat [0-9]+", "", each) for each in shown]


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


CLSACT = (
    "qdisc add dev vx clsact",
    "filter add dev vx ingress pref 5 protocol ip flower dst_ip 10.0.0.1 action drop",
    "filter add dev vx ingress pref 6 protocol ip u32 match ip dst 10.0.0.2/32 action drop",
    "filter add dev vx egress pref 5 protocol ip flower dst_ip 10.0.0.3 action drop",
)


@pytest.mark.parametrize("after", [VXLAN.format(8), "links: {d0: {kind: dummy}}\n"], ids=["made_anew", "goes"])
def test_queues_and_rules_of_others_are_told_and_back_with_their_link(engine_in: EngineIn, after: str) -> None:
    engine_in("here", VXLAN.format(7)).apply()
    for command in (*(one.replace("d0", "vx") for one in HTB), *CLSACT):
        here(f"tc {command}")
    before = tree("vx")
    engine = engine_in("here", after)
    lost = f"{WHERE}: qdiscs (3), classes (2), rules (5) on vx"
    assert engine.diff().warnings == (lost,)
    engine.apply(confirm_s=60.0)
    engine.rollback()
    assert tree("vx") == before


_BEYOND_FILES = {
    "kind of qdisc": ("qdisc add dev vx root handle 9: pfifo_head_drop", "qdisc vx root: no file can say such a pfifo"),
    "kind of rule": ("filter add dev vx parent 9: pref 1 protocol ip route from 1 classid 9:1", "such a route"),
    "rule with more": ("filter add dev vx parent 9: pref 1 protocol ip handle 5 fw indev vx classid 9:1", "such a fw"),
}


@pytest.mark.parametrize("name", _BEYOND_FILES)
def test_what_no_file_can_say_keeps_nothing_else_of_others_from_coming_back(engine_in: EngineIn, name: str) -> None:
    command, told = _BEYOND_FILES[name]
    engine_in("here", VXLAN.format(7)).apply()
    for each in ("qdisc add dev vx root handle 9: prio",) * command.startswith("filter") + (command,):
        here(f"tc {each}")
    here("ip neighbour add 10.0.0.7 lladdr 02:00:00:00:00:07 dev vx")
    engine = engine_in("here", VXLAN.format(8))
    assert "no rollback brings these back, for they " in "\n".join(engine.apply(confirm_s=60.0).plan.warnings)
    said = "\n".join(engine.rollback().plan.warnings)
    assert "what is not netgroupd's could not be given back: " in said
    assert told in said
    assert "10.0.0.7" in here("ip neighbour show dev vx nud permanent")
    assert "fw" not in here("tc filter show dev vx")
