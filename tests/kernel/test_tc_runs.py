# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules made at once: the messages are those that each would have, and a run ends where the order matters."""

from collections.abc import Callable, Sequence
from itertools import groupby
from types import SimpleNamespace
from typing import cast

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.batch import Batch
from netgroupd.kernel.netlink.compound import entry
from netgroupd.kernel.netlink.delivery import Denied, Lanes, Packet
from netgroupd.kernel.netlink.request import Context, Form
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.kernel.tc.filters import codec as filters
from netgroupd.kernel.tc.filters.run import run
from netgroupd.model.state import Object
from netgroupd.model.tc.action import ACTION
from netgroupd.model.value import Value
from netgroupd.plan.compare import differing
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.turns import turn_of
from tests.instructions import instructions
from tests.vm.tc_action_cases import ACTION_CASES
from tests.vm.tc_cases import CASES, Case, rules_of


@pytest.mark.parametrize("case", [case for case in CASES if rules_of(case)], ids=lambda case: case.id)
def test_run_has_the_messages_of_its_steps(names: Names, case: Case) -> None:
    rules = [rule for rule in rules_of(case) if rule.attrs["kind"] == "flower"]
    for _, some in groupby(rules, lambda rule: bool(rule.key[2])):
        steps = [Step(Op.CREATE, None, rule, rule.attrs) for rule in some]
        messages = b"".join(filters._write(step, names) for step in steps)
        assert run(steps, 0, names, 100, bytes)[:2] == (len(steps), messages)


def test_run_fits_into_the_buffer_of_a_socket(names: Names) -> None:
    many = {"actions": ({"kind": "gact", "control": "pipe"},) * 32}
    rule = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    step = Step(Op.CREATE, None, rule, {**rule.attrs, **many})
    step = step._replace(after=rule._replace(attrs=step.attrs))
    made = run([step] * 8192, 0, names, 8192, entry)
    assert 1 << 20 < len(made.messages) < 3 << 20


def test_run_keeps_a_handle_that_was_asked_for(names: Names) -> None:
    rule = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    rule = rule._replace(attrs={**rule.attrs, "handle": 7})
    step = Step(Op.CREATE, None, rule, rule.attrs)
    assert run([step], 0, names, 1, bytes)[:2] == (1, filters._write(step, names))


@pytest.mark.parametrize("form", [bytes, entry])
@pytest.mark.parametrize("handles", [(3, 1 << 24, 7), (7, 7, 7), (0, 7, 0)], ids=["each", "one", "some"])
@pytest.mark.parametrize("last", ["10.0.0.9", "10.9.0.0/16", "2001:db8::1"], ids=["like_it", "masked", "longer"])
def test_rules_that_are_put_back_are_one_run_and_keep_their_handles(
    names: Names, form: Form, handles: tuple[int, ...], last: str
) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    matches = [(("dst_ip", address),) for address in ("10.0.0.1", "10.0.0.2", last)]
    rules = [
        like._replace(key=(*like.key[:4], match), attrs={**like.attrs, "handle": handle})
        for match, handle in zip(matches, handles, strict=True)
    ]
    steps = [Step(Op.CREATE, None, rule, rule.attrs) for rule in rules]
    assert run(steps, 0, names, 100, form)[:2] == (3, b"".join(form(filters._write(step, names)) for step in steps))


@pytest.mark.parametrize("handles", [range(1, 101), (0,) * 100], ids=["put_back", "of_a_line_each"])
def test_rules_that_say_the_same_are_laid_out_once(names: Names, handles: Sequence[int]) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    keys = [(*like.key[:4], (("dst_ip", f"10.0.0.{n}"),)) for n in range(100)]
    rules = [
        like._replace(key=key, attrs={**like.attrs, "handle": handle})
        for key, handle in zip(keys, handles, strict=True)
    ]
    laid_out: list[bytes] = []

    def form(message: bytes) -> bytes:
        laid_out.append(message)
        return message

    assert run([Step(Op.CREATE, None, rule, rule.attrs) for rule in rules], 0, names, 100, form).taken == 100
    assert len(laid_out) <= 2  # and what is before a handle


def _apart(like: Object, actions: Sequence[Value]) -> list[Object]:
    """Rules for an address each, which have ``actions`` each for itself."""
    keys = [(*like.key[:4], (("dst_ip", f"10.0.0.{n}"),)) for n in range(len(actions))]
    return [
        like._replace(key=key, attrs={**like.attrs, "actions": (one,)}) for key, one in zip(keys, actions, strict=True)
    ]


