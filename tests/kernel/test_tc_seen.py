# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of a dump that are read by where their bytes are: as if each were read in full."""

from collections.abc import Mapping, Sequence

import pytest

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import (
    HEADER,
    HEADER_LEN,
    NLM_F_DUMP,
    NLM_F_MULTI,
    NLMSG_DONE,
    SEQUENCE,
    attr,
    attributes,
    request,
)
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.kernel.tc.actions import seen as actions_seen
from netgroupd.kernel.tc.actions.codec import pack_actions
from netgroupd.kernel.tc.filters.read import Decoder
from netgroupd.kernel.tc.filters.seen import Seen
from netgroupd.kernel.tc.filters.stuck import told_until
from netgroupd.kernel.tc.tcmsg import RTM_GETTFILTER, Place
from netgroupd.model.state import Attrs, Object
from netgroupd.model.tc.filter import key
from netgroupd.plan.compare import differing
from tests.kernel import tc_read
from tests.kernel.tc_read import SEQUENCE_NUMBER, dumped, in_full, skimmed
from tests.vm.tc_cases import CASES, rules_of

_DROP = {"kind": "gact", "control": "drop", "cookie": "a1b2"}
_PASS = {"kind": "gact", "control": "pass"}
_MORE = 99  # an attribute that no kernel has yet
# What Linux 6.12 tells of: flower skip_hw dst_ip 10.0.0.0 action drop
_DUMPED = bytes.fromhex(
    "000000000200000003000000f2ffffff08000a000b000100666c6f776572000008000b0000000000e8000200060008000800000008000c00"
    "0a00000008000d00ffffffff08001600090000000800560000000000bc000300b80001000900010067616374000000000400050050000400"
    "0400060014000100000000000000000000000000000000000400060014000700000000000000000000000000000000000400060018000300"
    "00000000000000000000000000000000000000000c000700020000000200000008000a000000000040000200180002000100000000000000"
    "02000000010000000100000024000100b306000000000000b30600000000000000000000000000000000000000000000"
)
_OF_FLOWER = bytes.fromhex("e8000200")  # where its options begin
_DONE = HEADER.pack(HEADER_LEN + 4, NLMSG_DONE, NLM_F_MULTI, SEQUENCE_NUMBER, 0) + bytes(4)
_FLOWER = [case for case in CASES if case.id.startswith("flower-")]


def _rule(address: str, **match: str) -> Object:
    attrs: Attrs = {"kind": "flower", "protocol": "ip", "actions": (_DROP, _PASS), "skip_hw": True}
    return Object("filter", key("v0", "ingress", 0, 10, {"dst_ip": address, **match}), attrs)


class Replies(Socket):
    """Receives what a test says."""

    def __init__(self, *packets: bytes) -> None:
        self._packets = iter(packets)
        self._dumping = False

    def next_sequence(self, count: int = 1) -> int:
        return SEQUENCE_NUMBER + 1 - count

    def send(self, *_parts: bytes | bytearray, count: int = 1) -> None:
        del count

    def receive(self) -> memoryview:
        return memoryview(next(self._packets))


def _taught(names: Names, *told: bytes) -> Decoder:
    decoder = tc_read.decoder(names)
    for one in told * 2:  # what comes once teaches nothing
        decoder.read(memoryview(one)[HEADER_LEN:])
    return decoder


@pytest.mark.parametrize("case", _FLOWER, ids=lambda case: case.id)
def test_rules_in_a_row_are_what_each_is_in_full(names: Names, case: object) -> None:
    rules = [rule for rule in rules_of(case) if rule.attrs["kind"] == "flower"] * 3  # type: ignore[arg-type]  # a case
    told = [dumped(names, rule, handle) for handle, rule in enumerate(rules, 1)]
    end, got = skimmed(_taught(names, *told), b"".join(told))
    assert got == [in_full(names, one) for one in told]
    assert end == len(b"".join(told))


def test_row_ends_where_something_else_is_said(names: Names) -> None:
    rows = [dumped(names, _rule(f"10.0.0.{number}"), number) for number in range(1, 40)]
    other = dumped(names, _rule("10.0.0.77", src_ip="10.9.9.9"), 77)
    packet = b"".join((*rows[:20], other, *rows[20:]))
    end, got = skimmed(_taught(names, rows[0]), packet)
    assert end == len(b"".join(rows[:20]))
    assert got == [in_full(names, one) for one in rows[:20]]


def test_rules_of_two_layouts_by_turns_are_read_in_a_row(names: Names) -> None:
    told = []
    for number in range(1, 40, 2):
        told.append(dumped(names, _rule(f"10.0.0.{number}"), number))
        told.append(dumped(names, _rule(f"10.0.0.{number}", src_ip="10.9.9.9"), number + 1))
    end, got = skimmed(_taught(names, *told[:2]), b"".join(told))
    assert end == len(b"".join(told))
    assert got == [in_full(names, one) for one in told]


