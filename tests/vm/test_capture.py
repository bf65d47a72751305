# SPDX-License-Identifier: GPL-2.0-or-later
"""What a host has, as configuration: no difference on that host, and the same text from an empty one."""

import subprocess
import time
from collections.abc import Iterable

import pytest

from netgroupd.plan import present
from tests.engine.universe import UNIVERSE
from tests.vm.hosts import EngineIn, here

MANY = """
groups: {tenants: {mtu: 9000, up: true}}
links:
  lo: {up: true, addresses: ["192.168.2.[0-99]/32"]}
  swp[1-3]: {kind: dummy, up: true, mtu: 9216}
  br[v=1-5]: {kind: bridge, ports: "swp[1-3].{v}", group: tenants, stp: true, addresses: ["10.0.{v}.1/24"]}
  mv[v=1-5]: {kind: macvlan, link: swp1, mac: "{02:00:00:00:01:00 + v}", mode: private}
  vx[v=1-5]: {kind: vxlan, id: "{v+100}", local: 192.0.2.1, remote: 192.0.2.2, dstport: 4789}
  vf:
    kind: vxlan
    external: true
    vnifilter: true
    dstport: 4790
    up: true
    vnis: ["[1000-1299]", {vni: "[1-3]", remote: 192.0.2.7}]
  ve1: {kind: veth, peer: ve2, up: true, vlans: ["[10-20]", {vid: 30, untagged: true}]}
  fb: {kind: bridge, vlan_filtering: true, mcast_igmp_version: 3, ports: ve1, up: true, vlans: ["[10-20]"]}
routes:
  - {to: "10.[a=50-99].0.0/16", via: 10.0.1.2}
  - {to: 10.8.0.0/16, nexthops: [{via: 10.0.1.3}, {via: 10.0.2.3, weight: 2}]}
neighbours:
  - {dev: "br[v=1-5]", ip: "10.0.{v}.9", lladdr: "{02:00:00:00:02:00 + v}"}
fdb:
  - {dev: vx1, mac: "02:00:00:00:03:01", where: self, dst: 192.0.2.9}
mdb:
  - {dev: fb, port: ve1, group: "239.1.1.[1-9]", vid: 10}
  - {dev: fb, port: ve1, group: 239.1.2.1, vid: 10, source_list: [192.0.2.7, 192.0.2.8], filter_mode: include}
  - {dev: fb, port: fb, group: "01:00:00:00:00:05", vid: 10}
"""
TC = """
links:
  ve[1-2]: {kind: veth, peer: "pe{1}", up: true}
actions:
  police 7: {rate: 1mbit, burst: 10k, control: drop, conform: pipe}
  "gact [1-3]": drop
tc:
  ve[1-2]:
    ingress:
      - {pref: 10, protocol: ip, flower: {dst_ip: "10.1.[0-3].[1-20]"}, action: drop}
      - pref: 20
        protocol: ip
        flower: {ip_proto: tcp, dst_port: 80-90}
        action: [{mirred: {egress: mirror, dev: lo}}, pass]
      - {pref: "[30-35]", matchall: {}, action: pass}
      - {pref: 40, matchall: {}, action: [police 7, gact 2]}
    qdiscs: [{kind: htb, handle: "1:", default: "1:10"}, {kind: fq_codel, parent: "1:10", handle: "10:"}]
    classes: [{classid: "1:[10-12]", rate: 1mbit, overhead: 24, linklayer: atm}]
    filters: [{parent: "1:", pref: 1, protocol: ip, u32: {match: {ip dport: "53"}}, classid: "1:10"}]
  pe1:
    egress: [{pref: 1, chain: 5, matchall: {}, action: drop}]
    qdiscs: {kind: netem, delay: 10ms, loss_gemodel: [5, 10, 90, 1], slot: [1ms, 2ms], stab: {overhead: 24}}
"""
SETTINGS = """
links:
  lo: {up: true, sysctl: {ipv4.arp_announce: 2}}
  br[1-3]: {kind: bridge, up: true, sysctl: {ipv4.rp_filter: 2, ipv6.accept_ra: 0}}
  ve1: {kind: veth, peer: ve2, sysctl: {ipv4.neigh.gc_stale_time: 77}}
sysctl: {net.ipv4.ip_forward: 1, net.ipv4.ip_nonlocal_bind: 1, net.ipv6.conf.default.accept_dad: 0}
"""
READ_IN_TWO_WAYS = {"tc": TC, "settings": SETTINGS}  # on the patched kernel in another than on stock
READ_ALIKE = {"many": MANY, **UNIVERSE}


