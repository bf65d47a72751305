# SPDX-License-Identifier: GPL-2.0-or-later
"""Configurations that are right value by value and that the kernel refuses, with what ``check`` says of them."""

import pytest

_ON_D = "links:\n  d: {kind: dummy, up: on}\n"
_NUMBERED = "links:\n  d: {kind: dummy, up: on, addresses: [192.0.2.1/24, {address: '2001:db8::1/64', nodad: on}]}\n"
_VXLAN = (
    "links:\n  x: {kind: vxlan, id: 5, dstport: 4789, up: on}\n"
    "nexthops: {4: {via: 192.0.2.9, fdb: on}, 5: {group: [{id: 4}], fdb: on}}\n"
)
_WITHOUT = "has no IPv6 (disable_ipv6), and"
_OTHERWISE = "set its sysctl ipv6.disable_ipv6 to 0"

FOLLOWING = """
links:
  d: {kind: dummy, up: on}
  v: {kind: vlan, link: d, id: 5}
  w: {kind: vlan, link: v, id: 6, up: on}
routes: [{to: 10.0.0.0/8, dev: v}]
"""
ENTERING = """
links:
  b: {kind: bond, up: on, ports: d}
  d: {kind: dummy}
  w: {kind: vlan, link: d, id: 6, up: on}
routes: [{to: 10.0.0.0/8, dev: w}]
"""

_BESIDE = "links:\n  d: {kind: dummy, up: on, neighbours: [{ip: '2001:db8::2', %s}]}\n"
_SENDING = "links:\n  x: {kind: vxlan, id: 5, dstport: 4789%s, fdb: [{mac: 02:00:00:00:00:05, dst: '%s'}]}\n"

