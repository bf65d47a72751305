# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of others that lead packets to links which are made anew or go: they lead there again, or it is told."""

import re

import pytest

from netgroupd.engine.engine import Engine
from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import Stumbling, become, there_and_back, told

pytestmark = pytest.mark.vm("stock")

VXLAN = "links: {{vx: {{kind: vxlan, id: {}, dstport: 4789, local: 127.0.0.1, up: on}}{}}}\n"
RULES = ("flower dst_ip 10.0.0.1", "matchall", "u32 match ip dst 10.0.0.1/32", "flower dst_ip 10.0.0.2")
ACTIONS = "action csum ip pipe action mirred egress redirect dev vx"


def made(engine_in: EngineIn) -> Engine:
    engine_in("here", VXLAN.format(7, "")).apply()
    here("ip link add x type dummy")
    here("tc qdisc add dev x clsact")
    for pref, rule in enumerate(RULES, 1):
        here(f"tc filter add dev x egress pref {pref} protocol ip {rule} {ACTIONS}")
    here("tc actions add action mirred egress mirror dev vx index 33")
    here("tc filter add dev x egress pref 9 protocol ip matchall action mirred index 33")
    here("tc filter add dev x ingress pref 1 protocol ip matchall action drop")
    return engine_in("here", VXLAN.format(8, ""))


def rules() -> str:
    return re.sub(r"handle \S+|index \d+|fh \S+|key ht \S+ bkt \S+", "", here("tc filter show dev x egress"))


def test_rules_to_a_link_that_is_made_anew_lead_there_again(engine_in: EngineIn) -> None:
    engine = made(engine_in)
    before = rules()
    assert before.count("to device vx") == len(RULES) + 1
    told = "what is not netgroupd's leads to links that are made anew, and does so again: rules (5) on x"
    assert told in engine.diff().warnings
    assert told in engine.apply(confirm_s=60.0).plan.warnings
    assert rules() == before
    engine.rollback()
    assert rules() == before


def test_rules_to_a_link_that_goes_lead_there_again_when_it_is_back(engine_in: EngineIn) -> None:
    made(engine_in)
    before = rules()
    engine = engine_in("here", "links: {d: {kind: dummy}}\n")
    told = "what is not netgroupd's leads to links that go, and to nothing then: rules (5) on x"
    assert told in engine.apply(confirm_s=60.0).plan.warnings
    assert "to device vx" not in rules()
    here("tc filter del dev x egress pref 4")
    engine.rollback()
    start, end = (before.index(f"filter protocol ip pref {pref}") for pref in (4, 9))
    assert rules() == before[:start] + before[end:]


TUNNELS = {
    "g0": "gre local 10.9.0.1 remote 10.9.0.5 ttl 9 key 5",
    "i0": "ipip local 10.9.0.1 remote 10.9.0.6",
    "t0": "gretap local 10.9.0.1 remote 10.9.0.7",
    "v0": "ip6tnl local 2001:db8::1 remote 2001:db8::2",
}


@pytest.mark.vm("stock", "patched")
@pytest.mark.parametrize("goes", [False, True], ids=["made_anew", "goes"])
def test_tunnels_through_a_link_that_is_made_anew_or_back_lead_through_it_again(
    engine_in: EngineIn, goes: bool
) -> None:
    engine_in("here", VXLAN.format(7, "")).apply()
    for name, kind in TUNNELS.items():
        here(f"ip link add {name} up type {kind} dev vx")
    before = [here(f"ip -d link show {name}") for name in TUNNELS]
    assert all("@vx:" in tunnel for tunnel in before)
    engine = engine_in("here", "links: {d: {kind: dummy}}\n" if goes else VXLAN.format(8, ""))
    ends = "links that go, and to nothing then" if goes else "links that are made anew, and does so again"
    told = f"what is not netgroupd's leads to {ends}: tunnels (4) on g0, i0, t0, v0"
    assert told in engine.apply(confirm_s=60.0).plan.warnings
    assert goes or [here(f"ip -d link show {name}") for name in TUNNELS] == before
    engine.rollback()
    assert [here(f"ip -d link show {name}") for name in TUNNELS] == before


@pytest.mark.parametrize("goes", [False, True], ids=["made_anew", "goes"])
def test_policy_rules_about_a_link_are_about_the_one_that_comes_and_told_if_none_does(
    engine_in: EngineIn, goes: bool
) -> None:
    mine = "rules: [{pref: 90, iif: vx, lookup: 7}]\n"
    engine_in("here", VXLAN.format(7, "") + mine).apply()
    for family, about in (("-4", "iif vx"), ("-6", "oif vx"), ("-4", "iif lo")):
        here(f"ip {family} rule add pref 100 {about} lookup 9")
    engine = engine_in("here", "links: {d: {kind: dummy}}\n" if goes else VXLAN.format(8, "") + mine)
    told = "what is not netgroupd's is about links that go, and matches nothing then: rules (2) on vx"
    assert (told in engine.diff().warnings) is goes
    assert (told in engine.apply(confirm_s=60.0).plan.warnings) is goes
    assert (here("ip rule") + here("ip -6 rule")).count("[detached]") == 2 * goes
    engine.rollback()
    assert "[detached]" not in here("ip rule") + here("ip -6 rule")


def test_rules_of_netgroupd_are_no_others(engine_in: EngineIn) -> None:
    own = "tc: {d: {egress: [{pref: 1, matchall: {}, action: {mirred: {egress: redirect, dev: vx}}}]}}\n"
    more = ", d: {kind: dummy}"
    engine_in("here", VXLAN.format(7, more) + own).apply()
    engine = engine_in("here", VXLAN.format(8, more) + own)
    assert "leads to" not in " ".join(engine.apply(confirm_s=60.0).plan.warnings)
    assert "to device vx" in here("tc filter show dev d egress")
    assert not engine.diff().steps
    engine.rollback()
    assert "to device vx" in here("tc filter show dev d egress")


def test_rules_about_a_link_that_is_made_anew_are_about_it_again(engine_in: EngineIn) -> None:
    text = """links: {{low: {{kind: {}}}, x: {{kind: dummy}}, y: {{kind: dummy{}}}}}
tc:
  x:
    ingress:
    - {{pref: 1, protocol: ip, flower: {{indev: low}}, action: drop}}
    - {{pref: 2, protocol: ip, u32: {{match: {{ip protocol: 6}}, indev: low}}, action: drop}}
"""
    engine_in("here", text.format("dummy", "")).apply()
    first = here("tc filter show dev x ingress")
    assert (first.count("indev low"), first.count("input dev low")) == (1, 1)
    engine = engine_in("here", text.format("ifb", ""))
    engine.apply(confirm_s=60.0)
    assert here("tc filter show dev x ingress") == first
    engine.rollback()
    assert here("tc filter show dev x ingress") == first


def test_rule_about_a_link_that_goes_before_it_is_put_back_once(kernel: Stumbling) -> None:
    text = """links: {x: {kind: dummy}, y: {kind: %s}, z: {kind: %s}}
tc: {x: {ingress: [{pref: 1, protocol: ip, flower: {indev: %s}, action: drop}]}}
"""
    become(kernel, state_of(text % ("dummy", "ifb", "y")))

    def drops() -> int:
        return told("tc", "filter", "show", "dev", "x", "ingress").count("gact action drop")

    there_and_back(kernel, state_of(text % ("ifb", "dummy", "z")), drops, refused=True)
