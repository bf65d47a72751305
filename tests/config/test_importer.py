# SPDX-License-Identifier: GPL-2.0-or-later
"""ifupdown2's files -> a configuration that expands to the same, and a remark for all that is not in it."""

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from netgroupd.config import Desired, load
from netgroupd.config.facts import Facts
from netgroupd.config.importer.attributes import ATTRIBUTES, PORT_ATTRIBUTES
from netgroupd.config.known import Known
from tests.config.importing import TRUST, Import, importing_in

HARDWARE = frozenset(f"swp{number}" for number in range(1, 33)) | {"eth0", "eth1"}

SLIDES = """\
%for v in range(1000,1100):
    auto br-${v}
    iface br-${v} inet static
        bridge-ports glob swp1-6.${v}
        bridge-stp on
%endfor
"""


@pytest.fixture
def importing(tmp_path: Path) -> Import:
    return importing_in(tmp_path)


def desired(text: str, tmp_path: Path) -> Desired:
    (tmp_path / "10-imported.yaml").write_text(text)
    return load([tmp_path / "10-imported.yaml"], facts=Facts, links=Known(HARDWARE), trust=TRUST)


def one_stanza(importing: Import, options: str, name: str = "swp1") -> dict[str, Any]:
    """Import one stanza that leaves nothing to remark."""
    lines = "".join(f"    {option}\n" for option in options.split("; "))
    got = importing(f"auto {name}\niface {name}\n{lines}")
    assert got.problems == ()
    loaded: dict[str, Any] = yaml.safe_load(got.text)
    return loaded


def test_slides_template_gives_the_same_interfaces_as_ten_lines(importing: Import, tmp_path: Path) -> None:
    got = importing(SLIDES)
    assert got.text == 'links:\n  br-[v=1000-1099]: {kind: bridge, up: true, ports: "swp[1-6].{v}", stp: true}\n'
    assert got.problems == ()
    links = desired(got.text, tmp_path).state.classes["link"]
    bridges = {name for (name,), link in links.items() if link.attrs.get("kind") == "bridge"}
    assert bridges == {f"br-{vid}" for vid in range(1000, 1100)}
    ports = {(name, link.attrs["master"]) for (name,), link in links.items() if link.attrs.get("kind") == "vlan"}
    assert ports == {(f"swp{port}.{vid}", f"br-{vid}") for vid in range(1000, 1100) for port in range(1, 7)}


