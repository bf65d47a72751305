# SPDX-License-Identifier: GPL-2.0-or-later
"""From every configuration of a small universe to every other one, and back when something refuses."""

import errno
from collections.abc import Callable, Sequence
from itertools import cycle, permutations, product

import pytest

from netgroupd.engine import observe
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import Mine, look, look_at_links, rows_for
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.record.generations import Content
from netgroupd.engine.transaction import converge, plan_for, plan_now
from netgroupd.errors import KernelError, VerifyError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan.named import text_of
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import AnyStep, Step
from tests.engine.universe import BORROWED, FURTHER_NAMES, LOSING, NEXTHOPS, UNIVERSE, state_of

MODES = "modes_of_bonds_with_ports"
PAIRS = [
    *(pytest.param(UNIVERSE[old], UNIVERSE[new], id=f"{old}-{new}") for old, new in permutations(UNIVERSE, 2)),
    *(pytest.param(*texts, id=name) for name, texts in LOSING.items()),
    *(pytest.param(*reversed(texts), id=f"{name}_backwards") for name, texts in LOSING.items()),
    pytest.param(*BORROWED[MODES], id=MODES),
    pytest.param(*reversed(BORROWED[MODES]), id=f"{MODES}_backwards"),
]
REFUSALS = [errno.EPERM, errno.EBUSY, errno.ENOMEM, errno.EEXIST, errno.ENODEV]
_SMALL = 10  # steps; where there are more, one way of refusing each takes long enough
EVERYTHING = Mine(classes=frozenset({"fdb", "mdb", "bridge_vlan", "sysctl"}))


def looked_after(*goals: State) -> Mine:
    """What has to be looked after where each of ``goals`` was to be brought about."""
    mine = EVERYTHING
    for goal in goals:
        mine = mine.joined(Content(named=text_of(goal)))
    return mine


def there(kernel: FakeKernel) -> dict[tuple[str, object], object]:
    """All that a kernel has, for comparing."""
    return {(obj.cls, obj.key): dict(obj.attrs) for obj in kernel.state}


def host_with(text: str) -> FakeKernel:
    """A host on which a configuration is in effect."""
    kernel = FakeKernel()
    goal = state_of(text)
    converge(kernel, plan_for(kernel, goal, look(kernel, goal, EVERYTHING), EVERYTHING), goal, EVERYTHING)
    return kernel


def refusing(nth: int, number: int) -> "Refuser":
    return Refuser(nth, number)


class Refuser:
    """Refuses the nth step it is asked about, and no other."""

    def __init__(self, nth: int, number: int) -> None:
        self.left = nth
        self.number = number

    def __call__(self, _step: AnyStep) -> int:
        self.left -= 1
        return self.number if self.left == -1 else 0


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_going_from_one_configuration_to_another_needs_one_run(old: str, new: str) -> None:
    kernel = host_with(old)
    goal = state_of(new)
    mine = looked_after(state_of(old), goal)
    plan = plan_for(kernel, goal, look(kernel, goal, mine), mine)
    kernel.messages = 0
    converge(kernel, plan, goal, mine)
    assert kernel.messages == len(plan.steps)
    assert not plan_for(kernel, goal, look(kernel, goal, mine), mine).steps


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_refusal_of_any_step_leaves_the_kernel_as_it_was(old: str, new: str) -> None:
    kernel = host_with(old)
    before = there(kernel)
    goal = state_of(new)
    mine = looked_after(state_of(old), goal)
    actual = look(kernel, goal, mine)
    plan = plan_for(kernel, goal, actual, mine)
    snapshot = Snapshot.from_json(Snapshot.of(plan, actual).to_json())
    places = range(len(plan.steps))
    one_each = zip(places, cycle(REFUSALS), strict=False)
    for nth, number in product(places, REFUSALS) if len(places) <= _SMALL else one_each:
        kernel.refuse = refusing(nth, number)
        try:
            converge(kernel, plan, goal, mine)
        except KernelError:
            put_back(kernel, snapshot, mine)
        else:  # a deletion of what is gone already is no failure
            put_back(kernel, snapshot, mine)
        assert there(kernel) == before


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_plan_is_the_same_whether_all_of_the_links_is_looked_at_or_what_it_takes(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observe, "_MANY_TO_ONE", 0)
    kernel, goal = host_with(old), state_of(new)
    mine = EVERYTHING._replace(named=(text_of(state_of(old)),))
    want = plan_for(kernel, goal, look(kernel, goal, mine), mine)
    in_part = look_at_links(kernel, mine, rows_for(goal))
    assert plan_now(kernel, goal, mine, in_part)[0] == want


