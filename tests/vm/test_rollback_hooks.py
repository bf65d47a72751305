# SPDX-License-Identifier: GPL-2.0-or-later
"""What others had of traffic control where a file came to name a hook: it comes back when the file counts no more."""

import re

import pytest

from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

FIRST = "links: {d: {kind: dummy, up: true}, e: {kind: dummy, up: true}}\n"
FLOWER = "protocol ip pref 3 flower dst_ip"
OURS = "{pref: 3, protocol: ip, flower: {dst_ip: 10.0.0.9}, action: pass}"
CASES = {
    "ingress": (
        (
            "qdisc add dev d clsact",
            "chain add dev d ingress chain 7 protocol ip flower dst_ip 0.0.0.0/8",
            f"filter add dev d ingress {FLOWER} 10.0.0.1 action drop",
            f"filter add dev d ingress {FLOWER} 10.0.0.2 action mirred egress redirect dev e",
            "filter add dev d ingress protocol all pref 9 matchall action goto chain 7",
            f"filter add dev d ingress chain 7 {FLOWER} 10.0.0.0/8 action pass",
            f"filter add dev d egress {FLOWER} 10.0.0.3 action drop",
        ),
        f"d: {{ingress: [{OURS}]}}",
    ),
    "both": (
        (
            "qdisc add dev d clsact",
            f"filter add dev d ingress {FLOWER} 10.0.0.1 action drop",
            f"filter add dev d egress {FLOWER} 10.0.0.3 action drop",
        ),
        f"d: {{ingress: [{OURS}], egress: []}}",
    ),
    "tree": (
        (
            "qdisc add dev d root handle 1: htb default 20",
            "class add dev d parent 1: classid 1:10 htb rate 1mbit",
            "class add dev d parent 1:10 classid 1:20 htb rate 1mbit",
            "qdisc add dev d parent 1:20 handle 20: fq_codel limit 99",
            f"filter add dev d parent 1: {FLOWER} 10.0.0.1 classid 1:20",
        ),
        "d: {qdiscs: {kind: htb, handle: '1:'}, classes: {parent: '1:', classid: '1:10', rate: 5mbit}}",
    ),
    "another_tree": (
        ("qdisc add dev d root handle 7: prio bands 4", f"filter add dev d parent 7: {FLOWER} 10.0.0.1 classid 7:2"),
        "d: {qdiscs: {kind: fq_codel}}",
    ),
    "shared_action": (
        (
            "actions add action police rate 5mbit burst 100k drop index 7",
            "qdisc add dev d clsact",
            f"filter add dev d ingress {FLOWER} 10.0.0.1 action police index 7",
        ),
        f"d: {{ingress: [{OURS}]}}",
    ),
    "block": (
        (
            "qdisc add dev d ingress_block 5 clsact",
            f"filter add block 5 {FLOWER} 10.0.0.1 action drop",
        ),
        f"block 5: {{ingress: [{OURS}]}}, d: {{ingress_block: 5}}",
    ),
}


def there() -> list[list[str]]:
    """All that is there of traffic control, chain by chain, but for what is counted and numbered as it comes."""
    asked = ["qdisc show", "class show dev d", "actions ls action police"]
    asked += [f"{what} show dev d {hook}" for what in ("filter", "chain") for hook in ("", "ingress", "egress")]
    passing = r"handle 0x\w+|index \d+|refcnt \d+|direct_packets_stat \d+|clsact ffff: .*"
    shown = (re.sub(passing, "", here(f"tc {said}")) for said in asked)
    return [sorted(one.strip() for one in re.split(r"\n(?=chain|filter)", text)) for text in shown]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("more", ["", "10.0.0.8"], ids=["once", "again"])
def test_what_was_at_a_hook_that_a_file_named_is_there_again(engine_in: EngineIn, case: str, more: str) -> None:
    by_hand, ours = CASES[case]
    engine_in("here", FIRST).apply()
    for command in by_hand:
        here(f"tc {command}")
    before = there()
    shared = "actions: {police 7: {rate: 9mbit, burst: 200k}}\n" * (case == "shared_action")
    engine_in("here", f"{FIRST}{shared}tc: {{{ours}}}\n").apply()
    assert there() != before
    if more:
        engine_in("here", f"{FIRST}{shared}tc: {{{ours.replace('10.0.0.9', more)}}}\n").apply()
    engine = engine_in("here", FIRST)
    assert engine.rollback(1).plan.warnings == ()
    assert there() == before
    assert not engine.drift().steps


def test_action_of_a_rule_that_went_does_not_keep_the_rest_from_coming_back(engine_in: EngineIn) -> None:
    text = "links: {d: {kind: dummy, up: %s}}\ntc: {d: {ingress: [%s]}}\n%s"
    rule = "{pref: 1, protocol: ip, flower: {dst_ip: 10.0.0.1}, action: %s}"
    rule += ", {pref: 9, chain: 5, matchall: {}, action: drop}"
    engine_in("here", text % ("false", rule % "goto chain 5", "")).apply()
    engine = engine_in("here", text % ("true", rule % "gact 1", "actions: {gact 1: pass}\n"))
    engine.apply()
    assert not [told for told in engine.rollback(1).plan.warnings if "given back" in told]
    assert "goto chain 5" in here("tc filter show dev d ingress")
    assert "state DOWN" in here("ip link show dev d")


def test_rules_that_lead_to_a_link_no_file_describes_are_gone_back_to(engine_in: EngineIn) -> None:
    engine_in("here", "{}").apply()
    for name in ("d", "e"):
        here(f"ip link add name {name} type dummy")
    text = "tc: {d: {ingress: [{pref: 1, matchall: {}, action: {mirred: {egress: %s, dev: e}}}]}}"
    engine_in("here", text % "mirror").apply()
    engine = engine_in("here", text % "redirect")
    engine.apply()
    engine.rollback()
    assert "(Egress Mirror to device e)" in here("tc filter show dev d ingress")