@pytest.mark.parametrize("name", READ_IN_TWO_WAYS)
def test_captured_text_means_what_the_host_has(engine_in: EngineIn, name: str) -> None:
    captured(engine_in, READ_IN_TWO_WAYS[name])


@pytest.mark.vm("stock")
@pytest.mark.parametrize("name", READ_ALIKE)
def test_captured_text_means_what_any_host_has(engine_in: EngineIn, name: str) -> None:
    text = captured(engine_in, READ_ALIKE[name])
    if name == "many":
        assert "  lo:\n    up: true\n" in text
        assert "  swp[1-3].[a=1-5]:" in text
        assert "mac:" not in text.partition("  br[1-5]:")[2].partition("\n  swp")[0]  # which is that of a port
        assert '"192.168.2.[0-99]/32"' in text
        assert '{group: "239.1.1.[1-9]", dev: fb, port: ve1, vid: 10}' in text
        assert len(text.splitlines()) < 85


BY_OTHERS = (
    "ip link add v0 up type veth peer v1",
    "ip link add link v0 name v0.5 type vlan id 5 protocol 802.1ad",
    "ip link set v0.5 up",  # as the kernel does when v0 comes up
    "ip link add xf0 type xfrm if_id 7 dev v0",
    "ip link add vx9 type vxlan id 9 dstport 4789",
    "ip link add vx8 type vxlan external dstport 4790",
    "ip link add s0 up type sit local 192.0.2.77",
    "ip address add 10.0.0.5/24 dev v0",
    "ip address add 10.0.0.3/24 dev v0",
    "ip address add 2001:db8::1/64 dev v0 nodad preferred_lft 0",
    "ip link add s1 up type sit",
    "ip link add s2 up type sit remote 192.0.2.9",
    "ip address add 2001:db8:5::1/64 dev s1",
    "ip link add b0 up type bridge",
    "ip link add d0 up type dummy",
    "ip link set v1 up master b0",  # without a carrier v0 loses its neighbours, sooner or later
    "bridge fdb add 02:00:00:00:00:07 dev v1 master static",
    "bridge mdb add dev b0 port v1 grp 239.1.1.1 permanent",
    "ip route add 10.9.0.0/16 via 10.0.0.9 dev v0 initcwnd 20 features ecn fastopen_no_cookie 1",
    "ip route add 10.8.0.0/16 nexthop via 10.0.0.9 dev v0 nexthop via 10.0.0.8 dev v0 weight 2",
    "ip route add 2001:db8:9::/48 via 2001:db8::9 dev v0 proto static",
    "ip rule add pref 100 from 10.9.0.0/16 lookup 100 suppress_prefixlength 0",
    "ip nexthop add id 7 dev d0",
    "ip nexthop add id 8 group 7",
    "ip nexthop add id 17 via 192.0.2.1 fdb",
    "ip nexthop add id 18 group 17 fdb",
    "ip route add 10.3.0.0/16 nhid 8",
    "bridge fdb add 02:00:00:00:00:08 dev vx9 self nhid 18",
    "ip neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 dev v0",
    "ip neighbour add proxy 10.0.0.8 dev v0",
    "ip neighbour add 10.0.0.10 dev v0 managed",
    "ip neighbour add 10.0.0.13 lladdr 02:00:00:00:00:0d dev v0 nud noarp",
    "ip neighbour add 10.0.0.11 lladdr 02:00:00:00:00:0b dev v0 managed",
    "tc qdisc add dev v0 root handle 1: prio",
    "tc filter add dev v0 parent 1: pref 7 protocol ip u32 match ip dport 53 0xffff classid 1:1",
    "tc qdisc add dev v0 ingress",
    "tc filter add dev v0 ingress pref 5 matchall action drop",
)
ON_LOOPBACK = (
    "ip link set lo up",
    "ip nexthop add id 5 blackhole",
    "ip -6 nexthop add id 6 dev lo",
    "ip route add 10.9.0.0/16 nhid 5",
    "ip route add local 192.0.2.0/24 dev lo",
    "ip route add 10.8.0.0/16 dev lo",
    "ip route add blackhole 10.7.0.0/16",
    "ip -6 route add unreachable 2001:db8:7::/48",
)
THROUGH_TUNNELS = (
    "ip link add d0 up type dummy",
    "ip link add d1 up type dummy",
    "ip link add red up type vrf table 10",
    "ip link set d1 master red",
    "ip address add 10.0.0.1/24 dev d0",
    "ip address add 2001:db8::1/64 dev d0 nodad",
    "ip route add 10.1.0.0/16 encap mpls 100/200 ttl 9 via 10.0.0.2",
    "ip route add 10.3.0.0/16 encap ip id 7 dst 192.0.2.1 src 192.0.2.2 tos 8 ttl 9 key csum seq via 10.0.0.2",
    "ip route add 10.5.0.0/16 encap ip6 id 7 dst 2001:db8::9 src 2001:db8::8 tc 8 hoplimit 9 via 10.0.0.2",
    "ip route add 10.8.0.0/16 nexthop encap mpls 100 via 10.0.0.2 nexthop encap ip id 5 dst 192.0.2.1 via 10.0.0.3",
    "ip -6 route add 2001:db8:2::/48 encap seg6 mode inline segs 2001:db8::5,2001:db8::6 dev d0",
    "ip -6 route add 2001:db8:3::/48 encap seg6 mode encap.red segs 2001:db8::5 dev d0",
    "ip -6 route add 2001:db8:5::/48 encap seg6 mode encap segs 2001:db8::5 hmac 5 dev d0",
    "ip -6 route add 2001:db8:6::3/128 encap seg6local action End.X nh6 2001:db8::7 dev d0",
    "ip -6 route add 2001:db8:6::b/128 encap seg6local action End.B6 srh segs 2001:db8::5,2001:db8::6 dev d0",
    "ip -6 route add 2001:db8:6::d/128 encap seg6local action End.DX6 nh6 :: count dev d0",
    "ip -6 route add 2001:db8:c::/48 encap mpls 100 via 2001:db8::9",
    "ip -6 route append 2001:db8:c::/48 encap mpls 200 via 2001:db8::9",
    "ip route add 10.13.1.0/24 vrf red dev d0",
    "ip route add unreachable default vrf red metric 4278198272",
    "ip route add 10.14.0.0/16 dev red",
    "ip -f mpls route add 101 as 200/300 via inet 10.0.0.2",
    "ip -f mpls route add 102 nexthop as 200 via inet 10.0.0.2 nexthop via inet6 2001:db8::9",
    "ip -f mpls route add 103 dev red",
    "ip -f mpls route add 104 via inet 10.0.0.2 ttl-propagate disabled",
    "ip nexthop add id 3 encap seg6 mode encap segs 2001:db8::5 via 2001:db8::9 dev d0",
    "ip nexthop add id 5 encap mpls 100 ttl 5 via 2001:db8::9 dev d0",
    "ip nexthop add id 6 group 3/5",
    "ip -6 route add 2001:db8:d::/48 nhid 6",
)
BEYOND_WORDS = (
    "ip rule del pref 32767",
    "ip address add 10.20.0.1/24 dev d0 valid_lft 5000 preferred_lft 4000",
    "ip neighbour add proxy 10.0.0.12",
    "ip route add 10.2.0.0/16 via 10.0.0.9",
    "ip route append 10.2.0.0/16 via 10.0.0.8",
    "ip route append 2001:db8::/64 via 2001:db8::9 metric 256",
    "ip route add 10.1.0.0/16 via 10.0.0.9 proto zebra",
    "ip route append 10.1.0.0/16 via 10.0.0.8",
    "ip route add 2001:db8:a::/48 via 2001:db8::9 dev v0 expires 500",
    "ip route add 10.7.0.0/16 encap ip id 5 dst 192.0.2.9 geneve_opts 0:0:12121212 dev v0",
    "ip nexthop add id 5 encap ip id 5 dst 192.0.2.9 geneve_opts 0:0:12121212 dev d0",
    "ip route add 10.6.0.0/16 nhid 5",
    "ip route add 10.5.0.0/16 dev v0 scope 100",
    "ip rule add pref 101 from 10.9.0.0/16 nat 10.4.0.0",
)
BEYOND_SHOWN = ("route list root 10.1.0.0/16", "route list root 10.4.0.0/14", "rule list pref 101", "nexthop get id 5")