class Noting(FakeKernel):
    """Notes how much of which links is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: list[tuple[bool, frozenset[str]]] = []

    def dump(self, selection: Selection) -> State:
        if "link" in selection.classes:
            self.looks.append((selection.rows is None, selection.links))
        return super().dump(selection)


@pytest.mark.parametrize(
    ("more", "wholly"),
    [
        pytest.param("br2: {kind: bridge}", [], id="a_link_by_itself"),
        pytest.param("d1: {kind: dummy, master: br1}", [frozenset({"br1"})], id="a_port"),
        pytest.param("p[0-0]: {mtu: 1400}", [frozenset()], id="a_change"),
        pytest.param("d[1-2]: {kind: dummy}", [frozenset()], id="many_at_once"),
    ],
)
def test_all_of_a_link_is_looked_at_where_something_is_done_to_it_or_on_it(
    more: str, wholly: list[frozenset[str]]
) -> None:
    kernel = Noting()
    text = "links:\n  p[0-5]: {kind: dummy}\n  br1: {kind: bridge}\n"
    goal = state_of(text)
    converge(kernel, plan_for(kernel, goal, look(kernel, goal, EVERYTHING), EVERYTHING), goal, EVERYTHING)
    goal = state_of(f"{text}  {more}\n")
    in_part = look_at_links(kernel, EVERYTHING, rows_for(goal))
    kernel.looks.clear()
    assert plan_now(kernel, goal, EVERYTHING, in_part)[0].steps
    assert [links for whole, links in kernel.looks if whole] == wholly


def test_range_of_vlans_refused_half_way_leaves_the_kernel_as_it_was() -> None:
    text = "links: {p: {kind: dummy, master: br, vlans: '[%s]'}, br: {kind: bridge}}"
    kernel, goal = FakeKernel(state_of(text % "2-9")), state_of(text % "5-20")
    actual = look(kernel, goal, EVERYTHING)
    plan = plan_for(kernel, goal, actual, EVERYTHING)
    before = there(kernel)
    snapshot = Snapshot.from_json(Snapshot.of(plan, actual).to_json())
    for nth in range(len([*singles(plan.steps)])):
        kernel.refuse = refusing(nth, errno.ENOMEM)
        with pytest.raises(KernelError):
            converge(kernel, plan, goal, EVERYTHING)
        put_back(kernel, snapshot, EVERYTHING)
        assert there(kernel) == before


_RULES = """
links: {v0: {kind: dummy, up: true}}
tc:
  v0:
    ingress:
      - {pref: 10, protocol: ip, flower: {dst_ip: "10.0.0.[1-20]"}, action: %s%s}