REFUSED = [
    pytest.param(_BESIDE % "managed: on, router: on",
                 "2:82: 2001:db8::2 on 'd' is managed: its 'router' is what the kernel finds out",
                 id="router_that_is_managed"),
    pytest.param(_BESIDE % "lladdr: null, extern_learn: on",
                 "2:69: a neighbour on 'd', a dummy, has a link-layer address always: null takes none away; "
                 "leave it out, or give it one", id="neighbour_without_an_address"),
    pytest.param("links:\n  t: {kind: tun, mode: tun, up: on, neighbours: [{ip: 10.0.0.2, state: noarp}]}\n",
                 "2:55: 't' sends to no link-layer addresses, and cannot have 10.0.0.2 as a neighbour",
                 id="neighbour_of_ipv4_on_a_tun"),
    pytest.param("links:\n  t: {kind: tun, mode: tun, neighbours: [{ip: '2001:db8::2', lladdr: 02:00:00:00:00:05}]}\n",
                 "2:70: 't' is a tun, and its neighbours have no link-layer addresses; leave it out",
                 id="address_of_a_neighbour_on_a_tun"),
    pytest.param(_SENDING % ("", "2001:db8::5"),
                 "2:78: 'x' sends over IPv4, and 2001:db8::5 is an address of IPv6; say by `local` of it from where",
                 id="entry_of_ipv6_in_a_vxlan_of_ipv4"),
    pytest.param(_SENDING % (", local: '2001:db8::1'", "192.0.2.5"),
                 "2:100: 'x' sends over IPv6, and 192.0.2.5 is an address of IPv4",
                 id="entry_of_ipv4_in_a_vxlan_of_ipv6"),
    pytest.param(f"{_ON_D}  m[1-2]: {{kind: macsec, link: d}}\n",
                 "3:3: 'm2' and 'm1', both on 'd', send in one channel (sci); "
                 "give each a sci_port of its own; 'm1' is from a.yaml:3", id="channel_of_two_macsecs"),
    pytest.param("links:\n  d: {kind: dummy, mac: 02:00:00:00:00:01}\n  m: {kind: macsec, link: d, sci_port: 7}\n"
                 "  n: {kind: macsec, link: d, sci: '0200000000010007'}\n",
                 "4:3: 'n' and 'm', both on 'd', send in one channel (sci); "
                 "give each a sci_port of its own; 'm' is from a.yaml:3", id="channel_of_the_mac_below"),
    pytest.param("links:\n  b: {kind: bond, numtxqueues: 4}\n  p: {kind: dummy, master: b, port: {queue_id: 5}}\n",
                 "3:31: 'p' cannot have the queue_id 5: the bond 'b' has 4 queues; "
                 "at most 4, or more numtxqueues of 'b'", id="queue_that_a_bond_has_not"),
    pytest.param("links:\n  b: {kind: bond}\n  p: {kind: dummy, master: b, port: {queue_id: 17}}\n",
                 "3:31: 'p' cannot have the queue_id 17: the bond 'b' has 16 queues; "
                 "at most 16, or more numtxqueues of 'b'", id="queue_beyond_the_usual"),
    pytest.param("links:\n  b: {kind: bond}\n  p[1-2]: {kind: dummy, master: b, port: {queue_id: 3}}\n",
                 "3:36: 'p2' cannot have the queue_id 3: that leads to 'p1'; each its own, or 0", id="queue_of_two"),
    pytest.param("links:\n  d: {kind: dummy, sysctl: {ipv6.disable_ipv6: on}, addresses: ['2001:db8::1/64']}\n",
                 f"2:65: 'd' {_WITHOUT} cannot have 2001:db8::1/64; {_OTHERWISE}", id="address_without_ipv6"),
    pytest.param("sysctl: {net.ipv6.conf.default.disable_ipv6: 1}\n"
                 "links:\n  d: {kind: dummy, addresses: ['2001:db8::1/64']}\n",
                 f"3:32: 'd' {_WITHOUT} cannot have 2001:db8::1/64; {_OTHERWISE}", id="address_on_a_new_link"),
    pytest.param("links:\n  d: {kind: dummy, up: on, sysctl: {ipv6.disable_ipv6: 1}}\n"
                 "routes: [{to: '2001:db8::/32', dev: d}]\n",
                 f"3:37: 'd' {_WITHOUT} the route to 2001:db8::/32 leads by it; {_OTHERWISE}", id="route_without_ipv6"),
    pytest.param("links:\n  d: {kind: dummy, up: on, sysctl: {ipv6.disable_ipv6: 1}}\n"
                 "nexthops: {5: {via: 'fe80::1', dev: d}}\n",
                 f"3:37: 'd' {_WITHOUT} nexthop 5 leads by it; {_OTHERWISE}", id="nexthop_without_ipv6"),
    pytest.param(f"{_ON_D}nexthops: {{5: {{via: 192.0.2.1, blackhole: on}}}}\n",
                 "3:21: nexthop 5 is a blackhole, and can have no 'via'", id="gateway_of_a_blackhole"),
    pytest.param(f"{_ON_D}nexthops: {{5: {{dev: d, blackhole: on}}}}\n",
                 "3:21: nexthop 5 is a blackhole, and can have no 'dev'", id="link_of_a_blackhole"),
    pytest.param(f"{_ON_D}nexthops: {{5: {{via: 192.0.2.1, dev: d, fdb: on}}}}\n",
                 "3:37: nexthop 5 is for forwarding entries (fdb), and can have no 'dev'", id="link_of_an_entry"),
    pytest.param(f"{_ON_D}nexthops: {{5: {{dev: d, onlink: on}}}}\n",
                 "3:32: nexthop 5 has no gateway (via) that could be on its link", id="onlink_without_gateway"),
    pytest.param("links:\n  d[1-2]: {kind: dummy, up: on, mtu: 9000}\n"
                 "  h: {kind: hsr, slave1: d1, slave2: d2, mtu: 1501}\n",
                 "3:42: 'h' cannot have an mtu of 1501: it is a hsr; 0 to 1500", id="wide_ring"),
    *(pytest.param(f"{_NUMBERED}routes: [{{to: '{to}', via: '{via}', dev: d}}]\n",
                   f"3:{place}: {via} is no host, and cannot be a gateway", id=f"gateway_{number}")
      for number, (to, via, place) in enumerate((
        ("10.0.0.0/8", "224.0.0.1", 34), ("10.0.0.0/8", "255.255.255.255", 34), ("10.0.0.0/8", "0.0.0.0", 34),
        ("2001:db8:9::/48", "ff02::1", 39), ("2001:db8:9::/48", "::1", 39), ("2001:db8:9::/48", "::", 39),
      ))),
    pytest.param(f"{_NUMBERED}routes: [{{to: '2001:db8:9::/48', via: '2001:db8::1'}}]\n",
                 "3:39: 2001:db8::1 is an address of this host, on 'd', and cannot be a gateway", id="own_gateway"),
    pytest.param(f"{_NUMBERED}nexthops: {{5: {{via: '2001:db8::1', dev: d}}}}\n",
                 "3:21: 2001:db8::1 is an address of this host, on 'd', and cannot be a gateway", id="own_nexthop"),
    pytest.param(f"{_NUMBERED}routes: [{{to: 10.0.0.0/8, dev: d, encap: {{type: seg6local, action: End}}}}]\n",
                 "3:42: the route to 10.0.0.0/8 is one of IPv4, and cannot have seg6local",
                 id="local_segments_of_ipv4"),
    pytest.param(f"{_NUMBERED}nexthops: {{5: {{via: 192.0.2.9, dev: d, encap: "
                 "{type: seg6, mode: inline, segs: '2001:db8::5'}}}\n",
                 "3:47: nexthop 5 is one of IPv4, and cannot have seg6 in the mode inline", id="inline_segments"),
    *(pytest.param(f"{_NUMBERED}nexthops: {{4: {{via: 192.0.2.9, dev: d}}, 5: {{group: [{{id: 4}}], {field}}}}}\n",
                   f"3:{65 + field.index(':')}: nexthop 5 can have no {field.partition(':')[0]!r}: "
                   "it is no resilient group; set group_type: resilient", id=f"{field.partition(':')[0]}_of_a_group")
      for field in ("buckets: 4", "idle_timer: 4", "unbalanced_timer: 4")),
    *(pytest.param(f"{_NUMBERED}nexthops: {{5: {{via: 192.0.2.9, dev: d, {field}}}}}\n",
                   f"3:{42 + field.index(':')}: nexthop 5 is no group, and can have no {field.partition(':')[0]!r}",
                   id=f"{field.partition(':')[0]}_of_no_group")
      for field in ("buckets: 4", "idle_timer: 4", "group_type: resilient")),
    pytest.param(f"{_NUMBERED}nexthops: {{4: {{via: 192.0.2.9, dev: d}}, 5: {{group: [{{id: 4}}], family: inet}}}}\n",
                 "3:71: nexthop 5 is a group, and can have no 'family' itself", id="family_of_a_group"),
    *(pytest.param(f"{_NUMBERED}sysctl: {{net.mpls.platform_labels: 1000}}\n"
                   f"nexthops: {{4: {{via: 192.0.2.9, dev: d}}}}\nroutes: [{{to: 100, {way}, {field}}}]\n",
                   f"5:{24 + len(way) + field.index(':')}: the route to 100 is one of MPLS, which has no "
                   f"{field.partition(':')[0]!r}", id=f"{field.partition(':')[0]}_of_mpls")
      for way, field in (("dev: d", "mtu: 1400"), ("dev: d", "rttvar: 5"), ("type: unicast", "nhid: 4"))),
    pytest.param(f"{_NUMBERED}routes: [{{to: 10.0.0.0/8, dev: d, ttl_propagate: off}}]\n",
                 "3:50: the route to 10.0.0.0/8 is one of IPv4, which has no 'ttl_propagate'", id="ttl_of_ipv4"),
    pytest.param(f"{_NUMBERED}routes: [{{to: 10.0.0.0/8, nexthops: []}}]\n",
                 "3:37: the route to 10.0.0.0/8 has no way among its 'nexthops'; name one", id="no_ways"),
    pytest.param(f"{_NUMBERED}routes: [{{to: 10.0.0.0/8, dev: d, onlink: on}}]\n",
                 "3:43: the route to 10.0.0.0/8 has no gateway (via) that could be on its link", id="onlink_of_none"),
    *(pytest.param(f"{_ON_D}  m: {{kind: macsec, link: d, {field}: {value}, {other}}}\n",
                   f"3:30: 'm' cannot have {field!r}: {why}", id=f"{field}_beside_{other[:3]}")
      for field, value, other, why in (
        ("sci", "'0200000000010001'", "send_sci: off", "it needs 'send_sci: true'"),
        ("send_sci", "on", "scb: on", "it has 'scb'"),
        ("send_sci", "on", "end_station: on", "it has 'end_station'"),
        ("scb", "on", "end_station: on", "it has 'end_station'"),
      )),
    *(pytest.param(f"links:\n  d: {{kind: dummy, addresses: [{{address: '{address}', {field}: {value}}}]}}\n",
                   f"2:{48 + len(address) + len(field)}: {told}", id=f"{field}_of_another")
      for address, field, value, told in (
        ("10.1.1.1/24", "autojoin", "on", "10.1.1.1/24 is no multicast group to join; leave 'autojoin' out"),
        ("2001:db8::1/48", "mngtmpaddr", "on", "2001:db8::1/48 has no prefix of 64 bits; leave 'mngtmpaddr' out"),
        ("10.1.1.1/24", "broadcast", "0.0.0.0", "0.0.0.0 is no broadcast address of 10.1.1.1/24; null is none"),
      )),
    pytest.param("links:\n  d: {kind: dummy, addresses: '::1/128'}\n",
                 "2:31: ::1 is the loopback address; 'd' cannot have it", id="loopback_address"),
    pytest.param("fdb: [{dev: lo, mac: 02:00:00:00:00:09}]\n",
                 "1:7: 'lo' has no forwarding entries: it sends no frames", id="entry_of_lo"),
    pytest.param(f"{_VXLAN}fdb: [{{dev: x, mac: 02:00:00:00:00:09, nhid: 5, vni: 7}}]\n",
                 "4:54: the entry 02:00:00:00:00:09 of the VXLAN 'x' has a nexthop, and beside it 'vni'; "
                 "take one of them out", id="entry_with_two_ends"),
    pytest.param(f"{_VXLAN}fdb: [{{dev: x, mac: 02:00:00:00:00:09, nhid: 4}}]\n",
                 "4:46: nexthop 4 is no group for forwarding entries, and 'x' has it for 02:00:00:00:00:09; "
                 "it needs a group, with fdb", id="entry_by_no_group"),
    *(pytest.param(f"{_ON_D}  t: {{kind: macvtap, link: d}}\n  u: {{kind: {kind}, link: t}}\n",
                   f"4:{place}: 'u', a {kind}, cannot stand on 't': it is a macvtap", id=f"{kind}_of_a_tap")
      for kind, place in (("macsec", 21), ("ipvlan", 21))),
    pytest.param("links:\n  d[1-2]: {kind: dummy}\n  h: {kind: hsr, slave1: d1, slave2: d2}\n"
                 "  v: {kind: vlan, link: h, id: 5}\n",
                 "4:19: 'v', a vlan, cannot stand on 'h': it is a hsr", id="vlan_of_a_ring"),
    *(pytest.param("links:\n  n: {kind: netkit, peer: m, up: on}\n  m: {up: on}\n"
                   f"  v: {{kind: vlan, link: n, id: 5{said}}}\n",
                   "4:3: 'v' has no MAC to come up with: 'n' is a netkit of mode l3, and has none; give it a mac",
                   id=f"vlan_of_packets{said[1:]}") for said in (", up: on", "")),
    pytest.param(f"{_ON_D}  m: {{kind: macsec, link: d, master: b}}\n  b: {{kind: bond}}\n",
                 "3:30: 'm' cannot be a port of 'b', which has an mtu of 1500; mtu: 1468 of 'b' would pass",
                 id="macsec_in_a_bond"),
    pytest.param("links:\n  d: {kind: dummy, up: on, mtu: 1400}\n  v: {kind: vlan, link: d, id: 5, master: t}\n"
                 "  t: {kind: team}\n",
                 "3:35: 'v' cannot be a port of 't', which has an mtu of 1500; mtu: 1400 of 't' would pass",
                 id="narrow_vlan_in_a_team"),
    pytest.param("links:\n  d[1-2]: {kind: dummy, up: on}\n  h: {kind: hsr, slave1: d1, slave2: d2, master: b}\n"
                 "  b: {kind: bond}\n",
                 "3:42: 'h' cannot be a port of 'b', which has an mtu of 1500; mtu: 1494 of 'b' would pass",
                 id="ring_in_a_bond"),
    pytest.param(f"{_ON_D}  i: {{kind: ifb, master: b}}\n  b: {{kind: bond}}\n",
                 "3:18: 'i' cannot be a port of the bond 'b': it is a ifb, whose MAC nobody changes; "
                 "a bond of 'mode: active-backup' and 'fail_over_mac: active' lets it be", id="fixed_mac_in_a_bond"),
    pytest.param("links:\n  d: {kind: dummy}\n  g: {kind: ipip, local: 192.0.2.1, remote: 192.0.2.2}\n"
                 "  b: {kind: bond, mode: active-backup, fail_over_mac: active, ports: [d, g]}\n",
                 "3:3: 'g' cannot be a port of the bond 'b': it is a ipip, and 'd' is not", id="bond_of_two_sorts"),
    pytest.param(f"{_ON_D}  i: {{kind: ipvlan, link: d, master: b}}\n"
                 "  b: {kind: bond, mode: active-backup, fail_over_mac: active}\n",
                 "3:30: 'i' cannot be a port of the bond 'b': it is a ipvlan", id="ipvlan_in_a_bond"),
    pytest.param(f"{_ON_D}  m: {{kind: macsec, link: d, window: 0}}\n",
                 "3:30: 'm' cannot have 'window': it takes what was seen before; set replay, too", id="closed_window"),
    pytest.param("links:\n  d[1-2]: {kind: dummy}\n  h: {kind: hsr, slave1: d1, slave2: d2, proto: prp, version: 0}\n",
                 "3:54: 'h' cannot have 'version': it is a ring of PRP", id="version_of_prp"),
    pytest.param("links:\n  u: {kind: bareudp, dstport: 6635, ethertype: mpls_mc, multiproto: on}\n",
                 "2:57: 'u' cannot have 'multiproto': its ethertype is neither ipv4 nor mpls_uc", id="both_of_one"),
    pytest.param("links:\n  g: {kind: geneve, id: 5, remote: 'ff05::1'}\n",
                 "2:28: 'g' cannot send to ff05::1: that is a multicast address; "
                 "say one other end, or make it a vxlan", id="geneve_to_many"),
    *(pytest.param(f"{_ON_D}  i: {{kind: {kind}, link: d, private: on, vepa: on}}\n",
                   f"3:{37 + len(kind)}: 'i' cannot have 'vepa': it is private", id=f"{kind}_apart_and_connected")
      for kind in ("ipvlan", "ipvtap")),
    *(pytest.param(f"links:\n  d[1-2]: {{kind: dummy, up: on}}\n"
                   f"  h: {{kind: hsr, slave1: d1, slave2: d2, interlink: {way}}}\n",
                   f"3:42: {told}", id=f"ring_by_{way}_to_another")
      for way, told in (
        ("d2", "'d2' is in the ring 'h', and cannot lead to another one; name a third link"),
        ("lo", "'lo' cannot be in the ring 'h': it is a loopback device"),
      )),
    *(pytest.param(f"links:\n  b: {{kind: bridge}}\n  p: {{kind: dummy, master: b, port: {{mab: on{said}}}}}\n",
                   f"3:31: 'p' cannot have 'mab': it needs '{needed}: true'", id=f"mab_not_{needed}")
      for said, needed in (("", "locked"), (", locked: on, learning: off", "learning"))),
    *(pytest.param(f"{_ON_D}routes: [{{to: 10.1.0.0/16, dev: d, type: {kind}, scope: {scope}}}]\n",
                   f"3:{51 + len(kind)}: the route to 10.1.0.0/16 is of type {kind}, and its scope is {scope}; "
                   f"say {least}, or leave it out", id=f"{scope}_{kind}")
      for kind, scope, least in (
        ("anycast", "global", "link"), ("broadcast", "site", "link"), ("local", "link", "host"),
      )),
    *(pytest.param(f"{_NUMBERED}nexthops: {{4: {{via: 192.0.2.9, dev: d}}}}\n"
                   f"routes: [{{to: 10.0.0.0/8, {way}, onlink: off}}]\n", f"4:{37 + len(way)}: {told}",
                   id=f"off_{number}")
      for number, (way, told) in enumerate((
        ("nhid: 4", "the route to 10.0.0.0/8 has 'nhid' and beside it 'onlink'; say that in that nexthop object"),
        ("type: blackhole", "the route to 10.0.0.0/8 is of type blackhole and leads nowhere; take 'onlink' out"),
      ))),
    *(pytest.param(f"{_NUMBERED}sysctl: {{net.mpls.platform_labels: 1000}}\nroutes: [{{to: 100, {said}}}]\n",
                   f"4:{place}: the route to 100 is one of MPLS, which has no {field!r}", id=f"{field}_of_mpls")
      for said, place, field in (
        ("type: blackhole", 26, "type"), ("dev: d, via: 192.0.2.9, onlink: on", 52, "onlink"),
      )),
    pytest.param("links:\n  w[1-2]: {kind: wireguard, listen_port: 51820, up: on}\n",
                 "2:29: 'w2' cannot listen on port 51820: 'w1' does; another listen_port; 'w1' is from a.yaml:2",
                 id="port_of_two_wireguards"),
    pytest.param("rules: [{pref: 7, action: goto, family: inet}]\n",
                 "1:27: this rule does not say where to go on; give it goto, with the pref of another rule",
                 id="nowhere_to_go"),
    pytest.param(f"{_NUMBERED}nexthops: {{4: {{via: 192.0.2.9, dev: d}}, "
                 "5: {group: [{id: 4}], group_type: resilient}}\n",
                 "3:75: nexthop 5 is a resilient group without 'buckets'; say how many", id="no_buckets"),
    pytest.param(f"{_NUMBERED}nexthops: {{3: {{blackhole: on, family: inet}}, 4: {{via: 192.0.2.9, dev: d}}, "
                 "5: {group: [{id: 3}, {id: 4}]}}\n",
                 "3:86: nexthop 5 cannot have 3 in its group of several: that is a blackhole",
                 id="blackhole_of_several"),
    *(pytest.param(f"{_ON_D}fdb: [{{dev: d, mac: 02:00:00:00:00:09, where: self, {field}: {value}}}]\n",
                   f"3:{55 + len(field)}: 'd' forwards nothing, and has no {field!r} of 02:00:00:00:00:09 "
                   "in a table of its own; leave it out, or set where: master", id=f"{field}_of_no_bridge")
      for field, value in (("vlan", 5), ("sticky", "on"))),
    pytest.param(f"{_ON_D}  b: {{kind: bridge, ports: d}}\n"
                 "fdb: [{dev: d, mac: 02:00:00:00:00:09, where: master, state: permanent, sticky: on}]\n",
                 "4:81: the entry 02:00:00:00:00:09 of 'd' is permanent, an address of the bridge, "
                 "which moves to no port; set state: static, or leave it out", id="sticky_and_permanent"),
    pytest.param(f"{_VXLAN}fdb: [{{dev: x, mac: 02:00:00:00:00:09, vlan: 5, dst: 192.0.2.9}}]\n",
                 "4:46: 'x' is a VXLAN, and has no VLAN 5 in its own table; leave it out, or set where: master",
                 id="vlan_of_a_vxlan"),
    pytest.param("links:\n  x: {kind: vxlan, external: on, vnifilter: on, vnis: {vni: 5, remote: 239.0.0.1}}\n",
                 "2:72: 'x' needs 'dev': many links lead to 239.0.0.1, of its network 5; say by which it sends",
                 id="group_of_a_network_of_no_link"),
]  # fmt: skip

