# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic control as bytes: rules read back as they were said, and many as one message."""

import struct
from collections.abc import Mapping

import pytest

from netgroupd.kernel.features import Features
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import delivery
from netgroupd.kernel.netlink.compound import RTM_BATCHTFILTER, compound, entry, failures, kind_of
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import HEADER, HEADER_LEN, attr, attributes, nest, request, text, u32
from netgroupd.kernel.netlink.request import Context
from netgroupd.kernel.netlink.socket import Socket, split
from netgroupd.kernel.tc.actions import tunnel as actions_tunnel
from netgroupd.kernel.tc.actions.codec import GENERIC, pack_actions, unpack_actions
from netgroupd.kernel.tc.actions.police import pack_police, unpack_police
from netgroupd.kernel.tc.actions.seen import Remembered
from netgroupd.kernel.tc.classifiers import CLASSIFIERS
from netgroupd.kernel.tc.filters import codec as filters
from netgroupd.model.state import Object
from netgroupd.model.tc import room
from netgroupd.model.tc.action import ACTION, CONTROL
from netgroupd.model.tc.ematch import CONDITIONS
from netgroupd.model.tc.masked import MASKED_IP, MASKED_MAC, masked_number
from netgroupd.model.tc.nat import RANGE
from netgroupd.model.tc.pedit import MUNGE
from netgroupd.model.tc.rates import settled, size_of, ticks
from netgroupd.plan.compare import differing, same
from netgroupd.plan.step import Op, Step
from tests.instructions import instructions
from tests.kernel.tc_read import decoder, read
from tests.vm.tc_action_cases import ACTION_CASES
from tests.vm.tc_cases import CASES, Case, rules_of

_FRAME = HEADER_LEN + 20 + 12 + 4  # with the kind, and the attribute that holds the rest
_ALONE = [case for case in CASES if rules_of(case) and not case.id.startswith("shared")]


def test_rules_take_no_more_than_is_reckoned_with(names: Names) -> None:
    rules = [rule for case in CASES for rule in rules_of(case)]
    sizes = {str(rule): len(filters._write(Step(Op.CREATE, None, rule, rule.attrs), names)) - _FRAME for rule in rules}
    most = {str(rule): room.taken(dict(rule.key[4]), rule.attrs)[0] for rule in rules}  # type: ignore[arg-type]  # pairs
    assert [name for name, size in sizes.items() if size > most[name]] == []


@pytest.mark.parametrize("case", _ALONE, ids=lambda case: case.id)
def test_rule_survives_the_way_there_and_back(names: Names, case: Case) -> None:
    for want in rules_of(case):
        sent = bytearray(filters._write(Step(Op.CREATE, None, want, want.attrs), names))
        if struct.unpack_from("=I", sent, HEADER_LEN + 8)[0] == 0:
            struct.pack_into("=I", sent, HEADER_LEN + 8, 1)  # what the kernel would give it
        by = decoder(names, str(want.key[0]), str(want.key[1]))
        in_full, seen_before = (read(by, memoryview(sent)[HEADER_LEN:]) for _ in range(2))
        assert in_full == seen_before
        assert in_full
        assert in_full.key == want.key
        assert differing(want, in_full) == {}


def _told(names: Names, rule: Object, handle: int) -> memoryview:
    """What the kernel says of a rule that it gave ``handle``."""
    sent = bytearray(filters._write(Step(Op.CREATE, None, rule, rule.attrs), names))
    struct.pack_into("=I", sent, HEADER_LEN + 8, handle)
    return memoryview(sent)[HEADER_LEN:]


@pytest.mark.parametrize("case", [case for case in CASES if case.id.startswith("flower-")], ids=lambda case: case.id)
def test_rules_of_one_layout_do_not_take_each_others_values(names: Names, case: Case) -> None:
    rules = [rule for rule in rules_of(case) if rule.attrs["kind"] == "flower"]
    by = decoder(names)
    for handle in range(1, 4):
        for rule in rules:
            got = read(by, _told(names, rule, handle))
            assert got
            assert (got.key, got.attrs["handle"]) == (rule.key, handle)
            assert differing(rule, got) == {}


def test_rule_to_be_deleted_is_named_by_its_handle(names: Names) -> None:
    rule = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    have = rule._replace(attrs={**rule.attrs, "handle": 77})
    context = Context(Socket.__new__(Socket), names, Features(), None, Generic.__new__(Generic))
    (sent,) = filters.encode(Step(Op.DELETE, have, None), context)
    assert isinstance(sent, bytes)
    assert struct.unpack_from("=I", sent, HEADER_LEN + 8)[0] == 77


