# SPDX-License-Identifier: GPL-2.0-or-later
"""Actions that filters share, under indices that rules have for actions of their own."""

import pytest

from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn, here

_RULES = {
    "flower": '{pref: 1, protocol: ip, flower: {dst_ip: "10.0.0.[1-4]"}, action: ACTION}',
    "matchall": '{pref: "[1-4]", matchall: {}, action: ACTION}',
    "u32": '{pref: 1, protocol: ip, u32: {match: {ip dst: "10.0.0.[1-4]"}}, action: ACTION}',
    "fw": '{pref: 1, fw: {mark: "[1-4]"}, action: ACTION}',
    "basic": '{pref: 1, basic: {match: "meta(fwmark eq [1-4])"}, action: ACTION}',
}
_POLICE = "{rate: 1mbit, burst: 10k, control: pipe}"


def _text(rule: str, action: str, *, shared: bool) -> str:
    actions = f"actions: {{police 2: {_POLICE}}}\n" if shared else ""
    rules = f"tc: {{d: {{ingress: [{rule.replace('ACTION', action)}]}}}}\n"
    return f"links: {{d: {{kind: dummy, up: true}}}}\n{actions}{rules}"


@pytest.mark.parametrize("rule", _RULES.values(), ids=_RULES)
def test_policers_of_rules_make_room_for_one_that_they_share(engine_in: EngineIn, rule: str) -> None:
    apart = _text(rule, f"[{{police: {_POLICE}}}, pass]", shared=False)
    together = _text(rule, "[police 2, pass]", shared=True)
    for text in (apart, together):
        engine_in("here", text).apply()
        assert not engine_in("here", text).diff().steps
    engine_in("here", together).rollback()
    assert not engine_in("here", apart).diff().steps
    engine_in("here", together).apply()
    assert not engine_in("here", together).diff().steps


def test_policer_of_one_rule_makes_room_for_one_of_others(engine_in: EngineIn) -> None:
    own = "{pref: 1, flower: {}, action: {police: {rate: 2mbit, burst: 10k, control: drop}}}"
    engine_in("here", _text(_RULES["fw"], f"[{{police: {_POLICE}}}, pass]", shared=False)).apply()
    both = _text(f"{own}, {_RULES['fw'].replace('pref: 1', 'pref: 2')}", "[police 2, pass]", shared=True)
    engine_in("here", both).apply()
    assert not engine_in("here", both).diff().steps
    assert "rate 2Mbit" in here("tc filter show dev d ingress pref 1")


def test_action_of_a_rule_of_somebody_else_stays(engine_in: EngineIn) -> None:
    engine_in("here", "links: {d: {kind: dummy, up: true}}").apply()
    here("tc qdisc add dev d clsact")
    here("tc filter add dev d egress pref 1 matchall action gact drop")
    here("tc filter add dev d egress pref 2 matchall action police rate 7mbit burst 10k")
    here("tc filter add dev d egress pref 3 matchall action police rate 8mbit burst 10k")
    before = here("tc filter show dev d egress")
    text = _text(_RULES["flower"], "[police 2, pass]", shared=True)
    with pytest.raises(KernelError, match="choose another one"):
        engine_in("here", text).apply()
    assert here("tc filter show dev d egress") == before
    here("tc filter del dev d egress pref 3")
    engine_in("here", text).apply()
    assert not engine_in("here", text).diff().steps
    assert "rate 7Mbit" in here("tc filter show dev d egress")


def test_shared_action_that_rules_of_somebody_else_have_is_told_with_them(engine_in: EngineIn) -> None:
    link = "links: {d: {kind: dummy, up: true}}\n"
    engine_in("here", f"{link}actions: {{police 7: {_POLICE}, gact 7: drop}}\n").apply()
    here("tc qdisc add dev d root handle 1: prio")
    here("tc filter add dev d parent 1: chain 7 pref 3 protocol ip flower dst_ip 10.0.0.1 action police index 7")
    here("tc filter add dev d parent 1: pref 4 matchall action police index 7")
    want = "filter d 1: chain 7 pref 3 dst_ip 10.0.0.1, d 1: pref 4; delete these first, or leave the action in the"
    with pytest.raises(KernelError, match=want):
        engine_in("here", link).apply()
    here("tc filter del dev d parent 1:")
    here("tc filter del dev d parent 1: chain 7")
    engine_in("here", link).apply()
    assert not engine_in("here", link).diff().steps


def test_template_that_a_rule_of_another_hook_holds_is_told_with_it(
    engine_in: EngineIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netgroupd.kernel.tc.chains._LONGEST_S", 0.5)
    text = "links: {d: {kind: dummy, up: true}}\ntc: {d: {ingress: []%s}}\n"
    with_chain = text % ", chains: {parent: ingress, chain: 5, protocol: ip, flower: {dst_ip: 0.0.0.0/32}}"
    engine_in("here", with_chain).apply()
    here("tc filter add dev d ingress pref 3 matchall action gact goto chain 5 index 9")
    here("tc filter add dev d egress pref 4 matchall action gact index 9")
    with pytest.raises(KernelError, match="until none does; to a chain of that number lead filter d egress pref 4"):
        engine_in("here", text % "").apply()
    here("tc filter del dev d egress")
    engine_in("here", text % "").apply()
    assert not engine_in("here", text % "").diff().steps


def test_rule_that_is_said_again_gives_back_the_index_that_it_has_then(engine_in: EngineIn) -> None:
    own = f"[{{police: {_POLICE}}}, drop]"  # where the first rule has gone, gact 1 is free
    before = _text("{pref: 1, flower: {}, action: drop}, {pref: 2, matchall: {}, action: ACTION}", own, shared=False)
    text = _text("{pref: 2, matchall: {}, action: ACTION}", own, shared=False)
    shared = "actions: {police 1: {rate: 2mbit, burst: 10k}, gact 1: drop}\n"
    for each in (before, text, text + shared):
        engine_in("here", each).apply()
        assert not engine_in("here", each).diff().steps
    engine_in("here", text + shared).rollback()
    assert not engine_in("here", text).diff().steps