LINKS = [
    pytest.param("pre-up ip link add dev $IFACE address 02:0:0:0:0:1 type dummy || true",
                 {"up": True, "kind": "dummy", "mac": "02:00:00:00:00:01"}, id="dummy_by_command"),
    pytest.param("pre-up ip link add link eth0 name $IFACE type vlan protocol 802.1Q id 7",
                 {"up": True, "kind": "vlan", "link": "eth0", "id": 7, "protocol": "802.1q"}, id="vlan_by_command"),
    pytest.param("pre-up ip link add $IFACE type veth peer name y1", {"up": True, "kind": "veth", "peer": "y1"},
                 id="veth_by_command"),
    pytest.param("pre-up ip link add $IFACE type bridge stp_state 0 forward_delay 200",
                 {"up": True, "kind": "bridge", "stp": False, "forward_delay": 200}, id="bridge_by_command"),
    pytest.param("mtu 9000; alias \"to [spine]\"; hwaddress ether 02:00:00:00:00:0A",
                 {"up": True, "mtu": 9000, "alias": "to [[spine]]", "mac": "02:00:00:00:00:0a"}, id="common"),
    pytest.param("link-down yes", {"up": False}, id="down"),
    pytest.param("address 10.0.0.1; netmask 255.255.255.0", {"up": True, "addresses": ["10.0.0.1/24"]}, id="netmask"),
    pytest.param("address 10.0.0.1/24 10.0.1.1/24; address 2001:db8::1/64; address 10.0.2.1/24; scope link",
                 {"up": True, "addresses": ["10.0.0.1/24", "10.0.1.1/24", "2001:db8::1/64",
                                            {"address": "10.0.2.1/24", "scope": "link"}]}, id="addresses"),
    pytest.param("bridge-ports swp2 glob swp3-4; bridge-ageing 100; bridge-mcsnoop no; bridge-pathcosts swp2=4",
                 {"kind": "bridge", "up": True, "ports": "swp[2-4]", "ageing_time": 10000, "mcast_snooping": False},
                 id="bridge"),
    pytest.param("bridge-ports none", {"kind": "bridge", "up": True}, id="bridge_without_ports"),
    pytest.param("bond-slaves swp2 swp3; bond-mode 1; bond-primary swp2; bond-xmit-hash-policy layer3+4",
                 {"kind": "bond", "up": True, "ports": "swp[2-3]", "mode": "active-backup", "primary": "swp2",
                  "xmit_hash_policy": "layer3+4"}, id="bond"),
    pytest.param("vlan-raw-device eth0; vlan-id 7; vlan-protocol 802.1AD",
                 {"kind": "vlan", "up": True, "link": "eth0", "id": 7, "protocol": "802.1ad"}, id="vlan"),
    pytest.param("tunnel-mode gre; tunnel-local 10.0.0.1; tunnel-endpoint 10.0.0.2; tunnel-ttl 64",
                 {"kind": "gre", "up": True, "local": "10.0.0.1", "remote": "10.0.0.2", "ttl": 64}, id="tunnel"),
    pytest.param("link-type dummy", {"kind": "dummy", "up": True}, id="dummy"),
    pytest.param("link-type veth; veth-peer-name eth9", {"kind": "veth", "up": True, "peer": "eth9"}, id="veth"),
    pytest.param("rp-filter 2; ip-forward on",
                 {"up": True, "sysctl": {"ipv4.rp_filter": 2, "ipv4.forwarding": 1}}, id="settings"),
    pytest.param("up ip link set dev $IFACE txqueuelen 500 promisc on; post-up ifconfig $IFACE up || true",
                 {"up": True, "txqueuelen": 500, "promisc": True}, id="link_commands"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "want"), LINKS)
def test_options_of_a_link(importing: Import, options: str, want: dict[str, Any]) -> None:
    assert one_stanza(importing, options, "x1")["links"]["x1"] == want


SECTIONS = [
    pytest.param("address 10.0.0.1/24; gateway 10.0.0.254; gateway 2001:db8::1; metric 5", "routes",
                 [{"dev": "swp1", "to": "default", "via": "10.0.0.254", "metric": 5},
                  {"dev": "swp1", "to": "default", "via": "2001:db8::1", "metric": 5, "onlink": True}], id="gateway"),
    pytest.param("up ip route add 10.9.0.0/16 via 10.0.0.9 table 7 metric 5 || true", "routes",
                 [{"to": "10.9.0.0/16", "via": "10.0.0.9", "table": 7, "metric": 5}], id="route"),
    pytest.param("up /sbin/ip -6 r replace default via 2001:db8::1 dev $IFACE", "routes",
                 [{"to": "default", "via": "2001:db8::1", "dev": "swp1", "family": "inet6"}], id="route6"),
    pytest.param("up ip route add table 7 to 10.1.0.0/16 via 10.0.0.9 # to the core", "routes",
                 [{"to": "10.1.0.0/16", "via": "10.0.0.9", "table": 7}], id="route_in_another_order"),
    pytest.param("up ip route add vrf red unreachable default metric 9", "routes",
                 [{"type": "unreachable", "to": "default", "vrf": "red", "metric": 9}], id="route_of_a_vrf"),
    pytest.param("up ip ro add blackhole 10.0.0.0/8", "routes", [{"type": "blackhole", "to": "10.0.0.0/8"}], id="hole"),
    pytest.param("up ip rule add from 10.1.0.0/16 table 7 priority 500", "rules",
                 [{"from": "10.1.0.0/16", "lookup": 7, "pref": 500}], id="rule"),
    pytest.param("up ip neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev swp1 nud permanent", "neighbours",
                 [{"dev": "swp1", "ip": "10.0.0.9", "lladdr": "02:00:00:00:00:09"}], id="neighbour"),
    pytest.param("up bridge fdb append 00:00:00:00:00:00 dev vx0 dst 10.0.0.2 self permanent", "fdb",
                 [{"dev": "vx0", "mac": "00:00:00:00:00:00", "dst": "10.0.0.2", "where": "self", "state": "permanent"}],
                 id="fdb"),
    pytest.param("up bridge mdb add dev br0 port swp1 grp 239.1.1.1 permanent vid 7 proto static", "mdb",
                 [{"dev": "br0", "port": "swp1", "group": "239.1.1.1", "vid": 7}], id="mdb"),
    pytest.param("up bridge mdb add dev br0 port swp1 grp ff05::5 filter_mode include source_list ::1,::2 permanent",
                 "mdb", [{"dev": "br0", "port": "swp1", "group": "ff05::5", "filter_mode": "include",
                          "source_list": ["::1", "::2"]}], id="mdb_with_senders"),
    pytest.param("up sysctl -w net.ipv4.ip_forward=1; up echo 0 > /proc/sys/net/ipv4/conf/swp1.5/rp_filter; "
                 "up sysctl -w net.ipv4.conf.swp1/6.rp_filter=2", "sysctl",
                 {"net.ipv4.ip_forward": 1, "net/ipv4/conf/swp1.5/rp_filter": 0,
                  "net/ipv4/conf/swp1.6/rp_filter": 2}, id="sysctl"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "section", "want"), SECTIONS)
