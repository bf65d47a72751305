# SPDX-License-Identifier: GPL-2.0-or-later
"""Every key, action, option and kind of traffic control on a real kernel: made, changed, taken away."""

import errno
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import pytest

from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import Mine, look
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.transaction import converge, plan_for
from netgroupd.errors import KernelError
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object, Origin, State
from netgroupd.model.value import Value
from netgroupd.plan.assemble import assemble
from netgroupd.plan.diff import diff
from netgroupd.plan.order import order
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Op, RangeStep, Step
from netgroupd.plan.tc.hooks import ON_QDISCS, hooks_of
from tests.vm import bpf_programs
from tests.vm.bpf_programs import pin
from tests.vm.tc_cases import CASES, CLSACT, DESCRIBED, SETUP, TRIED, Case, action, hashed, hook_in, qdisc, rule, tclass

_TC = ON_QDISCS | {"action"}


@contextmanager
def opened() -> Iterator[Kernels]:
    """The kernel with the links that the cases are about."""
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    with Kernels() as kernel:
        yield kernel


@pytest.fixture(scope="module")
def shared(module_netns: None) -> Iterator[Kernels]:
    with opened() as kernel:
        yield kernel


@pytest.fixture
def kernel() -> Iterator[Kernels]:
    with opened() as kernel:
        yield kernel


@lru_cache(maxsize=1)
def _links(kernel: Kernels) -> State:
    """The links, which no test here changes."""
    return kernel.dump(Selection(everything=True))


def _pending(kernel: Kernels, wanted: tuple[Object, ...], had: tuple[Object, ...]) -> list[Step]:
    """What the pipeline would do to have ``wanted`` and nothing else where ``had`` was."""
    links = _links(kernel)
    hooks = hooks_of(State(wanted)) | hooks_of(State(had))
    actual = kernel.dump(Selection(classes=_TC, hooks=hooks))
    actual.classes.update(links.classes)
    desired = State((*links, *wanted))
    stages = order(diff(desired, actual, Owned()), desired, actual)
    return [step for stage in stages for step in stage.steps]


def _reach(kernel: Kernels, wanted: tuple[Object, ...], had: tuple[Object, ...]) -> list[Step]:
    """Make it so, and make sure of it."""
    steps = _pending(kernel, wanted, had)
    refused = kernel.apply(steps)
    assert not refused, [str(one.refusal) for one in refused]
    assert _pending(kernel, wanted, had) == []
    return steps


def test_everything_described_has_a_case() -> None:
    assert not DESCRIBED - TRIED


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case_is_set_changed_and_taken_away(shared: Kernels, case: Case) -> None:
    _reach(shared, case.first, ())
    _reach(shared, case.second, case.first)
    _reach(shared, (), (*case.first, *case.second))
    everything = shared.dump(Selection(classes=_TC, everything=True))
    assert [str(obj) for obj in everything] == []


def _address(number: int) -> Object:
    return rule("flower", {"dst_ip": f"10.0.{number // 256}.{number % 256}"}, protocol="ip", actions="drop")


def _messages(kernel: Kernels, wanted: tuple[Object, ...], had: tuple[Object, ...]) -> tuple[list[Step], int]:
    """The steps that it took to make it so, and the messages."""
    steps = _pending(kernel, wanted, had)
    before = kernel.counters.messages
    assert not kernel.apply(steps)
    sent = kernel.counters.messages - before
    assert _pending(kernel, wanted, had) == []
    return steps, sent


def test_one_rule_among_many_is_one_message(kernel: Kernels) -> None:
    rules = tuple(_address(number) for number in range(300))
    _reach(kernel, (CLSACT, *rules[:150], *rules[151:]), ())
    steps, sent = _messages(kernel, (CLSACT, *rules), (CLSACT,))
    assert ([(step.op, step.object.key) for step in steps], sent) == ([(Op.CREATE, rules[150].key)], 1)
    another = rule("flower", {"dst_ip": "10.0.0.77"}, protocol="ip", actions="pass")
    steps, sent = _messages(kernel, (CLSACT, *rules[:77], another, *rules[78:]), (CLSACT,))
    assert ([(step.op, step.object.key) for step in steps], sent) == ([(Op.CHANGE, rules[77].key)], 1)