def _own() -> dict[str, list[Value]]:
    """By name two actions of a kind, and again the first."""
    said = {name: [*map(ACTION.parse, pair)] for name, pair in ACTION_CASES.items()}
    return {name: [first, second, first] for name, (first, second) in said.items()}


@pytest.mark.parametrize("actions", _own().values(), ids=_own())
@pytest.mark.parametrize("form", [bytes, entry])
def test_rules_with_actions_of_their_own_are_one_run(names: Names, actions: list[Value], form: Form) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    rules = _apart(like._replace(attrs={**like.attrs, "classid": "1:7", "skip_hw": True}), actions)
    steps = [Step(Op.CREATE, None, rule, rule.attrs) for rule in rules]
    assert run(steps, 0, names, 100, form)[:2] == (3, b"".join(form(filters._write(step, names)) for step in steps))


_CHANGES: dict[str, tuple[list[Value], list[Value]]] = {
    "to_one": ([{"kind": "gact", "control": "drop"}] * 4, [{"kind": "gact", "control": "pass"}] * 4),
    "to_some_of_their_own": (
        [{"kind": "gact", "control": "drop"}] * 4,
        [{"kind": "skbedit", "mark": f"0x{n}"} for n in range(4)],
    ),
    "from_some_of_their_own": ([{"kind": "gact 7"}, {"kind": "gact 8"}] * 2, [{"kind": "gact", "control": "pass"}] * 4),
}


@pytest.mark.parametrize(("had", "wants"), _CHANGES.values(), ids=_CHANGES)
@pytest.mark.parametrize("more", [{}, {"skip_sw": True}, {"classid": None}], ids=["actions", "a_flag", "no_class"])
def test_rules_that_change_are_one_run(
    names: Names, had: list[Value], wants: list[Value], more: dict[str, Value]
) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    like = like._replace(attrs={**like.attrs, "classid": "1:7", "skip_sw": False})
    steps = []
    for number, (have, want) in enumerate(zip(_apart(like, had), _apart(like, wants), strict=True), 5):
        before = have._replace(attrs={**have.attrs, "handle": number})
        after = want._replace(attrs={**want.attrs, **more})
        steps.append(Step(Op.CHANGE, before, after, differing(after, before)))
    assert run(steps, 0, names, 100, bytes)[:2] == (4, b"".join(filters._write(step, names) for step in steps))


def test_run_ends_before_the_first_action_that_leads_nowhere(names: Names) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    rules = _apart(like, [{"kind": "mirred", "dev": dev} for dev in ("v0", "v1", "nosuch", "v0")])
    assert run([Step(Op.CREATE, None, rule, rule.attrs) for rule in rules], 0, names, 100, entry).taken == 2


def test_run_of_actions_of_their_own_fits_into_the_buffer_of_a_socket(names: Names) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    few, many = ({"kind": "gact", "control": "pipe"},), ({"kind": "gact", "control": "pipe"},) * 32
    rules = [like, *(like._replace(attrs={**like.attrs, "actions": actions}) for actions in (few, many) * 4096)]
    made = run([Step(Op.CREATE, None, rule, rule.attrs) for rule in rules], 0, names, 8192, entry)
    assert 1 << 20 < len(made.messages) < 3 << 20


@pytest.mark.parametrize("op", [Op.CREATE, Op.CHANGE])
def test_rule_with_an_action_of_its_own_takes_few_steps(names: Names, op: Op) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    nats = [{"kind": "nat", "direction": "ingress", "old": f"10.0.0.{n}", "new": "192.0.2.1"} for n in range(250)]
    rules = _apart(like, nats)
    steps = [Step(op, rule if op is Op.CHANGE else None, rule, rule.attrs) for rule in rules]
    assert instructions(lambda: run(steps, 0, names, 512, entry)) < 900 * len(steps)


