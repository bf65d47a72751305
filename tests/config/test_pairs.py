# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of links for BPF programs: what is said of one end, and what the kernel would refuse."""

import pytest

from tests.config.reading import desired, told


def said(one: str = "", other: str = "", more: str = "") -> str:
    return f"links:\n  a: {{kind: netkit, peer: b{one}}}\n  b: {{kind: netkit, peer: a{other}}}\n{more}"


def test_other_end_is_made_with_the_first() -> None:
    found = desired("links:\n  nk[v=1-2]: {kind: netkit, peer: 'in{v}', mode: l2, up: true}\n").state.of("link")
    assert {key[0]: link.attrs["kind"] for key, link in found.items()} == dict.fromkeys(
        ("nk1", "nk2", "in1", "in2"), "netkit"
    )
    assert found["in2",].attrs["peer"] == "nk2"
    assert "mode" not in found["in2",].attrs


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_other_end_may_be_described_without_what_makes_it_one(order: tuple[str, str]) -> None:
    said = {"a": "a: {kind: veth, peer: b}", "b": "b: {mtu: 9000}"}
    found = desired(f"links: {{{', '.join(said[name] for name in order)}}}").state.of("link")
    assert {**found["b",].attrs} == {**found["b",].attrs, "kind": "veth", "peer": "a", "mtu": 9000}


SHUT = ", policy: blackhole"
CASES = [
    pytest.param(
        said(SHUT, ", peer_policy: forward"),
        "3:30: what holds for both ends of the pair 'a' and 'b' is said of both; say all of it of 'a'",
        id="both_say_it",
    ),
    pytest.param(
        said(other=", mac: '02:00:00:00:00:01'"),
        "3:30: 'b' cannot have a MAC: it is a netkit of mode l3, and sends packets without frames; set its mode to l2",
        id="mac_without_frames",
    ),
    pytest.param(
        said(", master: br", more="  br: {kind: bridge}\n"),
        "2:30: 'a' cannot be a port of the bridge 'br': it is a netkit of mode l3; set its mode to l2",
        id="port_without_frames",
    ),
    pytest.param(
        said(", policy: drop"),
        "2:38: policy: expected one of forward, blackhole, not the text 'drop'",
        id="policy",
    ),
    pytest.param(
        said(", token: '::5'"),
        "2:37: 'a' cannot have a token: it is a netkit, and it looks for no neighbours; set its arp",
        id="token",
    ),
    pytest.param(
        "links:\n  a: {kind: netkit, peer: b}\n  b: {kind: veth, peer: c}\n",
        "2:21: 'b' cannot be the other end of 'a'; it is the other end of 'c', at a.yaml:3",
        id="end_of_another_kind",
    ),
    pytest.param("links:\n  a: {kind: netkit}\n", "2:3: 'a' needs 'peer': it is of the kind netkit", id="no_peer"),
]
TAKEN = [
    pytest.param(said(), id="nothing_more"),
    pytest.param(said(", mode: l2, mac: '02:00:00:00:00:01'", ", mac: '02:00:00:00:00:02', token: '::5'"), id="frames"),
    pytest.param(said(other=", mode: l2, scrub: none, peer_scrub: default"), id="the_second_says_it"),
    pytest.param(said(more="  v: {kind: vlan, link: a, id: 5}\n"), id="vlan_that_need_not_come_up"),
    pytest.param(said(", master: br", ", mode: l2", "  br: {kind: bridge}\n"), id="port_with_frames"),
]


@pytest.mark.parametrize(("text", "want"), CASES)
def test_what_the_kernel_refuses_is_told_before(text: str, want: str) -> None:
    assert told(text) == [f"a.yaml:{want}"]


@pytest.mark.parametrize("text", TAKEN)
def test_what_the_kernel_takes_is_taken(text: str) -> None:
    assert told(text) == []