def test_commands_and_gateways(importing: Import, options: str, section: str, want: object) -> None:
    assert one_stanza(importing, options)[section] == want


OUT_OF_1 = {"vid": 1, "member": False}


def test_bridge_that_knows_vlans(importing: Import) -> None:
    got = importing(
        "auto sw swp1 swp2 swp3 sw.10 vlan11\niface sw\n bridge-vlan-aware yes\n bridge-ports swp1 swp2 swp3\n"
        " bridge-vids 10-12 20\n bridge-pvid 2\niface swp1\niface swp2\n bridge-access 10\n"
        "iface swp3\n bridge-allow-untagged no\n bridge-vids 20\niface sw.10\n"
        "iface vlan11\n vlan-raw-device sw\n vlan-id 11\n"
    )
    links = yaml.safe_load(got.text)["links"]
    assert got.problems == ()
    assert links["sw"]["vlan_filtering"] is True
    assert links["sw"]["vlans"] == ["[10-11]"]
    assert links["swp1"]["vlans"] == [{"vid": 2, "pvid": True, "untagged": True}, OUT_OF_1, "[10-12,20]"]
    assert links["swp2"]["vlans"] == [{"vid": 10, "pvid": True, "untagged": True}, OUT_OF_1]
    assert links["swp3"]["vlans"] == [OUT_OF_1, "[20]"]


def test_vxlan_in_metadata_mode_keeps_its_map(importing: Import, tmp_path: Path) -> None:
    got = importing(
        "auto sw vx\niface vx\n vxlan-local-tunnelip 10.0.0.1\n bridge-vlan-vni-map 10-12=10010-10012 20=555\n"
        "iface sw\n bridge-vlan-aware yes\n bridge-ports vx\n bridge-vids 10-12 20 30\n"
    )
    vlans = desired(got.text, tmp_path).state.classes["bridge_vlan"]
    assert {key[1]: vlan.attrs.get("tunnel_id") for key, vlan in vlans.items() if key[0] == "vx"} == {
        10: 10010, 11: 10011, 12: 10012, 20: 555, 30: None,
    }  # fmt: skip


def test_vrf_gets_its_table_its_links_and_its_last_resort(importing: Import, tmp_path: Path) -> None:
    got = importing(
        "auto red blue swp1\niface red\n vrf-table auto\niface blue\n vrf-table 1001\n"
        "iface swp1\n vrf red\n address 10.0.0.1/24\n gateway 10.0.0.254\n"
    )
    state = desired(got.text, tmp_path).state
    assert state.classes["link"][("blue",)].attrs["table"] == 1001
    table = state.classes["link"][("red",)].attrs["table"]
    assert table != 1001
    assert state.classes["link"][("swp1",)].attrs["master"] == "red"
    assert ("inet", table, "0.0.0.0/0", 0, 0) in state.classes["route"]
    assert len(state.classes["rule"]) == 2