def test_what_others_made_is_captured_and_adopted_as_it_is(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    for command in (*BY_OTHERS, *BEYOND_WORDS):
        here(command)
    left_out = [here(f"ip {words}") for words in BEYOND_SHOWN]
    time.sleep(2)  # the address is deprecated for longer than for nothing
    text = engine_in("here", "{}").capture()
    engine_in("here", text).apply()
    assert engine_in("here", text).capture() == text
    assert [here(f"ip {words}") for words in BEYOND_SHOWN] == left_out
    assert "via 10.0.0.8 dev v0" in here("ip route list 10.2.0.0/16")
    assert "expires" in here("ip -6 route list 2001:db8:a::/48")
    told = [line for line in text.splitlines() if not line.startswith("#")]
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# left out (no configuration has several IPv6 routes of one metric, unless each has a gateway): "
        "2001:db8::/64 table 254",
        "# left out (others of the same network, tos and metric come before them): "
        "10.1.0.0/16 via 10.0.0.8 dev v0 table 254, 10.2.0.0/16 via 10.0.0.8 dev v0 table 254",
        "# left out (no configuration has routes that expire): 2001:db8:a::/48 table 254",
        "# left out (somebody has taken these away from the kernel's own, which no configuration does): "
        "rule 32767 inet lookup 253",
        "# left out (somebody has given them for a time, as DHCP does): address d0 10.20.0.1/24",
        "# left out (they have what no configuration can say): "
        "neighbour * 10.0.0.12 proxy, "
        "nexthop 5, route 10.5.0.0/16, route 10.6.0.0/16, route 10.7.0.0/16, rule 101 inet from 10.9.0.0/16",
    ]
    here("ip neighbour del proxy 10.0.0.12")  # which outlives the namespace, and may come up in another one
    engine_in("there", text).apply()
    assert engine_in("there", text).capture().splitlines() == told
    assert "preferred_lft: 0" in text
    assert '"2001:db8:5::1/64"' in text
    assert not [word for word in ('"::', "fe80:") if word in text]  # the kernel gives these to a sit by itself
    assert "features: [ecn], fastopen_no_cookie: 1" in text
    # Nothing of what goes without saying, of either sort of a tunnel.
    assert not [said for said in ("numtxqueues", " id: 0\n", "external: false") if said in text]
    for wanted in ("suppress_prefixlength: 0", "proxy: true", "lladdr:", "where: master", "weight: 2"):
        assert wanted in text


