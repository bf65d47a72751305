# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands in the files of ifupdown2 and its relatives: what they would do is in the configuration, or is listed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from netgroupd.config.importer import Imported
from tests.config.importing import import_at
from tests.config.reading import told


@pytest.fixture
def place(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path / "interfaces"


def imported(place: Path, command: str, name: str = "x", more: str = "") -> Imported:
    """Import a stanza with one command."""
    place.write_text(f"auto {name}\niface {name}\n  up {command}\n{more}")
    return import_at(place)


TAKEN = [
    pytest.param("route add -net 10.3.0.0 netmask 255.255.0.0 gw 10.0.0.1", "routes",
                 [{"to": "10.3.0.0/16", "via": "10.0.0.1"}], id="old_route"),
    pytest.param("/sbin/route add default gw 10.0.0.1 metric 5 eth0", "routes",
                 [{"to": "default", "via": "10.0.0.1", "metric": 5, "dev": "eth0"}], id="old_route_with_its_link_bare"),
    pytest.param("route -A inet6 add default gw fe80::1 dev x", "routes",
                 [{"to": "default", "via": "fe80::1", "dev": "x", "family": "inet6"}], id="old_route_of_ipv6"),
    pytest.param("route add -host 10.0.0.9 dev x", "routes", [{"to": "10.0.0.9/32", "dev": "x"}], id="old_host"),
    pytest.param("ip route add 10.1.0.0/16 dev 7", "routes", [{"to": "10.1.0.0/16", "dev": 7}], id="number"),
    pytest.param("ip route add 10.1.0.0/16 nexthop via 10.0.0.1 weight 2 nexthop dev y onlink", "routes",
                 [{"to": "10.1.0.0/16", "nexthops": [{"via": "10.0.0.1", "weight": 2}, {"dev": "y", "onlink": True}]}],
                 id="route_of_several_ways"),
    pytest.param("ip route add 10.9.0.0/16 via inet6 fe80::1 dev x mtu 1400 realm 3 priority 7", "routes",
                 [{"to": "10.9.0.0/16", "via": "fe80::1", "dev": "x", "mtu": 1400, "realm": 3, "metric": 7}],
                 id="route_of_much_else"),
    pytest.param("ip route add 10.1.0.0/16 via 10.0.0.1; ip route add 10.2.0.0/16 via 10.0.0.1", "routes",
                 [{"to": "10.1.0.0/16", "via": "10.0.0.1"}, {"to": "10.2.0.0/16", "via": "10.0.0.1"}], id="two"),
    pytest.param("ip rule add not from 10.0.0.0/8 suppress_prefixlength 0 table main pref 9", "rules",
                 [{"not": True, "from": "10.0.0.0/8", "suppress_prefixlength": 0, "lookup": "main", "pref": 9}],
                 id="rule"),
    pytest.param("ip rule add iif x blackhole prio 13", "rules", [{"iif": "x", "action": "blackhole", "pref": 13}],
                 id="rule_that_drops"),
    pytest.param("ip rule add from all to all fwmark 7 table 9 pref 5", "rules",
                 [{"fwmark": 7, "lookup": 9, "pref": 5}], id="rule_of_all_networks"),
    pytest.param("ip route add local 192.0.2.0/24 dev lo", "routes",
                 [{"dev": "lo", "type": "local", "to": "192.0.2.0/24", "table": "local"}], id="route_to_here"),
    pytest.param("ip route add local 192.0.2.0/24 dev lo table 7", "routes",
                 [{"dev": "lo", "type": "local", "to": "192.0.2.0/24", "table": 7}], id="route_to_here_in_a_table"),
    pytest.param("ip -6 route add unreachable 2001:db8::/48 dev lo metric 7", "routes",
                 [{"type": "unreachable", "to": "2001:db8::/48", "metric": 7}], id="route_to_nowhere_by_a_link"),
    pytest.param("ip -6 route add blackhole default dev lo", "routes",
                 [{"type": "blackhole", "to": "default", "family": "inet6"}], id="route_to_nowhere_by_default"),
    pytest.param("bridge fdb add 02:00:00:00:00:01 dev x", "fdb",
                 [{"dev": "x", "mac": "02:00:00:00:00:01", "where": "self"}], id="fdb_of_the_link"),
    pytest.param("bridge fdb add 02:00:00:00:00:01 dev x master", "fdb",
                 [{"dev": "x", "mac": "02:00:00:00:00:01", "where": "master", "state": "permanent"}],
                 id="fdb_of_the_bridge"),
    pytest.param("bridge fdb add 02:00:00:00:00:01 dev x master static", "fdb",
                 [{"dev": "x", "mac": "02:00:00:00:00:01", "where": "master", "state": "static"}], id="fdb_that_stays"),
    pytest.param("bridge fdb append to 00:00:00:00:00:00 dst 10.0.0.9 dev vx1", "fdb",
                 [{"dev": "vx1", "mac": "00:00:00:00:00:00", "dst": "10.0.0.9"}], id="fdb_in_another_order"),
    pytest.param("sysctl -q -w net.core.rmem_max=1 net.ipv4.conf.all.forwarding=1", "sysctl",
                 {"net.core.rmem_max": 1, "net.ipv4.conf.all.forwarding": 1}, id="settings_of_the_host"),
    pytest.param("echo 1 >> /proc/sys/net/ipv4/ip_forward", "sysctl", {"net.ipv4.ip_forward": 1}, id="appending"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "section", "want"), TAKEN)
def test_command_adds_to_its_section(place: Path, command: str, section: str, want: object) -> None:
    got = imported(place, command)
    assert got.problems == ()
    assert yaml.safe_load(got.text)[section] == want


LINKS = [
    pytest.param("ip addr add 10.0.0.5/24 brd + dev $IFACE scope global", "x",
                 {"up": True, "addresses": [{"address": "10.0.0.5/24", "broadcast": "10.0.0.255"}]}, id="address"),
    pytest.param("ip address add dev y 10.0.0.1 peer 10.0.0.2/30", "y",
                 {"addresses": [{"address": "10.0.0.1/30", "peer": "10.0.0.2"}]}, id="address_with_a_peer"),
    pytest.param("ip -6 addr add 2001:db8::5/64 dev x nodad preferred_lft 0", "x",
                 {"up": True, "addresses": [{"address": "2001:db8::5/64", "nodad": True, "preferred_lft": 0}]},
                 id="address_of_ipv6"),
    pytest.param("echo 2 >/proc/sys/net/ipv4/conf/$IFACE/rp_filter", "x", {"up": True, "sysctl": {"ipv4.rp_filter": 2}},
                 id="setting_of_the_link"),
    pytest.param("sysctl -w net.ipv6.conf.x/7.accept_ra=0", "x.7", {"up": True, "sysctl": {"ipv6.accept_ra": 0}},
                 id="setting_of_a_link_with_a_dot"),
    pytest.param("ip link set up dev x qlen 9 multicast off", "x", {"up": True, "txqueuelen": 9, "multicast": False},
                 id="link_in_another_order"),
    pytest.param("ip link set dev br type bridge stp_state 1 vlan_filtering 1", "br",
                 {"kind": "bridge", "stp": True, "vlan_filtering": True}, id="bridge"),
    pytest.param("ip link add bo type bond mode 802.3ad miimon 100", "bo",
                 {"kind": "bond", "mode": "802.3ad", "miimon": 100}, id="bond"),
    pytest.param("ip link add wg0 type wireguard", "wg0", {"kind": "wireguard"}, id="wireguard"),
    pytest.param("ip tunnel add g mode gre remote 10.0.0.2 local 10.0.0.1 ttl 255 key 7", "g",
                 {"kind": "gre", "remote": "10.0.0.2", "local": "10.0.0.1", "ttl": 255, "ikey": 7, "okey": 7},
                 id="tunnel"),
    pytest.param("ip tunnel add g mode gre remote 10.0.0.2 ikey 1 okey 2", "g",
                 {"kind": "gre", "remote": "10.0.0.2", "ikey": 1, "okey": 2}, id="tunnel_with_a_key_each_way"),
    pytest.param("ip tuntap add dev t mode tap user 1000 group 101 pi multi_queue one_queue", "t",
                 {"kind": "tun", "mode": "tap", "user": 1000, "user_group": 101, "pi": True, "multi_queue": True},
                 id="tap"),
    pytest.param("ip tuntap add t mode tun", "t", {"kind": "tun", "mode": "tun"}, id="tun"),
    pytest.param("ip link set x alias 'to [core] {x}'", "x", {"up": True, "alias": "to [[core]] {{x}}"}, id="alias"),
    pytest.param("brctl addif br x y", "br", {"kind": "bridge", "ports": ["x", "y"]}, id="ports_by_brctl"),
    pytest.param("brctl stp br off", "br", {"kind": "bridge", "stp": False}, id="stp_by_brctl"),
    pytest.param("ifconfig $IFACE 0.0.0.0 promisc up", "x", {"up": True, "promisc": True}, id="ifconfig"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "name", "want"), LINKS)
def test_command_is_about_a_link(place: Path, command: str, name: str, want: dict[str, Any]) -> None:
    got = imported(place, command, name if "." in name else "x")
    assert got.problems == ()
    assert yaml.safe_load(got.text)["links"][name] == want


FUNCTIONS = [
    pytest.param("ip link set x vf 0 mac 02:00:00:00:00:01 vlan 10 qos 3 proto 802.1ad",
                 {"vfs": {0: {"mac": "02:00:00:00:00:01", "vlan": 10, "qos": 3, "proto": "802.1ad"}}}, id="vlan"),
    pytest.param("ip link set dev x vf 1 rate 100; ip link set x vf 1 min_tx_rate 10 vf 2 trust on",
                 {"vfs": {1: {"max_tx_rate": 100, "min_tx_rate": 10}, 2: {"trust": True}}}, id="several"),
    pytest.param("ip link set x mtu 9000 vf 3 spoofchk off state disable query_rss on",
                 {"mtu": 9000, "vfs": {3: {"spoofchk": False, "state": "disable", "query_rss": True}}}, id="beside"),
    pytest.param("echo 8 > /sys/class/net/x/device/sriov_numvfs", {"num_vfs": 8}, id="number"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "want"), FUNCTIONS)
def test_command_is_about_virtual_functions(place: Path, command: str, want: dict[str, Any]) -> None:
    got = imported(place, command)
    assert got.problems == ()
    assert yaml.safe_load(got.text)["links"]["x"] == {"up": True, **want}
    assert told(got.text, known=("x",)) == []


PORTS = [
    pytest.param("bridge link set dev x learning off isolated on", "x",
                 {"up": True, "port": {"learning": False, "isolated": True}}, id="port"),
    pytest.param("ip link set x type bridge_slave neigh_suppress on", "x",
                 {"up": True, "port": {"neigh_suppress": True}}, id="port_by_ip"),
    pytest.param("bridge vlan add vid 7 dev x pvid untagged", "x",
                 {"up": True, "vlans": [{"vid": 7, "pvid": True, "untagged": True}]}, id="vlan_of_a_port"),
    pytest.param("bridge vlan add dev x vid 10-20 master", "x", {"up": True, "vlans": ["[10-20]"]}, id="vlans"),
    pytest.param("bridge vlan add dev x vid 10-20; bridge vlan set vid 10-20 dev x mcast_router 2 state blocking",
                 "x", {"up": True, "vlans": [{"vid": "[10-20]", "mcast_router": 2, "state": "blocking"}]},
                 id="options_of_the_vlans_of_a_port"),
    pytest.param("bridge vlan add dev x vid 7 pvid; bridge vlan set vid 7 dev x mcast_max_groups 9 neigh_suppress on",
                 "x", {"up": True, "vlans": [
                     {"vid": 7, "pvid": True, "mcast_max_groups": 9, "neigh_suppress": True}]},
                 id="options_of_a_vlan_of_a_port"),
    pytest.param("ip token set ::7:5 dev x", "x", {"up": True, "token": "::7:5"}, id="token"),
    pytest.param("bridge vlan add dev x vid 7; bridge mst set dev x msti 3 state blocking", "x",
                 {"up": True, "vlans": [7], "mst": [{"msti": 3, "state": "blocking"}]}, id="state_in_a_tree"),
    pytest.param("bridge vlan global set dev br vid 1 msti 3", "br",
                 {"up": True, "kind": "bridge", "ports": "x", "vlan_global": [{"vid": 1, "msti": 3}]}, id="tree"),
    pytest.param("bridge vlan global set dev br vid 1 mcast_snooping 0", "br",
                 {"up": True, "kind": "bridge", "ports": "x", "vlan_global": [{"vid": 1, "mcast_snooping": False}]},
                 id="options_of_a_vlan"),
    pytest.param("bridge vlan global set vid 10-20 dev br mcast_querier 1 mcast_query_interval 6000", "br",
                 {"up": True, "kind": "bridge", "ports": "x",
                  "vlan_global": [{"vid": "[10-20]", "mcast_querier": True, "mcast_query_interval": 6000}]},
                 id="options_of_vlans"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "name", "want"), PORTS)
def test_command_is_about_a_port(place: Path, command: str, name: str, want: dict[str, Any]) -> None:
    got = imported(place, command, more="auto br\niface br\n  bridge-ports x\n")
    assert got.problems == ()
    assert yaml.safe_load(got.text)["links"][name] == want


LISTED = [
    pytest.param("[ -e /x ] && ip route add 10.7.0.0/16 via 10.0.0.1", "only a shell knows what comes of &&", id="and"),
    pytest.param("ip route add 10.7.0.0/16 via `gw`", "only a shell knows what ` is", id="backquote"),
    pytest.param("ip route add 10.0.0.0/8 via 10.0.0.1 table isp", "table isp: expected the number of", id="name"),
    pytest.param("ip route add 10.0.0.0/8 via 10.0.0.1 weight 3", "no equivalent of weight 3", id="word"),
    pytest.param("ip route add 10.0.0.0/8 via", "via needs a value", id="no_value"),
    pytest.param("ip route add unreachable 10.7.0.0/16 dev lo", "a route of type unreachable has no",
                 id="nowhere_by_a_link"),
    pytest.param("ip tuntap add t mode tun user openvpn", "user openvpn: expected a whole number", id="name_of_a_user"),
    pytest.param("ip tuntap del t mode tun", "no equivalent of this command", id="deleting_a_tun"),
    pytest.param("ip route add via 10.0.0.1", "it names no destination", id="no_destination"),
    pytest.param("ip link set x name y", "no equivalent of a new name", id="new_name"),
    pytest.param("ip link set x vf 0 vlan 10 colour red", "no equivalent of colour red", id="function"),
    pytest.param("ip link set x vf 0 vlan 9999", "vlan 9999: expected a whole number from 0 to 4095", id="its_vlan"),
    pytest.param("ip link set x vf 0", "no equivalent of this command", id="nothing_of_a_function"),
    pytest.param("ip link set x vf first trust on", "expected a whole number", id="no_function"),
    pytest.param("ip link set x vf", "no equivalent of this command", id="no_number"),
    pytest.param("echo 8 > /sys/class/net/x/device/numa_node", "no equivalent of this command", id="other_file"),
    pytest.param("ip link add v type vrf table 7", "write it under `vrfs`", id="vrf"),
    pytest.param("ip addr add 10.0.0.1/24 preferred_lft 60", "preferred_lft 60 of 10.0.0.1/24: IPv4", id="end"),
    pytest.param("route add -net 10.0.0.0 gw 10.1.0.1", "it says no netmask", id="no_netmask"),
    pytest.param("bridge fdb add default dev x", "expected a MAC address", id="no_mac"),
    pytest.param("ip neigh add x dev y", "expected an IPv4 or IPv6 address", id="no_neighbour"),
    pytest.param("bridge vlan add vid 5000 dev x", "expected a whole number from 1 to 4094", id="no_vlan"),
    pytest.param("route del default", "no equivalent of this command", id="deleting"),
    pytest.param("bridge vlan set vid 7 dev x state learning", "no command before it adds 7 alone", id="no_vlan_yet"),
    pytest.param("bridge vlan set vid 7 dev x", "no equivalent of this command", id="nothing_of_a_vlan"),
    pytest.param("bridge vlan set vid 7 dev x mcast_router 9", "mcast_router 9: expected a whole", id="no_such_router"),
    pytest.param("bridge vlan del vid 1 dev x", "no equivalent of this command", id="deleting_a_vlan"),
    pytest.param("bridge vlan global set vid 1 dev x mcast_querier 1", "it is no bridge here", id="no_bridge"),
    pytest.param("bridge mst set dev x msti 3 cost 4", "no equivalent of cost 4", id="tree_of_a_vlan"),
    pytest.param("bridge vlan global set vid 1 dev x", "no equivalent of this command", id="no_options"),
    pytest.param("iptables-restore < /etc/iptables", "only a shell knows what comes of <", id="input"),
    pytest.param("ip -n blue route add 10.0.0.0/8 via 10.0.0.1", "no equivalent of this command", id="namespace"),
    pytest.param("brctl setageing br 9", "no equivalent of this command", id="brctl"),
    pytest.param("ifconfig x 10.0.0.1", "no equivalent of this command", id="ifconfig"),
    pytest.param("ip", "no equivalent of this command", id="nothing_more"),
    pytest.param("echo", "no equivalent of this command", id="echo"),
    pytest.param("# later", "no equivalent of this command", id="comment"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "want"), LISTED)
def test_command_is_listed_with_the_reason(place: Path, command: str, want: str) -> None:
    got = imported(place, command)
    [problem] = got.problems
    assert (problem.line, problem.message) == (3, f"x: up {command}")
    assert problem.hint.startswith(want)
    assert yaml.safe_load(got.text) == {"links": {"x": {"up": True}}}


def test_second_route_to_one_place_is_listed(place: Path) -> None:
    got = imported(place, "ip route add 10.0.0.0/8 via 10.9.0.1", more="  up ip route add 10.0.0.0/8 via 10.9.0.2\n")
    [problem] = got.problems
    assert (problem.line, problem.hint) == (
        4,
        "there is a route to 10.0.0.0/8 already; the kernel takes one for each metric",
    )
    assert yaml.safe_load(got.text)["routes"] == [{"to": "10.0.0.0/8", "via": "10.9.0.1"}]


def test_of_two_commands_the_one_that_has_no_equivalent_is_listed(place: Path) -> None:
    got = imported(place, "ip link set x mtu 1400; /sbin/announce x")
    assert [problem.message for problem in got.problems] == ["x: up /sbin/announce x"]
    assert yaml.safe_load(got.text) == {"links": {"x": {"up": True, "mtu": 1400}}}


@pytest.mark.parametrize(("command", "want"), [("ip route del default", "what the files"), ("iptables -F", "no equiv")])
def test_command_that_undoes_is_listed_as_what_it_is(place: Path, command: str, want: str) -> None:
    place.write_text(f"auto x\niface x\n  down {command}\n")
    [problem] = import_at(place).problems
    assert problem.hint.startswith(want)
