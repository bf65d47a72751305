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