def test_route_by_command_stays_in_its_table_when_its_link_is_in_a_vrf(importing: Import) -> None:
    got = importing(
        "auto red s\niface red\n vrf-table 1005\niface s\n vrf red\n address 10.0.0.1/24\n"
        " up ip route add default via 10.0.0.9 dev s table 100\n up ip route add default via 10.0.0.9 dev s\n"
    )
    assert [route for route in yaml.safe_load(got.text)["routes"] if "via" in route] == [
        {"dev": "s", "to": "default", "via": "10.0.0.9", "table": 100},
        {"dev": "s", "to": "default", "via": "10.0.0.9"},
    ]


def test_shared_gateway_address_becomes_a_macvlan(importing: Import, tmp_path: Path) -> None:
    got = importing(
        "auto vlan10\niface vlan10\n vlan-raw-device swp1\n vlan-id 10\n address 10.0.0.2/24\n"
        " address-virtual 00:00:5e:00:01:0a 10.0.0.1/24 2001:db8::1/64\n"
    )
    state = desired(got.text, tmp_path).state
    assert state.classes["link"][("vlan10-v0",)].attrs["mac"] == "00:00:5e:00:01:0a"
    assert ("vlan10-v0", "2001:db8::1/64", None) in state.classes["address"]


def test_no_shared_gateway_is_no_macvlan(importing: Import) -> None:
    got = importing("auto vlan10\niface vlan10\n vlan-raw-device swp1\n vlan-id 10\n address-virtual none\n")
    assert got.problems == ()
    assert yaml.safe_load(got.text)["links"].keys() == {"vlan10"}


def test_template_that_fails_is_an_error_at_its_line(importing: Import) -> None:
    got = importing("auto lo\n% for v in (1, 2)\niface x${v}\n% endfor\n")
    [problem] = got.problems
    assert got.text == ""
    assert problem.line == 2
    assert "end the line with ':'" in problem.hint


def test_alias_stanza_is_a_labelled_address(importing: Import) -> None:
    got = importing("auto eth0:1\niface eth0:1 inet static\n address 192.0.2.7\n netmask 24\n")
    want = {"up": True, "addresses": [{"address": "192.0.2.7/24", "label": "eth0:1"}]}
    assert yaml.safe_load(got.text)["links"]["eth0"] == want


