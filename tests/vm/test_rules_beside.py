# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of one preference: the kernel asks them in their order, and takes one that is deleted for another one, too."""

import subprocess

import pytest

from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn

_WIDE = "from: 10.0.0.0/8, lookup: 100"
_BESIDE = {
    "interface": "from: 10.0.0.0/8, iif: lo, lookup: 100",
    "mark": "from: 10.0.0.0/8, fwmark: 0x1/0xff, lookup: 100",
    "inverted": "from: 10.0.0.0/8, not: true, lookup: 100",
    "several": "from: 10.0.0.0/8, lookup: 100, ipproto: 6, dport: '[80-89]'",
}


def _text(*rules: str) -> str:
    return "links: {lo: {up: true}}\nrules:\n" + "".join(f"  - {{pref: 100, {rule}}}\n" for rule in rules)


def _rules(netns: str = "here") -> list[str]:
    told = subprocess.run(["ip", "-netns", netns, "rule"], capture_output=True, check=True, text=True).stdout
    return [line for line in told.splitlines() if line.startswith("100:")]


@pytest.mark.parametrize("beside", _BESIDE.values(), ids=_BESIDE)
def test_rule_goes_and_those_that_its_deletion_would_meet_stay(engine_in: EngineIn, beside: str) -> None:
    engine_in("here", _text(beside)).apply()
    alone = _rules()
    engine_in("here", _text(beside, _WIDE)).apply()
    assert len(_rules()) == len(alone) + 1
    engine_in("here", _text(beside)).apply()
    assert _rules() == alone


def test_rule_for_all_packets_comes_beside_one_for_some_and_in_its_place(engine_in: EngineIn) -> None:
    all_, some = "iif: lo, lookup: 100", "from: 10.0.0.0/8, iif: lo, lookup: 100"
    engine_in("here", _text(some)).apply()
    before = _rules()
    engine_in("here", _text(all_)).apply()
    assert [line.split()[1:3] for line in _rules()] == [["from", "all"]]
    engine_in("here", _text(all_)).rollback()
    assert _rules() == before
    engine_in("here", _text(some, all_)).apply()
    assert [line.split()[1:3] for line in _rules()] == [["from", "10.0.0.0/8"], ["from", "all"]]


def test_rule_comes_back_for_one_whose_deletion_would_meet_it(engine_in: EngineIn) -> None:
    said = _text(_BESIDE["mark"])
    engine_in("here", said).apply()
    refused = _text("from: 10.0.0.0/8, not: true, lookup: 100") + "routes: [{to: 10.9.0.0/16, via: 203.0.113.1}]\n"
    with pytest.raises(KernelError) as caught:
        engine_in("here", refused).apply()
    assert "put back" not in str(caught.value)
    assert not engine_in("here", said).diff().steps


def test_rule_that_is_first_goes_and_the_order_of_the_others_stays(engine_in: EngineIn) -> None:
    engine_in("here", _text(_WIDE)).apply()
    engine_in("here", _text(_WIDE, *_BESIDE.values())).apply()
    others = _rules()[1:]
    engine_in("here", _text(*_BESIDE.values())).apply()
    assert _rules() == others


_A, _B, _C = (f"from: 10.{number}.0.0/16, lookup: 100" for number in range(3))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param((_B, _C), (_A, _B, _C), id="comes_first"),
        pytest.param((_A, _B, _C), (_C, _B, _A), id="turned_round"),
        pytest.param((_A, _B, _C), (_A.replace("100", "200"), _B, _C), id="leads_elsewhere"),
        pytest.param((_BESIDE["mark"], _WIDE), (_A, _BESIDE["mark"], _WIDE), id="deletion_meets_others"),
    ],
)
def test_rules_are_asked_in_the_order_of_the_files_and_put_back_in_theirs(
    engine_in: EngineIn, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    engine_in("here", _text(*before)).apply()
    was = _rules()
    with pytest.raises(KernelError):
        engine_in("here", _text(*after) + "routes: [{to: 10.9.0.0/16, via: 203.0.113.1}]\n").apply()
    assert _rules() == was
    engine_in("here", _text(*after)).apply()
    engine_in("there", _text(*after)).apply()
    assert _rules() == _rules("there")
    engine_in("here", _text(*before)).apply()
    assert _rules() == was
