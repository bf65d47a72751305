# SPDX-License-Identifier: GPL-2.0-or-later
"""What is right one by one, and what the kernel refuses together."""

import pytest

from tests.config.reading import told

DUMMY = "links:\n  d: {kind: dummy}\n"
GRE = "kind: gre, local: 192.0.2.1, remote: 192.0.2.2"
_ENDS = "local: '2001:db8::1', remote: '2001:db8::2', ikey: 5, okey: 5"
REFUSED = [
    pytest.param("sysctl:\n  net.ipv4.conf.all.forwarding: 0\n  net.ipv4.ip_forward: 1\n",
                 "2:3: net.ipv4.conf.all.forwarding is 0, and net.ipv4.ip_forward is 1: "
                 "to the kernel they are one setting; leave one of them out", id="one_setting_by_two_names"),
    pytest.param("links:\n  b: {kind: bridge, ports: c}\n  c: {kind: bridge}\n",
                 "3:3: 'c' cannot be a port of the bridge 'b': it is a bridge", id="bridge_in_a_bridge"),
    pytest.param("links:\n  b: {kind: bridge}\n  lo: {master: b}\n",
                 "3:8: 'lo' cannot be a port of the bridge 'b': it is the loopback device", id="loopback"),
    pytest.param(f"links:\n  b: {{kind: bridge}}\n  g: {{{GRE}, master: b}}\n",
                 "3:55: 'g' cannot be a port of the bridge 'b': it is a gre", id="port_without_ethernet"),
    pytest.param("vrfs:\n  r: {table: 5, up: on}\n  s: {table: 6, up: on, master: r}\n",
                 "3:25: 's' cannot be a port of the vrf 'r': it is a vrf", id="vrf_in_a_vrf"),
    pytest.param("links:\n  b: {kind: bridge, ports: d}\n  d: {kind: dummy}\n  m: {kind: macvlan, link: d}\n",
                 "4:22: 'd' is a port of 'b' and below the macvlan 'm'; "
                 "the kernel hands what comes in to one of them; the other is at a.yaml:3",
                 id="macvlan_of_a_port"),
    pytest.param(f"links:\n  g: {{{GRE}}}\n  v: {{kind: vlan, link: g, id: 5}}\n",
                 "3:19: 'v', a vlan, cannot stand on 'g': it is a gre", id="vlan_of_a_tunnel_without_ethernet"),
    pytest.param("links:\n  t: {kind: tun, mode: tun}\n  v: {kind: vlan, link: t, id: 5}\n",
                 "3:19: 'v', a vlan, cannot stand on 't': it is a tun of IP packets", id="vlan_of_a_tun"),
    pytest.param(f"{DUMMY}  m: {{kind: macvlan, link: d}}\n  n: {{kind: macvtap, link: m}}\n",
                 "4:22: 'n', a macvtap, cannot stand on 'm': it is a macvlan; say 'link: d', which is below 'm'",
                 id="macvtap_of_a_macvlan"),
    pytest.param(f"{DUMMY}  b: {{kind: bridge}}\n  m: {{kind: macvtap, link: d, master: b}}\n",
                 "4:31: 'm' cannot be a port of the bridge 'b': it is a macvtap", id="macvtap_in_a_bridge"),
    pytest.param("links:\n  v: {kind: vxlan, id: 7, local: 192.0.2.1, remote: '2001:db8::1'}\n",
                 "2:45: the ends of 'v' are of different protocols: 192.0.2.1 and 2001:db8::1", id="ends_of_a_vxlan"),
    pytest.param("links: {d: {kind: dummy, up: on}}\n"
                 "nexthops: {1: {via: 192.0.2.1, dev: d}, 2: {group: [{id: 1}]}}\n"
                 "routes: [{to: '2001:db8::/32', nhid: 2}]\n",
                 "3:38: the route to 2001:db8::/32 is one of IPv6, and nexthop 1 is not", id="nexthop_of_ipv4"),
    pytest.param("nexthops: {1: {blackhole: on}}\nroutes: [{to: '2001:db8::/32', nhid: 1}]\n",
                 "2:38: the route to 2001:db8::/32 is one of IPv6, and nexthop 1 is not; "
                 "say 'family: inet6' of nexthop 1", id="nexthop_that_says_no_family"),
    pytest.param("vrfs: {r: {table: 5, up: on}}\nnexthops: {1: {via: 10.0.0.1, dev: r}}\n",
                 "2:36: 10.0.0.1 is reached by a link in the VRF 'r', not by that itself; name that link",
                 id="gateway_on_a_vrf"),
    *(pytest.param(f"{DUMMY}  x: {{kind: {kind}, link: d}}\n",
                   f"3:{place}: 'x' cannot have the lower link 'd': a {kind.split(',')[0]} stands on none; {hint}",
                   id=f"lower_link_of_a_{kind.split(',')[0]}")
      for kind, place, hint in (
        ("vxlan, id: 7", 27, "the link that it sends by is its 'dev'"),
        ("bridge", 21, "its ports are those with 'master: x'"),
        ("dummy", 20, "leave it out"),
    )),
    pytest.param("links:\n  d: {kind: dummy}\n  m: {kind: macvlan, link: d}\n  i: {kind: ipvlan, link: d}\n",
                 "4:21: 'd' is below the macvlan 'm' and below the ipvlan 'i'; "
                 "the kernel hands what comes in to one of them; the other is at a.yaml:3",
                 id="macvlan_and_ipvlan"),
    pytest.param("links:\n  d[1-2]: {kind: dummy}\n  m: {kind: macvlan, link: d1}\n"
                 "  h: {kind: hsr, slave1: d1, slave2: d2}\n",
                 "4:18: 'd1' is below the macvlan 'm' and in the ring 'h'; "
                 "the kernel hands what comes in to one of them; the other is at a.yaml:3", id="macvlan_of_a_ring"),
    pytest.param("links:\n  b: {kind: bridge, ports: d2}\n  d[1-2]: {kind: dummy}\n"
                 "  h: {kind: hsr, slave1: d1, slave2: d2}\n",
                 "4:30: 'd2' is a port of 'b' and in the ring 'h'; "
                 "the kernel hands what comes in to one of them; the other is at a.yaml:3", id="port_of_a_ring"),
    pytest.param(f"links:\n  g[1-3]: {{{GRE}}}\n",
                 "2:3: 'g2' and 'g1', both of the kind gre, have the same local, remote, dev and ikey; "
                 "'g1' is from a.yaml:2", id="tunnels_with_the_same_ends"),
    pytest.param("links:\n  v: {kind: vxlan, id: 7}\n  w: {kind: vxlan, id: 7, dstport: 8472}\n",
                 "3:3: 'w' and 'v', both of the kind vxlan, have the same network (id) and dstport; "
                 "'v' is from a.yaml:2", id="network_of_two_vxlans"),
    pytest.param("links:\n  v: {kind: vxlan, id: 7, up: on, dstport: 47}\n"
                 "  w: {kind: vxlan, external: on, up: on, dstport: 47}\n",
                 "3:42: 'w' cannot have port 47: 'v' has it, and takes packets in another way; "
                 "another dstport; 'v' is from a.yaml:2", id="port_of_vxlans_of_two_sorts"),
    pytest.param("links:\n  b: {kind: bridge, vlan_filtering: on}\n"
                 "  v: {kind: vxlan, external: on, master: b, vlans: [\n"
                 "    {vid: 2, pvid: on},\n    {vid: 3, pvid: on}]}\n",
                 "5:5: 'v' has two VLANs for untagged packets (pvid), 2 and 3",
                 id="packets_without_a_tag_in_two_vlans"),
    pytest.param("links:\n  b: {kind: bridge, vlan_filtering: on}\n"
                 "  v: {kind: vxlan, external: on, master: b, port: {vlan_tunnel: on}, vlans: [\n"
                 "    {vid: 2, tunnel_id: 7},\n    {vid: 3, tunnel_id: 7}]}\n",
                 "5:5: 'v' has two VLANs with tunnel_id 7, 2 and 3", id="vni_of_two_vlans"),
    pytest.param("groups: {g: {protodown: on}}\nlinks:\n  d: {kind: dummy, group: g}\n",
                 "3:3: 'd' cannot have 'protodown': it is a dummy; "
                 "macvlan, macvtap, vxlan can be held down by a protocol, and some hardware", id="protodown"),
    pytest.param("links:\n  b: {kind: bridge, carrier: on}\n",
                 "2:21: 'b' cannot have 'carrier': it is a bridge; "
                 "dummy, team, tun can be told whether it has a carrier, and some hardware", id="carrier"),
    pytest.param("links:\n  w: {kind: wireguard, mac: 02:00:00:00:00:01}\n",
                 "2:24: 'w' cannot have a MAC: it is a wireguard, and sends packets without frames; leave it out",
                 id="mac_of_a_tunnel"),
    pytest.param(f"{DUMMY}  i: {{kind: ipvlan, link: d, mac: 02:00:00:00:00:01}}\n",
                 "3:30: 'i' cannot have a MAC of its own: it is of kind ipvlan, and has that of a link below; "
                 "leave it out",
                 id="mac_of_an_ipvlan"),
    pytest.param(f"{DUMMY}  h: {{kind: hsr, slave1: d, slave2: d}}\n",
                 "3:29: both ends of the ring 'h' are 'd'; give it two links", id="ring_of_one"),
    pytest.param(f"{DUMMY}  v: {{kind: vlan, link: d, id: 7}}\n  h: {{kind: hsr, slave1: d, slave2: v}}\n",
                 "4:29: 'v' cannot be in the ring 'h': it is a vlan", id="vlan_in_a_ring"),
    pytest.param(f"{DUMMY}  b: {{kind: bridge}}\n  p: {{kind: dummy, master: b, port: {{backup_port: d}}}}\n",
                 "4:31: 'p' cannot be backed up by 'd': that is no other port of its bridge", id="backup_port"),
    pytest.param(f"{DUMMY}  b: {{kind: bond, mode: active-backup, primary: d}}\n",
                 "3:40: 'd' cannot be the 'primary' of 'b': that is no port of it; name it in `ports` of 'b'",
                 id="primary_that_is_no_port"),
    pytest.param("links:\n  lo: {vlans: [5]}\n",
                 "2:16: 'lo' is no bridge, and can be no port of one", id="vlan_of_the_loopback_device"),
    pytest.param("links:\n  t: {kind: ipip, local: 192.0.2.1, remote: 192.0.2.2}\n"
                 "neighbours: [{dev: t, ip: 192.0.2.7, state: noarp}]\n",
                 "3:27: 't' sends to no link-layer addresses, and cannot have 192.0.2.7 as a neighbour",
                 id="neighbour_behind_a_tunnel"),
    pytest.param("links:\n  x[1-2]: {kind: xfrm, if_id: 7}\n",
                 "2:3: 'x2' and 'x1', both of the kind xfrm, have the same if_id; 'x1' is from a.yaml:2", id="xfrm"),
    pytest.param(f"links:\n  d: {{kind: ip6gretap, {_ENDS}}}\n  e: {{kind: ip6erspan, {_ENDS}}}\n",
                 "2:3: 'd' and 'e', of the kinds ip6gretap and ip6erspan, have the same local, remote, dev and ikey; "
                 "'e' is from a.yaml:3", id="tunnels_of_one_table"),
    pytest.param("links:\n  g[1-2]: {kind: geneve, id: 5, remote: 192.0.2.1}\n",
                 "2:3: 'g2' and 'g1', both of the kind geneve, have the same id, remote and dstport; "
                 "'g1' is from a.yaml:2", id="geneve"),
    pytest.param("links:\n  u[1-2]: {kind: bareudp, dstport: 6635, ethertype: mpls_uc}\n",
                 "2:3: 'u2' and 'u1', both of the kind bareudp, have the same dstport; "
                 "'u1' is from a.yaml:2", id="bareudp"),
    pytest.param("links:\n  g: {kind: geneve, id: 5, remote: 192.0.2.1, dstport: 6081}\n"
                 "  h: {kind: geneve, external: on}\n",
                 "2:3: 'g' cannot be beside 'h', which is external and takes all packets of its kind; "
                 "'h' is from a.yaml:3", id="beside_an_external_geneve"),
    pytest.param("links:\n  g: {kind: ip6gretap, external: on}\n  h: {kind: ip6gre, external: on}\n",
                 "2:3: 'g' cannot be beside 'h', which is external and takes all packets of its kind; "
                 "'h' is from a.yaml:3", id="external_tunnels_of_one_table"),
    pytest.param("links:\n  b: {kind: bond, mode: active-backup, lacp_rate: fast}\n",
                 "2:40: the bond 'b' cannot have 'lacp_rate': its mode is active-backup; "
                 "the kernel takes it for 802.3ad",
                 id="bond_option_of_another_mode"),
    pytest.param("links:\n  b: {kind: bond, primary: d, ports: d}\n  d: {kind: dummy}\n",
                 "2:19: the bond 'b' cannot have 'primary': its mode is balance-rr; "
                 "the kernel takes it for active-backup, balance-tlb, balance-alb",
                 id="bond_option_without_a_mode"),
    pytest.param("links:\n  b: {kind: bond, updelay: 200}\n",
                 "2:19: the bond 'b' cannot have 'updelay': it does not look at carriers; "
                 "set miimon, the milliseconds between two looks", id="bond_delay_without_miimon"),
    pytest.param("links:\n  b: {kind: bond, miimon: 100, updelay: 250}\n",
                 "2:32: the bond 'b' cannot have 'updelay': it looks at carriers every 100 ms, and would wait 200; "
                 "a multiple of miimon", id="bond_delay_between_two_looks"),
    pytest.param("links:\n  b: {kind: bond}\n  d: {kind: dummy, master: b, port: {prio: 5}}\n",
                 "3:31: 'd' cannot have 'prio': the mode of the bond 'b' is balance-rr; "
                 "the kernel takes it for active-backup, balance-tlb, balance-alb", id="option_of_a_port_of_a_bond"),
    pytest.param(f"{DUMMY}  m: {{kind: macsec, link: d, window: 5}}\n",
                 "3:30: 'm' cannot have 'window': it takes what was seen before; set replay, too", id="macsec"),
    pytest.param("links:\n  b: {kind: bridge}\n  'd[1-2]': {kind: dummy, master: b}\n"
                 "fdb: [{dev: 'd[1-2]', mac: 02:00:00:00:00:01}]\n",
                 "4:7: the bridge 'b' cannot send what is for 02:00:00:00:00:01 by 'd2': it does so by 'd1'",
                 id="one_address_by_two_ports"),
    pytest.param("links:\n  b: {kind: bond, miimon: 100, arp_interval: 200}\n",
                 "2:32: the bond 'b' cannot have 'arp_interval': it has 'miimon'; "
                 "it watches its ports by one of the two", id="bond_that_watches_in_two_ways"),
    pytest.param("routes:\n- {to: '2001:db8::/32', via: 192.0.2.1, dev: lo}\n",
                 "2:30: the route to 2001:db8::/32 is one of IPv6, and 192.0.2.1 is not", id="gateway"),
    pytest.param("routes:\n- {to: '2001:db8::/32', nexthops: [{via: 192.0.2.1, dev: lo}]}\n",
                 "2:35: the route to 2001:db8::/32 is one of IPv6, and 192.0.2.1 is not", id="one_of_several_ways"),
    pytest.param("routes:\n- {to: 10.0.0.0/8, dev: lo, src: '::1'}\n",
                 "2:34: the route to 10.0.0.0/8 is one of IPv4, and ::1 is not", id="source"),
    pytest.param("rules:\n- {pref: 7, from: 10.0.0.0/8, to: '2001:db8::/32', lookup: 5}\n",
                 "2:19: this rule is one of IPv6, and 10.0.0.0/8 is not; write a rule for each protocol",
                 id="networks_of_a_rule"),
    pytest.param("rules:\n- {pref: 7, family: inet, from: '2001:db8::/32', lookup: 5}\n",
                 "2:33: this rule is one of IPv4, and 2001:db8::/32 is not; write a rule for each protocol",
                 id="family_of_a_rule"),
    pytest.param("rules:\n- {pref: 7, goto: 7}\n",
                 "2:19: a rule at 7 cannot go to 7; the kernel goes only to a larger pref", id="rule_that_goes_back"),
    *(pytest.param(f"links: {{d: {{up: on}}}}\nroutes:\n- {{{said}}}\n", f"3:{want}", id=name) for name, said, want in (
        ("link_beside_ways", "to: 10.0.0.0/8, dev: d, nexthops: [{dev: d}, {dev: lo}]",
         "25: the route to 10.0.0.0/8 has 'nexthops' and beside it 'dev'; say that in each of them"),
        ("link_beside_one_way", "to: 10.0.0.0/8, dev: d, nexthops: [{via: 10.1.0.1}]",
         "25: the route to 10.0.0.0/8 has 'nexthops' and beside it 'dev'; say that in each of them"),
        ("onlink_beside_ways", "to: 10.0.0.0/8, onlink: on, nexthops: [{dev: d}, {dev: lo}]",
         "28: the route to 10.0.0.0/8 has 'nexthops' and beside it 'onlink'; say that in each of them"),
        ("onlink_to_nowhere", "to: 10.0.0.0/8, type: blackhole, onlink: on",
         "45: the route to 10.0.0.0/8 is of type blackhole and leads nowhere; take 'onlink' out"),
        ("preference_of_ipv4", "to: 10.0.0.0/8, dev: d, pref: high",
         "34: the route to 10.0.0.0/8 is one of IPv4, which has no 'pref'"),
        ("tos_of_ipv6", "to: '2001:db8::/32', dev: d, tos: 8",
         "38: the route to 2001:db8::/32 is one of IPv6, which has no 'tos'"),
        ("realm_of_ipv6", "to: '2001:db8::/32', dev: d, realm: 3/4",
         "40: the route to 2001:db8::/32 is one of IPv6, which has no 'realm'"),
        ("realm_beside_ways", "to: 10.0.0.0/8, realm: 5, nexthops: [{dev: d, realm: 5}, {dev: lo}]",
         "27: the route to 10.0.0.0/8 has 'nexthops' and beside it 'realm'; say that in each of them"),
        ("realm_that_is_none", "to: 10.0.0.0/8, dev: d, realm: 0/0",
         "35: realm: expected the number of a realm like 5, or of two like 3/4: 0 is none, not the text '0/0'"),
        ("scope_of_ipv6", "to: '2001:db8::/32', dev: d, scope: link",
         "40: the route to 2001:db8::/32 is one of IPv6, which has no 'scope'"),
        ("ways_of_ipv6_without_gateway", "to: '2001:db8::/32', nexthops: [{dev: d}, {dev: lo}]",
         "35: each of the ways of the route to 2001:db8::/32 needs a gateway (via); "
         "IPv6 has several ways only by gateways"),
        ("table_of_labels", "to: 100, dev: d, table: 5",
         "28: the route to 100 in table 5 is one of MPLS, which has no 'table'"),
    )),
    *(pytest.param(f"rules:\n- {{pref: 7, {said}}}\n", f"2:{want}", id=name) for name, said, want in (
        ("rule_that_does_two_things", "lookup: 5, goto: 8",
         "30: this rule has lookup and goto, of which it can have one"),
        ("rule_of_another_action", "action: blackhole, lookup: 5",
         "40: this rule has action blackhole and lookup, of which it can have one"),
        ("rule_that_goes_and_looks", "action: goto, lookup: 5",
         "35: this rule has action goto and lookup, of which it can have one"),
        ("realms_of_ipv6", "family: inet6, lookup: 5, realms: 3/4",
         "47: this rule is one of IPv6, which has no 'realms'"),
        ("mark_without_a_bit", "lookup: 5, fwmark: 0x0/0x0",
         "32: fwmark: expected a mask with a bit in it: without any it selects by nothing, not the text '0x0/0x0'"),
        ("tunnel_of_no_id", "lookup: 5, tun_id: 0",
         "32: tun_id: expected a whole number from 1 to 18446744073709551615, not the text '0'"),
        ("group_that_is_none", "lookup: 5, suppress_ifgroup: 4294967295",
         "42: suppress_ifgroup: expected a whole number from 0 to 4294967294, not the text '4294967295'"),
        ("rule_without_a_table", "action: lookup",
         "3: this rule does nothing; give it lookup, vrf, l3mdev, goto or action"),
    )),
    pytest.param(f"{DUMMY}neighbours:\n- {{dev: d, ip: 10.0.0.9, proxy: on, state: noarp}}\n",
                 "4:44: 10.0.0.9 on 'd' is answered for (proxy), and has no 'state'", id="what_is_answered_for"),
    pytest.param(f"{DUMMY}neighbours:\n- {{dev: d, ip: 10.0.0.9, managed: on, lladdr: 02:00:00:00:00:09}}\n",
                 "4:47: 10.0.0.9 on 'd' is managed: its 'lladdr' is what the kernel finds out",
                 id="managed_neighbour_with_an_address"),
    pytest.param("links:\n  x: {kind: xfrm, if_id: 7}\nneighbours:\n- {dev: x, ip: 10.0.0.9, lladdr: 10.0.0.8}\n",
                 "4:34: 'x' is a xfrm, and its neighbours have no link-layer addresses; leave it out",
                 id="link_layer_address_of_what_has_none"),
    pytest.param(f"links:\n  g: {{{GRE}}}\nneighbours:\n- {{dev: g, ip: '2001:db8::9', lladdr: 02:00:00:00:00:09}}\n",
                 "4:39: the link-layer address of a neighbour on 'g', a gre, is an IPv4 address, not 02:00:00:00:00:09",
                 id="mac_on_a_tunnel"),
    pytest.param(f"{DUMMY}neighbours:\n- {{dev: d, ip: 10.0.0.9, lladdr: '2001:db8::9'}}\n",
                 "4:34: the link-layer address of a neighbour on 'd', a dummy, is a MAC, not 2001:db8::9",
                 id="address_of_a_tunnel_on_another_link"),
    pytest.param("links:\n  d: {kind: dummy, mtu: 1000, addresses: ['2001:db8::1/64', 10.0.0.1/24]}\n",
                 "2:43: 'd' has an mtu of 1000, with which it cannot have 2001:db8::1/64; at least 1280",
                 id="address_on_what_is_too_small_for_it"),
    pytest.param("neighbours:\n- {dev: lo, ip: 10.0.0.9}\n",
                 "2:17: 'lo' sends to no link-layer addresses, and cannot have 10.0.0.9 as a neighbour",
                 id="neighbour_of_lo"),
    pytest.param(f"{DUMMY}fdb:\n- {{dev: d, mac: '02:00:00:00:00:01', dst: 10.0.0.9}}\n",
                 "4:43: 'd' is no VXLAN, and sends to no other host (dst); leave it out", id="other_end_of_no_tunnel"),
    pytest.param(f"{DUMMY}fdb:\n- {{dev: d, mac: '00:00:00:00:00:00', dst: 10.0.0.9}}\n",
                 "4:43: 'd' is no VXLAN, and sends to no other host (dst); leave it out", id="several_of_them"),
    pytest.param("links: {v: {kind: vxlan, id: 5}}\n"
                 "fdb:\n- {dev: v, mac: '00:00:00:00:00:00', dst: 10.0.0.9, src_vni: 7}\n",
                 "3:62: 'v' has one VNI for all packets, and no entries for 7 alone; "
                 "leave it out, or set external of 'v'", id="entry_of_a_vni_of_one_that_has_one"),
    pytest.param("links:\n  v: {kind: vxlan, id: 5}\n"
                 "fdb:\n- {dev: v, mac: '00:00:00:00:00:00', dst: 10.0.0.8, state: static}\n"
                 "- {dev: v, mac: '00:00:00:00:00:00', dst: 10.0.0.9, state: permanent}\n",
                 "5:60: the entry 00:00:00:00:00:00 of 'v' is static to another end, and has one state for all; "
                 "set state: static, or leave it out", id="entry_of_another_state_to_another_end"),
    pytest.param("links:\n  d: {kind: dummy, master: r}\n  r: {kind: vrf, table: 7, up: on}\n"
                 "fdb:\n- {dev: d, mac: '02:00:00:00:00:01', where: master}\n",
                 "5:45: 'd' is no port of a bridge, in whose table this would be", id="entry_of_no_bridge"),
    pytest.param("links: {v: {kind: vxlan, id: 5, fdb: {mac: '02:00:00:00:00:01', where: master}}}\n",
                 "1:72: 'v' is no port of a bridge, in whose table this would be", id="entry_of_a_bridge_without_one"),
    *(pytest.param(f"links:\n  d: {{kind: dummy, addresses: {{address: {said}}}}}\n", f"2:{want}", id=name)
      for name, said, want in (
        ("label_of_ipv6", "'2001:db8::1/64', label: x", "66: 2001:db8::1/64 is one of IPv6, which has no 'label'"),
        ("detection_of_duplicates_of_ipv4", "10.0.0.1/8, nodad: on",
         "60: 10.0.0.1/8 is one of IPv4, which has no 'nodad'"),
        ("other_end_of_another_protocol", "10.0.0.1/32, peer: '::1'", "60: 10.0.0.1/32 is one of IPv4, and ::1 is not"),
        ("preferred_beyond_its_end", "10.0.0.1/8, valid_lft: 5, preferred_lft: 6",
         "82: 10.0.0.1/8 cannot be preferred for 6 and valid for 5; at most 5"),
        ("preferred_for_ever", "10.0.0.1/8, valid_lft: 5, preferred_lft: forever",
         "82: 10.0.0.1/8 cannot be preferred for forever and valid for 5; at most 5"),
        ("deprecated_and_without_end", "10.0.0.1/8, preferred_lft: 6",
         "68: 10.0.0.1/8 cannot be preferred for 6 and valid forever: it is one of IPv4; give it a valid_lft"),
        ("scope_of_another_network", "'2001:db8::1/64', scope: link",
         "66: 2001:db8::1/64 is one of IPv6, and its number says that its scope is global; leave it out"),
        ("no_time", "10.0.0.1/8, valid_lft: 0", "64: 10.0.0.1/8 is not valid for any time; leave it out"),
    )),
    pytest.param("nexthops:\n  1: {via: 192.0.2.1}\n",
                 "2:6: nexthop 1 does not say where to; give it dev, blackhole or group", id="nexthop_without_a_link"),
    pytest.param("nexthops:\n  1: {group: [{id: 1}]}\n",
                 "2:14: nexthop 1 cannot have 1 in its group: that is a group itself", id="group_in_a_group"),
    pytest.param("nexthops:\n  1: {via: 192.0.2.1, fdb: on}\n  2: {group: [{id: 1}]}\n",
                 "3:14: nexthop 2 cannot have 1 in its group: one is for forwarding entries (fdb), and one is not; "
                 "say fdb of both, or of neither", id="group_of_another_purpose"),
    pytest.param("nexthops:\n  1: {dev: lo}\n  2: {group: [{id: 1}, {id: 1}]}\n",
                 "3:14: nexthop 2 has 1 in its group twice; use weight", id="member_twice"),
    pytest.param("nexthops:\n  1: {dev: lo}\n  2: {group: [{id: 1}], dev: lo}\n",
                 "3:30: nexthop 2 is a group, and can have no 'dev' itself", id="group_with_a_link"),
    pytest.param("nexthops:\n  1: {dev: lo, family: inet6, via: 192.0.2.1}\n",
                 "2:36: nexthop 1 is one of IPv6, and 192.0.2.1 is not", id="gateway_of_a_nexthop"),
    pytest.param("nexthops:\n  1: {group: []}\n", "2:14: the group of nexthop 1 has no members", id="empty_group"),
    *(pytest.param(f"links:\n  x: {{kind: {kind}, link: lo{more}}}\n",
                   f"2:{15 + len(kind)}: 'x', a {kind}, cannot stand on 'lo': it is a loopback device",
                 id=f"{kind}_on_lo")
      for kind, more in (("vlan", ", id: 5"), ("macvlan", ""), ("ipvlan", ""), ("macsec", ""))),
    pytest.param(f"{DUMMY}  m: {{kind: macvlan, link: d, mode: bridge}}\n"
                 f"  n: {{kind: macvtap, link: d, mode: passthru}}\n",
                 "4:31: 'n' cannot have all of 'd' (passthru): 'm' stands on it, too; another mode; "
                 "'m' is from a.yaml:3",
                 id="passthru_beside_another"),
    pytest.param("links:\n  d: {kind: dummy, mac: '02:00:00:00:00:01'}\n"
                 "  m: {kind: macvlan, link: d, mode: passthru, mac: '02:00:00:00:00:02'}\n",
                 "3:47: 'm' and 'd', which it has all of (passthru), have one MAC, and are told two; "
                 "say it of one of them; 'd' is told 02:00:00:00:00:01",
                 id="two_macs_of_passthru"),
    pytest.param("links:\n  v: {kind: vxlan, id: 7, remote: 239.0.0.1}\n",
                 "2:27: 'v' needs 'dev': many links lead to 239.0.0.1; say by which it sends", id="group_of_no_link"),
    pytest.param("links:\n  v: {kind: vxlan, id: 7, remote: 'fe80::1'}\n",
                 "2:27: 'v' needs 'dev': many links lead to fe80::1; say by which it sends", id="link_local_end"),
    pytest.param("links:\n  v: {kind: vxlan, id: 7, local: 239.0.0.1}\n",
                 "2:27: 'v' cannot send from 239.0.0.1: that is a multicast address", id="sent_from_a_group"),
    pytest.param(f"{DUMMY}  v: {{kind: vlan, link: d, id: 5, mtu: 9000}}\n",
                 "3:35: mtu 9000 of 'v' is over that of 'd', which is 1500; at most 1500 can pass below, or raise that",
                 id="mtu_over_the_usual"),
    pytest.param(f"{DUMMY}  v: {{kind: vlan, link: d, id: 5}}\n  w: {{kind: macvlan, link: v, mtu: 1501}}\n",
                 "4:31: mtu 1501 of 'w' is over that of 'v', which is 1500; at most 1500 can pass below, "
                 "or raise that", id="mtu_over_the_usual_two_below"),
    pytest.param(f"{DUMMY}  m: {{kind: macsec, link: d, mtu: 1500}}\n",
                 "3:30: mtu 1500 of 'm' is over that of 'd', which is 1500; at most 1468 can pass below, or raise that",
                 id="mtu_with_a_tag"),
    pytest.param("links:\n  d: {kind: dummy, mtu: 1500}\n  v: {kind: vxlan, id: 7, dev: d, mtu: 1500}\n",
                 "3:35: mtu 1500 of 'v' is over that of 'd'; at most 1450 can pass below, or raise that",
                 id="mtu_with_headers"),
    pytest.param("links:\n  b: {kind: bridge, mtu: 70000}\n",
                 "2:21: 'b' cannot have an mtu of 70000: it is a bridge; 68 to 65535", id="mtu_over_that_of_the_kind"),
    pytest.param("vrfs:\n  r: {table: 5, up: on, mtu: 1000}\n",
                 "2:25: 'r' cannot have an mtu of 1000: it is a vrf; 1280 to 65575", id="mtu_below_that_of_the_kind"),
    pytest.param("links:\n  b: {kind: bond, arp_interval: 9, arp_ip_target: ['10.0.0.[1-17]']}\n",
                 "2:36: the bond 'b' cannot have 'arp_ip_target': there are 17; at most 16", id="targets"),
    pytest.param("links:\n  b: {kind: bond, arp_interval: 9, arp_ip_target: [0.0.0.0]}\n",
                 "2:36: the bond 'b' cannot have 'arp_ip_target': nobody answers for 0.0.0.0", id="target"),
    pytest.param("links:\n  b: {kind: bond, mode: 802.3ad, ad_actor_system: 01:00:00:00:00:01}\n",
                 "2:34: the bond 'b' cannot have 'ad_actor_system': 01:00:00:00:00:01 is a multicast address; "
                 "the first byte must be even, as 02", id="actor"),
    pytest.param("links:\n  d: {kind: dummy, altnames: [d]}\n",
                 "2:20: 'd' is the name itself; leave it out", id="altname_that_is_the_name"),
    pytest.param("links:\n  v: {kind: vxlan, id: 7, remote: 10.0.0.1, fdb: {mac: 02:00:00:00:00:01}}\n",
                 "2:50: the entry 02:00:00:00:00:01 of the VXLAN 'v' does not say where to; give it a dst or nhid",
                 id="entry_to_nowhere"),
    pytest.param(f"{DUMMY}  b: {{kind: bridge, vlan_filtering: on}}\n"
                 "  e: {kind: dummy, master: b, vlans: [5], fdb: {mac: 02:00:00:00:00:01, vlan: 6}}\n",
                 "4:79: 'e' is not in VLAN 6, in which this would be; list it in `vlans` of 'e'",
                 id="entry_of_no_vlan"),
    pytest.param("routes:\n- {to: '2001:db8::/32', via: 'fe80::1'}\n",
                 "2:30: the route to 2001:db8::/32 does not say by which link fe80::1 is reached; give it a dev",
                 id="link_local_gateway"),
    pytest.param("routes:\n- {to: 10.0.0.0/8, via: 192.0.2.1, onlink: on}\n",
                 "2:25: the route to 10.0.0.0/8 does not say on which link 192.0.2.1 is (onlink); give it a dev",
                 id="onlink_of_no_link"),
    pytest.param("routes:\n- {to: 10.0.0.0/8, via: 192.0.2.1, scope: link}\n",
                 "2:43: the route to 10.0.0.0/8 leads by a gateway, and its scope is link; leave it out",
                 id="near_gateway"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), REFUSED)
