# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens of links on a real kernel: as `ip` tells them, behind settings that they need, back after any refusal."""

import json
import subprocess

import pytest

from netgroupd.engine.transaction import plan_now
from netgroupd.errors import KernelError
from netgroupd.model.state import State
from netgroupd.plan.serialise import singles
from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import MINE, Stumbling, become, ip, there_and_back, to_and_fro, told

OF_NONE = "::"


def tokens() -> dict[str, str]:
    """What ``ip`` tells."""
    return {each["ifname"]: each["token"] for each in json.loads(told("ip", "-j", "token")) if each["token"] != OF_NONE}


def said(token: str = "", more: str = "", settings: str = "") -> State:
    own = (f"token: '{token}', " if token else "") + (f"sysctl: {{{settings}}}, " if settings else "")
    if "up:" not in more:
        own += "up: true, "
    return state_of(f"links: {{a: {{kind: veth, peer: b, {own}{more}}}, b: {{kind: veth, peer: a, up: true}}}}")


DEAF, HEARS = "ipv6.accept_ra: 0", "ipv6.accept_ra: 1"
ROUTER = "ipv6.forwarding: 1, ipv6.accept_ra: 2"
WAYS = [
    pytest.param(said(), said("::5"), id="comes"),
    pytest.param(said("::5"), said("::6:0:0:7"), id="becomes_another"),
    pytest.param(said("::5"), said("::"), id="goes"),
    pytest.param(said("::5"), said(), id="is_not_said_any_more"),
    pytest.param(said("", settings=DEAF), said("::5", settings=HEARS), id="comes_when_the_link_begins_to_listen"),
    pytest.param(said("::5", settings=HEARS), said("::", settings=DEAF), id="goes_when_the_link_ends_to_listen"),
    pytest.param(said("::5", settings=HEARS), said("", settings=DEAF), id="stays_when_the_link_ends_to_listen"),
    pytest.param(said("", settings="ipv6.forwarding: 1"), said("::5", settings=ROUTER), id="comes_to_a_router"),
    pytest.param(said("::5", settings=ROUTER), said("::", settings="ipv6.forwarding: 1"), id="goes_from_a_router"),
    pytest.param(said("::5", "mtu: 1500"), said("::", "mtu: 1000"), id="goes_with_ipv6"),
    pytest.param(said("", "mtu: 1000"), said("::5", "mtu: 1500"), id="comes_with_ipv6"),
    pytest.param(said("::5", "mtu: 1500"), said("", "mtu: 1000"), id="is_lost_with_ipv6"),
    pytest.param(said("::5"), said("::5", "numtxqueues: 3"), id="link_is_made_anew"),
    pytest.param(said("::5"), said("::6", "numtxqueues: 3"), id="link_is_made_anew_with_another"),
    pytest.param(said("::5"), state_of("links: {lo: {up: true}}"), id="link_goes"),
    pytest.param(said("::5"), state_of("links: {a: {kind: bridge, token: '::7'}}"), id="link_becomes_another"),
    pytest.param(said("::5"), said("::5", "up: false"), id="link_goes_down"),
]


@pytest.mark.vm("stock")  # the messages are the same on both
@pytest.mark.parametrize(("before", "after"), WAYS)
def test_tokens_are_back_after_any_refusal(kernel: Stumbling, before: State, after: State) -> None:
    to_and_fro(kernel, before, after, tokens)


def test_token_is_as_it_was_said(kernel: Stumbling) -> None:
    become(kernel, said("::6:0:0:7"))
    assert tokens() == {"a": "::6:0:0:7"}
    (step,) = singles(plan_now(kernel, said("::8"), MINE)[0].steps)
    assert (step.object.cls, dict(step.attrs)) == ("token", {"token": "::8"})
    become(kernel, said("::"))
    assert tokens() == {}


def test_no_token_is_no_difference_where_there_can_be_none(kernel: Stumbling) -> None:
    goal = state_of("links: {a: {kind: dummy, token: '::'}, c: {kind: dummy, mtu: 1000, token: '::'}}")
    become(kernel, goal)
    assert not plan_now(kernel, goal, MINE)[0].steps


def test_tokens_of_somebody_else_stay_and_come_back(kernel: Stumbling) -> None:
    become(kernel, said())
    ip("token set ::9 dev a")
    assert not plan_now(kernel, said(), MINE)[0].steps
    for goal in (said("", "mtu: 1000"), state_of("links: {lo: {up: true}}"), said("::5"), said("", "numtxqueues: 3")):
        there_and_back(kernel, goal, tokens, refused=True)
        assert tokens() == {"a": "::9"}


def test_token_lives_where_its_link_does(kernel: Stumbling) -> None:
    ip("netns add blue")
    try:
        for token in ("::5", "::6"):
            there = state_of(f"links: {{br: {{kind: bridge, netns: blue, token: '{token}'}}}}")
            become(kernel, there)
            assert f"token {token} dev br" in here("ip token", "blue")
            assert not plan_now(kernel, there, MINE)[0].steps
    finally:
        ip("netns del blue")


_IN_IT = ("ip", "netns", "exec", "here")
TEXT = "links:\n  br: {kind: bridge, up: true%s}\n"


def test_capture_has_tokens(engine_in: EngineIn) -> None:
    engine_in("here", TEXT % ", token: '::5'").apply()
    text = engine_in("here", TEXT % "").capture()
    assert '    token: "::5"\n' in text
    assert "#" not in text
    here("ip link del dev br")
    engine_in("here", text).apply()
    assert "token ::5 dev br" in here("ip token")
    assert engine_in("here", text).capture() == text


@pytest.mark.parametrize(
    "deaf",
    [
        pytest.param("ip link set dev br arp off", id="arp_off"),
        pytest.param("net.ipv6.conf.br.accept_ra=0", id="accepts_none"),
        pytest.param("net.ipv6.conf.br.router_solicitations=0", id="asks_none"),
        pytest.param("net.ipv6.conf.br.forwarding=1", id="forwards"),
        pytest.param("net.ipv6.conf.all.forwarding=1", id="all_forward"),
    ],
)
def test_capture_leaves_out_a_token_that_no_link_would_be_given(engine_in: EngineIn, deaf: str) -> None:
    engine_in("here", TEXT % ", token: '::5'").apply()
    here(deaf) if deaf.startswith("ip") else subprocess.run([*_IN_IT, "sysctl", "-qw", deaf], check=True)
    text = engine_in("here", TEXT % "").capture()
    assert "# left out (these links listen to no router any more): token br\n" in text
    assert not engine_in("here", text).diff().steps
    here("ip link del dev br")
    engine_in("here", text).apply()


def test_an_earlier_generation_has_the_token_that_it_did_not_mention(engine_in: EngineIn) -> None:
    engine_in("here", TEXT % "").apply()
    here("ip token set ::7 dev br")
    engine_in("here", TEXT % ", token: '::5'").apply()
    engine_in("here", TEXT % ", token: '::6'").apply()
    engine_in("here", "{}").rollback(1)
    assert "token ::7 dev br" in here("ip token")


def test_refusal_names_the_line(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    here("ip link add d9 type dummy")
    engine = engine_in("here", "links:\n  d9:\n    token: '::5'\n")
    why = r"all\.yaml:3: change token d9: ipv6: Device does not do neighbour discovery"
    with pytest.raises(KernelError, match=why):
        engine.apply()
