# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs for BPF programs on a real kernel: what is said of one end, whichever that is, and back after any refusal."""

import pytest

from netgroupd.engine.observe import look
from netgroupd.engine.transaction import plan_now
from netgroupd.model.state import State
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op
from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import MINE, Stumbling, become, ip, there_and_back, to_and_fro, told


def said(one: str = "", other: str = "") -> State:
    return state_of(f"links: {{a: {{kind: netkit, peer: b, up: true{one}}}, b: {{kind: netkit, peer: a{other}}}}}")


SHUT = ", policy: blackhole, peer_policy: forward"
ALL = ", mode: l2, policy: blackhole, peer_policy: blackhole, scrub: none, peer_scrub: default"
WAYS = [
    pytest.param(state_of("links: {lo: {up: true}}"), said(ALL), id="comes"),
    pytest.param(state_of("links: {lo: {up: true}}"), said("", ALL), id="comes_with_the_other_end"),
    pytest.param(said(ALL), state_of("links: {lo: {up: true}}"), id="goes"),
    pytest.param(said(SHUT), said(SHUT.replace("blackhole", "forward")), id="policy_changes"),
    pytest.param(said("", SHUT), said("", SHUT.replace("forward", "blackhole")), id="policy_of_the_peer_changes"),
    pytest.param(said(SHUT), said(f"{SHUT}, mode: l2"), id="mode_changes"),
    pytest.param(said(SHUT), said(f"{SHUT}, scrub: none"), id="scrub_changes"),
    pytest.param(said(SHUT), said("", SHUT), id="another_end_says_it"),
    pytest.param(said(), state_of("links: {a: {kind: veth, peer: b, up: true}}"), id="another_kind"),
    pytest.param(said(f"{ALL}, mac: '02:00:00:00:00:05'"), said(f"{ALL}, mtu: 9000"), id="link_changes"),
]


@pytest.mark.vm("stock")  # the messages are the same on both
@pytest.mark.parametrize(("before", "after"), WAYS)
def test_pairs_are_back_after_any_refusal(kernel: Stumbling, before: State, after: State) -> None:
    to_and_fro(kernel, before, after)


def ends(kernel: Stumbling) -> list[dict[str, object]]:
    """What is told of both ends that is not of every link."""
    links = look(kernel, said(), MINE).of("link")
    names = ("peer", "mode", "policy", "peer_policy", "scrub", "peer_scrub")
    return [{name: links[end,].attrs.get(name) for name in names if name in links[end,].attrs} for end in ("a", "b")]


@pytest.mark.parametrize("turned", [False, True], ids=["the_first", "the_second"])
def test_end_that_says_it_is_made_with_it_and_tells_it_alone(kernel: Stumbling, turned: bool) -> None:
    become(kernel, said("", ALL) if turned else said(ALL))
    got = ends(kernel)
    whole, other = reversed(got) if turned else got
    values = {"mode": "l2", "policy": "blackhole", "peer_policy": "blackhole", "scrub": "none", "peer_scrub": "default"}
    assert whole == {"peer": "a" if turned else "b", **values}
    assert other == {"peer": "b" if turned else "a"}
    assert all("netkit" in told("ip", "-d", "link", "show", end) for end in ("a", "b"))


def test_policy_changes_in_place_and_the_rest_makes_the_pair_anew(kernel: Stumbling) -> None:
    become(kernel, said(SHUT))
    for goal, ops in (
        (said(SHUT.replace("blackhole", "forward")), {Op.CHANGE}),
        (said(f"{SHUT}, mode: l2"), {Op.CREATE, Op.DELETE, Op.CHANGE}),
        (said("", SHUT), {Op.CREATE, Op.DELETE, Op.CHANGE}),
    ):
        steps = [*singles(plan_now(kernel, goal, MINE)[0].steps)]
        assert {step.op for step in steps} <= ops
        assert {step.op for step in steps} >= ops - {Op.CHANGE}


def test_ends_are_in_two_namespaces(kernel: Stumbling) -> None:
    ip("netns add blue")
    try:
        for policy in ("forward", "blackhole"):
            goal = said(f", policy: {policy}, peer_policy: blackhole", ", netns: blue, up: true")
            become(kernel, goal)
            assert not plan_now(kernel, goal, MINE)[0].steps
            assert "b@if" in here("ip link show b", "blue")
    finally:
        ip("netns del blue")


def test_pair_of_somebody_else_is_back_as_it_was(kernel: Stumbling) -> None:
    become(kernel, said("", ", mode: l2, peer_policy: blackhole"))
    there_and_back(kernel, state_of("links: {lo: {up: true}}"), refused=True)
    there_and_back(kernel, state_of("links: {a: {kind: dummy}}"), refused=True)


TEXT = "links:\n  a: {kind: netkit, peer: b%s}\n  b: {kind: netkit, peer: a%s}\n"


@pytest.mark.parametrize(
    ("one", "other", "want"),
    [
        pytest.param(SHUT, "", "    policy: blackhole\n", id="of_the_first"),
        pytest.param("", ", mode: l2, peer_policy: blackhole", "    mode: l2\n", id="of_the_second"),
    ],
)
def test_capture_has_pairs(engine_in: EngineIn, one: str, other: str, want: str) -> None:
    engine_in("here", TEXT % (one, other)).apply()
    text = engine_in("here", TEXT % ("", "")).capture()
    assert text.count(want) == 1
    here("ip link del dev a")
    engine_in("here", text).apply()
    assert engine_in("here", text).capture() == text


@pytest.mark.parametrize(("one", "other"), [(SHUT, ""), ("", SHUT), ("", ", peer_policy: blackhole, mode: l2")])
def test_an_earlier_generation_has_the_policy_that_it_did_not_mention(
    engine_in: EngineIn, one: str, other: str
) -> None:
    engine_in("here", TEXT % ("", "")).apply()
    before = engine_in("here", TEXT % ("", "")).capture()
    engine_in("here", TEXT % (one, other)).apply()
    assert engine_in("here", TEXT % ("", "")).capture() != before
    engine_in("here", "{}").rollback(1)
    assert engine_in("here", TEXT % ("", "")).capture() == before


@pytest.mark.parametrize(
    ("first", "second"), [(", numtxqueues: 3", ""), ("", ", numtxqueues: 3"), (", numtxqueues: 2", ", numtxqueues: 3")]
)
def test_each_end_of_a_cable_has_as_many_queues_as_it_says(engine_in: EngineIn, first: str, second: str) -> None:
    cable = f"links: {{a: {{kind: veth, peer: b{first}}}, b: {{kind: veth, peer: a{second}}}}}"
    engine_in("here", cable).apply()
    assert not engine_in("here", cable).diff().steps
    for name, said in (("a", first), ("b", second)):
        assert said[2:].replace(":", "") in here(f"ip -d link show {name}")
