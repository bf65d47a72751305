# SPDX-License-Identifier: GPL-2.0-or-later
"""A small universe of configurations; tests go from each of them to each other one."""

from collections.abc import Iterable

from netgroupd.config import desired_from
from netgroupd.config.known import Known
from netgroupd.config.linemap import LineMap
from netgroupd.config.render import Rendered
from netgroupd.config.sources import Source
from netgroupd.model.state import State

UNIVERSE = {
    "nothing": "{}",
    "vlans": """
groups: {tenants: {mtu: 1400, up: true}}
links:
  swp[1-2]: {kind: dummy, up: true}
  br-[v=10-12]: {kind: bridge, ports: "swp[1-2].{v}", group: tenants, addresses: ["10.0.{v}.1/24", "fd00:{v}::1/64"]}
mdb:
  - {dev: "br-[v=10-12]", port: "swp[1-2].{v}", group: 239.1.1.1}
  - {dev: "br-[v=10-12]", port: "swp1.{v}", group: "01:00:00:00:00:05"}
  - {dev: "br-[v=10-12]", port: "br-{v}", group: "01:00:00:00:00:05"}
""",
    "vlans_larger": """
groups: {tenants: {mtu: 9000, up: true}}
links:
  swp[1-2]: {kind: dummy, up: true, mtu: 9216}
  br-[v=10-12]: {kind: bridge, ports: "swp[1-2].{v}", group: tenants, addresses: ["10.0.{v}.1/24", "fd00:{v}::1/64"]}
""",
    "vlans_in_another_group": """
groups: {guests: {mtu: 1400, up: true}}
links:
  swp[1-2]: {kind: dummy, up: true}
  br-[v=10-12]: {kind: bridge, ports: "swp[1-2].{v}", group: guests, addresses: ["10.0.{v}.1/24"]}
""",
    "fewer_vlans": """
groups: {tenants: {mtu: 1400, up: true}}
links:
  swp[1-2]: {kind: dummy, up: true}
  br-11: {kind: bridge, ports: "swp[1-2].11", group: tenants, addresses: ["10.0.11.1/24"]}
""",
    "ports_moved": """
groups: {tenants: {mtu: 1400, up: true}}
links:
  swp[1-2]: {kind: dummy, up: true}
  br-10: {kind: bridge, ports: [swp1.10, swp2.11], group: tenants, addresses: ["10.0.11.1/24"]}
  br-11: {kind: bridge, ports: [swp1.11, swp2.10], group: tenants, addresses: ["10.0.10.1/24"]}
mdb:
  - {dev: "br-[v=10-11]", port: "swp1.{v}", group: "239.1.1.[1-2]"}
  - {dev: br-11, port: swp2.10, group: 239.1.1.1}
  - {dev: "br-[v=10-11]", port: "br-{v}", group: "01:00:00:00:00:05"}
""",
    "names_swapped": """
links:
  swp[1-2]: {kind: dummy, up: true}
  a: {kind: vlan, link: swp1, id: 20, up: true, addresses: ["10.1.0.1/24"]}
  b: {kind: vlan, link: swp1, id: 10, up: true}
""",
    "names_unswapped": """
links:
  swp[1-2]: {kind: dummy, up: true}
  a: {kind: vlan, link: swp1, id: 10, up: true}
  b: {kind: vlan, link: swp1, id: 20, up: true, addresses: ["10.1.0.1/24"]}
""",
    "vrf": """
links:
  swp[1-2]: {kind: dummy, up: true, addresses: ["10.2.{1}.1/24", "2001:db8:2:{1}::1/64"]}
vrfs: {red: {table: 1001, links: "swp[1-2]", up: true}}
routes:
  - {to: 10.9.0.0/16, via: 10.2.1.2, vrf: red}
  - {to: "2001:db8:9::/48", via: "2001:db8:2:1::2", vrf: red}
""",
    "vrf_of_one": """
links:
  swp[1-2]: {kind: dummy, up: true, addresses: ["10.2.{1}.1/24", "2001:db8:2:{1}::1/64"]}
vrfs: {red: {table: 1001, links: swp1, up: true}, blue: {table: 1002, up: true}}
routes:
  - {to: 10.9.0.0/16, via: 10.2.1.2, vrf: red}
  - {to: 10.8.0.0/16, via: 10.2.2.2}
""",
    "vrf_gone": """
links:
  swp[1-2]: {kind: dummy, up: true, addresses: ["10.2.{1}.1/24", "2001:db8:2:{1}::1/64"]}
routes:
  - {to: 10.9.0.0/16, via: 10.2.1.2}
""",
    "vrf_of_another_table": """
links:
  swp[1-2]: {kind: dummy, up: true, addresses: ["10.2.{1}.1/24", "2001:db8:2:{1}::1/64"]}
vrfs: {red: {table: 1002, links: "swp[1-2]", up: true}}
routes:
  - {to: 10.9.0.0/16, via: 10.2.1.2, vrf: red}
""",
    "bond": """
links:
  swp[1-2]: {kind: dummy, up: true}
  bond0: {kind: bond, up: true, ports: "swp[1-2]", addresses: ["10.2.1.1/24"]}
  bond0.5: {up: true, addresses: ["10.0.10.1/24"]}
""",
    "layer_3": """
links:
  swp1: {kind: dummy, up: true, addresses: ["10.2.[1-3].1/24"]}
nexthops:
  1: {via: 10.2.1.9, dev: swp1}
  2: {via: 10.2.2.9, dev: swp1}
  3: {group: [{id: 1}, {id: 2}]}
routes:
  - {to: 10.8.0.0/16, nhid: 3}
  - {to: 10.9.0.0/16, via: 10.2.1.2}
rules:
  - {pref: 100, from: 10.8.0.0/16, lookup: 7}
neighbours:
  - {dev: swp1, ip: 10.2.1.2, lladdr: "02:00:00:00:00:01"}
""",
    "layer_3_later": """
links:
  swp1: {kind: dummy, up: true, mtu: 1400, addresses: ["10.2.[1-2].1/24"]}
nexthops:
  2: {via: 10.2.2.8, dev: swp1}
routes:
  - {to: 10.8.0.0/16, nhid: 2}
  - {to: 10.9.0.0/16, via: 10.2.2.2}
rules:
  - {pref: 100, from: 10.8.0.0/16, lookup: 8}
""",
}

