# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture: what is folded together, what stands on what, and that it is well-formed."""

import xml.etree.ElementTree as ET

import pytest

from netgroupd.cli.drawing import draw
from netgroupd.cli.graph import title
from netgroupd.cli.topology import Edge, fold
from netgroupd.model.state import Object, State

_PORTS = [Object("link", (f"swp{port}",), {"up": True}) for port in range(1, 7)]
_VLANS = [
    Object("link", (f"swp{port}.{vid}",), {"kind": "vlan", "link": f"swp{port}", "master": f"br-{vid}", "group": 7})
    for port in range(1, 7)
    for vid in range(1000, 1100)
]
_BRIDGES = [Object("link", (f"br-{vid}",), {"kind": "bridge", "group": 7}) for vid in range(1000, 1100)]
_STACK = State([*_PORTS, *_VLANS, *_BRIDGES])


def test_seven_hundred_links_are_three_boxes() -> None:
    topology = fold(_STACK, {}, {7: "tenants"})
    got = [(node.label, node.size, node.group, node.level) for node in topology.nodes]
    assert got == [
        ("swp[1-6]", 6, "", 0),
        ("swp[1-6].[1000-1099]", 600, "tenants", 1),
        ("br-[1000-1099]", 100, "tenants", 2),
    ]


@pytest.mark.parametrize(
    ("links", "said"),
    [(_STACK, "706 links, folded into 3 boxes"), (State(_PORTS[:1]), "1 link, folded into 1 box")],
    ids=["many", "one"],
)
def test_title_counts_links_and_boxes(links: State, said: str) -> None:
    assert title(fold(links, {}, {})) == said


def test_edges_count_the_links_they_stand_for() -> None:
    assert fold(_STACK, {}, {}).edges == (Edge(0, 1, 600), Edge(1, 2, 600))


def test_links_that_change_are_a_box_of_their_own() -> None:
    topology = fold(_STACK, {"br-1005": "~", "br-1006": "~"}, {})
    assert [(node.label, node.sign) for node in topology.nodes][-2:] == [
        ("br-[1000-1004,1007-1099]", ""),
        ("br-[1005-1006]", "~"),
    ]


def test_port_that_stands_on_nothing_is_beside_the_vlans_of_its_bridge() -> None:
    tunnel = Object("link", ("vx",), {"kind": "vxlan", "master": "br-1000"})
    levels = {node.kind: node.level for node in fold(State([*_STACK, tunnel]), {}, {}).nodes}
    assert levels == {"hardware": 0, "vlan": 1, "vxlan": 1, "bridge": 2}


def test_links_in_a_vrf_are_apart() -> None:
    vrf = Object("link", ("red",), {"kind": "vrf", "table": 10})
    inside = Object("link", ("br-5",), {"kind": "bridge", "master": "red"})
    outside = Object("link", ("br-6",), {"kind": "bridge"})
    assert [node.vrf for node in fold(State([vrf, inside, outside]), {}, {}).nodes] == ["", "red", ""]


def test_circle_of_folded_links_ends() -> None:
    pairs = [
        Object("link", (name,), {"kind": "macvlan", "link": below}) for name, below in (("a1", "b1"), ("b2", "a1"))
    ]
    assert len(fold(State([*pairs, Object("link", ("b1",), {})]), {}, {}).nodes) == 3


def test_picture_is_well_formed_and_names_are_escaped() -> None:
    odd = Object("link", ('a<&>"b',), {"kind": "dummy"})
    root = ET.fromstring(draw(fold(State([odd, *_STACK]), {}, {7: "<x>"}), "t & t"))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert 'a<&>"b' in texts
    assert "group <x>" in texts