@pytest.mark.parametrize("last", ["another_kind", "a_change", "a_reason", "an_unknown_link", "what_goes_to_a_chain"])
def test_run_ends_where_the_order_matters(names: Names, last: str) -> None:
    rule = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    other = next(rules_of(case)[0] for case in CASES if case.id == "filter-matchall")
    rule, first_hook = rule._replace(key=(*rule.key[:2], 7, *rule.key[3:])), rule
    first = Step(Op.CREATE, None, rule, rule.attrs)
    ends = {
        "what_goes_to_a_chain": Step(Op.CREATE, None, first_hook, first_hook.attrs),
        "another_kind": Step(Op.CREATE, None, other, other.attrs),
        "a_change": Step(Op.CHANGE, other, rule, rule.attrs),
        "a_reason": Step(Op.CHANGE, rule, rule, rule.attrs, "it is to be said again"),
        "an_unknown_link": Step(Op.CREATE, None, rule._replace(key=("nosuch", *rule.key[1:])), rule.attrs),
    }
    assert run([first, first, ends[last], first], 0, names, 100, entry).taken == 2


_MATCHES = {
    "whole_addresses": [{"dst_ip": f"10.0.0.{n}"} for n in range(3)],
    "one": [{"dst_ip": "10.0.0.1"}],
    "nothing": [{}, {}],
    "the_same": [{"dst_ip": "10.0.0.1"}, {"dst_ip": "10.0.0.1"}],
    "one_masked": [{"dst_ip": "10.0.0.1"}, {"dst_ip": "10.1.0.0/16"}],
    "of_another_family": [{"dst_ip": "10.0.0.1"}, {"dst_ip": "2001:db8::1"}],
    "two_addresses": [{"dst_ip": f"10.0.{n}.1", "src_ip": f"10.1.0.{n}"} for n in range(3)],
    "ports": [{"dst_ip": f"10.0.0.{n}", "ip_proto": "tcp", "dst_port": 80 + n % 2} for n in range(4)],
    "ports_of_others": [{"ip_proto": proto, "dst_port": 80} for proto in ("tcp", "udp", "tcp")],
    "ports_and_spans": [{"ip_proto": "tcp", "dst_port": port} for port in (80, "90-99", 81)],
    "macs": [{"dst_mac": f"02:00:00:00:00:{n:02x}"} for n in range(3)],
    "more_and_less": [{"dst_ip": "10.0.0.1"}, {"dst_ip": "10.0.0.2", "src_ip": "10.0.0.3"}, {}],
    "other_names": [{"dst_ip": "10.0.0.1"}, {"src_ip": "10.0.0.1"}],
}


@pytest.mark.parametrize("matches", _MATCHES.values(), ids=_MATCHES)
def test_rules_made_at_once_are_what_they_are_one_by_one(names: Names, matches: list[dict[str, Value]]) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    rules = [like._replace(key=(*like.key[:4], tuple(sorted(match.items())))) for match in matches]
    steps = [Step(Op.CREATE, None, rule, rule.attrs) for rule in rules]
    one_by_one = b"".join(filters._write(step, names) for step in steps)
    assert run(steps, 0, names, 100, bytes)[:2] == (len(steps), one_by_one)


@pytest.mark.parametrize(
    "matches",
    [
        *_MATCHES.values(),
        [{"dst_ip": f"10.{n}.0.0/16"} for n in range(3)],
        [{"dst_ip": f"10.{n}.0.0/{16 + n % 2}"} for n in range(3)],
        [{"ct_state": state} for state in ("+trk+est", "+trk-est")],
        [{"ct_state": state} for state in ("+trk+est", "+trk+new")],
    ],
    ids=[*_MATCHES, "one_mask", "two_masks", "one_mask_of_flags", "two_masks_of_flags"],
)
def test_run_tells_the_one_mask_of_its_rules(names: Names, matches: list[dict[str, Value]]) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    rules = [like._replace(key=(*like.key[:4], tuple(sorted(match.items())))) for match in matches]
    made = run([Step(Op.CREATE, None, rule, rule.attrs) for rule in rules], 0, names, 100, entry)
    first, *others = {*map(turn_of, rules)}
    assert made.masks == (None if others else ((like.key[:4], first),))
    assert run([Step(Op.CHANGE, rule, rule, rule.attrs) for rule in rules], 0, names, 100, entry).masks == ()


def test_that_rules_of_one_line_have_one_mask_takes_next_to_nothing(names: Names) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    keys = [(*like.key[:4], (("dst_ip", f"10.0.{n >> 8}.{n & 255}"),)) for n in range(1000)]
    steps = [Step(Op.CREATE, None, like._replace(key=key), like.attrs) for key in keys]
    assert instructions(lambda: run(steps, 0, names, 1000, entry)) < 50 * len(steps)