FURTHER_NAMES = tuple(
    "links: {{d: {{kind: bridge, ports: a, altnames: [{}]}}, a: {{kind: veth, peer: b, altnames: [{}]}}, "
    "b: {{kind: veth, peer: a, altnames: [{}]}}}}".format(*names)
    for names in (
        ("x, y", "aa", "bb"),
        ("y", "aa", "bb"),
        ("y, z", "bb", "aa"),
        ("aa, y", "", "z"),
        ("", "y, z", "aa, bb"),
        ("y", "", ""),
    )
)
"""The same links with one set of further names after the other."""

NEXTHOPS = tuple(
    f"""
links: {{lo: {{up: true}}, a: {{kind: veth, peer: b, up: true, addresses: [10.0.0.1/24]}}, b: {{up: true}}}}
nexthops: {{1: {{via: 10.0.0.8, dev: a}}, 2: {{via: 10.0.0.9, dev: a}}, 3: {{{said}}}}}
routes: [{{to: 10.9.0.0/16, nhid: 3}}]
"""
    for said in (
        "via: 10.0.0.7, dev: a",
        "blackhole: true",
        "via: 10.0.0.6, dev: a, onlink: true",
        "group: [{id: 1}, {id: 2}]",
        "dev: a",
        "group: [{id: 2}]",
        "blackhole: true",
        "group: [{id: 1, weight: 3}]",
    )
)
"""A route by way of a nexthop object that is one thing after the other."""

