# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens in a plan: before or behind the settings of their links, as the kernel takes them."""

import pytest

from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op
from tests.engine.universe import state_of

OURS: dict[str, Value] = {"group": 0x4E47_0000}
NONE = "::"


def said(token: str, settings: str = "", more: str = "") -> State:
    return state_of(f"links: {{br: {{kind: bridge, token: '{token}', sysctl: {{{settings}}}{more}}}}}")


def actual(token: str = NONE, **settings: str) -> State:
    return State(
        (
            Object("link", ("br",), {"kind": "bridge", "mtu": 1500, **OURS}),
            Object("token", ("br",), {"token": token}),
            *(Object("sysctl", (f"net/ipv6/conf/br/{name}",), {"value": value}) for name, value in settings.items()),
        )
    )


def order(want: State, have: State) -> list[str]:
    return [step.object.cls for step in singles(assemble(want, have, Owned(frozenset({0x4E47_0000}))).steps)]


@pytest.mark.parametrize(
    ("want", "have", "first"),
    [
        pytest.param(said("::5", "ipv6.accept_ra: 1"), actual(accept_ra="0"), "sysctl", id="begins_to_listen"),
        pytest.param(said(NONE, "ipv6.accept_ra: 0"), actual("::5", accept_ra="1"), "token", id="ends_to_listen"),
        pytest.param(said(NONE, "ipv6.forwarding: 1"), actual("::5", forwarding="0"), "token", id="becomes_a_router"),
        pytest.param(
            said("::6", "ipv6.forwarding: 1, ipv6.accept_ra: 2"),
            actual("::5", forwarding="0", accept_ra="1"),
            "sysctl",
            id="becomes_a_router_that_listens",
        ),
    ],
)
def test_token_is_told_while_the_link_listens(want: State, have: State, first: str) -> None:
    got = order(want, have)
    assert got[0] == first
    assert sorted(set(got)) == ["sysctl", "token"]


def test_token_of_a_new_link_comes_behind_its_settings() -> None:
    assert order(said("::5", "ipv6.accept_ra: 1"), State()) == ["link", "sysctl", "token"]


def test_token_that_is_lost_is_said_again_and_none_is_not() -> None:
    for token, again in (("::5", ["::5"]), (NONE, [])):
        want = said(token, more=", numtxqueues: 3")
        steps = singles(assemble(want, actual("::5"), Owned(frozenset({0x4E47_0000}))).steps)
        got = [(step.op, step.attrs["token"]) for step in steps if step.object.cls == "token"]
        assert got == [(Op.CHANGE, value) for value in again]


def test_none_is_nothing_to_tell_a_new_link() -> None:
    assert order(said(NONE), State()) == ["link"]
