# SPDX-License-Identifier: GPL-2.0-or-later
"""A hook whose chains are replaced together: after each step a packet meets one policy, and the plan reads as one."""

from collections.abc import Iterable, Iterator

import pytest

from netgroupd.kernel.refused import title
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.model.tc import filter as filters
from netgroupd.model.tc.chain import ALL, OF_HOOK, SPARE, led_to
from netgroupd.plan.assemble import assemble
from netgroupd.plan.nets import said_in
from netgroupd.plan.owned import Owned
from netgroupd.plan.present import objects_text, text
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.tc.atomic import is_switch
from netgroupd.plan.tc.beside import said_key, unplaced
from netgroupd.plan.tc.optional import keys_of, without

LINK = Object("link", ("v0",), {"kind": "dummy"})
CLSACT = Object("qdisc", ("v0", "clsact"), {"kind": "clsact", "handle": "ffff:", "hooks": ("ingress",)})
HERE: tuple[tuple[str, str], ...] = (("v0", "ingress"), ("block 7", ""))


def _atomic(*numbers: int | None, hook: tuple[str, str] = HERE[0]) -> tuple[Object, ...]:
    return tuple(Object("chain", (*hook, number), {"atomic": True}) for number in numbers)


def rule(chain: int, pref: int, control: str, hook: tuple[str, str] = HERE[0], last: int = 1) -> Object:
    """A rule for one address."""
    attrs: Attrs = {"kind": "flower", "protocol": "ip", "actions": ({"kind": "gact", "control": control},)}
    return Object("filter", filters.key(*hook, chain, pref, {"dst_ip": f"10.0.0.{last}"}), attrs)


def _policy(pref: int, hook: tuple[str, str] = HERE[0]) -> tuple[Object, ...]:
    """Rules in three chains, all of one preference, which tells the policy that they are of."""
    ways = (rule(0, pref, "goto chain 5", hook), rule(5, pref, "goto chain 7", hook), rule(7, pref, "drop", hook))
    return (*ways, rule(0, pref, "pass", hook, 2))


def _plan(want: Iterable[Object], have: State) -> Plan:
    return assemble(State((LINK, CLSACT, *want)), State((LINK, CLSACT, *have)), Owned())


def _after(have: State, step: Step) -> State:
    state = State(have)
    if step.op is Op.DELETE:
        del state.classes[step.object.cls][step.object.key]
    else:
        state.add(step.object)
    return state


def _states(plan: Plan, have: State) -> Iterator[State]:
    for step in singles(plan.steps):
        have = _after(have, step)
        yield have


def _reached(want: Iterable[Object], have: State) -> State:
    for state in _states(_plan(want, have), have):
        have = state
    return State(sorted(have, key=lambda one: said_key(one.key) != one.key))  # the kernel tells the first chain first


def _met(state: State, hook: tuple[str, str] = HERE[0]) -> tuple[tuple[int, int], ...]:
    """The chain and preference of each rule that a packet meets, in the numbers of the configuration."""
    met: list[tuple[int, int]] = []
    number: int | None = 0
    while number is not None:
        found = [one for one in state.of("filter").values() if one.key[:3] == (*hook, number)]
        first = min((one for one in found if one.key[4] in ((), (("dst_ip", "10.0.0.1"),))), key=_pref, default=None)
        number = next(led_to(first.attrs), None) if first else None
        if first and not is_switch(first):
            met.append(said_key(first.key)[2:4])  # type: ignore[arg-type]  # two numbers
    return tuple(met)


def _pref(one: Object) -> int:
    pref = one.key[3]
    assert isinstance(pref, int)
    return pref


def _all_of(pref: int) -> tuple[tuple[int, int], ...]:
    return ((0, pref), (5, pref), (7, pref))


WAYS = {"plain": (), "chains": (0, 5), "one_chain": (5,), "hook": (ALL,)}
PAIRS = [(was, will) for was in WAYS for will in WAYS if "hook" in (was, will)]


@pytest.mark.parametrize("hook", HERE, ids=["hook", "block"])
@pytest.mark.parametrize(("was", "will"), PAIRS, ids=[" to ".join(pair) for pair in PAIRS])
def test_packet_meets_one_of_the_policies_after_every_step(was: str, will: str, hook: tuple[str, str]) -> None:
    have = _reached((*_atomic(*WAYS[was], hook=hook), *_policy(20, hook)), State())
    for pref in (30, 20) if will == "hook" else (30,):  # each side in its turn
        want = (*_atomic(*WAYS[will], hook=hook), *_policy(pref, hook))
        met = [_met(state, hook) for state in _states(_plan(want, have), have)]
        assert set(met) <= {_all_of(20), _all_of(30)}
        assert met[-1] == _all_of(pref)
        have = _reached(want, have)
        assert _plan(want, have).steps == ()