def test_rules_of_one_action_are_read_in_a_row_behind_many_with_one_of_their_own(names: Names) -> None:
    def marking(address: str, number: int) -> Object:
        rule = _rule(address)
        return rule._replace(attrs={**rule.attrs, "actions": ({"kind": "skbedit", "mark": hex(number)},)})

    own = [dumped(names, marking(f"10.0.{number >> 8}.{number & 255}", number), number) for number in range(1, 600)]
    alike = [dumped(names, marking(f"10.1.0.{number}", 1000), number) for number in range(1, 40)]
    decoder = tc_read.decoder(names)
    for one in (*own, *alike[:3]):
        decoder.read(memoryview(one)[HEADER_LEN:])
    end, got = skimmed(decoder, b"".join(alike))
    assert end == len(b"".join(alike))
    assert got == [in_full(names, one) for one in alike]


def test_rule_that_says_more_at_its_end_is_another(names: Names) -> None:
    plain, longer = dumped(names, _rule("10.0.0.1"), 1), dumped(names, _rule("10.0.0.2"), 2, attr(_MORE, b"more"))
    end, got = skimmed(_taught(names, plain), plain * 5 + longer + plain * 5)
    assert (end, len(got)) == (5 * len(plain), 5)


@pytest.mark.parametrize("as_told", [True, False], ids=["as_dumped", "as_sent"])
def test_change_of_any_bit_is_seen(names: Names, as_told: bool) -> None:
    """Whatever bit of a message is another, it says what it would say in full, or is not read this way."""
    before, told = dumped(names, _rule("10.0.0.1"), 1), dumped(names, _rule("10.0.0.2", src_ip="10.1.0.0/16"), 3)
    if as_told:
        told = tc_read.message(_DUMPED)
    decoder, unread = _taught(names, before, told), 0
    for place in range(HEADER_LEN, len(told)):
        for bit in range(8):
            changed = bytearray(told)
            changed[place] ^= 1 << bit
            end, got = skimmed(decoder, before + bytes(changed) + before)
            if len(got) == 1:
                unread += 1
                assert end == len(before)
                continue
            assert len(got) == 3
            assert got[1] == in_full(names, bytes(changed))
    assert unread > 4 * len(told)  # most bits are none of a handle, a value or a counter


_CHANGES = {
    "action": {"actions": (_PASS, _PASS)},
    "cookie": {"actions": ({**_DROP, "cookie": "a1b3"}, _PASS)},
    "cookie taken away": {"actions": ({name: value for name, value in _DROP.items() if name != "cookie"}, _PASS)},
    "order of actions": {"actions": (_PASS, _DROP)},
    "one action less": {"actions": (_DROP,)},
    "flag": {"skip_hw": False},
    "protocol": {"protocol": "ipv6"},
    "class": {"classid": "1:1"},
}


@pytest.mark.parametrize("attrs", _CHANGES.values(), ids=_CHANGES.keys())
@pytest.mark.parametrize("handles", [True, False], ids=["with_handles", "without_handles"])
def test_foreign_change_among_rules_of_one_line_is_a_difference(
    names: Names, attrs: dict[str, object], handles: bool
) -> None:
    want = [_rule(f"10.0.0.{number}")._replace(attrs={**_rule("").attrs, "classid": None}) for number in range(1, 9)]
    there = [*want]
    there[5] = want[5]._replace(attrs={**want[5].attrs, **attrs})  # type: ignore[dict-item]  # values of a rule
    expected = {rule.key: rule for rule in want}
    decoder = tc_read.decoder(names, expected=expected, handles=handles)
    got = _read(names, decoder, [dumped(names, rule, handle) for handle, rule in enumerate(there, 1)])
    changed = [place for place, rule in enumerate(got) if differing(expected[rule.key], rule)]
    assert changed == [5]


def _read(names: Names, decoder: Decoder, told: Sequence[bytes]) -> list[Object]:
    """What a dump brings of packets of four messages each."""
    packets = (b"".join(told[start : start + 4]) for start in range(0, len(told), 4))
    asked = request(RTM_GETTFILTER, NLM_F_DUMP)
    found, _ = told_until(Replies(*packets, _DONE), asked, "dump", Place.of("v0", "ingress", names), decoder)
    return found


