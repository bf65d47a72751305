# SPDX-License-Identifier: GPL-2.0-or-later
"""What ifupdown2 does without a line that says so, and how the files of its relatives are written."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from netgroupd.config.facts import Facts
from netgroupd.config.importer.ifupdown2 import import_files
from tests.config.importing import TRUST, import_at


@pytest.fixture
def place(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path / "interfaces"


def imported(place: Path, text: str) -> dict[str, Any]:
    """Import a file that leaves nothing to remark."""
    place.write_text(text)
    got = import_at(place)
    assert got.problems == ()
    loaded: dict[str, Any] = yaml.safe_load(got.text)
    return loaded


UP = [
    pytest.param("iface nic inet manual\nauto br\niface br\n bridge-ports nic\n", {"nic", "br"}, id="port"),
    pytest.param("auto br\niface br\n bridge-ports nic nic.5\n", {"nic", "br"}, id="port_that_has_no_stanza"),
    pytest.param("iface nic\nauto nic.5\niface nic.5\n address 10.0.0.1/24\n", {"nic", "nic.5"}, id="below_a_vlan"),
    pytest.param("iface bo\n bond-mode 1\n slaves a\nauto v\niface v\n vlan-raw-device bo\n vlan-id 5\n",
                 {"a", "bo", "v"}, id="below_what_is_below"),
    pytest.param("iface a\n link-down yes\nauto br\niface br\n bridge-ports a\n", {"br"}, id="not_what_is_kept_down"),
    pytest.param("auto all\niface a\niface b\n", {"a", "b"}, id="all"),
    pytest.param("allow-hotplug a\niface a\n", {"a"}, id="hardware_that_comes_later"),
    pytest.param("auto a\niface a\niface a:1\n address 10.0.0.1/24\n", {"a"}, id="alias_of_what_is_automatic"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), UP)
def test_what_comes_up(place: Path, text: str, want: set[str]) -> None:
    links = imported(place, text)["links"]
    assert {name for name, body in links.items() if body.get("up")} == want


LINKS = [
    pytest.param("auto vx\niface vx\n vxlan-id 5\n", "vx",
                 {"kind": "vxlan", "up": True, "id": 5, "dstport": 4789}, id="port_of_a_vxlan"),
    pytest.param("auto lo vx\niface lo\n vxlan-local-tunnelip 10.0.0.1/32\niface vx\n vxlan-id 5\n vxlan-ttl auto\n",
                 "vx", {"kind": "vxlan", "up": True, "id": 5, "ttl": 0, "local": "10.0.0.1", "dstport": 4789},
                 id="address_of_a_vxlan"),
    pytest.param("auto lo vx\niface lo\n vxlan-local-tunnelip 10.0.0.1\niface vx\n vxlan-id 5\n", "lo", {"up": True},
                 id="loopback_that_says_it_for_all"),
    pytest.param("auto br\niface br\n bridge-ports vx\niface vx\n vxlan-id 5\n bridge-learning off\n", "vx",
                 {"kind": "vxlan", "up": True, "id": 5, "port": {"learning": False}, "dstport": 4789,
                  "learning": False},
                 id="learning_of_a_vxlan"),
    pytest.param("auto br\niface br\n bridge-ports a\n bridge-vlan-aware yes\n bridge-vids 2-4094\n", "br",
                 {"kind": "bridge", "up": True, "ports": "a", "vlan_filtering": True}, id="bridge_stays_in_vlan_1"),
    pytest.param("auto br\niface br\n bridge-ports a\n bridge-vlan-aware yes\n bridge-pvid 7\n", "br",
                 {"kind": "bridge", "up": True, "ports": "a", "vlan_filtering": True}, id="bridge_whose_ports_do_not"),
    pytest.param("auto vlan07\niface vlan07\n vlan-raw-device a\n", "vlan07",
                 {"kind": "vlan", "up": True, "link": "a", "id": 7}, id="vlan_by_its_name"),
    pytest.param("auto a.5\niface a.5\n vlan-protocol 802.1ad\n", "a.5",
                 {"kind": "vlan", "up": True, "protocol": "802.1ad", "link": "a", "id": 5}, id="vlan_below_its_name"),
    pytest.param("auto br\niface br\n\tbridge_ports a b\n\tbridge_fd 0\n", "br",
                 {"kind": "bridge", "up": True, "ports": ["a", "b"], "forward_delay": 0}, id="underscores"),
    pytest.param("auto bo1-2\niface bo1-2\n slaves a\n bond_mode 1\n bond_arp_ip_target 10.0.0.1,10.0.0.2\n", "bo1-2",
                 {"kind": "bond", "up": True, "ports": "a", "mode": "active-backup",
                  "arp_ip_target": ["10.0.0.1", "10.0.0.2"]}, id="name_with_a_dash"),
    pytest.param("auto a bo\niface a\n bond-master bo\niface bo\n bond-mode 1\n bond-slaves none\n", "bo",
                 {"kind": "bond", "up": True, "ports": "a", "mode": "active-backup"}, id="bond_of_its_ports"),
    pytest.param("auto g\niface g inet tunnel\n mode gre\n local 10.0.0.1\n endpoint 10.0.0.2\n ttl 64\n", "g",
                 {"kind": "gre", "up": True, "local": "10.0.0.1", "remote": "10.0.0.2", "ttl": 64}, id="tunnel"),
    pytest.param("auto t\niface t inet6 v4tunnel\n local 10.0.0.1\n endpoint 10.0.0.2\n", "t",
                 {"kind": "sit", "up": True, "local": "10.0.0.1", "remote": "10.0.0.2"}, id="tunnel_of_ipv6"),
    pytest.param("auto a\niface a inet6 auto\n privext 2\n dad-attempts 0\n", "a",
                 {"up": True, "sysctl": {"ipv6.accept_ra": 2, "ipv6.autoconf": 1, "ipv6.use_tempaddr": 2,
                                         "ipv6.dad_transmits": 0}}, id="advertisements"),
    pytest.param("auto a\niface a inet6 auto\n accept_ra 1\n", "a",
                 {"up": True, "sysctl": {"ipv6.accept_ra": 1, "ipv6.autoconf": 1}}, id="advertisements_of_a_host"),
    pytest.param("auto a\niface a\n alias {v}{n}\n", "a", {"up": True, "alias": "{{v}}{{n}}"}, id="alias_with_braces"),
    pytest.param("auto br\niface br\n bridge_ports a\n"
                 " bridge_pathcost a 7\n bridge_portprio a 9\n bridge_hairpin a 1\n",
                 "a", {"up": True, "port": {"cost": 7, "priority": 9, "hairpin": True}}, id="bridge_utils"),
    pytest.param("auto a b\niface a\n mtu 9000\niface b\n vlan-raw-device a\n vlan-id 5\n", "b",
                 {"kind": "vlan", "up": True, "link": "a", "id": 5, "mtu": 9000}, id="mtu_of_a_vlan"),
    pytest.param("auto a a.5.6\niface a\n mtu 9000\niface a.5\niface a.5.6\n", "a.5.6", {"up": True, "mtu": 9000},
                 id="mtu_of_a_vlan_on_a_vlan"),
    pytest.param("auto a a.5\niface a\n mtu 9000\niface a.5\n mtu 1400\n", "a.5", {"up": True, "mtu": 1400},
                 id="mtu_of_its_own"),
    pytest.param("auto vx\niface vx\n vxlan-id 5\n vxlan-physdev a\n", "vx",
                 {"kind": "vxlan", "up": True, "id": 5, "dev": "a", "dstport": 4789, "mtu": 1500}, id="mtu_of_a_vxlan"),
    pytest.param("auto a\niface a\n alias it is \"it\"\n", "a", {"up": True, "alias": 'it is "it"'}, id="alias"),
    pytest.param("auto a\niface a\n address 10.0.0.1\n netmask 24\n network 10.0.0.0\n", "a",
                 {"up": True, "addresses": ["10.0.0.1/24"]}, id="network"),
    pytest.param("auto a\niface a:1 inet6 static\n address 2001:db8::1/64\n", "a",
                 {"up": True, "addresses": ["2001:db8::1/64"]}, id="alias_of_ipv6"),
    pytest.param("auto a\niface a\n up ip link set dev ${IFACE} mtu 1400\n", "a", {"up": True, "mtu": 1400},
                 id="variable_of_the_shell"),
    pytest.param("auto br\niface br\n bridge-ports a\n bridge-portmcrouter a=enabled\n", "a",
                 {"port": {"mcast_router": 2}, "up": True}, id="multicast_router_by_name"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "want"), LINKS)
def test_link(place: Path, text: str, name: str, want: dict[str, Any]) -> None:
    assert imported(place, text)["links"][name] == want


GATEWAYS = [
    pytest.param("address 10.0.0.1/24\n gateway 10.0.0.254\n metric 7",
                 [{"dev": "a", "to": "default", "via": "10.0.0.254", "metric": 7}], id="metric"),
    pytest.param("address 10.0.0.1/32\n gateway 10.9.0.1",
                 [{"dev": "a", "to": "default", "via": "10.9.0.1", "onlink": True}], id="far_from_every_address"),
    pytest.param("address 10.0.0.1/32\n pointopoint 10.9.0.1\n gateway 10.9.0.1",
                 [{"dev": "a", "to": "default", "via": "10.9.0.1"}], id="peer"),
    pytest.param("address 2001:db8::1/64\n gateway fe80::1", [{"dev": "a", "to": "default", "via": "fe80::1"}],
                 id="link_local"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "want"), GATEWAYS)
def test_gateway(place: Path, options: str, want: list[dict[str, Any]]) -> None:
    assert imported(place, f"auto a\niface a\n {options}\n")["routes"] == want


def test_remotes_of_a_vxlan_are_the_others(place: Path) -> None:
    remotes = " vxlan-remoteip 10.0.0.1\n vxlan-remoteip 10.0.0.2\n"
    text = f"auto vx\niface vx\n vxlan-id 5\n{remotes} vxlan-local-tunnelip 10.0.0.1\n"
    assert imported(place, text)["fdb"] == [{"dev": "vx", "mac": "00:00:00:00:00:00", "dst": "10.0.0.2"}]


BRIDGED = "auto br vx\niface br\n bridge-ports vx\niface vx\n"


def test_groups_of_a_vxlan_by_network(place: Path) -> None:
    text = f"{BRIDGED} bridge-vlan-vni-map 10=100\n vxlan-mcastgrp-map 100=239.1.1.1\n"
    want = {"dev": "vx", "mac": "00:00:00:00:00:00", "dst": "239.1.1.1", "src_vni": 100}
    assert imported(place, text)["fdb"] == [want]


def test_others_of_a_vxlan_by_network(place: Path) -> None:
    ends = " vxlan-remoteip-map 100=10.0.0.1,10.0.0.2\n vxlan-local-tunnelip 10.0.0.1\n"
    text = f"{BRIDGED} bridge-vlan-vni-map 10=100\n{ends}"
    want = {"dev": "vx", "mac": "00:00:00:00:00:00", "dst": "10.0.0.2", "src_vni": 100}
    assert imported(place, text)["fdb"] == [want]


def test_vlan_whose_number_nothing_says_is_told(place: Path) -> None:
    place.write_text("auto uplink\niface uplink\n vlan-raw-device a\n")
    [problem] = import_at(place).problems
    assert (problem.line, problem.message) == (2, "uplink: it has no vlan-id, and none in its name")


SHARED = "auto {0}\niface {0}\n address-virtual 0:0:5e:0:1:a 10.0.0.1/24 2001:db8::1/64\n"
ADDRESSES = [
    {"address": "10.0.0.1/24", "metric": 1024},
    {"address": "2001:db8::1/64", "metric": 1024, "nodad": True},
]
VIRTUALS = [
    pytest.param(SHARED.format("br"), "br-v0", {"link": "br", "up": True}, id="up_as_its_link"),
    pytest.param(SHARED.format("br") + " link-down yes\n", "br-v0", {"link": "br"}, id="down_as_its_link"),
    pytest.param(SHARED.format("br.20"), "br-20-v0", {"link": "br.20", "up": True}, id="name_without_dots"),
    pytest.param("auto br-v7\niface br-v7\n" + SHARED.format("br"), "br-v0", {"link": "br", "up": True},
                 id="number_that_no_other_link_moves"),
    pytest.param(SHARED.format("br") + " vrf red\n ip-forward on\nauto red\niface red\n vrf-table 1001\n", "br-v0",
                 {"link": "br", "up": True, "master": "red", "sysctl": {"ipv4.forwarding": 1}}, id="in_the_vrf"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "want"), VIRTUALS)
def test_shared_gateway(place: Path, text: str, name: str, want: dict[str, Any]) -> None:
    usual = {"kind": "macvlan", "mode": "private", "mac": "00:00:5e:00:01:0a", "addresses": ADDRESSES}
    assert imported(place, text)["links"][name] == usual | want


def test_vrf_leaves_nothing_of_either_protocol_to_the_main_table(place: Path) -> None:
    routes = imported(place, "auto red\niface red\n vrf-table 1001\n")["routes"]
    assert [(route["family"], route["type"]) for route in routes] == [("inet", "unreachable"), ("inet6", "unreachable")]


def test_second_list_of_vlans_is_told(place: Path) -> None:
    place.write_text("auto br a\niface br\n bridge-ports a\n bridge-vlan-aware yes\niface a\n bridge-vids 5\n"
                     " bridge-vids 6\n")  # fmt: skip
    got = import_at(place)
    assert [(problem.line, problem.message) for problem in got.problems] == [(7, "a: bridge-vids is 5 already")]
    assert yaml.safe_load(got.text)["links"]["a"]["vlans"] == ["[5]"]


def test_policy_that_changes_the_defaults_is_told(place: Path) -> None:
    place.write_text("auto a\niface a\n")
    policy = place.with_name("bond.json")
    policy.write_text("{}")
    [problem] = import_files([place], facts=Facts, trust=TRUST, policies=[place.parent]).problems
    assert (problem.file, problem.message) == (str(policy), "the defaults of this policy are not taken over")


@pytest.mark.parametrize("name", ["#", "-", "a#", "!x", "*x", "&x", "@x", "'x", '"x', "?"])
def test_any_name_of_a_link_is_a_name_in_the_new_file(place: Path, name: str) -> None:
    assert [*imported(place, f"auto {name}\niface {name}\n mtu 1400\n")["links"]] == [name]