def test_policy_that_comes_and_goes_does_so_at_once() -> None:
    want = (*_atomic(ALL), *_policy(20))
    have = _reached(want, State())
    assert {_met(state) for state in _states(_plan(want, State()), State())} == {(), _all_of(20)}
    assert {_met(state) for state in _states(_plan((), have), have)} == {()}


def test_whole_hook_is_built_on_the_other_side_for_one_rule() -> None:
    have = _reached((*_atomic(ALL), *_policy(20)), State())
    changed = (*_policy(20)[:2], rule(7, 20, "pass"), _policy(20)[3])
    steps = [*singles(_plan((*_atomic(ALL), *changed), have).steps)]
    assert [(step.op, step.object.key[2]) for step in steps if step.op is not Op.DELETE] == [
        *[(Op.CREATE, OF_HOOK + 2 * number + 1) for number in (0, 5, 7, 0)],
        (Op.CHANGE, 0),
    ]
    assert {step.object.key[2] for step in steps[5:]} == {OF_HOOK + 2 * number for number in (0, 5, 7)}


@pytest.mark.parametrize("stray", [(0, 30), (5, 30), (OF_HOOK + 14, 30), (OF_HOOK + 14, 20)])
def test_rule_of_another_hand_goes_and_the_policy_stays_whole(stray: tuple[int, int]) -> None:
    want = (*_atomic(ALL), *_policy(20))
    whole = _reached(want, State())
    have = State((*whole, rule(*stray, "trap")))
    plan = _plan(want, have)
    assert plan.steps
    assert all(_met(state) == _all_of(20) for state in [*_states(plan, have)][4:])
    assert unplaced(_reached(want, have)).of("filter").keys() == unplaced(whole).of("filter").keys()


def _shown(want: Iterable[Object], have: State) -> str:
    return text(_plan(want, have))


_SWITCH = "its rules are built beside the old ones, and take over at once"


def test_plan_shows_what_differs_under_the_numbers_of_the_configuration() -> None:
    many = [rule(5, 20, "drop", last=last) for last in range(1, 6)]
    have = _reached((*_atomic(ALL), rule(0, 20, "goto chain 5"), *many), State())
    new = (rule(0, 20, "goto chain 6"), *many[:4], rule(6, 20, "drop"))
    assert _shown((*_atomic(ALL), *new), have).splitlines() == [
        "~ filter v0 ingress pref 20 dst_ip 10.0.0.1  actions (kind gact control goto chain 5)"
        " -> (kind gact control goto chain 6)",
        "+ filter v0 ingress chain 6 pref 20 dst_ip 10.0.0.1  kind flower  protocol ip  actions"
        " (kind gact control drop)",
        f"~ filter v0 ingress pref 1  actions (kind gact control goto chain {OF_HOOK})"
        f" -> (kind gact control goto chain {OF_HOOK + 1})  # {_SWITCH}",
        "- filter v0 ingress chain 5 pref 20 dst_ip 10.0.0.5",
        "1 to create, 2 to change, 1 to delete; 9 messages",
    ]


def test_rules_that_are_built_are_folded() -> None:
    shown = _shown((*_atomic(ALL), *(rule(5, 20, "goto chain 7", last=last) for last in range(9))), State())
    assert shown.splitlines()[0] == (
        "+ filter v0 ingress chain 5 pref 20 dst_ip 10.0.0.[0-8]  kind flower  protocol ip  actions"
        " (kind gact control goto chain 7) (9)"
    )


def test_rules_are_shown_and_refused_under_the_numbers_of_the_configuration() -> None:
    plan = _plan((*_atomic(ALL), *_policy(20)), State())
    have = _reached((*_atomic(ALL), *_policy(20)), State())
    assert "chain 7 pref 20 dst_ip 10.0.0.1  kind flower" in objects_text(have, {})
    assert "control goto chain 7)" in objects_text(have, {})
    names = [title(step, said_in(plan.steps)) for step in singles(plan.steps)]
    assert names[2] == "create filter v0 ingress chain 7 pref 20 dst_ip 10.0.0.1"


_FOREIGN = [OF_HOOK + 10, OF_HOOK + 15, SPARE + 10]  # chain 7 has others beside it