def test_what_the_kernel_refuses_together_is_told_before(text: str, want: str) -> None:
    assert told(text) == [f"a.yaml:{want}"]


TAKEN = [
    pytest.param(f"{DUMMY}  m[1-2]: {{kind: macvlan, link: d}}\n  t: {{kind: macvtap, link: d}}\n", id="macvlans"),
    pytest.param(f"{DUMMY}  b: {{kind: bridge}}\n  m: {{kind: macvlan, link: b}}\n"
                 "  n: {kind: macvlan, link: d, master: b}\n",
                 id="macvlan_of_a_bridge_and_in_it"),
    pytest.param(f"{DUMMY}  m: {{kind: macvlan, link: d}}\nvrfs:\n  r: {{table: 5, up: on, links: d}}\n",
                 id="macvlan_of_a_link_in_a_vrf"),
    pytest.param(f"links:\n  g[v=1-2]: {{{GRE}, ikey: '{{v}}'}}\n  t: {{{GRE.replace('gre', 'gretap')}}}\n",
                 id="tunnels_with_keys"),
    pytest.param("links:\n  v[v=1-2]: {kind: vxlan, id: 7, dstport: '{4000+v}'}\n  w: {kind: vxlan, external: on}\n",
                 id="vxlans_on_ports_of_their_own"),
    pytest.param("links:\n  v: {kind: vxlan, id: 7, up: on}\n  u: {kind: vxlan, external: on}\n"
                 "  w: {kind: vxlan, external: on, dstport: 47, up: on}\n",
                 id="vxlans_of_two_sorts_apart"),
    pytest.param("links:\n  v[1-2]: {kind: vxlan, external: on, vnifilter: on}\n", id="vxlans_that_list_networks"),
    pytest.param("routes:\n- {to: 10.0.0.0/8, via: '::1', dev: lo, onlink: on}\n", id="gateway_of_the_newer_protocol"),
    pytest.param("routes:\n- {to: 10.0.0.0/8, dev: lo, tos: 8, metric: 5, table: 7, scope: host}\n", id="of_ipv4"),
    pytest.param("routes:\n- {to: '2001:db8::/32', dev: lo, tos: 0, scope: global, pref: low}\n", id="of_ipv6"),
    pytest.param("rules:\n- {pref: 7, action: goto, goto: 9}\n- {pref: 8, action: lookup, l3mdev: on}\n", id="actions"),
    pytest.param("links:\n  d: {kind: dummy, addresses: [{address: 10.0.0.1/8, nodad: off, valid_lft: 5}, "
                 "{address: '2001:db8::1/64', preferred_lft: 0}]}\n",
                 id="addresses"),
    *(pytest.param(f"links:\n  d: {{kind: dummy, addresses: {{address: '{number}', scope: {scope}}}}}\n",
                   id=f"scope_of_{number}")
      for number, scope in (("fe80::1/64", "link"), ("fe90::1/64", "link"), ("fec0::1/64", "site"),
                            ("fd00::1/64", "global"), ("10.0.0.1/8", "link"))),
    *(pytest.param(f"links:\n  d: {{kind: dummy, addresses: {{address: '{number}', autojoin: on, scope: {scope}}}}}\n",
                   id=f"scope_of_{number}")
      for number, scope in (("ff15::1/64", "site"), ("ff02::7/64", "link"), ("ff0e::1/64", "global"))),
    pytest.param("links:\n  lo: {addresses: {address: '::1/128', scope: host}}\n", id="scope_of_the_loopback"),
    pytest.param("rules:\n- {pref: 7, from: default, to: '2001:db8::/32', lookup: 5}\n", id="network_of_all"),
    pytest.param("links:\n  vx: {kind: vxlan, id: 0}\n  ge: {kind: geneve, id: 0, remote: '::1'}\n", id="network_0"),
    pytest.param("links:\n  d[n=1-2]: {kind: dummy, addresses: {address: 10.0.0.1/32, peer: '10.0.1.{n}'}}\n",
                 id="address_with_several_peers"),
    pytest.param("nexthops:\n  1: {via: 192.0.2.1, fdb: on}\n  2: {group: [{id: 1}], fdb: on}\n", id="ends_of_vxlans"),
    pytest.param(f"{DUMMY}  b: {{kind: bridge, ports: d}}\n  v: {{kind: vlan, link: b, id: 5, mtu: 9000}}\n",
                 id="mtu_of_a_bridge_with_its_ports"),
    pytest.param(f"{DUMMY}  m: {{kind: macvlan, link: d, mode: passthru}}\n", id="passthru"),
    pytest.param("sysctl: {net.ipv4.conf.all.forwarding: 1, net.ipv4.ip_forward: 1}\n", id="setting_by_two_names"),
    pytest.param("links:\n  d: {kind: dummy, mtu: 70000}\n  v: {kind: vlan, link: d, id: 5, mtu: 65535}\n", id="mtus"),
]  # fmt: skip


@pytest.mark.parametrize("text", TAKEN)
def test_what_the_kernel_takes_is_taken(text: str) -> None:
    assert told(text) == []