def test_nothing_is_on_its_way_behind_an_interrupt(kernel: Kernels) -> None:
    _reach(kernel, (CLSACT,), ())
    steps = _pending(kernel, (CLSACT, *map(_address, range(4000))), (CLSACT,))

    def interrupted(_done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernel.apply(steps, interrupted)
    hooks = hooks_of(State((CLSACT,)))
    found = [len(kernel.dump(Selection(classes=frozenset({"filter"}), hooks=hooks))) for _ in range(2)]
    assert found[0] == found[1] > 0


def _at_egress() -> str:
    command = ["tc", "filter", "show", "dev", "v0", "egress"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _rules_at_egress() -> list[str]:
    """Without the empty table that the kernel keeps of a preference while another has rules."""
    return sorted(line for line in _at_egress().splitlines() if "ht divisor" not in line and line.strip())


@pytest.mark.parametrize("theirs", ["matchall", "u32 match u32 0 0", "flower"])
def test_rule_of_another_hook_is_left_alone(kernel: Kernels, theirs: str) -> None:
    subprocess.run(["tc", "qdisc", "add", "dev", "v0", "clsact"], check=True)
    subprocess.run(["tc", *f"filter add dev v0 egress {theirs} action drop".split()], check=True)
    mine = CLSACT._replace(attrs={"kind": "clsact", "hooks": ("ingress",)})
    _reach(kernel, (mine, _address(1)), ())
    _reach(kernel, (), (mine, _address(1)))
    assert theirs.split(maxsplit=1)[0] in _at_egress()


def test_how_many_rules_another_has_is_not_read(kernel: Kernels) -> None:
    subprocess.run(["tc", "qdisc", "add", "dev", "v0", "clsact"], check=True)
    theirs = [
        f"filter add dev v0 egress pref 1 protocol ip flower dst_ip 10.0.0.{number} skip_hw" for number in range(200)
    ]
    subprocess.run(["tc", "-batch", "-"], input="\n".join(theirs), text=True, check=True)
    before = kernel.counters.received
    found = kernel.dump(Selection(classes=frozenset({"qdisc"}), hooks=frozenset({("v0", "ingress")})))
    assert [obj.attrs["in_use"] for obj in found] == [True]
    assert kernel.counters.received - before < 10_000
    subprocess.run(["tc", "filter", "del", "dev", "v0", "egress"], check=True)
    found = kernel.dump(Selection(classes=frozenset({"qdisc"}), hooks=frozenset({("v0", "ingress")})))
    assert [obj.attrs["in_use"] for obj in found] == [False]


def test_qdisc_of_another_that_has_no_rules_is_put_into_a_block(kernel: Kernels) -> None:
    subprocess.run(["tc", "qdisc", "add", "dev", "v0", "clsact"], check=True)
    _reach(kernel, (hook_in(7),), ())
    _reach(kernel, (), (hook_in(7),))


@pytest.mark.parametrize(("had", "wanted"), [(None, 7), (7, 8), (7, None)], ids=["into", "between", "out_of"])
def test_qdisc_with_rules_of_others_is_not_put_into_or_out_of_a_block(
    kernel: Kernels, had: int | None, wanted: int | None
) -> None:
    _reach(kernel, (hook_in(had),), ())
    subprocess.run(
        ["tc", *["filter", "add", "dev", "v0", "egress", "u32", "match", "u32", "0", "0", "action", "drop"]], check=True
    )
    hooks = hooks_of(State((hook_in(had), hook_in(wanted))))
    actual = kernel.dump(Selection(classes=_TC, hooks=hooks))
    changes = diff(State((hook_in(wanted),)), actual, Owned())
    assert [problem.message for problem in changes.problems] == [
        "another ingress_block takes a new clsact on v0, and somebody else uses the one there is"
    ]
    assert [str(step.object) for step in changes.steps] == []


def test_rules_of_a_block_are_none_of_the_hook_that_is_in_it(kernel: Kernels) -> None:
    in_block = _address(1)._replace(key=("block 7", "", *_address(1).key[2:]))
    _reach(kernel, (hook_in(7), in_block), ())
    hook = hooks_of(State((hook_in(None),)))
    assert [str(found) for found in kernel.dump(Selection(classes=frozenset({"filter"}), hooks=hook))] == []


def test_u32_rules_of_another_hook_are_told_apart_from_ours(kernel: Kernels) -> None:
    subprocess.run(["tc", "qdisc", "add", "dev", "v0", "clsact"], check=True)
    theirs = (
        "handle 7: u32 divisor 1",
        "u32 ht 7: match ip src 10.0.0.9/32 action pass",
        "u32 match ip dst 10.0.0.0/8 link 7:",
        "u32 match ip dst 10.0.0.1/32 action pass",
    )
    for one in theirs:
        subprocess.run(["tc", *f"filter add dev v0 egress pref 10 protocol ip {one}".split()], check=True)
    before = _rules_at_egress()
    mine = CLSACT._replace(attrs={"kind": "clsact", "hooks": ("ingress",)})
    rules = (
        rule("u32", {"table": 5, "divisor": 1}, protocol="ip"),
        rule("u32", {"table": 5, "bucket": 0, "match": {"ip src": "10.0.0.2"}}, protocol="ip", actions="drop"),
        rule("u32", {"match": {"ip dst": "10.0.0.0/8"}, "link": 5}, protocol="ip"),
        rule("u32", {"match": {"ip dst": "10.0.0.1"}}, protocol="ip", actions="drop"),
    )
    _reach(kernel, (mine, *rules), ())
    _reach(kernel, (mine, rules[3]), (mine, *rules))
    _reach(kernel, (), (mine, rules[3]))
    assert _rules_at_egress() == before


def _shown_class(kernel: Kernels, *said: dict[str, object]) -> Mapping[str, Value]:
    """What the kernel says of a class that was made as the first of ``said``, and then changed to the others."""
    root = qdisc("htb", {})
    had: tuple[Object, ...] = ()
    for one in said:
        wanted = (root, tclass("htb", one))
        _reach(kernel, wanted, had)
        had = wanted
    shown = kernel.dump(Selection(classes=_TC, everything=True)).of("tclass")["v0", "1:10"].attrs
    _reach(kernel, (), had)
    return shown


@pytest.mark.parametrize(
    "said",
    [{"rate": "100mbit"}, {"rate": "100mbit", "ceil": "200mbit"}, {"rate": "1mbit", "ceil": "2mbit", "prio": 3}],
    ids=["rate", "rate_and_ceil", "ceil"],
)
def test_class_that_changes_its_rate_is_as_one_that_was_made_with_it(kernel: Kernels, said: dict[str, object]) -> None:
    assert _shown_class(kernel, {"rate": "1mbit", "prio": said.get("prio", 0)}, said) == _shown_class(kernel, said)


_MADE = [
    ("netem delay 10ms 1ms 25% loss gemodel 5 10 90 1 slot 1ms 2ms ecn rate 1mbit 20", qdisc("netem", {"limit": 50})),
    ("stab overhead 24 linklayer atm mpu 64 fq limit 1000 ce_threshold 2ms", qdisc("fq", {"limit": 2000})),
    ("red limit 400kb min 5kb max 30kb avpkt 1000 burst 400 ecn nodrop", qdisc("red", {"max": 40000})),
]


@pytest.mark.parametrize(("made", "wanted"), _MADE, ids=[str(wanted.attrs["kind"]) for _, wanted in _MADE])
def test_options_of_qdisc_that_nobody_says_stay(kernel: Kernels, made: str, wanted: Object) -> None:
    command, _, options = made.partition(str(wanted.attrs["kind"]))
    kind = f"{wanted.attrs['kind']}{options}".split()
    subprocess.run(["tc", *f"qdisc add dev v0 root handle 1: {command}".split(), *kind], check=True)
    before = kernel.dump(Selection(classes=_TC, everything=True)).of("qdisc")["v0", "root"].attrs
    _reach(kernel, (wanted,), ())
    after = kernel.dump(Selection(classes=_TC, everything=True)).of("qdisc")["v0", "root"].attrs
    assert after == {**before, **wanted.attrs}
    _reach(kernel, (), (wanted,))


def test_options_of_class_that_nobody_says_stay(kernel: Kernels) -> None:
    subprocess.run("tc qdisc add dev v0 root handle 1: htb", shell=True, check=True)
    said = "class add dev v0 parent 1: classid 1:10 htb rate 1mbit overhead 24 linklayer atm mpu 64"
    subprocess.run(["tc", *said.split()], check=True)
    wanted = (qdisc("htb", {}), tclass("htb", {"rate": 250000}))
    _reach(kernel, wanted, ())
    shown = kernel.dump(Selection(classes=_TC, everything=True)).of("tclass")["v0", "1:10"].attrs
    assert {shown[name] for name in ("overhead", "linklayer", "mpu")} == {24, "atm", 64}
    _reach(kernel, (), wanted)


def _among_others(**said: bool) -> tuple[State, Mine]:
    """Many rules, and among them one that no link here has the hardware for."""
    rules = [_address(number) for number in range(200)]
    rules[77] = rules[77]._replace(attrs={**rules[77].attrs, "skip_sw": True, **said}, origin=Origin("rules.yaml", 7))
    goal = State((CLSACT, *rules))
    return goal, Mine(hooks=hooks_of(goal), classes=_TC)


def test_refused_rule_that_is_optional_is_left_out_alone(kernel: Kernels) -> None:
    goal, mine = _among_others(optional=True)
    left_out = converge(kernel, plan_for(kernel, goal, look(kernel, goal, mine), mine), goal, mine).refused
    assert [(each.refusal.origin, each.step.op) for each in left_out] == [("rules.yaml:7", Op.CREATE)]
    assert left_out[0].refusal.sentence
    wants = goal.of("filter").keys() - {_address(77).key}
    assert kernel.dump(Selection(classes=_TC, everything=True)).of("filter").keys() == wants


def test_refused_rule_leaves_none_of_the_others(kernel: Kernels) -> None:
    goal, mine = _among_others()
    before = look(kernel, goal, mine)
    plan = plan_for(kernel, goal, before, mine)
    with pytest.raises(KernelError) as caught:
        converge(kernel, plan, goal, mine)
    assert [refusal.origin for refusal in caught.value.refusals] == ["rules.yaml:7"]
    put_back(kernel, Snapshot.of(plan, before), mine)
    assert [str(obj) for obj in kernel.dump(Selection(classes=_TC, everything=True))] == []


def test_rules_that_all_go_are_one_message_a_preference_and_come_back(kernel: Kernels) -> None:
    many, others = (
        [rule("flower", {"dst_ip": f"10.0.0.{n}"}, protocol="ip", pref=pref, actions="drop") for n in range(count)]
        for pref, count in ((20, 100), (30, 3))
    )
    tables = (hashed({"table": 1, "divisor": 4}), hashed({"link": 1}), hashed({"table": 1, "bucket": 1}, "drop"))
    had, goal = State((CLSACT, *many, *others, *tables)), State((CLSACT, others[0]))
    mine = Mine(hooks=hooks_of(had), classes=_TC)
    converge(kernel, plan_for(kernel, had, look(kernel, had, mine), mine), had, mine)
    before = look(kernel, goal, mine)
    plan = plan_for(kernel, goal, before, mine)
    sizes = [len(step.steps) if isinstance(step, RangeStep) else 1 for step in plan.steps]
    assert sorted(sizes) == [1, 1, 1, 1, 100]
    converge(kernel, plan, goal, mine)
    assert kernel.dump(Selection(classes=_TC, everything=True)).of("filter").keys() == goal.of("filter").keys()
    (refused,) = kernel.apply([step for step in plan.steps if isinstance(step, RangeStep) and len(step.steps) > 1])
    assert (refused.step in plan.steps, refused.refusal.errno) == (False, errno.ENOENT)
    put_back(kernel, Snapshot.of(plan, before), mine)
    assert kernel.dump(Selection(classes=_TC, everything=True)).of("filter").keys() == had.of("filter").keys()


@pytest.mark.parametrize("number", [0, None], ids=["chain", "hook"])
@pytest.mark.parametrize("had", [(), (_address(9),)], ids=["first", "replaced"])
def test_atomic_chain_that_lacks_a_refused_rule_is_not_gone_to(
    kernel: Kernels, had: tuple[Object, ...], number: int | None
) -> None:
    atomic = Object("chain", ("v0", "ingress", number), {"atomic": True})
    hooks = hooks_of(State((CLSACT,)))
    rules = [_address(number) for number in range(5)]
    rules[1] = rules[1]._replace(attrs={**rules[1].attrs, "skip_sw": True})
    found = State()
    for policy in (had, rules):
        plan = assemble(State((CLSACT, atomic, *policy)), found, Owned())
        refused = kernel.apply(plan.steps)
        before, found = found, kernel.dump(Selection(classes=ON_QDISCS, hooks=hooks))
    assert [one.step.object.key[3:] for one in refused if isinstance(one.step, Step)] == [rules[1].key[3:]]
    assert found.of("filter").keys() >= before.of("filter").keys()
    switches = [{key: rule for key, rule in state.of("filter").items() if not key[2]} for state in (before, found)]
    assert switches[0] == switches[1]


def test_refused_rule_among_many_is_named(kernel: Kernels) -> None:
    good = [_address(number) for number in range(100)]
    steps = [Step(Op.CREATE, None, obj, obj.attrs) for obj in (CLSACT, *good[:50], good[7], *good[50:])]
    refused = kernel.apply(steps)
    assert [(one.step, one.refusal.sentence) for one in refused] == [(steps[51], "File exists")]
    assert kernel.dump(Selection(classes=_TC, hooks=hooks_of(State(good)))).of("filter").keys() >= {
        obj.key for obj in good
    }


def test_pinned_program_that_was_replaced_is_taken_up(kernel: Kernels) -> None:
    path, act = pin("rule", bpf_programs.CLASSIFIER, 0), pin("act", bpf_programs.ACTION, 0)
    rules = (
        rule("bpf", {"pinned": path}, actions="drop", direct_action=False, current=True),
        rule("matchall", {}, pref=20, actions={"bpf": {"pinned": act}}),
        rule("flower", {}, pref=30, actions={"bpf": {"pinned": act, "control": "pass"}}),
    )
    _reach(kernel, (CLSACT, *rules), ())
    pin("rule", bpf_programs.CLASSIFIER, 1)
    pin("act", bpf_programs.ACTION, 1)
    steps = _reach(kernel, (CLSACT, *rules), (CLSACT, *rules))
    assert [(step.op, step.object.key[3]) for step in steps] == [(Op.CHANGE, pref) for pref in (10, 20, 30)]
    Path(path).unlink()
    assert _pending(kernel, (CLSACT, *rules), ()) == []  # the one that was there goes on


def test_rule_whose_link_was_made_anew_leads_there_again(kernel: Kernels) -> None:
    made = ["ip", "link", "add", "t0", "type", "dummy"]
    subprocess.run(made, check=True)
    mirred = {"mirred": {"egress": "redirect", "dev": "t0"}}
    shared = action("mirred", 7, mirred)
    rules = (rule("matchall", {}, actions=mirred), rule("matchall", {}, pref=20, actions="mirred 7"))
    _reach(kernel, (CLSACT, shared, *rules), ())
    subprocess.run(["ip", "link", "del", "t0"], check=True)
    subprocess.run(made, check=True)
    kernel.dump(Selection(classes=frozenset({"link"}), everything=True))
    steps = _reach(kernel, (CLSACT, shared, *rules), (CLSACT, shared, *rules))
    assert [(step.op, step.object.key) for step in steps] == [(Op.CHANGE, shared.key), (Op.CHANGE, rules[0].key)]
    _reach(kernel, (), (CLSACT, shared, *rules))
    subprocess.run(["ip", "link", "del", "t0"], check=True)


def test_program_that_is_pinned_nowhere_is_told(kernel: Kernels) -> None:
    missing = rule("bpf", {"pinned": "/sys/fs/bpf/none"}, actions="drop")
    refused = kernel.apply([Step(Op.CREATE, None, obj, obj.attrs) for obj in (CLSACT, missing)])
    assert [one.refusal.sentence for one in refused] == ["No such file or directory: /sys/fs/bpf/none"]


def test_action_that_is_shared_is_changed_by_one_message(kernel: Kernels) -> None:
    rules = tuple(rule("flower", {"dst_ip": f"10.0.0.{n}"}, protocol="ip", actions="police 7") for n in range(100))
    first = action("police", 7, {"police": {"rate": 125000, "burst": 10000, "control": "drop"}})
    second = action("police", 7, {"police": {"rate": 250000, "burst": 10000, "control": "drop"}})
    _reach(kernel, (CLSACT, first, *rules), ())
    steps, sent = _messages(kernel, (CLSACT, second, *rules), (CLSACT, first))
    assert ([(step.op, step.object.key) for step in steps], sent) == ([(Op.CHANGE, ("police", 7))], 1)
