# SPDX-License-Identifier: GPL-2.0-or-later
"""Several files, or several entries, that speak of the same thing."""

import pytest

from tests.config.reading import attrs, desired, told
from tests.instructions import is_linear


def test_files_add_to_each_other() -> None:
    found = desired("links:\n  swp[1-2]: {up: yes}\n", "links:\n  swp2: {mtu: 9000}\n  swp3: {}\n")
    assert list(found.state.of("link")) == [("swp1",), ("swp2",), ("swp3",)]
    link = found.state.link("swp2")
    assert link
    assert (link.attrs["up"], link.attrs["mtu"]) == (True, 9000)


def test_lists_of_several_files_add_up() -> None:
    found = desired("links:\n  lo: {addresses: [10.0.0.1/32]}\n", "links:\n  lo: {addresses: [10.0.0.2/32]}\n")
    assert len(found.state.of("address")) == 2


def test_saying_the_same_twice_is_no_conflict() -> None:
    text = "links:\n  lo: {mtu: 9000, addresses: [10.0.0.1/32]}\n"
    found = desired(text, text)
    assert (len(found.state.of("link")), len(found.state.of("address"))) == (1, 1)


def test_kind_in_one_file_serves_the_attributes_of_another() -> None:
    found = desired("links:\n  br: {stp: on}\n", "links:\n  br: {kind: bridge}\n")
    link = found.state.link("br")
    assert link
    assert link.attrs["stp_state"] is True


CONFLICTS = [
    pytest.param(
        ("links:\n  lo: {mtu: 1500}\n", "links:\n  lo: {mtu: 9000}\n"),
        "b.yaml:2:8: 'mtu' of 'lo' was set to another value; the other is at a.yaml:2",
        id="attribute",
    ),
    pytest.param(
        ("links:\n  swp[1-9]: {mtu: 1500}\n  swp[5-12]: {mtu: 9000}\n",),
        "a.yaml:3:15: 'mtu' of 'swp5' was set to another value; the other is at a.yaml:2",
        id="overlapping_ranges_of_one_file",
    ),
    pytest.param(
        ("links:\n  x: {kind: dummy}\n", "links:\n  x: {kind: bridge}\n"),
        "b.yaml:2:7: two links are named 'x'; the other is at a.yaml:2",
        id="kind",
    ),
    pytest.param(
        ("links:\n  swp1: {}\n  br[1-2]: {kind: bridge, ports: swp1}\n",),
        "a.yaml:3:34: 'swp1' is a port of both 'br1' and 'br2'; the other is at a.yaml:3",
        id="ports_of_two_masters",
    ),
    pytest.param(
        ("links:\n  swp1: {master: a}\n  a: {kind: bridge}\n  b: {kind: bridge, ports: swp1}\n",),
        "a.yaml:4:28: 'swp1' is a port of both 'a' and 'b'; the other is at a.yaml:2",
        id="master_and_ports",
    ),
    pytest.param(
        ("links:\n  swp1: {master: a}\n  a: {kind: bridge, ports: swp2}\n  swp2: {kind: dummy, master: null}\n",),
        "a.yaml:3:28: 'swp2' is a port of 'a', and is said to have no master; the other is at a.yaml:4",
        id="no_master_and_ports",
    ),
    pytest.param(
        ("links:\n  br: {kind: bridge, stp: on}\n", "links:\n  br: {stp: off}\n"),
        "b.yaml:2:8: 'stp' of 'br' was set to another value; the other is at a.yaml:2",
        id="attribute_by_its_short_name",
    ),
    pytest.param(
        ("links:\n  br: {kind: bridge, stp_state: on}\n", "links:\n  br: {stp: off}\n"),
        "b.yaml:2:8: 'stp' of 'br' was set to another value; the other is at a.yaml:2",
        id="attribute_by_both_names",
    ),
    pytest.param(
        ("links:\n  p: {port: {cost: 5}}\n  br: {kind: bridge, ports: p}\n", "links:\n  p: {port: {cost: 6}}\n"),
        "b.yaml:2:14: 'cost' of the port 'p' was set to another value; the other is at a.yaml:2",
        id="attribute_of_a_port",
    ),
    pytest.param(
        ("groups:\n  g: {mtu: 1}\n", "groups:\n  g: {mtu: 2}\n"),
        "b.yaml:2:7: 'mtu' of group 'g' was set to another value; at a.yaml:2",
        id="group",
    ),
    pytest.param(
        ("routes:\n- {to: 10.0.0.0/8, dev: lo}\n- {to: 10.0.0.0/8, via: 10.0.0.1}\n",),
        "a.yaml:3:3: the route to 10.0.0.0/8 was described differently; the other is at a.yaml:2; "
        "two ways of one are its 'nexthops', and of two with one destination one has another 'metric'",
        id="route",
    ),
    pytest.param(
        ("sysctl:\n  net.ipv4.ip_forward: 1\n  net: {ipv4: {ip_forward: 0}}\n",),
        "a.yaml:3:16: sysctl net/ipv4/ip_forward was described differently; the other is at a.yaml:2",
        id="setting",
    ),
    pytest.param(
        ("links:\n  br: {kind: bridge, stp: on, stp_state: on}\n",),
        "a.yaml:2:22: 'stp' and 'stp_state' are the same thing; write one of them",
        id="two_names_of_one_attribute",
    ),
]


