# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of a dump that have actions each for itself: read by where their bytes are, as if each were read in full."""

from collections.abc import Mapping, Sequence

import pytest

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import HEADER_LEN
from netgroupd.kernel.tc.actions.police import COUNTS, pack_police
from netgroupd.kernel.tc.filters.read import Decoder
from netgroupd.model.state import Attrs, Object
from netgroupd.model.tc.action import ACTION
from netgroupd.model.tc.filter import key
from netgroupd.model.value import Value
from tests.instructions import instructions
from tests.kernel import tc_read
from tests.kernel.tc_read import dumped, in_full, left_unread, skimmed
from tests.vm.tc_action_cases import ACTION_CASES

_ENOUGH = 40  # that others are read by what was learned from these


def _rules(actions: Sequence[tuple[Value, ...]]) -> list[Object]:
    """Rules for an address each, with actions each."""
    attrs: Attrs = {"kind": "flower", "protocol": "ip", "skip_hw": True}
    keys = (key("v0", "ingress", 0, 10, {"dst_ip": f"10.0.{number >> 8}.{number & 255}"}) for number in range(70_000))
    return [Object("filter", one, {**attrs, "actions": own}) for one, own in zip(keys, actions, strict=False)]


def _with_cookies(*actions: Value) -> list[tuple[Value, ...]]:
    """These actions so many times, with a cookie of its own in each."""
    records = [record for record in actions if isinstance(record, Mapping)]
    return [tuple({**record, "cookie": f"{number:04x}"} for record in records) for number in range(_ENOUGH + 8)]


def _taught(names: Names, some: Sequence[bytes]) -> Decoder:
    decoder = tc_read.decoder(names)
    for one in some:
        decoder.read(memoryview(one)[HEADER_LEN:])
    return decoder


def _nat(number: int) -> Value:
    return {"kind": "nat", "direction": "ingress", "old": f"10.0.0.{number}/32", "new": f"192.0.2.{number}"}


def _police(number: int) -> Value:
    return {"kind": "police", "rate": 125_000 + number, "burst": 10_000, "control": "drop"}


_OWN: Mapping[str, Sequence[tuple[Value, ...]]] = {
    **{name: _with_cookies(ACTION.parse(first)) for name, (first, _) in ACTION_CASES.items()},
    "two": _with_cookies(_nat(1), {"kind": "gact", "control": "drop"}),
    "nats": [(_nat(number),) for number in range(_ENOUGH + 8)],
    "policers": [(_police(number), {"kind": "gact", "control": "pass"}) for number in range(_ENOUGH + 8)],
    "controls": [({"kind": "csum", "of": ("iph",), "control": f"jump {number}"},) for number in range(1, _ENOUGH + 9)],
}


@pytest.mark.parametrize("actions", _OWN.values(), ids=_OWN)
def test_rules_with_actions_of_their_own_in_a_row_are_what_each_is_in_full(
    names: Names, actions: Sequence[tuple[Value, ...]]
) -> None:
    some = [dumped(names, rule, handle) for handle, rule in enumerate(_rules(actions), 1)]
    row = b"".join(some[_ENOUGH:])
    end, got = skimmed(_taught(names, some[:_ENOUGH]), row)
    assert end == len(row)
    assert got == [in_full(names, one) for one in some[_ENOUGH:]]


@pytest.mark.parametrize("own", [_nat, _police], ids=["nat", "police"])
def test_change_of_any_bit_is_seen(names: Names, own: object) -> None:
    """Of an action that is held by others too, or by itself, more is to be said; it is not read this way."""
    assert callable(own)
    some = [dumped(names, rule, 7) for rule in _rules([(own(number),) for number in range(_ENOUGH)])]
    # Lengths, kinds, and by how many it is held.
    assert left_unread(names, _taught(names, some), some[-1]) > 60


def test_action_that_stands_by_itself_is_told_by_its_index_beside_others(names: Names) -> None:
    sent = pack_police(5, {"rate": 125_000, "burst": 10_000})
    held = bytearray(sent)
    held[4 + COUNTS] = 2
    police: Value = {"kind": "police", "rate": 125_000, "burst": 10_000}
    rules = _rules([(police, _nat(number)) for number in range(_ENOUGH)])
    own = pack_police(0, {"rate": 125_000, "burst": 10_000})
    some = [dumped(names, rule, number).replace(own, bytes(held)) for number, rule in enumerate(rules, 1)]
    want = in_full(names, some[0])
    assert want
    assert want.attrs["actions"][0] == {"kind": "police 5"}  # type: ignore[index]  # a tuple
    assert skimmed(_taught(names, some), some[0])[1] in ([], [want])


def test_same_action_in_a_row_is_one_value(names: Names) -> None:
    own = [(_nat(number),) for number in range(_ENOUGH)]
    some = [dumped(names, rule, handle) for handle, rule in enumerate(_rules([*own, *[(_nat(7),)] * 8]), 1)]
    _, got = skimmed(_taught(names, some[:_ENOUGH]), b"".join(some[_ENOUGH:]))
    assert [len(got), len({id(rule.attrs["actions"][0]) for rule in got})] == [8, 1]  # type: ignore[index]


@pytest.mark.parametrize("own", [_nat, _police], ids=["nat", "police"])
def test_rule_with_an_action_of_its_own_is_read_in_few_steps(names: Names, own: object) -> None:
    assert callable(own)
    some = [dumped(names, rule, 7) for rule in _rules([(own(number),) for number in range(_ENOUGH + 100)])]
    decoder, row = _taught(names, some[:_ENOUGH]), b"".join(some[_ENOUGH:])
    assert instructions(lambda: skimmed(decoder, row)) < 800 * 100