def test_rule_of_u32_with_other_flags_is_another(names: Names) -> None:
    after = next(rules_of(case)[1] for case in CASES if case.id == "filter-u32-skip_hw")
    before = after._replace(attrs={**after.attrs, "skip_hw": True, "handle": 0x80000801})
    context = Context(Socket.__new__(Socket), names, Features(), None, Generic.__new__(Generic))
    sent = list(filters.encode(Step(Op.CHANGE, before, after, {"skip_hw": False}), context))
    assert [struct.unpack_from("=H", one, 4)[0] for one in sent if isinstance(one, bytes)] == [45, 44]
    assert [struct.unpack_from("=I", one, HEADER_LEN + 8)[0] for one in sent if isinstance(one, bytes)] == [
        0x80000801,
        0x801,  # its place among the others, in whatever table
    ]


def test_rules_of_a_link_that_is_made_anew_follow_its_index(names: Names) -> None:
    rule = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    step = Step(Op.CREATE, None, rule, rule.attrs)
    before = filters._write(step, names)
    names.note("v0", 99)
    after = filters._write(step, names)
    assert struct.unpack_from("=I", after, HEADER_LEN + 4)[0] == 99
    assert before != after


def _message(kind: int, flags: int, body: bytes) -> bytes:
    return request(kind, flags, body)


def test_compound_message_holds_each_entry_without_its_header() -> None:
    messages = [_message(44, 0x600, b"abcd"), _message(44, 0x400, b"efghijkl")]
    whole = b"".join(compound(b"".join(map(entry, messages))))
    assert HEADER.unpack_from(whole)[:3] == (len(whole), RTM_BATCHTFILTER, 1)
    body = whole[HEADER_LEN:]
    assert body == (
        bytes(4)
        + struct.pack("=IHH", 12, 44, 0x601)
        + b"abcd"
        + struct.pack("=IHH", 16, 44, 0x401)
        + b"efghijkl"
        + bytes(8)
    )


@pytest.mark.parametrize(
    ("kind", "classifier", "want"),
    [
        (44, "flower", 44),
        (45, "flower", 45),
        (44, "basic", 0),
        (36, "flower", 0),
        (16, "flower", 0),
        (300, "flower", 0),
    ],
)
def test_only_flower_rules_go_into_compound_messages(kind: int, classifier: str, want: int) -> None:
    handle = b"\7\0\0\0"
    assert kind_of(_message(kind, 0, bytes(8) + handle + bytes(8) + text(1, classifier))) == want


def test_all_of_a_preference_goes_in_a_message_of_its_own() -> None:
    assert kind_of(_message(45, 0, bytes(20) + text(1, "flower"))) == 0


@pytest.mark.parametrize(
    "sizes", [(40, 40, 40), (40, 44, 40), (40, 36, 44), (40,)], ids=["alike", "unlike", "alike_in_sum", "alone"]
)
def test_each_message_of_a_packet_has_its_number(sizes: tuple[int, ...]) -> None:
    messages = [_message(44, 0, bytes(size)) for size in sizes]
    whole = bytearray(b"".join(messages))
    delivery._number(whole, len(messages), 0x01FFFFFE)
    assert [sequence for _, _, sequence, _ in split(memoryview(whole))] == [0x01FFFFFE + n for n in range(len(sizes))]


def test_bytes_of_a_layer_survive_the_way_there_and_back() -> None:
    text = "not nbyte(0x0a0001ff at 16 layer network) and nbyte(0x00 at 0 layer link)"
    packed = CLASSIFIERS["basic"].pack((("match", CONDITIONS.parse(text)),))
    assert CLASSIFIERS["basic"].unpack(attributes(memoryview(packed)), 1) == {"match": text}
    assert struct.pack("=HH", 16, 4 | 1 << 12) + bytes.fromhex("0a0001ff") in packed


@pytest.mark.parametrize(
    ("tree", "want"),
    [
        pytest.param(nest(2, attr(1, bytes(4)), nest(2)), {}, id="none"),
        pytest.param(nest(2, attr(1, bytes(4))), {}, id="no_list"),
        pytest.param(
            nest(2, attr(1, b"\1\0\0\0"), nest(2, attr(1, struct.pack("=HHHH", 0, 8, 0, 0)))),
            {"match": "a condition of kind 8"},
            id="another_kind",
        ),
    ],
)
def test_conditions_that_are_none_of_ours(tree: bytes, want: object) -> None:
    assert CLASSIFIERS["basic"].unpack(attributes(memoryview(tree)), 1) == want