def test_rules_without_handles_that_are_as_expected_share_what_is_said_of_them_and_have_these_keys(
    names: Names,
) -> None:
    there = [_rule(f"10.0.0.{number}") for number in range(1, 13)]
    want = [*there[:8], *(rule._replace(attrs={**rule.attrs, "classid": "1:5"}) for rule in there[8:10])]
    decoder = tc_read.decoder(names, expected={rule.key: rule for rule in want}, handles=False)
    got = _read(names, decoder, [dumped(names, rule, handle) for handle, rule in enumerate(there, 1)])
    assert [rule.key for rule in got] == [rule.key for rule in there]
    assert len({id(rule.attrs) for rule in got[2:8]}) == 1
    assert [rule.attrs.get("handle") for rule in got] == [1, 2, *[None] * 6, 9, 10, 11, 12]
    assert [rule.key is one.key for rule, one in zip(got, there, strict=True)][2:] == [True] * 8 + [False] * 2


def test_rest_of_a_dump_that_was_given_up_is_no_part_of_the_next(names: Names) -> None:
    told = [dumped(names, _rule(f"10.0.0.{number}"), number) for number in range(1, 9)]
    late = bytearray(b"".join(told[:4]))
    for start in range(0, len(late), len(told[0])):
        SEQUENCE.pack_into(late, start + 8, 6)
    socket = Replies(bytes(late), b"".join(told[4:]), _DONE)
    asked = request(RTM_GETTFILTER, NLM_F_DUMP)
    place = Place.of("v0", "ingress", names)
    found, begun = told_until(socket, asked, "dump", place, _taught(names, told[0]))
    assert (found, begun) == ([in_full(names, one) for one in told[4:]], b"")


def test_rules_of_one_hook_are_read_as_those_of_another(names: Names) -> None:
    """What is like a rule that was read elsewhere says the same where it hangs; behind what is not, too."""
    told = [dumped(names, _rule(f"10.0.0.{number}"), number) for number in range(1, 9)]
    seen = Seen({}, handles=True)
    for one in told[:2]:
        tc_read.decoder(names, seen=seen).read(memoryview(one)[HEADER_LEN:])
    there = [
        _rule(f"10.0.0.{number}")._replace(key=("v1", "egress", *_rule(f"10.0.0.{number}").key[2:]))
        for number in range(1, 9)
    ]
    elsewhere = [dumped(names, rule, number) for number, rule in enumerate(there, 1)]
    decoder = tc_read.decoder(names, "v1", "egress", seen=seen)
    end, got = skimmed(decoder, b"".join((*elsewhere, *told)))
    assert end == len(b"".join(elsewhere))
    assert [rule.key for rule in got] == [rule.key for rule in there]


def test_row_behind_what_is_read_in_full_is_read_as_a_row(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    """A packet begins with the preference of the rules in it, which is no rule."""
    begun = tc_read.message(_DUMPED[:8] + bytes(4) + _DUMPED[12 : _DUMPED.index(_OF_FLOWER)])
    told = [begun, *(dumped(names, _rule(f"10.0.0.{number}"), number) for number in range(1, 9))]
    decoder = tc_read.decoder(names)
    in_full: list[int] = []
    read = decoder.read

    def noted(payload: memoryview) -> Object | None:
        in_full.append(len(payload))
        return read(payload)

    monkeypatch.setattr(decoder, "read", noted)
    packet = b"".join(told)
    place = Place.of("v0", "ingress", names)
    got, _ = told_until(Replies(packet, packet, _DONE), request(RTM_GETTFILTER, NLM_F_DUMP), "dump", place, decoder)
    assert [rule.attrs["handle"] for rule in got] == [*range(1, 9)] * 2
    assert len(in_full) == 4  # the first two rules, with the like of which the others are read


def test_rules_with_actions_of_their_own_teach_nothing(names: Names) -> None:
    """Each would be a layout more, and cost as much again as it takes to read it."""
    own = [{**_DROP, "cookie": f"{number:04x}"} for number in range(1, 9)]
    rules = [_rule(f"10.0.0.{place}") for place in range(1, 9)]
    rules = [rule._replace(attrs={**rule.attrs, "actions": (one,)}) for rule, one in zip(rules, own, strict=True)]
    told = [dumped(names, rule, handle) for handle, rule in enumerate(rules, 1)]
    decoder = tc_read.decoder(names)
    assert [differing(rule, got) for rule, got in zip(rules, _read(names, decoder, told), strict=True)] == [{}] * 8
    assert skimmed(decoder, told[0])[0] == 0


def test_actions_that_very_many_rules_have_for_themselves_are_not_all_held(
    names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions_seen, "_MEMO", 4)
    remembered = actions_seen.Remembered()
    for number in range(20):
        packed = pack_actions(3, ({**_DROP, "cookie": f"{number:04x}"},), names)
        (got,) = remembered.read(attributes(memoryview(packed))[3], names)
        assert isinstance(got, Mapping)
        assert got["cookie"] == f"{number:04x}"
    assert len(remembered._known) <= 4
