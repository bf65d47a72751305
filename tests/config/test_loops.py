# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that stand on each other."""

import pytest

from tests.config.reading import told

LOOPS = [
    pytest.param(
        "links:\n  a: {kind: macvlan, link: b}\n  b: {kind: macvlan, link: a}\n",
        "2:22: links stand on each other in a loop: a → b → a",
        id="loop_of_lower_links",
    ),
    pytest.param(
        "links:\n  a: {kind: bridge, master: b}\n  b: {kind: bridge, master: a}\n",
        "3:21: links stand on each other in a loop: a → b → a",
        id="loop_of_masters",
    ),
    pytest.param(
        "links:\n  br: {kind: bridge, ports: [vx, d]}\n  d: {kind: dummy}\n  v: {kind: vlan, link: br, id: 5}\n"
        "  vx: {kind: vxlan, id: 7, dev: v}\n",
        "5:3: links stand on each other in a loop: br → vx → v → br",
        id="loop_through_a_tunnel_and_a_port",
    ),
    pytest.param(
        "links:\n  h: {kind: hsr, slave1: lo, slave2: h.5}\n",
        "2:30: links stand on each other in a loop: h → h.5 → h",
        id="loop_through_a_ring",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, master: red}\n  m: {kind: macvlan, link: red, master: red}\n"
        "vrfs:\n  red: {table: 7}\n",
        "3:22: links stand on each other in a loop: m → red → m",
        id="loop_through_a_vrf",
    ),
    pytest.param(
        "links:\n  a: {kind: vlan, link: a, id: 1}\n",
        "2:19: links stand on each other in a loop: a → a",
        id="link_on_itself",
    ),
]


@pytest.mark.parametrize(("text", "want"), LOOPS)
def test_loop_is_told_with_all_its_links(text: str, want: str) -> None:
    assert f"a.yaml:{want}" in told(text)


def test_link_on_itself_is_told_once() -> None:
    text = "links:\n  m: {kind: macvlan, link: m}\n"
    assert told(text) == ["a.yaml:2:22: links stand on each other in a loop: m → m"]


def test_loops_of_different_links_are_all_told() -> None:
    text = "links:\n  a: {kind: macvlan, link: b}\n  b: {kind: vlan, id: 5, link: a}\n"
    more = "  c: {kind: vlan, id: 5, link: d}\n  d: {kind: vlan, id: 5, link: e}\n  e: {kind: vlan, id: 5, link: c}\n"
    assert [problem.rpartition(": ")[2] for problem in told(text + more)] == ["a → b → a", "c → d → e → c"]
