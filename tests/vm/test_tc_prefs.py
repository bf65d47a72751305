# SPDX-License-Identifier: GPL-2.0-or-later
"""Preferences that u32 leaves: what takes their place is of another kind, or for another protocol."""

import pytest

from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn

_OTHERS = '{pref: 20, protocol: ip, u32: {match: {ip dst: "10.0.1.[1-3]"}}, action: drop}'
_LEFT = {
    "rules": '{pref: 10, protocol: ip, u32: {match: {ip dst: "10.0.0.[1-3]"}}, action: drop}',
    "table": """{pref: 10, protocol: ip, u32: {table: 1, divisor: 4}}
      - {pref: 10, protocol: ip, u32: {table: 1, bucket: "[0-3]", match: {ip protocol: 6}}, action: drop}
      - {pref: 10, protocol: ip, u32: {match: {ip dst: 10.0.0.0/24}, link: 1, hashkey: 0x3 at 16}}""",
}
_TAKING = {
    "kind": '{pref: 10, protocol: ip, flower: {dst_ip: "10.0.0.[1-3]"}, action: drop}',
    "protocol": '{pref: 10, protocol: ipv6, u32: {match: {ip6 dst: "2001:db8::/32"}}, action: drop}',
    "chain": _OTHERS.replace("pref: 20", "pref: 10, chain: 5"),
    "nothing": _OTHERS.replace("pref: 20", "pref: 30"),
}


def _text(*rules: str, chains: str = "") -> str:
    lines = "".join(f"      - {rule}\n" for rule in rules)
    return f"links: {{d: {{kind: dummy, up: true}}}}\ntc:\n  d:\n{chains}    ingress:\n{lines}"


@pytest.mark.parametrize("taking", _TAKING.values(), ids=_TAKING)
@pytest.mark.parametrize("left", _LEFT.values(), ids=_LEFT)
def test_preference_that_u32_leaves_is_free(engine_in: EngineIn, left: str, taking: str) -> None:
    for text in (_text(left, _OTHERS), _text(taking, _OTHERS), _text(left, _OTHERS)):
        engine_in("here", text).apply()
        assert not engine_in("here", text).diff().steps


@pytest.mark.parametrize("left", _LEFT.values(), ids=_LEFT)
def test_chain_that_u32_leaves_gets_a_template(engine_in: EngineIn, left: str) -> None:
    chains = "    chains: {parent: ingress, chain: 5, protocol: ip, flower: {dst_ip: 0.0.0.0/32}}\n"
    engine_in("here", _text(left.replace("protocol: ip,", "chain: 5, protocol: ip,"), _OTHERS)).apply()
    text = _text(_OTHERS, chains=chains)
    engine_in("here", text).apply()
    assert not engine_in("here", text).diff().steps


def test_rule_makes_room_for_one_of_u32(engine_in: EngineIn) -> None:
    moved = "protocol: arp, flower: {}, action: drop}"
    hashed = "protocol: ip, u32: {match: {ip dst: 10.0.0.1}}, action: drop}"
    for text in (_text(f"{{pref: 5, {moved}"), _text(f"{{pref: 5, {hashed}", f"{{pref: 10, {moved}")):
        engine_in("here", text).apply()
        assert not engine_in("here", text).diff().steps


_TEMPLATE = "    chains: {parent: ingress, chain: 5, protocol: ip, flower: {dst_ip: 0.0.0.0/32}}\n"
_FITTING = '{chain: 5, pref: 1, protocol: ip, flower: {dst_ip: "10.0.0.[1-3]"}, action: "goto chain 5"}'
_UNFIT = "{chain: 5, pref: 2, matchall: {}, action: drop}"
_REFUSED = "{pref: 99, protocol: ip, flower: {dst_ip: 10.3.0.1}, skip_sw: true, action: drop}"
_LEADING = {
    "flower": '{pref: 9, protocol: ip, flower: {dst_ip: 10.0.0.0/24}, action: "goto chain 5"}',
    "basic": '{pref: 9, protocol: ip, basic: {match: "meta(fwmark eq [1-3])"}, action: "goto chain 5"}',
    "hashed": """{pref: 9, protocol: ip, u32: {table: 1, divisor: 4}}
      - {pref: 9, protocol: ip, u32: {match: {ip dst: 10.0.0.0/24}, link: 1, hashkey: 0x3 at 16}}
      - {pref: 9, protocol: ip, u32: {table: 1, bucket: 2, match: {ip protocol: 6}}, action: "goto chain 5"}""",
}


@pytest.mark.parametrize("then", [(_FITTING,), (_UNFIT,), ()], ids=["fitting", "unfit", "empty"])
@pytest.mark.parametrize("leading", _LEADING.values(), ids=_LEADING)
def test_chain_loses_its_template_while_rules_lead_to_it(
    engine_in: EngineIn, leading: str, then: tuple[str, ...]
) -> None:
    engine_in("here", _text(leading, _FITTING, chains=_TEMPLATE)).apply()
    captured = engine_in("here", "{}").capture()
    with pytest.raises(KernelError) as caught:
        engine_in("here", _text(leading, *then, _REFUSED)).apply()
    assert "put back" not in str(caught.value)
    assert engine_in("here", "{}").capture() == captured
    for text in (_text(leading, *then), _text(leading, _UNFIT)):
        engine_in("here", text).apply()
        assert not engine_in("here", text).diff().steps
        assert "chains:" not in engine_in("here", "{}").capture()