@pytest.mark.parametrize("place", range(4), ids=["where", "parent", "chain", "pref"])
def test_run_of_several_hooks_or_preferences_is_what_its_parts_are(names: Names, place: int) -> None:
    rule = next(rules_of(case)[0] for case in CASES if case.id == "filter-flower-chain")
    other = ("v1", "egress", 7, 99)[place]
    moved = rule._replace(key=(*rule.key[:place], other, *rule.key[place + 1 :]))
    steps = [Step(Op.CREATE, None, one, one.attrs) for one in (rule, rule, moved, rule)]
    messages = b"".join(filters._write(step, names) for step in steps)
    assert run(steps, 0, names, 100, bytes) == (
        4,
        messages,
        tuple((one.object.key[:4], turn_of(one.object)) for one in steps[1:]),
    )


class Noted:
    """In place of lanes: notes what each packet is about, and where it was waited for."""

    def __init__(
        self, about: Callable[[Step], object] = lambda step: step.object.key[2], *, alone: bool = False
    ) -> None:
        self.about = about
        self.alone = alone
        self.story: list[object] = []

    def send(self, packet: Packet) -> None:
        self.story.append({self.about(step) for step in packet.steps if isinstance(step, Step)})

    def arrived(self) -> list[Denied]:
        self.story.append("waited")
        return []

    def refused(self) -> list[Denied]:
        return []

    def deliver(self) -> list[Denied]:
        """In place of a socket."""
        self.story.append("alone")
        return []


@pytest.mark.parametrize(("alone", "most"), [(True, 2048), (False, 8192)], ids=["one_cpu", "more"])
def test_compound_messages_grow_to_what_the_cpus_work_off_best(*, alone: bool, most: int) -> None:
    lanes = Noted(alone=alone)
    batch = Batch(Socket.__new__(Socket), cast("Lanes", lanes), compounds=True)
    sizes = []
    for _ in range(6):
        sizes.append(batch.run[0])
        batch.abreast([], b"")
    assert sizes[0] < sizes[1] <= sizes[-1] == most


@pytest.mark.parametrize("compounds", [False, True])
def test_rules_that_go_to_a_chain_wait_for_all_of_it(names: Names, compounds: bool) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    keys = [(*like.key[:2], chain, 10, (("dst_ip", f"10.0.0.{n}"),)) for chain in (5, 0) for n in range(100)]
    kernel, lanes = Kernel.__new__(Kernel), Noted()
    kernel.names = names
    batch = Batch(Socket.__new__(Socket), cast("Lanes", lanes), compounds=compounds)
    kernel._fill(batch, [Step(Op.CREATE, None, like._replace(key=key), like.attrs) for key in keys])
    assert lanes.story == [{5}, "waited", {0}]


_ONE_BY_ONE = ["waited", "alone", "waited", "alone"]


@pytest.mark.parametrize(
    ("masks", "want"),
    [
        ([32] * 2000, [{32}, {32}, "waited"]),
        ([32] * 1024 + [24] * 100, [{32}, "waited", {24}, "waited"]),
        ([32, 24] * 100, [*_ONE_BY_ONE, {24, 32}, "waited"]),
        ([32] * 1100 + [24] * 100, [{32}, *_ONE_BY_ONE, {24, 32}, "waited"]),
        ([32, 32, 24, 24], [*_ONE_BY_ONE, "waited", "alone"]),
    ],
    ids=["one", "side_by_side", "mixed", "behind_each_other", "few"],
)
def test_another_mask_waits_until_the_first_is_there(
    names: Names, monkeypatch: pytest.MonkeyPatch, masks: list[int], want: list[object]
) -> None:
    like = next(rules_of(case)[0] for case in CASES if case.id == "flower-dst_ip")
    lanes = Noted(lambda step: int(str(step.object.key[4]).rpartition("/")[2].strip("',)")))
    monkeypatch.setattr("netgroupd.kernel.netlink.batch.deliver", lambda *_packet: lanes.deliver())
    matches = [(("dst_ip", f"1.{n >> 8}.{n & 255}.0/{mask}"),) for n, mask in enumerate(masks)]
    kernel = Kernel.__new__(Kernel)
    kernel.names, kernel._context = names, cast("Context", SimpleNamespace(names=names))
    batch = Batch(Socket.__new__(Socket), cast("Lanes", lanes), compounds=True)
    kernel._give(batch, [Step(Op.CREATE, None, like._replace(key=(*like.key[:4], m)), like.attrs) for m in matches])
    befores = [None, *lanes.story]
    assert [one for one, before in zip(lanes.story, befores, strict=False) if not one == before == "waited"] == want