TAKEN = [
    pytest.param(_BESIDE % "managed: on, lladdr: null", id="managed_neighbour_without_an_address"),
    pytest.param("links:\n  w: {kind: wireguard, up: on, neighbours: [{ip: '2001:db8::2', lladdr: null}]}\n",
                 id="neighbour_where_there_are_no_addresses"),
    pytest.param("links:\n  x: {kind: vxlan, external: on, vnifilter: on, dev: lo, "
                 "vnis: {vni: 5, remote: 239.0.0.1}}\n", id="group_of_a_network"),
    pytest.param(_SENDING % (", local: '::'", "2001:db8::5"), id="vxlan_of_ipv6_from_anywhere"),
    pytest.param(_SENDING % (", remote: 'ff02::7', dev: lo", "2001:db8::5"), id="vxlan_of_ipv6_to_a_group"),
    pytest.param("links:\n  g: {kind: gre, local: 0.0.0.0, remote: 0.0.0.0}\n  i: {kind: ip6tnl, remote: '::'}\n",
                 id="tunnels_from_and_to_anywhere"),
    pytest.param(f"{_VXLAN}fdb: [{{dev: x, mac: 02:00:00:00:00:09, nhid: 5}}]\n", id="entry_by_a_group"),
    pytest.param("vrfs:\n  r: {table: 7, up: on, addresses: '::1/128'}\n", id="loopback_address_of_a_vrf"),
    pytest.param(f"{_ON_D}  m: {{kind: macsec, link: d, scb: on}}\n", id="single_copy"),
    pytest.param(f"{_ON_D}  m: {{kind: macsec, link: d, end_station: on, send_sci: off}}\n", id="end_station"),
    pytest.param(f"{_NUMBERED}routes: [{{to: '2001:db8:9::/48', dev: d, onlink: on}}]\n", id="onlink_of_none_of_ipv6"),
    pytest.param(f"{_NUMBERED}routes: [{{to: 10.0.0.0/8, via: 192.0.2.1}}]\n", id="own_gateway_of_ipv4"),
    pytest.param(f"{_NUMBERED}routes: [{{to: 10.0.0.0/8, via: 192.0.2.9, "
                 "encap: {type: seg6, segs: '2001:db8::5'}}]\n", id="segments_of_ipv4"),
    pytest.param(f"{_NUMBERED}nexthops: {{4: {{via: 192.0.2.9, dev: d}}, "
                 "5: {group: [{id: 4}], group_type: resilient, buckets: 4, idle_timer: 5}}\n", id="resilient_group"),
    pytest.param(f"{_NUMBERED}routes: [{{to: '2001:db8:9::/48', dev: d, "
                 "encap: {type: seg6local, action: End.DX6, nh6: '::'}}]\n", id="local_segments"),
    pytest.param(FOLLOWING, id="following"),
    pytest.param(ENTERING, id="entering"),
    pytest.param(f"{_ON_D}  e: {{kind: dummy, up: on}}\n  m: {{kind: macvlan, link: d, up: on}}\n"
                 "  h: {kind: hsr, slave1: m, slave2: e, up: on}\n", id="macvlan_in_a_ring"),
    pytest.param(f"{_ON_D}  m: {{kind: macsec, link: d, master: b}}\n  b: {{kind: bond, mtu: 1468}}\n",
                 id="macsec_port"),
    pytest.param("links:\n  d[1-2]: {kind: dummy, up: on}\n  h: {kind: hsr, slave1: d1, slave2: d2, master: b}\n"
                 "  b: {kind: bond, mtu: 1494, mode: active-backup, fail_over_mac: active}\n", id="ring_port"),
    pytest.param("links:\n  d: {kind: dummy}\n  i: {kind: ifb}\n"
                 "  b: {kind: bond, mode: active-backup, fail_over_mac: active, ports: [d, i]}\n", id="fixed_mac"),
    pytest.param("links:\n  g: {kind: ipip, local: 192.0.2.1, remote: 192.0.2.2}\n"
                 "  b: {kind: bond, mode: active-backup, ports: g}\n", id="bond_of_tunnels"),
    pytest.param("links:\n  n: {kind: netkit, peer: m, up: on}\n  m: {up: on}\n"
                 "  v: {kind: vlan, link: n, id: 5, up: on, mac: 02:00:00:00:00:01}\n", id="vlan_with_a_mac"),
    *(pytest.param(f"links:\n  n: {{kind: netkit, peer: m{below}}}\n  m: {{up: on}}\n"
                   f"  v: {{kind: vlan, link: n, id: 5{said}}}\n", id=f"vlan_of_packets_that_is_down{said[1:9]}")
      for below, said in (("", ""), (", up: on", ", up: off"), (", up: on", ", loose_binding: on"))),
    pytest.param(f"{_ON_D}nexthops: {{5: {{via: 192.0.2.1, fdb: on}}}}\n", id="nexthop_of_an_entry"),
    pytest.param("links:\n  g: {kind: geneve, id: 5, remote: 192.0.2.1, ttl: 5, ttl_inherit: off}\n", id="ttl"),
    *(pytest.param(f"{_ON_D}routes: [{{to: 10.1.0.0/16, dev: d, type: {kind}, scope: {scope}}}]\n",
                   id=f"{scope}_{kind}")
      for kind, scope in (("anycast", "link"), ("broadcast", "host"), ("local", "host"), ("multicast", "global"))),
    pytest.param("links:\n  d[0-2]: {kind: dummy, up: on}\n"
                 "  h: {kind: hsr, slave1: d0, slave2: d1, interlink: d2, up: on}\n", id="ring_with_a_way_to_another"),
    pytest.param("links:\n  b: {kind: bridge}\n  p: {kind: dummy, master: b, port: {mab: on, locked: on}}\n", id="mab"),
    pytest.param("links:\n  w1: {kind: wireguard, listen_port: 51820, up: on}\n"
                 "  w2: {kind: wireguard, listen_port: 51820}\n  w3: {kind: wireguard, listen_port: 51821, up: on}\n",
                 id="port_of_one_wireguard_that_is_up"),
]  # fmt: skip
"""What looks like those, and is taken."""
