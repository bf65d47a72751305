# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of a dump that have more than a configuration can say, and what a plan tells of them."""

import struct

import pytest

from netgroupd.engine.capture.host import captured
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.message import attr, nest, text, u32
from netgroupd.kernel.tc import flower
from netgroupd.kernel.tc.actions.police import pack_police
from netgroupd.kernel.tc.filters import codec as filters
from netgroupd.kernel.tc.tcmsg import HEADER, KIND, OPTIONS
from netgroupd.model.state import Object, State
from netgroupd.model.tc.filter import SHARES
from netgroupd.plan.assemble import assemble
from netgroupd.plan.compare import UNSAID
from netgroupd.plan.owned import Owned
from netgroupd.plan.present import objects_text
from netgroupd.plan.present import text as shown
from netgroupd.plan.step import Op, Step
from tests.kernel.tc_read import decoder, read

CLSACT = Object("qdisc", ("v0", "clsact"), {"kind": "clsact", "handle": "ffff:", "hooks": ("ingress",)})
_ADDRESS = attr(8, b"\x08\x00") + flower.pack((("dst_ip", "10.0.0.1"),))
_CODE = attr(5, struct.pack("=HBBI", 6, 0, 0, 1))

_CMP = struct.pack("=HHHHIIHBB", 0, 1, 0, 0, 20, 0xFF00, 3, 0x12, 2)
_BEHIND = struct.pack("=HHHH", 0, 3, 0, 0) + struct.pack(">II", 0xFFFF, 0x1122) + struct.pack("=ii", 0, -1)


def _message(kind: str, options: bytes, handle: int = 1) -> memoryview:
    header = HEADER.pack(0, 0, 0, 1, handle, 0xFFFFFFF2, 7 << 16 | 8)
    return memoryview(header + text(KIND, kind) + (nest(OPTIONS, options) if options else b""))


def _acts(kind: str) -> bytes:
    return nest(3, nest(1, text(1, kind), nest(2, attr(2, struct.pack("=IIIii", 1, 0, 2, 1, 1)))))


def _rule(kind: str, options: bytes, names: Names) -> Object:
    rule = decoder(names).read(_message(kind, options))
    assert rule
    return rule


MORE = [
    pytest.param("cgroup", b"", id="classifier"),
    pytest.param("flower", _ADDRESS + u32(250, 1), id="key_of_flower"),
    pytest.param("matchall", u32(9, 1), id="option_of_matchall"),
    pytest.param("fw", text(3, "v0"), id="link_of_fw"),
    pytest.param("basic", nest(2, attr(1, b"\1\0\0\0"), nest(2, attr(1, bytes(2) + b"\x08" + bytes(5)))), id="ematch"),
    pytest.param("basic", nest(2, attr(1, b"\1\0\0\0"), nest(2, attr(1, _CMP))), id="cmp_in_the_order_of_the_host"),
    pytest.param("basic", nest(2, attr(1, b"\1\0\0\0"), nest(2, attr(1, _BEHIND))), id="u32_in_the_next_header"),
    pytest.param("bpf", u32(11, 5), id="program_without_a_name"),
    pytest.param("bpf", text(7, "a.o:[classifier]"), id="program_of_a_section"),
    pytest.param("flow", u32(1, 1) + nest(11, b""), id="conditions_of_flow"),
]
PLAIN = [
    pytest.param("flower", _ADDRESS + u32(22, 8) + u32(86, 0), id="flower"),
    pytest.param("matchall", u32(3, 8), id="matchall"),
    pytest.param("fw", u32(5, 0xFF), id="fw"),
    pytest.param("bpf", _CODE, id="bytecode"),
    pytest.param("bpf", text(7, "/sys/fs/bpf/x"), id="pinned"),
    pytest.param("flow", u32(1, 1), id="flow"),
]


@pytest.mark.parametrize(("kind", "options"), MORE)
def test_rule_with_more_than_a_file_can_say_is_told_by_its_handle(kind: str, options: bytes, names: Names) -> None:
    rule = _rule(kind, options, names)
    assert rule.attrs[UNSAID] is True
    assert rule.key[4][-3:] == (("protocol", "ip"), ("kind", kind), ("handle", "0x1"))  # type: ignore[index]


@pytest.mark.parametrize(("kind", "options"), PLAIN)
def test_rule_that_a_file_can_say_is_told_by_what_it_matches(kind: str, options: bytes, names: Names) -> None:
    rule = _rule(kind, options, names)
    assert UNSAID not in rule.attrs
    assert "handle" not in dict(rule.key[4])  # type: ignore[arg-type]  # pairs


def test_bits_that_a_mask_leaves_out_are_not_told_of_the_first_rule_nor_of_the_next(names: Names) -> None:
    by = decoder(names)
    for number in (5, 6):
        masked = attr(12, bytes((10, 0, number, 7))) + attr(13, b"\xff\xff\xff\0")
        rule = read(by, _message("flower", attr(8, b"\x08\x00") + masked))
        assert rule
        assert rule.key[4] == (("dst_ip", f"10.0.{number}.0/24"),)


