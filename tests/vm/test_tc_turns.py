# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of one preference that are asked in turn: they are in the order of the file, and of what is put back."""

import json
from collections.abc import Sequence

import pytest

from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn

_REFUSED = {"pref": 9, "protocol": "ip", "flower": {"dst_ip": "10.3.0.1"}, "skip_sw": True, "action": "drop"}
_RULES: dict[str, list[object]] = {
    "bpf": [{"bytecode": f"1,6 0 0 {number}"} for number in range(4)],
    "basic": [{"match": f"meta(fwmark eq {number})"} for number in range(4)],
    "flow": [{"keys": key, "baseclass": "1:5"} for key in ("src", "dst", "mark", "proto")],
}


def _text(kind: str, which: Sequence[int], *more: object, chains: str = "") -> str:
    rules = [{"pref": 5, kind: _RULES[kind][number], "action": "pass"} for number in which]
    lines = "".join(f"      - {json.dumps(rule)}\n" for rule in (*rules, *more))
    return f"links: {{d: {{kind: dummy, up: true}}}}\ntc:\n  d:\n{chains}    ingress:\n{lines}"


def _captured(engine_in: EngineIn, text: str, netns: str = "here") -> str:
    engine_in(netns, text).apply()
    assert not engine_in(netns, text).diff().steps
    return engine_in(netns, "{}").capture()


@pytest.mark.parametrize("left", [(1, 2), (0, 2), (2,), (2, 1, 0)], ids=["last", "middle", "both", "turned"])
@pytest.mark.parametrize("kind", _RULES)
def test_rules_that_a_refused_change_deleted_come_back_in_their_place(
    engine_in: EngineIn, kind: str, left: tuple[int, ...]
) -> None:
    was = _captured(engine_in, _text(kind, (0, 1, 2)))
    with pytest.raises(KernelError) as caught:
        engine_in("here", _text(kind, (*left, 3), _REFUSED)).apply()
    assert "put back" not in str(caught.value)
    assert engine_in("here", "{}").capture() == was


@pytest.mark.parametrize("kind", _RULES)
def test_rules_that_a_refused_change_said_otherwise_stay_in_their_place(engine_in: EngineIn, kind: str) -> None:
    text = _text(kind, (0, 1, 2))
    was = _captured(engine_in, text)
    with pytest.raises(KernelError) as caught:
        engine_in("here", _text(kind, (0, 1, 2), _REFUSED).replace('"pass"', '"continue"', 1)).apply()
    assert "put back" not in str(caught.value)
    assert engine_in("here", "{}").capture() == was


@pytest.mark.parametrize("then", [(3, 0, 1, 2), (0, 3, 2), (2, 1, 0)], ids=["first", "between", "turned"])
@pytest.mark.parametrize("chains", ["", "    chains: {parent: ingress, atomic: true}\n"], ids=["plain", "atomic"])
@pytest.mark.parametrize("kind", _RULES)
def test_rules_are_in_the_order_of_the_file(engine_in: EngineIn, kind: str, chains: str, then: tuple[int, ...]) -> None:
    was = _captured(engine_in, _text(kind, (0, 1, 2), chains=chains))
    want = _captured(engine_in, _text(kind, then, chains=chains), "there")
    assert _captured(engine_in, _text(kind, then, chains=chains)) == want
    engine_in("here", "{}").rollback()
    assert engine_in("here", "{}").capture() == was