def test_loopback_is_brought_up_where_routes_lead_there(engine_in: EngineIn) -> None:
    by_hand(engine_in, ON_LOOPBACK)


def test_ipv6_addresses_come_in_the_order_in_which_they_came(engine_in: EngineIn) -> None:
    given = (f"ip address add 2001:db8::{number}/64 dev d0 {more}" for number, more in ((3, ""), (9, "home"), (2, "")))
    by_hand(engine_in, ("ip link add d0 up type dummy", *given))
    assert here("ip -6 -o -br address show dev d0 scope global") == here(
        "ip -6 -o -br address show dev d0 scope global", "there"
    )


def test_of_tunnels_of_which_nothing_is_said_each_has_what_it_has_by_itself(engine_in: EngineIn) -> None:
    vxlans = (f"ip link add v{number} type vxlan external dstport 479{number}" for number in (1, 2))
    text = by_hand(engine_in, ("ip link add b0 type bridge", *vxlans, "ip link set v1 master b0"))
    assert "numtxqueues" not in text


@pytest.mark.vm("stock")
def test_mtu_that_a_tunnel_took_from_the_way_to_its_end_is_told(engine_in: EngineIn) -> None:
    addressed = "links:\n  lo: {up: true, addresses: [192.0.2.1/32]}\n"
    engine_in("here", addressed).apply()
    engine_in("here", f"{addressed}  g: {{kind: geneve, id: 5, remote: 192.0.2.1}}\n").apply()
    text = engine_in("here", "{}").capture()
    engine_in("there", text).apply()
    assert engine_in("there", text).capture() == text


def test_ring_of_hsr_has_what_it_has_by_itself(engine_in: EngineIn) -> None:
    ports = (f"ip link add d{number} type dummy" for number in (1, 2))
    text = by_hand(engine_in, (*ports, "ip link add h0 type hsr slave1 d1 slave2 d2"))
    assert "numtxqueues" not in text


def test_routes_through_tunnels_are_adopted_as_they_are(engine_in: EngineIn) -> None:
    engine_in("here", "sysctl: {net.mpls.platform_labels: 1000}").apply()
    text = by_hand(engine_in, THROUGH_TUNNELS)
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# left out (they have what no configuration can say): route 2001:db8:5::/48, route 2001:db8:6::d/128"
    ]
    assert "hmac" in here("ip -6 route list 2001:db8:5::/48")
    for netns in ("here", "there"):
        assert "disabled" in here("ip -f mpls route list 104", netns)