@pytest.mark.parametrize("number", _FOREIGN)
@pytest.mark.parametrize("atomic", [(), (7,)], ids=["plain", "another_chain_is_atomic"])
def test_rule_that_somebody_put_into_so_high_a_chain_is_shown_with_its_number(
    number: int, atomic: tuple[int, ...]
) -> None:
    ours = (*_atomic(*atomic), rule(5, 20, "drop"), rule(7, 20, "drop"))
    theirs = State((*_reached(ours, State()), rule(number, 20, "drop")))
    plan = _plan(ours, theirs)
    name = f"filter v0 ingress chain {number} pref 20 dst_ip 10.0.0.1"
    assert text(plan).splitlines()[0] == f"- {name}"
    assert str(number) in objects_text(theirs, {})
    assert str(number) in objects_text(unplaced(theirs), {})
    (step,) = singles(plan.steps)
    assert title(step, said_in(plan.steps)) == f"delete {name}"


def test_rule_in_so_high_a_chain_is_not_taken_for_one_that_comes() -> None:
    theirs = State((rule(OF_HOOK + 10, 20, "pass"),))
    assert text(_plan((rule(5, 20, "drop"),), theirs)).splitlines()[:2] == [
        "+ filter v0 ingress chain 5 pref 20 dst_ip 10.0.0.1  kind flower  protocol ip"
        "  actions (kind gact control drop)",
        f"- filter v0 ingress chain {OF_HOOK + 10} pref 20 dst_ip 10.0.0.1",
    ]


def test_optional_rule_of_a_hook_is_left_out_of_the_goal() -> None:
    want = State((*_atomic(ALL), *_policy(20)))
    (_, _, last, *_) = singles(_plan(want, State()).steps)
    left = without(want, keys_of([last], want))
    assert want.of("filter").keys() - left.of("filter").keys() == {_policy(20)[2].key}


def _masks(state: State, chain: int) -> list[Key]:
    """What the rules of a chain match, as they came: each has another mask."""
    return [key[4] for key in state.of("filter") if key[2] == chain]  # type: ignore[misc]  # pairs


@pytest.mark.parametrize("numbers", [(ALL,), (0,), (5,)], ids=["hook", "first_chain", "chain"])
@pytest.mark.parametrize("places", [(0,), (1,), (2,), (0, 1), (0, 2)], ids=str)
def test_optional_rules_that_come_back_are_asked_where_the_file_has_them(
    numbers: tuple[int | None, ...], places: tuple[int, ...]
) -> None:
    chain = numbers[0] or 0
    rules = [rule(chain, 20, "drop", last=last) for last in range(3)]
    rules = [
        one._replace(key=(*one.key[:4], (("dst_ip", f"10.0.0.0/{8 + place}"),)), attrs={**one.attrs, "optional": True})
        for place, one in enumerate(rules)
    ]
    whole = (*_atomic(*numbers), *rules)
    fewer = (*_atomic(*numbers), *(one for place, one in enumerate(rules) if place not in places))
    have = _reached(fewer, _reached(whole, State()))
    have = State(have)
    while plan := _plan(whole, have).steps:
        for step in singles(plan):
            have = _after(have, step)
    asked = [_masks(have, key[2]) for key in have.of("filter") if not is_switch(have.of("filter")[key])]  # type: ignore[arg-type]
    assert asked == [[one.key[4] for one in rules]] * 3


def _held(state: State) -> dict[str, set[Key]]:
    return {cls: set(state.of(cls)) for cls in ("chain", "filter")}


@pytest.mark.parametrize("numbers", [(ALL,), (0, 5), (5,)], ids=["hook", "chains", "one_chain"])
def test_what_is_there_is_told_as_the_configuration_has_it(numbers: tuple[int | None, ...]) -> None:
    want = (*_atomic(*numbers), *_policy(20))
    have = State()
    for pref in (20, 30, 20):
        have = _reached((*_atomic(*numbers), *_policy(pref)), have)
    told = unplaced(have)
    assert _held(told) == _held(State(want))
    wants = State(want).of("filter")
    assert all(one.attrs["actions"] == wants[key].attrs["actions"] for key, one in told.of("filter").items())


@pytest.mark.parametrize("stray", [(5, 30), (OF_HOOK + 15, 30), (0, 30)], ids=["plain", "other_side", "first"])
def test_hook_with_more_than_one_policy_is_told_as_it_is(stray: tuple[int, int]) -> None:
    have = State((*_reached((*_atomic(ALL), *_policy(20)), State()), rule(*stray, "trap")))
    assert unplaced(have) is have