"""


def _address(rule: Object) -> str:
    return str(dict(rule.key[4])["dst_ip"])  # type: ignore[arg-type]  # pairs, as filter.key makes


def _refused_rules(*addresses: str) -> Callable[[AnyStep], int]:
    """Refuse to make or change rules for these addresses, and nothing else."""

    def refuse(step: AnyStep) -> int:
        about = isinstance(step, Step) and step.after and step.after.cls == "filter" and _address(step.after)
        return errno.ENOSPC if about in addresses else 0

    return refuse


@pytest.mark.parametrize("had", [False, True], ids=["new", "changed"])
def test_optional_rules_that_are_refused_are_left_out(had: bool) -> None:
    kernel, mine = FakeKernel(), Mine(classes=frozenset({"filter", "qdisc"}))
    if had:
        before = state_of(_RULES % ("pass", ""))
        converge(kernel, plan_for(kernel, before, look(kernel, before, mine), mine), before, mine)
    goal = state_of(_RULES % ("drop", ", optional: true"))
    kernel.refuse = _refused_rules("10.0.0.3", "10.0.0.20")
    left_out = converge(kernel, plan_for(kernel, goal, look(kernel, goal, mine), mine), goal, mine).refused
    kept = set(map(_address, kernel.state.of("filter").values()))
    assert kept == {f"10.0.0.{number}" for number in range(1, 20) if number != 3}
    steps = (each.step for each in left_out)
    assert {_address(step.object) for step in steps if isinstance(step, Step)} == {"10.0.0.3", "10.0.0.20"}


class _Terse(FakeKernel):
    """Tells of each run only the first refusals, as the kernel does where an answer is too small for all."""

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        return super().apply(steps, progress)[:3]


def test_optional_rules_are_left_out_however_few_refusals_are_told_at_once() -> None:
    kernel, mine = _Terse(), Mine(classes=frozenset({"filter", "qdisc"}))
    goal = state_of(_RULES % ("drop", ", optional: true"))
    kernel.refuse = _refused_rules(*(f"10.0.0.{number}" for number in range(2, 21)))
    left_out = converge(kernel, plan_for(kernel, goal, look(kernel, goal, mine), mine), goal, mine).refused
    assert len(left_out) == 19
    assert [*map(_address, kernel.state.of("filter").values())] == ["10.0.0.1"]


def test_rule_that_is_not_optional_is_no_less_needed_for_those_that_are() -> None:
    kernel, mine = FakeKernel(), Mine(classes=frozenset({"filter", "qdisc"}))
    text = (
        _RULES % ("drop", ", optional: true")
        + "      - {pref: 20, protocol: ip, flower: {dst_ip: 10.9.9.9}, action: drop}"
    )
    goal = state_of(text)
    kernel.refuse = _refused_rules("10.0.0.3", "10.9.9.9")
    with pytest.raises(KernelError) as caught:
        converge(kernel, plan_for(kernel, goal, look(kernel, goal, mine), mine), goal, mine)
    assert [refusal.errno for refusal in caught.value.refusals] == [errno.ENOSPC]


def test_what_is_not_owned_is_neither_touched_nor_shown() -> None:
    foreign = (
        Object("link", ("eth9",), {"kind": "", "up": True, "group": 0, "mtu": 1500}),
        Object("link", ("docker0",), {"kind": "bridge", "up": True, "group": 0, "mtu": 1500}),
        Object("address", ("docker0", "172.17.0.1/16", None), {}),
    )
    kernel = FakeKernel(foreign=foreign)
    goal = state_of(UNIVERSE["vrf"])
    plan = plan_for(kernel, goal, look(kernel, goal, EVERYTHING), EVERYTHING)
    converge(kernel, plan, goal, EVERYTHING)
    converge(kernel, plan_for(kernel, State(), look(kernel, State(), EVERYTHING), EVERYTHING), State(), EVERYTHING)
    assert there(kernel) == {(obj.cls, obj.key): obj.attrs for obj in foreign}


def test_what_the_kernel_made_by_itself_on_a_new_link_goes_with_it() -> None:
    kernel = FakeKernel()
    goal = state_of(UNIVERSE["vlans"])
    plan = plan_for(kernel, goal, look(kernel, goal, EVERYTHING), EVERYTHING)
    snapshot = Snapshot.of(plan, State())
    converge(kernel, plan, goal, EVERYTHING)
    made_by_itself = Object("bridge_vlan", ("br-10", 1), {"pvid": True, "untagged": True})
    kernel.state.add(made_by_itself)
    put_back(kernel, snapshot, EVERYTHING)
    assert there(kernel) == {}


def test_address_that_somebody_else_gave_is_taken_over() -> None:
    foreign = [
        Object("link", ("eth9",), {"kind": "", "up": True, "group": 0, "mtu": 1500}),
        Object("address", ("eth9", "172.17.0.1/16", None), {}),
    ]
    kernel = FakeKernel(foreign=foreign)
    goal = State([Object("link", ("eth9",), {}), Object("address", ("eth9", "172.17.0.1/16", None), {})])
    plan = plan_for(kernel, goal, look(kernel, goal, EVERYTHING), EVERYTHING)
    assert [(step.op, step.why) for step in singles(plan.steps)] == [
        ("change", "it is there, and becomes netgroupd's"),
    ]
    converge(kernel, plan, goal, EVERYTHING)
    assert not plan_for(kernel, goal, look(kernel, goal, EVERYTHING), EVERYTHING).steps


def test_address_that_somebody_else_gave_with_another_label_is_made_again() -> None:
    card = Object("link", ("eth9",), {"kind": "", "up": True, "group": 0, "mtu": 1500})
    theirs = Object("address", ("eth9", "172.17.0.1/16", None), {"label": "eth9:1", "scope": "link"})
    kernel = FakeKernel(foreign=[card, theirs])
    goal = State([card, theirs._replace(attrs={"label": "eth9", "scope": "global"})])
    plan = plan_for(kernel, goal, look(kernel, goal, EVERYTHING), EVERYTHING)
    why = "it is there, and address label cannot change in place"
    assert [(step.op, step.why) for step in singles(plan.steps)] == [("delete", why), ("create", why)]
    converge(kernel, plan, goal, EVERYTHING)
    assert not plan_for(kernel, goal, look(kernel, goal, EVERYTHING), EVERYTHING).steps


BRIDGE = Object("link", ("br0",), {"kind": "bridge", "up": True, "group": 0x4E470000, "mtu": 1500})
LEAST, NEXT, OWN = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:09"


def ports(*macs: str) -> list[Object]:
    common: dict[str, Value] = {"kind": "dummy", "up": True, "group": 0x4E470000, "mtu": 1500, "master": "br0"}
    return [Object("link", (f"p{number}",), {**common, "mac": mac}) for number, mac in enumerate(macs)]


@pytest.mark.parametrize(
    ("mac", "after"), [pytest.param(NEXT, LEAST, id="borrowed_again"), pytest.param(OWN, OWN, id="its_own_is_kept")]
)
def test_putting_back_a_port_puts_back_the_mac_that_its_bridge_had_of_it(mac: str, after: str) -> None:
    """While the port with the least MAC is gone, its bridge has the next one's, and that is no goal."""

    class Borrowing(FakeKernel):
        def apply(self, steps, progress=None):  # type: ignore[no-untyped-def]
            refused = super().apply(steps, progress)
            if mac == NEXT:
                least = min(str(link.attrs["mac"]) for link in self.state.of("link").values() if link.name != "br0")
                bridge = self.state.classes["link"]["br0",]
                self.state.add(bridge._replace(attrs={**bridge.attrs, "mac": least}))
            return refused

    bridge = BRIDGE._replace(attrs={**BRIDGE.attrs, "mac": mac})
    first, second = ports(LEAST, NEXT)
    kernel = Borrowing([bridge, second])
    put_back(kernel, Snapshot((first,)), EVERYTHING)
    assert kernel.state.of("link")["br0",].attrs["mac"] == after