def test_refused_entries_are_known_by_their_place() -> None:
    told = nest(1, u32(1, 5), attr(2, struct.pack("=i", -17)), attr(3, b"no\0")) + nest(
        1, u32(1, 9), attr(2, struct.pack("=i", -22))
    )
    assert list(failures(told)) == [(5, 17, "no"), (9, 22, "")]


def _action(index: int, control: int, packets: int, references: int = 1) -> memoryview:
    parms = attr(2, GENERIC.pack(index, 0, control, references, 1))
    times = attr(1, struct.pack("=QQQQ", packets, packets, 0, packets))
    return memoryview(nest(1, attr(1, b"gact\0"), attr(4, struct.pack("=Q", packets)), nest(2, parms + times)))


def test_equal_actions_are_one_whatever_they_counted(names: Names) -> None:
    seen = Remembered()
    first, second = seen.read(_action(1, 2, 3), names), seen.read(_action(4, 2, 99), names)
    assert first is second
    assert first == ({"kind": "gact", "control": "drop", "hw_stats": "any", "no_percpu": False},)


def test_another_control_is_another_action(names: Names) -> None:
    seen = Remembered()
    seen.read(_action(1, 2, 3), names)
    assert seen.read(_action(1, 0, 3), names) == (
        {"kind": "gact", "control": "pass", "hw_stats": "any", "no_percpu": False},
    )


def test_action_whose_link_is_gone_is_told_without_it(names: Names) -> None:
    want = ACTION.parse({"mirred": {"egress": "mirror", "dev": "v1"}})
    sent = pack_actions(1, (want,), names)
    names.forget("v1")
    (have,) = unpack_actions(attributes(memoryview(sent))[1], names)
    assert isinstance(have, Mapping)
    assert (have["egress"], "dev" in have) == ("mirror", False)
    assert not same("actions", (want,), (have,))


def test_shared_actions_are_told_by_their_index(names: Names) -> None:
    seen = Remembered()
    seen.read(_action(1, 2, 3), names)
    for number in (4, 5):
        assert seen.read(_action(number, 2, 3, references=2), names) == ({"kind": f"gact {number}"},)


def _police(said: dict[str, object], **told: object) -> bool:
    """Whether a policer is what was asked for, of which the kernel says ``told``."""
    want = ACTION.parse({"police": {"rate": "10mbit", "burst": "100k", **said}})
    have = ACTION.parse({"police": {"rate": "10mbit", "burst": "100k", **told}})
    assert isinstance(want, Mapping)
    assert isinstance(have, Mapping)
    told_ = unpack_police(attributes(memoryview(pack_police(0, have))))
    return same("actions", {**want, "kind": "police"}, {**told_, "kind": "police"})


def test_policer_is_laid_out_without_a_step_for_each_size_of_a_packet() -> None:
    fields = ACTION.parse({"police": {"rate": "10mbit", "burst": "100k"}})
    assert isinstance(fields, Mapping)
    assert instructions(lambda: pack_police(0, fields)) < 2000


def test_policer_that_lets_pass_is_told_without_saying_so() -> None:
    assert _police({"conform": "pass"})
    assert _police({})
    assert not _police({}, conform="pipe")
    assert not _police({"conform": "pass"}, conform="pipe")


_LESS = [name for name in ACTION_CASES if name.endswith("-less")]


@pytest.mark.parametrize("name", _LESS)
def test_what_an_action_no_longer_says_is_a_difference(names: Names, name: str) -> None:
    had, want = map(ACTION.parse, ACTION_CASES[name])
    (told_before,), (told,) = (
        unpack_actions(attributes(memoryview(pack_actions(1, (one,), names)))[1], names) for one in (had, want)
    )
    assert same("actions", (had,), (told_before,))
    assert not same("actions", (want,), (told_before,))
    assert same("actions", (want,), (told,))


def test_shared_action_keeps_what_the_kernel_takes_from_none() -> None:
    had = ACTION.parse({"sample": {"rate": 10, "trunc": 64, "cookie": "aa"}})
    shorter = ACTION.parse({"sample": {"rate": 10}})
    assert same("action", (shorter,), (had,))
    assert not same("action", (ACTION.parse({"sample": {}}),), (had,))


