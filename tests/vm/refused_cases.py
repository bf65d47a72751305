# SPDX-License-Identifier: GPL-2.0-or-later
"""Configurations that are right value by value and that the kernel refuses, with what ``check`` says of them."""

import pytest

_ON_D = "links:\n  d: {kind: dummy, up: on}\n"
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
"""What is up though nothing says so."""

REFUSED = [
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
]  # fmt: skip