def by_hand(engine_in: EngineIn, commands: Iterable[str]) -> str:
    """What is captured after ``commands``; to apply it changes nothing there, and elsewhere gives the same."""
    engine_in("here", "{}")
    for command in commands:
        here(command)
    text = engine_in("here", "{}").capture()
    engine_in("here", text).apply()
    assert engine_in("here", text).capture() == text
    engine_in("there", text).apply()
    again = engine_in("there", text).capture()
    assert again.splitlines() == [line for line in text.splitlines() if not line.startswith("#")]
    return text


ROOT_RULE = """
links: {v0: {}}
tc: {v0: {qdiscs: [{parent: root, kind: prio, handle: "1:"}], filters: [{parent: "1:", pref: 8, matchall: {}}]}}
"""


def test_rules_of_an_ingress_qdisc_are_not_those_of_the_root(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    for command in BY_OTHERS:
        here(command)
    engine_in("here", ROOT_RULE).apply()
    shown = ["tc", "-n", "here", "filter", "show", "dev", "v0", "ingress"]
    assert " pref 5 matchall" in subprocess.run(shown, capture_output=True, text=True, check=True).stdout


def test_route_by_where_packets_come_from_is_nobodys_business(engine_in: EngineIn) -> None:
    route = "{to: 2001:db8:1::/48, dev: v0}"
    engine_in("here", f"links: {{v0: {{kind: dummy, up: true}}}}\nroutes: [{route}]").apply()
    sourced = "2001:db8:1::/48 from 2001:db8::/64 dev v0"
    subprocess.run(["ip", "-n", "here", "-6", "route", "add", *sourced.split()], check=True)
    text = engine_in("here", "links: {v0: {kind: dummy, up: true}}").capture()
    comment, _, rest = text.partition("\n")
    assert comment.endswith(": 2001:db8:1::/48 from 2001:db8::/64 table 254")
    assert rest.count("2001:db8:1::/48") == 1
    engine_in("here", "links: {v0: {kind: dummy, up: true}}").apply()
    left = subprocess.run(["ip", "-n", "here", "-6", "route"], capture_output=True, text=True, check=True).stdout
    assert left.count("2001:db8:1::/48") == left.count(sourced) == 1


def test_what_no_file_can_say_is_left_out(engine_in: EngineIn) -> None:
    engine_in("here", TC).apply()
    for command in (
        "qdisc add dev pe2 root handle 5: pfifo_head_drop limit 9",
        "filter add dev ve1 ingress pref 9 matchall action skbmod swap mac",
    ):
        subprocess.run(["tc", "-n", "here", *command.split()], check=True)
    text = engine_in("here", TC).capture()
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert [line.rpartition(": ")[2] for line in comments] == ["qdisc pe2 root", "filter ve1 ingress pref 9"]
    engine_in("there", text).apply()
    assert engine_in("there", text).capture() == text.removeprefix("".join(f"{line}\n" for line in comments))


@pytest.mark.parametrize("mtu", [1400, 9000])
def test_bridge_that_was_told_the_usual_mtu_has_it_beside_other_ports(engine_in: EngineIn, mtu: int) -> None:
    text = f"links: {{br: {{kind: bridge, mtu: 1500, ports: a}}, a: {{kind: dummy, mtu: {mtu}}}}}"
    assert "mtu: 1500" in captured(engine_in, text)


@pytest.mark.parametrize("mtu", [1400, 9000])
def test_bridge_that_has_the_mtu_of_its_ports_still_follows_them(engine_in: EngineIn, mtu: int) -> None:
    links = f"br: {{kind: bridge, up: true, ports: a}}, a: {{kind: dummy, mtu: {mtu}}}, br.5: {{kind: vlan, up: true}}"
    assert captured(engine_in, f"links: {{{links}}}").count("mtu: ") == 1


def captured(engine_in: EngineIn, text: str) -> str:
    """What is captured where ``text`` was applied: no difference there, and the same text from elsewhere."""
    engine_in("here", text).apply()
    again = engine_in("here", text).capture()
    assert present.text(engine_in("here", again).diff()) == "no differences"
    engine_in("there", again).apply()
    assert engine_in("there", again).capture() == again
    return again