def test_rules_of_flower_that_differ_in_what_is_unknown_are_several(names: Names) -> None:
    by = decoder(names)
    told = [by.read(_message("flower", _ADDRESS + u32(250, 1), handle)) for handle in (1, 2)]
    assert [dict(rule.key[4])["handle"] for rule in told if rule] == ["0x1", "0x2"]  # type: ignore[arg-type]  # pairs


@pytest.mark.parametrize(("kind", "unsaid"), [("skbmod", True), ("gact", False)])
def test_rule_with_an_action_that_no_file_can_say_is_that_rule(kind: str, unsaid: bool, names: Names) -> None:
    rule = _rule("flower", _ADDRESS + _acts(kind), names)
    assert (rule.key[4], UNSAID in rule.attrs) == ((("dst_ip", "10.0.0.1"),), unsaid)


@pytest.mark.parametrize(("references", "binds", "want"), [(1, 1, False), (2, 2, True), (3, 2, False)])
def test_action_of_several_rules_is_theirs_where_it_has_no_name(
    references: int, binds: int, want: bool, names: Names
) -> None:
    held = attr(2, struct.pack("=IIIii", 7, 0, 2, references, binds))
    told = _message("flower", _ADDRESS + nest(3, nest(1, text(1, "gact"), nest(2, held))))
    rules = [decoder(names, everything=whole).read(told) for whole in (True, False)]
    assert [SHARES in rule.attrs for rule in rules if rule] == [want, False]


def test_policer_that_a_rule_has_without_actions_is_one_of_those(names: Names) -> None:
    policer = pack_police(1, {"rate": 125_000, "burst": 10_000, "control": "drop"})
    told = [
        _rule("basic", nest(4, policer), names),
        _rule("basic", nest(3, nest(1, text(1, "police"), nest(2, policer))), names),
    ]
    assert told[0] == told[1]
    assert UNSAID not in told[0].attrs


def test_table_that_the_kernel_made_is_no_rule(names: Names) -> None:
    assert decoder(names).read(_message("cgroup", b"", handle=0)) is None


@pytest.mark.parametrize(("kind", "options", "want"), [("cgroup", b"", 0), ("fw", text(3, "v0"), 1)])
def test_preference_of_a_classifier_that_is_not_known_goes_as_a_whole(
    kind: str, options: bytes, want: int, names: Names
) -> None:
    rule = _rule(kind, options, names)
    message = filters._delete(Step(Op.DELETE, rule, None), names)
    assert HEADER.unpack_from(message, 16)[4:] == (want, 0xFFFFFFF2, 7 << 16 | 8)


def _plans(rule: Object) -> tuple[str, Snapshot, State]:
    actual = State((CLSACT, rule))
    plan = assemble(State((CLSACT,)), actual, Owned())
    return shown(plan), Snapshot.of(plan, actual), actual


def test_plan_tells_that_such_a_rule_cannot_come_back(names: Names) -> None:
    told, snapshot, actual = _plans(_rule("cgroup", b"", names))
    assert told.splitlines() == [
        "- filter v0 ingress pref 7 protocol ip kind cgroup handle 0x1",
        "! no rollback brings these back, for they have what no file can say: filter v0 ingress pref 7 protocol ip kind"
        " cgroup handle 0x1",
        "1 to delete; 1 message",
    ]
    assert snapshot.over(State((CLSACT,)), {}).of("filter") == {}
    assert snapshot.over(actual, {}).of("filter") == actual.of("filter")


def test_rule_that_can_be_said_comes_back_without_a_word(names: Names) -> None:
    told, snapshot, actual = _plans(_rule("flower", _ADDRESS, names))
    assert "!" not in told
    assert snapshot.over(State((CLSACT,)), {}).of("filter").keys() == actual.of("filter").keys()


def test_changed_action_that_cannot_come_back_is_told_too(names: Names) -> None:
    rule = _rule("flower", _ADDRESS + _acts("skbmod"), names)
    want = rule._replace(attrs={"kind": "flower", "protocol": "ip", "actions": ({"kind": "gact", "control": "drop"},)})
    plan = assemble(State((CLSACT, want)), State((CLSACT, rule)), Owned())
    assert [warning.partition(",")[0] for warning in plan.warnings] == ["no rollback brings these back"]


def test_many_such_rules_are_told_by_some(names: Names) -> None:
    by = decoder(names)
    rules = [rule for handle in range(0xA, 0x10) if (rule := by.read(_message("cgroup", b"", handle)))]
    (warning,) = assemble(State((CLSACT,)), State((CLSACT, *rules)), Owned()).warnings
    assert warning.count("handle") == 5
    assert warning.endswith(", … (6 in all)")


def test_such_a_rule_is_shown_and_not_captured(names: Names) -> None:
    rule = _rule("cgroup", b"", names)
    assert objects_text([rule], {}) == "filter v0 ingress pref 7 protocol ip kind cgroup handle 0x1"
    assert "# left out (there is no classifier cgroup in a configuration;" in captured(State((CLSACT, rule)), {}, {})