ROUTES = tuple(
    f"""
links:
  lo: {{up: true}}
  a: {{kind: veth, peer: b, up: true, addresses: [10.0.0.1/24, 'fd00::1/64']}}
  b: {{up: true}}
nexthops: {{1: {{via: 10.0.0.8, dev: a}}, 2: {{via: 'fd00::8', dev: a}}}}
routes: [{{to: 10.9.0.0/16, {said}}}, {{to: 'fd09::/64', {said_of_ipv6}}}]
"""
    for said, said_of_ipv6 in (
        ("dev: a", "dev: a"),
        ("via: 10.0.0.7", "via: 'fd00::7'"),
        ("type: blackhole", "type: blackhole"),
        ("dev: a", "dev: a"),
        ("type: unreachable", "type: unreachable"),
        ("nexthops: [{via: 10.0.0.7, dev: a}]", "nexthops: [{via: 'fd00::7', dev: a}]"),
        ("dev: lo, type: local", "dev: lo, type: local"),
        ("nhid: 1, type: unicast", "nhid: 2, type: unicast"),
        ("type: prohibit", "type: prohibit"),
        ("via: 10.0.0.7, dev: a, onlink: true", "via: 'fd00::7', dev: a, onlink: true"),
    )
)
"""A route of each protocol that leads to one place after the other, and nowhere."""

_FORWARDED = """
links:
  br: {kind: bridge, up: true}
  p: {kind: veth, peer: q, master: br, up: true, mac: '02:00:00:00:00:76'}
  q: {kind: veth, peer: p, mac: '02:00:00:00:00:77', up: true}
  vx: {kind: vxlan, id: 5, remote: 192.0.2.1, up: true}
"""
FORWARDED = tuple(
    f"{_FORWARDED}fdb: [{entries}]\n"
    for entries in (
        "",
        "{dev: p, mac: '02:00:00:00:00:77'}, {dev: vx, mac: '02:00:00:00:00:78', dst: 192.0.2.3}",
        "{dev: vx, mac: '02:00:00:00:00:78', dst: 192.0.2.4, port: 4790}",
        "",
        "{dev: p, mac: '02:00:00:00:00:77', state: permanent}, {dev: p, mac: '01:00:5e:00:00:55', where: self}, "
        "{dev: vx, mac: '00:00:00:00:00:00', dst: 192.0.2.1}, {dev: vx, mac: '00:00:00:00:00:00', dst: 192.0.2.2}, "
        "{dev: p, mac: '02:00:00:00:00:76', state: permanent}, {dev: p, mac: '33:33:00:00:00:01', where: self}",
        "",
    )
)
"""Forwarding entries like those that the kernel makes of what links have: some are its own, some are not."""

_BONDS = """
links:
  p1: {kind: dummy, mtu: 1400, up: true}
  p2: {kind: dummy, up: true}
  p3: {kind: dummy, up: true}
  a: {kind: bond, mac: "02:00:00:00:00:01", up: true, addresses: ["fd00::1/64"], %s}
  b: {kind: bond, mac: "02:00:00:00:00:02", up: true, %s}
routes: [{to: "fd01::/64", via: "fd00::2", dev: a}]
"""

_TUNNELS = """
links:
  g: {kind: gre, local: 10.0.%d.1, remote: 10.0.0.9, up: true}
  s: {kind: sit, local: 10.0.%d.1, remote: 10.0.0.9, up: true}
  six: {kind: ip6gre, local: "fd00:%d::1", remote: "fd00::9", up: true}
"""

_MAPPED = """
links:
  br: {kind: bridge, mac: "02:00:00:00:00:05", vlan_filtering: true, vlan_default_pvid: 0}
  vx:
    kind: vxlan
    external: true
    dstport: %d
    master: br
    port: {vlan_tunnel: true}
    vlans: [{vid: "[v=5-7]", tunnel_id: "{v+%d}"}]
"""