def test_files_add_to_what_a_port_has() -> None:
    bridge = "links:\n  br: {kind: bridge, ports: swp1}\n  swp1: {port: {cost: 5}}\n"
    found = desired(bridge, "links:\n  swp1: {port: {cost: 5, learning: off}}\n").state.link("swp1")
    assert found
    assert (found.attrs["port.cost"], found.attrs["port.learning"]) == (5, False)


BESIDE = """
links:
  br: {kind: bridge, vlan_filtering: true, mcast_vlan_snooping: true, ports: "p[1-2]", %s}
  p[1-2]: {kind: dummy, vlans: "[10-12]", %s}
  p1: {%s}
"""


@pytest.mark.parametrize(
    ("texts", "key", "want"),
    [
        pytest.param(
            ("vlans: []", "mtu: 1500", "vlans: [{vid: 10, pvid: true}, {vid: 10, untagged: true}]"),
            ("bridge_vlan", "p1", 10),
            {"pvid": True, "untagged": True},
            id="vlan",
        ),
        pytest.param(
            ('vlan_global: [{vid: "[10-12]", mcast_querier: true}, {vid: 12, mcast_igmp_version: 3}]', "", ""),
            ("vlan_global", "br", 12),
            {"mcast_querier": True, "mcast_igmp_version": 3},
            id="what_a_bridge_does_in_a_vlan",
        ),
        pytest.param(
            (
                "mtu: 1500",
                'addresses: ["10.[x=1-2].0.1/24", "10.{1}.0.2/24"]',
                "addresses: {address: 10.1.0.2/24, scope: link}",
            ),
            ("address", "p1", "10.1.0.2/24", None),
            {"scope": "link"},
            id="address",
        ),
    ],
)
def test_what_entries_say_of_one_thing_comes_together(
    texts: tuple[str, str, str], key: tuple[str, *tuple[object, ...]], want: dict[str, object]
) -> None:
    assert attrs(desired(BESIDE % texts), *key) == want


@pytest.mark.parametrize(("texts", "want"), CONFLICTS)
def test_conflict_names_both_places(texts: tuple[str, ...], want: str) -> None:
    assert told(*texts) == [want]


RULES = "[{pref: 1, matchall: {}, action: drop}]"


def test_files_add_to_the_hooks_of_a_link() -> None:
    links = "links:\n  d[1-2]: {kind: dummy}\n"
    found = desired(f"{links}tc:\n  d[1-2]: {{ingress: {RULES}}}\n", f"tc:\n  d2: {{egress: {RULES}}}\n")
    assert [obj.attrs["hooks"] for obj in found.state.of("qdisc").values()] == [("ingress",), ("ingress", "egress")]
    assert [key[:2] for key in found.state.of("filter")] == [("d1", "ingress"), ("d2", "ingress"), ("d2", "egress")]


def test_block_of_one_file_and_rules_of_another_are_two_ways_to_have_a_hook() -> None:
    (line,) = told(f"links:\n  d: {{kind: dummy}}\ntc:\n  d: {{ingress: {RULES}}}\n", "tc:\n  d: {ingress_block: 7}\n")
    assert line == "b.yaml:2:3: qdisc d clsact was described differently; the other is at a.yaml:4"


def test_very_many_routes_of_a_vrf_that_is_misspelt_are_told_in_linear_time() -> None:
    def misspell(count: int) -> None:
        links = f"links:\n  d[1-{10 * count}]: {{kind: dummy}}\nvrfs:\n  red: {{table: 5, up: true}}\n"
        got = told(f"{links}routes:\n- {{to: '10.0.0.[0-{count}]/32', vrf: redd, type: unreachable}}\n")
        assert [line.partition(": ")[2] for line in got] == ["there is no VRF 'redd'; did you mean 'red'?"]

    assert is_linear(misspell, 50)


def test_route_that_two_files_describe_alike_is_one() -> None:
    text = "routes: [{to: 10.0.0.0/8, dev: lo}]\n"
    assert len(desired(text, text).state.of("route")) == 1