def test_tunnel_without_port_tos_and_ttl_is_told_without_saying_so(names: Names) -> None:
    said = {"id": 5, "src_ip": "192.0.2.1", "dst_ip": "192.0.2.2", "dst_port": 0, "tos": 0, "ttl": 0}
    want = ACTION.parse({"tunnel_key": {"do": "set", **said}})
    assert isinstance(want, Mapping)
    zeros = ("dst_port", "tos", "ttl")
    rest, more = actions_tunnel.pack({name: value for name, value in want.items() if name not in zeros}, names)
    told = actions_tunnel.unpack(rest, attributes(memoryview(more)), names)
    assert same("actions", want, {**told, "kind": "tunnel_key"})


def test_largest_packet_of_a_policer_is_bytes() -> None:
    peak = {"peakrate": "10gbit", "mtu": 1514}
    assert _police(peak, **peak)
    assert ACTION.parse({"police": {"rate": "1gbit", "burst": "1mb", **peak}})["mtu"] == 1514  # type: ignore[index,call-overload]


def test_burst_of_packets_may_last_longer_than_32_bits_of_ticks() -> None:
    slow: dict[str, object] = {"pkts_rate": 1, "pkts_burst": 1000}
    want = ACTION.parse({"police": slow})
    assert isinstance(want, Mapping)
    assert want["pkts_burst"] == 1000
    assert unpack_police(attributes(memoryview(pack_police(0, want))))["pkts_burst"] == 1000


@pytest.mark.parametrize("rate", [1, 125, 125_000, 15_625_000, 1_250_000_000, 10_000_000_000])
@pytest.mark.parametrize("size", [1, 1500, 1600, 100_000, 4_000_000])
def test_settled_burst_comes_back_as_it_is(size: int, rate: int) -> None:
    burst = settled({"burst": size, "rate": rate})["burst"]
    assert isinstance(burst, int)
    assert size_of(ticks(burst, rate), rate) == burst
    assert burst <= size


@pytest.mark.parametrize(
    ("kind", "raw", "want"),
    [
        pytest.param(MASKED_IP, "10.0.0.0/255.0.255.0", "10.0.0.0/255.0.255.0", id="mask_with_a_hole"),
        pytest.param(MASKED_IP, "10.0.0.0/255.0.0.0", "10.0.0.0/8", id="mask_that_is_a_length"),
        pytest.param(MASKED_IP, "10.0.0.1/32", "10.0.0.1", id="whole_address"),
        pytest.param(MASKED_MAC, "02-00-00-00-00-0A", "02:00:00:00:00:0a", id="mac_in_dashes"),
        pytest.param(masked_number(16), "0x10/0xf0", "0x10/0xf0", id="masked"),
        pytest.param(masked_number(16), "80/0xffff", 80, id="mask_of_all_ones"),
        pytest.param(RANGE, "2001:DB8::1 - 2001:db8::0009", "2001:db8::1-2001:db8::9", id="span_of_ipv6"),
        pytest.param(RANGE, " 10.0.0.1-10.0.0.1  port 080-80", "10.0.0.1 port 80", id="spans_of_one"),
        pytest.param(RANGE, "10.0.0.1-10.0.0.2 port 80-90", "10.0.0.1-10.0.0.2 port 80-90", id="spans"),
        pytest.param(CONTROL, "goto chain 007", "goto chain 7", id="chain_with_zeros"),
        pytest.param(MUNGE, {"ip ttl": "0x40"}, ("ip 8 set 0x40000000/0xff000000",), id="field_in_its_word"),
    ],
)
def test_value_has_one_text(kind: object, raw: object, want: object) -> None:
    assert kind.parse(raw) == want  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        pytest.param(MASKED_IP, "10.0.0.1/8", id="bits_behind_the_length"),
        pytest.param(MASKED_MAC, "02:00:00:00:00:01/", id="mask_missing"),
        pytest.param(masked_number(8), "0x100", id="too_wide"),
        pytest.param(masked_number(8), "0x11/0xf0", id="bits_outside_the_mask"),
        pytest.param(masked_number(8), "\u0665", id="digit_of_another_script"),
        pytest.param(MUNGE, {"ip ttl": 256}, id="field_too_narrow"),
        pytest.param(MUNGE, {"ip version": 4}, id="unknown_field"),
    ],
)
def test_wrong_value_is_refused_with_what_was_expected(kind: object, raw: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        kind.parse(raw)  # type: ignore[attr-defined]