LOSING = {
    "vnis_of_vlans": (_MAPPED % (4789, 100), _MAPPED % (4790, 100)),
    "vnis_of_vlans_and_what_they_are": (_MAPPED % (4789, 100), _MAPPED % (4790, 200)),
    "local_addresses_of_tunnels": (_TUNNELS % (0, 0, 0), _TUNNELS % (1, 1, 1)),
    "neighbours_with_the_last_address": (
        "{links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24]}}, "
        "neighbours: [{dev: a, ip: 10.0.0.9, lladdr: '02:00:00:00:00:01'}]}",
        "{links: {a: {kind: dummy, up: true, addresses: [10.0.0.2/23]}}, "
        "neighbours: [{dev: a, ip: 10.0.0.9, lladdr: '02:00:00:00:00:01'}]}",
    ),
    "routes_from_an_address_of_a_link_that_is_made_anew": (
        "{links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24]}, l: {kind: dummy, addresses: [10.9.0.1/32]}}, "
        "routes: [{to: 10.8.0.0/16, via: 10.0.0.9, src: 10.9.0.1}]}",
        "{links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24]}, l: {kind: bridge, addresses: [10.9.0.1/32]}}, "
        "routes: [{to: 10.8.0.0/16, via: 10.0.0.9, src: 10.9.0.1}]}",
    ),
    "routes_from_an_address_that_moves_from_a_link_that_goes": (
        "{links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24]}, l: {kind: dummy, addresses: [10.9.0.1/32]}}, "
        "routes: [{to: 10.8.0.0/16, via: 10.0.0.9, src: 10.9.0.1}]}",
        "{links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24]}, m: {kind: dummy, addresses: [10.9.0.1/32]}}, "
        "routes: [{to: 10.8.0.0/16, via: 10.0.0.9, src: 10.9.0.1}]}",
    ),
    "routes_from_an_address_that_is_not_wanted_any_more": (
        "{links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24, 10.9.0.1/32]}}, "
        "routes: [{to: 10.8.0.0/16, via: 10.0.0.9, src: 10.9.0.1}]}",
        "{links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24]}}, routes: [{to: 10.8.0.0/16, via: 10.0.0.9}]}",
    ),
    "vlans_that_go_down_with_the_link_below_them": (
        "links: {r: {kind: vrf, table: 9}, a: {kind: dummy, up: true}, "
        "a.5: {kind: vlan, link: a, id: 5, up: true}, a.5.6: {kind: vlan, link: a.5, id: 6, up: true}}",
        "links: {r: {kind: vrf, table: 9}, a: {kind: dummy, up: true, master: r}, "
        "a.5: {kind: vlan, link: a, id: 5, up: true}, a.5.6: {kind: vlan, link: a.5, id: 6, up: true}}",
    ),
    "vlan_on_one_that_does_not_go_down": (
        "links: {r: {kind: vrf, table: 9}, a: {kind: dummy, up: true}, "
        "b: {kind: vlan, link: a, id: 5, up: true, loose_binding: true}, c: {kind: vlan, link: b, id: 6, up: true}}",
        "links: {r: {kind: vrf, table: 9}, a: {kind: dummy, up: true, master: r}, "
        "b: {kind: vlan, link: a, id: 5, up: true, loose_binding: true}, c: {kind: vlan, link: b, id: 6, up: true}}",
    ),
    "mtu_of_the_ports_of_a_bond": (
        "links: {b: {kind: bond, mtu: 1500, ports: p}, p: {kind: dummy, mtu: 1500}, d: {kind: dummy}}",
        "links: {b: {kind: bond, mtu: 1400, ports: p}, p: {kind: dummy}, d: {kind: dummy, alias: d}}",
    ),
    "addresses_of_vlans_that_come_up_for_a_moment": (
        "links: {}",
        "links: {a: {kind: dummy, up: true}, b: {kind: vlan, link: a, id: 5}, "
        "c: {kind: vlan, link: b, id: 6, up: false, addresses: [{address: 'fd00::1/64', nodad: true}]}}",
    ),
    "the_other_end_of_a_pair": (
        "links: {v: {kind: veth, peer: w, up: true, alias: v, addresses: [10.0.1.1/24]}, "
        "w: {kind: veth, peer: v, alias: w, addresses: [10.0.2.1/24]}, d: {kind: dummy}}",
        "links: {d: {kind: dummy, alias: d}}",
    ),
    "what_had_the_name_of_the_other_end_of_a_pair": (
        "links: {e: {kind: bridge, up: true, mac: '02:00:00:00:00:01'}}",
        "links: {e: {kind: veth, peer: f, up: true}, f: {kind: veth, peer: e, up: true}}",
    ),
    "what_is_below_though_nobody_mentions_it": (
        "links: {a: {kind: dummy, mtu: 1400}, b: {kind: bridge, mtu: 1300}, "
        "v: {kind: vlan, link: a, id: 5, mtu: 1400}}",
        "links: {v: {mtu: 1500}, a: {mtu: 1500, master: b}, b: {kind: bridge, mtu: 1300}}",
    ),
    "what_one_was_that_is_made_anew": (
        "{groups: {g: {}}, links: {a: {kind: dummy, up: true, group: g}, b: {kind: dummy}, "
        "c: {kind: dummy, up: true}}}",
        "{groups: {g: {}}, links: {a: {kind: dummy, up: false, group: g}, b: {kind: dummy, up: true}, "
        "c: {kind: vlan, link: a, id: 5}, d: {kind: dummy, up: true}}}",
    ),
    "what_stands_on_the_other_end_of_a_pair": (
        "links: {}",
        "{links: {x: {kind: vlan, link: w, id: 5, up: true, master: r}, w: {kind: veth, peer: v, up: true}, "
        "v: {kind: veth, peer: w, up: true, master: r}}, vrfs: {r: {table: 9, up: true}}}",
    ),
    "macvlan_on_what_was_a_port": (
        "links: {a: {kind: dummy, up: true, master: b}, b: {kind: bridge}}",
        "links: {a: {kind: dummy, up: true, master: null}, b: {kind: bridge}, m: {kind: macvlan, link: a, up: true}}",
    ),
    "bridge_smaller_than_the_pair_in_it": (
        "links: {d: {kind: dummy}}",
        "links: {b: {kind: bridge, mtu: 1400}, v: {kind: veth, peer: w}, w: {kind: veth, peer: v, master: b}}",
    ),
    "macvlan_that_is_made_anew_and_the_carrier_of_its_bridge": (
        "links: {a: {kind: dummy, up: true}, c: {kind: dummy, up: true}, b: {kind: bridge, up: true}, "
        "m: {kind: macvlan, link: a, mode: bridge, up: true, arp: false, master: b}}",
        "links: {a: {kind: dummy, up: true}, c: {kind: dummy, up: true}, b: {kind: bridge, up: true}, "
        "m: {kind: macvlan, link: c, mode: vepa, up: true, arp: false}}",
    ),
    "vlans_of_a_bridge_with_spanning_tree": (
        "links: {a: {kind: dummy, up: true, master: b, vlans: [{vid: 5}]}, b: {kind: bridge, stp: true, up: true}}",
        "links: {a: {kind: dummy, up: true, master: null}, b: {kind: bridge, stp: true, up: true, alias: b}}",
    ),
    "vxlan_over_a_vlan_that_is_made_anew": (
        "links: {x: {kind: vxlan, id: 5, dev: v, up: true, addresses: [10.9.0.1/24]}, "
        "v: {kind: vlan, link: a, id: 5, up: true, master: b}, a: {kind: dummy, up: true}, b: {kind: bridge}}",
        "links: {x: {kind: vxlan, id: 5, dev: v, up: true, addresses: [10.9.0.1/24]}, "
        "v: {kind: vlan, link: a, id: 6, up: true, master: b}, a: {kind: dummy, up: true}, b: {kind: bridge}}",
    ),
    "vxlan_over_a_vlan": (
        "links: {a: {kind: dummy}}",
        "links: {x: {kind: vxlan, id: 5, dev: v, up: true}, v: {kind: vlan, link: a, id: 5, master: b}, "
        "b: {kind: bridge}, a: {kind: dummy}}",
    ),
    "vlan_that_resolves_no_addresses_on_a_link_that_does": (
        "links: {v: {kind: vlan, link: a, id: 5, arp: false, multicast: false}, a: {kind: bridge}}",
        "links: {v: {kind: vlan, link: a, id: 6, alias: v}, a: {kind: bridge, alias: a}}",
    ),
    "bond_that_prefers_a_port": (
        "links: {d: {kind: dummy}}",
        "links: {b: {kind: bond, mode: active-backup, primary: p, up: true}, p: {kind: dummy, up: true, master: b}}",
    ),
    "cost_of_a_port": (
        "links: {a: {kind: dummy, master: b, port: {cost: 100}}, b: {kind: bridge}}",
        "links: {a: {kind: dummy, master: b, port: {cost: 7}}, b: {kind: bridge, alias: b}}",
    ),
}
"""Two configurations; on the way from one to the other the kernel takes away more than is told."""
BORROWED = {
    "neighbours_with_the_mac_of_a_port": (
        "{links: {a: {kind: dummy, up: true, mac: '02:00:00:00:00:01', master: b}, b: {kind: bridge, up: true}}, "
        "neighbours: [{dev: b, ip: 10.0.0.9, lladdr: '02:00:00:00:00:09'}]}",
        "{links: {a: {kind: dummy, up: true, mac: '02:00:00:00:00:01', master: null}, b: {kind: bridge, up: true}, "
        "d: {kind: dummy, addresses: [10.0.1.1/24]}}, "
        "neighbours: [{dev: b, ip: 10.0.0.9, lladdr: '02:00:00:00:00:09'}]}",
    ),
    "neighbours_with_the_mac_of_what_is_below": (
        "{links: {a: {kind: dummy, up: true, mac: '02:00:00:00:00:01'}, v: {kind: vlan, link: a, id: 5, up: true}}, "
        "neighbours: [{dev: v, ip: 'fd00::9', lladdr: '02:00:00:00:00:09'}]}",
        "{links: {a: {kind: dummy, up: true, mac: '02:00:00:00:00:02', alias: a}, "
        "v: {kind: vlan, link: a, id: 5, up: true}, d: {kind: dummy, alias: d}}, "
        "neighbours: [{dev: v, ip: 'fd00::9', lladdr: '02:00:00:00:00:09'}]}",
    ),
    "modes_of_bonds_with_ports": (
        _BONDS
        % (
            "mtu: 1400, mode: active-backup, primary: p1, ports: [p1, p2]",
            "mode: balance-rr, ports: [p3]",
        ),
        _BONDS % ("mtu: 1400, mode: 802.3ad, ports: [p1]", "mode: active-backup, ports: [p2, p3]"),
    ),
    "port_of_a_bond_that_is_to_be_smaller_and_down": (
        "links: {b: {kind: bond, mac: '02:00:00:00:00:01'}, p: {kind: dummy, up: true}}",
        "links: {b: {kind: bond, mac: '02:00:00:00:00:01'}, p: {kind: dummy, mtu: 1400, up: false, master: b}}",
    ),
    "port_that_a_bond_uses": (
        "links: {b: {kind: bond, mode: active-backup, up: true, mac: '02:00:00:00:00:01'}, "
        "p: {kind: dummy, up: true, master: b}}",
        "links: {p: {kind: dummy, up: true, master: null}}",
    ),
    "mac_of_a_port_of_a_bond": (
        "links: {b: {kind: bond, up: true, mac: '02:00:00:00:00:01'}, p: {kind: dummy, mac: '02:00:00:00:00:02'}}",
        "links: {b: {kind: bond, up: true, mac: '02:00:00:00:00:01'}, "
        "p: {kind: dummy, mac: '02:00:00:00:00:03', master: b}}",
    ),
}
"""The same of MACs and MTUs that links have of others, which only the real kernel gives and takes."""


def state_of(text: str, there: Iterable[str] = ()) -> State:
    """What a configuration asks for; the links ``there`` need no description."""
    source = Source("/etc/netgroup/test.yaml", "test.yaml", text)
    return desired_from((Rendered(source, text, LineMap((source,))),), Known(frozenset(there))).state