REMARKS = [
    pytest.param("iface swp1\n", "swp1: it is not brought up; nothing asks for it", id="not_auto"),
    pytest.param("auto swp1\niface swp1 inet dhcp\n", "swp1: method dhcp has no equivalent", id="dhcp"),
    pytest.param("auto x\niface x inet static inherits base\n", "x: inherits base has no equivalent;", id="inherits"),
    pytest.param("auto swp1\niface swp1 inherits base\n", "swp1: inherits base has no equivalent", id="only_inherits"),
    pytest.param("auto x\niface x inet manual fast\n", "x: fast has no equivalent", id="more_than_a_method"),
    pytest.param("auto x\niface x\n  tunnel-mode l2tp\n", "x: tunnel-mode l2tp has no equivalent", id="tunnel"),
    pytest.param("auto x\niface x\n  bridge-fd 1e400\n", "x: '1e400' is no value of bridge-fd", id="beyond_numbers"),
    pytest.param("auto x\niface x\n  ovs-type OVSPort\n", "x: ovs-type OVSPort has no equivalent; Open", id="ovs"),
    pytest.param("auto swp1\niface swp1\n  frobnicate 7\n", "swp1: frobnicate 7 has no equivalent", id="unknown"),
    pytest.param("auto swp1\niface swp1\n  mtu many\n", "swp1: 'many' is no value of mtu", id="value"),
    pytest.param("auto swp1\niface swp1\n  address 10.0.0\n", "swp1: '10.0.0' is not an address", id="address"),
    pytest.param("auto swp1\niface swp1\n  up rm -rf /\n", "swp1: up rm -rf /; no equivalent", id="command"),
    pytest.param(
        "auto swp1\niface swp1\n  up bridge mdb add dev br port swp1 grp 239.1.1.1\n",
        "swp1: up bridge mdb add dev br port swp1 grp 239.1.1.1; no equivalent",
        id="group_for_a_time",
    ),
    pytest.param(
        "auto swp1\niface swp1\n  up bridge mdb add dev br grp 239.1.1.1 permanent\n",
        "swp1: up bridge mdb add dev br grp 239.1.1.1 permanent; no equivalent",
        id="group_of_no_port",
    ),
    pytest.param("auto x\niface x\n  up ip route add 10.5/16 via 10.0.0.9\n", "x: up ip route add 10.5/16", id="to"),
    pytest.param("auto x\niface x\n  up ip route add default via $GW\n", "x: up ip route add default", id="variable"),
    pytest.param("auto x\niface x\n  up ip route add default dev x table isp\n", "x: up ip route add", id="table"),
    pytest.param("auto x\niface x\n  up ip route add default via 10.0.0.9 weight 1\n", "x: up ip route", id="word"),
    pytest.param(
        "auto x\niface x\n  up ip rule add from 10.0.0.0/8 lookup 7\n",
        "x: up ip rule add from 10.0.0.0/8 lookup 7; a rule needs a pref",
        id="rule_of_no_preference",
    ),
    pytest.param("auto x\niface x\n  up ip link add y type vxlan id 7\n", "x: up ip link add y", id="kind"),
    pytest.param("auto x\niface x\n  up ip link add type dummy\n", "x: up ip link add type dummy", id="no_name"),
    pytest.param("auto x\niface x\n  up ip link add y index 7 type ifb\n", "x: up ip link add y", id="index"),
    pytest.param("auto x\niface x\n  up ip link add y type dummy x 7\n", "x: up ip link add y", id="no_such_word"),
    pytest.param("auto swp1\niface swp1\n  up ip route add 'x\n", "swp1: up ip route add 'x; no", id="quote"),
    pytest.param("auto swp1\niface swp1\n  down ip route del x\n", "swp1: down ip route del x; what", id="down"),
    pytest.param("auto x\niface x\n  bridge-portprios swp1=999\n", "x: 'swp1=999' is no value of bridge-p", id="port"),
    pytest.param("auto swp1\niface swp1\n  ethernet-port tp\n", "swp1: ethernet-port tp has no equivalent", id="port"),
    pytest.param("no-auto-down usb0\n", "no-auto-down has no equivalent", id="set_aside"),
    pytest.param("allow-hotplug all\nmtu 7\n", "this line has no equivalent", id="belongs_to_nothing"),
    pytest.param("auto swp1\niface swp1\n  hwaddress random\n", "swp1: 'random' is no value of hwaddress", id="mac"),
    pytest.param("auto vx\niface vx\n  vxlan-id 5\n  vxlan-remoteip 10.0.0\n", "vx: '10.0.0' is no value", id="end"),
    pytest.param("auto vx\niface vx\n  gateway 10.0.0\n", "vx: '10.0.0' is not an address", id="gateway"),
    pytest.param("auto vx\niface vx\n  metric x\n  gateway 10.0.0.1\n", "vx: its metric is not a number", id="metric"),
    pytest.param(
        "auto swp1 swp2\niface swp1\n  gateway 10.0.0.1\niface swp2\n  gateway 10.0.0.2\n",
        "swp2: there is a default route via 10.0.0.1 on swp1 already; the kernel takes one",
        id="gateways",
    ),
    pytest.param(
        "auto x\niface x\n  bridge-access 7\n",
        "x: bridge-access 7 is left out; it is neither a VLAN-aware bridge nor a port",
        id="vlan_of_no_port",
    ),
    pytest.param(
        "auto x\niface x\n  bridge-ports y\n  bridge-vids 7\n",
        "x: bridge-vids 7 is left out; it is neither",
        id="vlans_of_another_bridge",
    ),
    pytest.param(
        "auto x\niface x\n bridge-ports y\n bridge-vlan-aware yes\niface y\n bridge-access 7\n bridge-vids 8\n",
        "y: bridge-vids 8 is left out; its bridge-access counts alone",
        id="access",
    ),
    pytest.param("auto x\niface x\n bond-slaves y\n", "x: it has no bond-mode; the kernel's is", id="bond_of_no_mode"),
    pytest.param(
        "auto y x\niface y\niface x\n bridge-ports regex y[0-9]*\n",
        "x: of the links of these files, its ports are those like y[0-9]*; add",
        id="pattern",
    ),
    pytest.param(
        "iface default inherits base\n",
        "'default' cannot name a link; all of its stanza is left out",
        id="no_name_of_a_link",
    ),
    pytest.param("auto x{v}\niface x{v}\n", "'x{v}' cannot name a link; all of its stanza is left out", id="braces"),
    pytest.param("iface abcdefghijklmnopqrst\n", "the name 'abcdefghijklmnopqrst' has 20 characters; all", id="long"),
    pytest.param("what is this\n", "this line has no equivalent", id="stray"),
    pytest.param("auto swp1\niface swp1\n mtu 1\n mtu 2\n", "swp1: mtu is 1 already; 2 is left out", id="twice"),
]


