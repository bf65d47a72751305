# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens of links: where they are written, and what the kernel would refuse or forget in silence."""

import pytest

from tests.config.reading import attrs, desired, told


def said(more: str = "", token: str = "::5", kind: str = "bridge", others: str = "") -> str:
    """A token, from column 24 of line 2 on, of a link of some kind."""
    return f"links:\n  br: {{kind: {kind}, token: '{token}'{more}}}\n{others}"


def test_token_counts_up_and_is_told_as_the_kernel_tells_it() -> None:
    found = desired(
        "links:\n  br[v=10-12]: {kind: bridge, token: '::{v:x}'}\n  b: {kind: bridge, token: '::0:0:0:5'}\n"
    )
    assert attrs(found, "token", "br12") == {"token": "::c"}
    assert attrs(found, "token", "b") == {"token": "::5"}


LISTENS = "set its sysctl ipv6.accept_ra to 2"
CASES = [
    pytest.param(
        said(token="2001:db8::5"),
        "2:29: token: expected the lower half of an IPv6 address, like ::10:20, or :: for none, "
        "not the text '2001:db8::5'",
        id="upper_half",
    ),
    pytest.param(
        "links:\n  lo: {token: '::5'}\n", "2:15: 'lo' cannot have a token: it is the loopback device", id="loopback"
    ),
    pytest.param(
        said(kind="dummy"),
        "2:28: 'br' cannot have a token: it is a dummy, and it looks for no neighbours; set its arp",
        id="kind_without_neighbours",
    ),
    pytest.param(
        said(", arp: off"),
        "2:29: 'br' cannot have a token: its arp is off, and it looks for no neighbours; set its arp",
        id="link_without_neighbours",
    ),
    pytest.param(
        said(", mtu: 1000"),
        "2:29: 'br' cannot have a token: with an MTU of 1000 it has no IPv6; give it 1280 at least",
        id="link_that_is_too_small",
    ),
    pytest.param(said(", l2only: on"), "2:29: 'br' cannot have a token: it is l2only", id="link_without_protocols"),
    *(
        pytest.param(
            said(f", sysctl: {{ipv6.{name}: 0}}"),
            f"2:29: 'br' cannot have a token: its sysctl ipv6.{name} is 0; leave one of them out",
            id=name,
        )
        for name in ("accept_ra", "router_solicitations")
    ),
    pytest.param(
        said(", sysctl: {ipv6.forwarding: 1}"),
        f"2:29: 'br' has a token, and it forwards: a router listens to no other unless it is told to; {LISTENS}",
        id="router",
    ),
    pytest.param(
        said(others="sysctl: {net.ipv6.conf.all.forwarding: 1}\n"),
        f"2:29: 'br' has a token, and all links forward: a router listens to no other unless it is told to; {LISTENS}",
        id="host_that_forwards",
    ),
    pytest.param(
        "links:\n  eth9: {token: '::5', sysctl: {ipv6.forwarding: 1}}\n",
        "2:17: warning: 'eth9' has a token, and it forwards: a router listens to no other unless it is told to; "
        f"{LISTENS}",
        id="hardware_that_may_have_been_told",
    ),
]
TAKEN = [
    pytest.param(said(), id="link"),
    pytest.param(said(", arp: on", kind="dummy"), id="dummy_that_looks_for_neighbours"),
    pytest.param(said(token="::", kind="dummy"), id="none"),
    pytest.param(said(", sysctl: {ipv6.forwarding: 1, ipv6.accept_ra: 2}"), id="router_that_listens"),
    pytest.param(
        said(", sysctl: {ipv6.forwarding: 0}", others="sysctl: {net.ipv6.conf.all.forwarding: 1}\n"),
        id="host_that_forwards_by_other_links",
    ),
    pytest.param("links:\n  eth9: {token: '::5'}\n", id="hardware"),
    pytest.param("links:\n  br: {kind: bridge, token: null}\n", id="not_mentioned"),
]


@pytest.mark.parametrize(("text", "want"), CASES)
def test_what_the_kernel_refuses_is_told_before(text: str, want: str) -> None:
    assert told(text, known=("eth9",)) == [f"a.yaml:{want}"]


@pytest.mark.parametrize("text", TAKEN)
def test_what_the_kernel_takes_is_taken(text: str) -> None:
    assert told(text, known=("eth9",)) == []