def test_putting_back_does_not_bring_back_what_others_delete_meanwhile() -> None:
    class Losing(FakeKernel):
        def apply(self, steps, progress=None):  # type: ignore[no-untyped-def]
            refused = super().apply(steps, progress)
            for key in [("br0",), ("theirs",)]:
                self.state.classes["link"].pop(key, None)
            self.state.classes["address"].clear()
            return refused

    first, second = ports(LEAST, NEXT)
    theirs = Object("link", ("theirs",), {**second.attrs, "master": None, "protodown": False})
    kernel = Losing([BRIDGE, second, theirs, Object("address", ("theirs", "10.0.0.1/24", None), {})])
    put_back(kernel, Snapshot((first,)), EVERYTHING)
    assert {obj.name for obj in kernel.state} == {"p0", "p1"}


@pytest.mark.parametrize("kind", ["vlan", "ipvlan"])
def test_putting_back_an_mtu_puts_back_those_that_followed_it(kind: str) -> None:
    common: dict[str, Value] = {"up": True, "group": 0x4E470000, "mtu": 1500}
    lower = Object("link", ("p",), {"kind": "dummy", **common})
    kernel = FakeKernel([lower, Object("link", ("p.5",), {"kind": kind, "link": "p", "id": 5, **common})])
    before = there(kernel)
    goal = State([lower._replace(attrs={"mtu": 1400}), Object("link", ("p.5",), {"kind": kind, "link": "p", "id": 5})])
    actual = look(kernel, goal, EVERYTHING)
    plan = plan_for(kernel, goal, actual, EVERYTHING)
    converge(kernel, plan, goal, EVERYTHING)
    assert kernel.state.of("link")["p.5",].attrs["mtu"] == 1400
    put_back(kernel, Snapshot.of(plan, actual), EVERYTHING)
    assert there(kernel) == before


@pytest.mark.parametrize("stubborn", [False, True])
def test_what_follows_from_the_steps_takes_another_round_and_what_was_in_vain_does_not(stubborn: bool) -> None:
    class Meddling(FakeKernel):
        calls = 0

        def apply(self, steps, progress=None):  # type: ignore[no-untyped-def]
            refused = super().apply(steps, progress)
            self.calls += 1
            if stubborn or self.calls == 1:
                self.state.add(BRIDGE._replace(attrs={**BRIDGE.attrs, "mtu": 1280}))
            return refused

    kernel = Meddling([BRIDGE])
    goal = State([BRIDGE, *ports(LEAST)])
    plan = plan_for(kernel, goal, look(kernel, goal, EVERYTHING), EVERYTHING)
    if stubborn:
        with pytest.raises(VerifyError, match="mtu 1280 -> 1500"):
            converge(kernel, plan, goal, EVERYTHING)
    else:
        converge(kernel, plan, goal, EVERYTHING)
    assert kernel.calls == 2


@pytest.mark.parametrize(
    ("texts", "hardware"),
    [
        pytest.param(FURTHER_NAMES, (), id="further_names_come_and_go_and_change_hands"),
        pytest.param(NEXTHOPS, (Object("link", ("lo",), {}),), id="nexthop_with_a_route_becomes_something_else"),
    ],
)
def test_what_follows_what_needs_one_run(texts: Sequence[str], hardware: Sequence[Object]) -> None:
    kernel = FakeKernel(hardware)
    for goal in map(state_of, texts):
        plan = plan_for(kernel, goal, look(kernel, goal, EVERYTHING), EVERYTHING)
        kernel.messages = 0
        converge(kernel, plan, goal, EVERYTHING)
        assert kernel.messages == len(plan.steps)