@pytest.mark.parametrize(("text", "want"), REMARKS)
def test_what_has_no_equivalent_is_listed_with_its_line(importing: Import, text: str, want: str) -> None:
    got = importing(text)
    [problem] = got.problems
    assert problem.warning
    assert str(problem).partition("warning: ")[2].startswith(want)
    assert f"# {problem}" in got.text
    assert problem.line == text.count("\n")


def test_remark_on_a_line_of_a_loop_is_made_once(importing: Import) -> None:
    got = importing("% for v in range(100, 200):\nauto x${v}\niface x${v}\n  frobnicate yes\n% endfor\n")
    [problem] = got.problems
    assert problem.line == 4
    assert problem.message == "x[100-199]: frobnicate yes has no equivalent"


@pytest.mark.parametrize("name", sorted({**ATTRIBUTES, **PORT_ATTRIBUTES}))
def test_every_option_of_the_tables_is_taken_over_or_listed(importing: Import, name: str) -> None:
    nothing = importing("auto x1\niface x1\n").text
    for value in ("1", "yes", "10.0.0.1", "02:00:00:00:00:01", "802.1q", "active"):
        assert importing(f"auto x1\niface x1\n  {name} {value}\n").text != nothing


def test_remarks_that_differ_by_the_number_of_their_link_are_one(importing: Import) -> None:
    got = importing("% for v in range(2, 6):\nauto x${v}\niface x${v}\n  up tc qdisc add dev x${v} root fq\n% endfor\n")
    [problem] = got.problems
    assert problem.message == "x[v=2-5]: up tc qdisc add dev x{v} root fq"


def test_braces_of_a_description_are_no_reference(importing: Import) -> None:
    got = importing("auto x1 x2\niface x1\n alias {v}\niface x2\n mtu 1400\n")
    assert yaml.safe_load(got.text)["links"]["x1"] == {"up": True, "alias": "{{v}}"}


def test_secret_is_not_repeated(importing: Import) -> None:
    got = importing("auto wlan0\niface wlan0\n wpa-ssid home\n wpa-psk hunter2\n")
    assert [problem.message for problem in got.problems] == [
        "wlan0: wpa-ssid home has no equivalent",
        "wlan0: wpa-psk has no equivalent",
    ]
    assert "hunter2" not in str((got.text, got.problems))


def test_list_that_is_longer_than_a_line_has_one_for_each_entry(importing: Import) -> None:
    addresses = [f"192.0.2.{number}/32" for number in range(100, 200, 17)]
    got = importing("auto x\niface x\n" + "".join(f"  address {address}\n" for address in addresses))
    assert got.text == "links:\n  x:\n    up: true\n    addresses:\n" + "".join(f"      - {it}\n" for it in addresses)


def test_no_line_of_any_kind_is_a_traceback(importing: Import) -> None:
    # A fixed seed: the same lines every time, over everything the importer looks at.
    chance = random.Random(7)
    special = (
        "auto iface address bridge-ports bridge-vids vrf-table up bridge-vlan-vni-map bridge-pvid bridge-access "
        "address-virtual gateway vxlan-remoteip ip bridge route link fdb add swp1 swp[1-3] swp3-1 glob regex ( 1 0 1- "
        "10=20 ' \\ 1-3=5-6 default via dev ::1 10.0.0.1/33 inet dhcp swp1:1 lo none all"
    )
    values = [*special.split(), "\t"]
    words = [*ATTRIBUTES, *PORT_ATTRIBUTES, *values, *values]
    for _ in range(1000):
        lines = (
            " ".join([chance.choice(words), *chance.choices(values, k=chance.randint(0, 5))])
            for _ in range(chance.randint(1, 12))
        )
        importing("auto x\niface x\nbridge-vlan-aware yes\nbridge-ports swp1\n" + "\n".join(lines) + "\n")
