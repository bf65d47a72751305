# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes that the kernel takes in one order only: there, back to what was, and back by what was said before."""

import json
from operator import itemgetter

import pytest

from tests.engine.universe import state_of
from tests.vm.stumbling import Stumbling, become, to_and_fro, told

_ROUTED = """
links: {%s}
routes: [{to: default, via: 10.0.0.9}, {to: 'fd09::/64', via: 'fd00::9'}]
"""
_BOND = "kind: bond, mode: active-backup, miimon: 100, up: true, ports: [c, d]"
_DUMMIES = "c: {kind: dummy}, d: {kind: dummy}, e: {kind: dummy}"
_IPVLAN = "{kind: ipvlan, mode: l2, link: a, up: true, addresses: [%s]}"
_IPVLANS = f"links: {{a: {{kind: dummy}}, x: {_IPVLAN}, y: {_IPVLAN}, z: {_IPVLAN}}}"
_ADDRESSES = "addresses: [10.0.0.1/24, 'fd00::1/64']"

CHANGES = {
    "vlans_are_ports_of_a_bond_of_which_the_links_below_come_up_too": (
        "links: {a: {kind: dummy}, r: {kind: vrf, table: 10}, b: {kind: bond}}",
        "links: {a: {kind: dummy, up: true}, c: {kind: dummy, up: true, master: r}, r: {kind: vrf, table: 10}, "
        "b: {kind: bond, up: true, mtu: 1400}, a.5: {master: b, port: {queue_id: 2}}, c.5: {master: b}, c.5.6: {}}",
    ),
    "vlans_that_are_down_are_ports_of_a_team": (
        "links: {a: {kind: dummy}, a.5: {}, t: {kind: team}}",
        "links: {a: {kind: dummy, up: true}, a.5: {master: t}, t: {kind: team, up: true}}",
    ),
    "addresses_move_to_a_bridge_and_gateways_with_them": (
        _ROUTED % f"a: {{kind: dummy, up: true, {_ADDRESSES}}}",
        _ROUTED % f"a: {{kind: dummy, up: true}}, b: {{kind: bridge, ports: a, up: true, {_ADDRESSES}}}",
    ),
    "addresses_move_from_a_link_that_is_made_anew": (
        _ROUTED % f"a: {{kind: dummy, up: true, {_ADDRESSES}}}, b: {{kind: dummy, up: true}}",
        _ROUTED % f"a: {{kind: bridge, up: true}}, b: {{kind: dummy, up: true, {_ADDRESSES}}}",
    ),
    "addresses_move_from_a_link_that_enters_a_vrf": (
        _ROUTED % f"a: {{kind: dummy, up: true, {_ADDRESSES}}}, b: {{kind: dummy, up: true}}, "
        "r: {kind: vrf, table: 9}",
        _ROUTED % f"a: {{kind: dummy, up: true, master: r}}, b: {{kind: dummy, up: true, {_ADDRESSES}}}, "
        "r: {kind: vrf, table: 9}",
    ),
    "ipvlans_exchange_the_only_addresses_that_they_have": (
        _IPVLANS % ("10.0.0.1/24, 'fd00::1/64'", "10.0.0.2/24, 'fd00::2/64'", "10.0.0.3/24, 'fd00::3/64'"),
        _IPVLANS % ("10.0.0.2/24, 'fd00::2/64'", "10.0.0.9/24, 'fd00::9/64'", "10.0.0.3/16, 'fd00::1/80'"),
    ),
    "ports_of_a_bridge_and_a_bond_become_a_ring_and_are_below_a_macsec": (
        f"links: {{b: {{kind: bridge, ports: [c, e]}}, o: {{kind: bond, ports: d}}, {_DUMMIES}}}",
        "links: {b: {kind: bridge}, o: {kind: bond}, r: {kind: hsr, slave1: c, slave2: d}, s: {kind: macsec, link: e}, "
        f"{_DUMMIES}}}",
    ),
    "bond_that_keeps_to_the_port_in_use_prefers_another": (
        f"links: {{b: {{{_BOND}, active_slave: c}}, {_DUMMIES}}}",
        f"links: {{b: {{{_BOND}, active_slave: d, primary: c, primary_reselect: failure}}, {_DUMMIES}}}",
    ),
    "team_with_ports_has_another_mode": (
        "links: {t: {kind: team, mode: activebackup, up: true, ports: [a, b], addresses: [10.0.0.1/24]}, "
        "t.5: {up: true}, a: {kind: dummy, up: true, port: {team_priority: 7}}, b: {kind: dummy}}",
        "links: {t: {kind: team, mode: loadbalance, up: true, ports: [a, c], addresses: [10.0.0.1/24]}, "
        "t.5: {up: true}, a: {kind: dummy, up: true}, b: {kind: dummy}, c: {kind: dummy}}",
    ),
    "port_of_a_bridge_becomes_one_of_a_team": (
        "links: {t: {kind: team, up: true}, b: {kind: bridge, ports: a}, a: {kind: dummy}}",
        "links: {t: {kind: team, up: true}, b: {kind: bridge}, a: {kind: dummy, master: t, port: {team_priority: 7}}}",
    ),
    "address_moves_and_its_route_changes": (
        "links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24, 10.1.0.1/24]}, b: {kind: dummy, up: true}}\n"
        "routes: [{to: 10.9.0.0/16, via: 10.0.0.9, mtu: 1400}]",
        "links: {a: {kind: dummy, up: true, addresses: [10.1.0.1/24]}, b: {kind: dummy, up: true, "
        "addresses: [10.0.0.1/24]}}\nroutes: [{to: 10.9.0.0/16, via: 10.0.0.9, mtu: 1300}]",
    ),
    "what_is_stacked_on_the_other_end_of_a_pair_is_not_larger": (
        "links: {d: {kind: dummy}}",
        "links: {w: {kind: veth, peer: v, up: true}, v: {kind: veth, peer: w, mtu: 9000}, "
        "x: {kind: vlan, link: v, id: 5, mtu: 8000}, y: {kind: macvlan, link: x, mtu: 7000}, d: {kind: dummy}}",
    ),
    "bridge_has_a_vlan_of_its_own_when_its_only_port_is_another": (
        "links: {a: {kind: dummy, up: true}, b: {kind: bridge, ports: a.5, up: true}}",
        "links: {b.7: {up: true}, b.7.8: {up: true}, m: {kind: macvlan, link: b.7, up: true}, "
        "a: {kind: dummy, up: true}, b: {kind: bridge, ports: a.6, up: true}}",
    ),
    "tunnels_go_by_new_links": (
        "links: {a: {kind: dummy, up: true}, x: {kind: vxlan, id: 5, dstport: 4789, dev: a, up: true}, "
        "g: {kind: gre, local: 10.0.0.1, remote: 10.0.0.2, dev: a, up: true}}",
        "links: {a: {kind: dummy, up: true}, x: {kind: vxlan, id: 5, dstport: 4789, dev: r, up: true}, "
        "g: {kind: gre, local: 10.0.0.3, remote: 10.0.0.4, dev: a.5, up: true}, r: {kind: vrf, table: 9, up: true}}",
    ),
    "frames_go_by_a_new_port_instead": (
        "links: {b: {kind: bridge, ports: [p, q]}, p: {kind: dummy, port: {backup_port: q}}, q: {kind: dummy}}",
        "links: {b: {kind: bridge, ports: [p, q, r]}, p: {kind: dummy, port: {backup_port: r}}, q: {kind: dummy}, "
        "r: {kind: dummy}}",
    ),
    "frames_go_by_a_port_that_comes_from_another_bridge_instead": (
        "links: {b: {kind: bridge, ports: [p, q]}, p: {kind: dummy, port: {backup_port: q}}, q: {kind: dummy}, "
        "c: {kind: bridge, ports: r}, r: {kind: dummy}}",
        "links: {b: {kind: bridge, ports: [p, r]}, p: {kind: dummy, port: {backup_port: r}}, q: {kind: dummy}, "
        "c: {kind: bridge, ports: q}, r: {kind: dummy}}",
    ),
    "route_has_a_source_that_is_new": (
        "links: {a: {kind: veth, peer: b, up: true}, b: {up: true}}",
        "links: {a: {kind: veth, peer: b, up: true, addresses: ['fd00::1/64']}, b: {up: true}}\n"
        "routes: [{to: 'fd09::/64', via: 'fd00::9', src: 'fd00::1'}]",
    ),
    "links_are_made_without_ipv6_but_for_one": (
        "links: {a: {kind: dummy, up: true}}",
        "links: {a: {kind: dummy, up: true}, a.5: {up: true}, "
        "b: {kind: dummy, up: true, sysctl: {ipv6.disable_ipv6: 0}, addresses: ['fd00::1/64']}}\n"
        "sysctl: {net.ipv6.conf.default.disable_ipv6: 1}",
    ),
    "stack_that_is_turned_upside_down": (
        "links: {a: {kind: dummy, up: true}, b: {kind: vlan, link: a, id: 1, up: true}, "
        "c: {kind: macvlan, link: b, up: true}, d: {kind: vlan, link: c, id: 2, up: true}, "
        "e: {kind: bridge, ports: d, up: true}, f: {kind: vlan, link: e, id: 3, up: true}}",
        "links: {a: {kind: dummy, up: true}, f: {kind: vlan, link: a, id: 3, up: true}, "
        "e: {kind: bridge, ports: f, up: true}, d: {kind: vlan, link: e, id: 2, up: true}, "
        "c: {kind: macvlan, link: d, up: true}, b: {kind: vlan, link: c, id: 1, up: true}}",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_change_takes_one_run_there_and_back(kernel: Stumbling, name: str) -> None:
    before, after = map(state_of, CHANGES[name])
    to_and_fro(kernel, before, after, refused=False)


def test_vlans_of_one_port_come_into_being_side_by_side(kernel: Stumbling) -> None:
    """The kernel walks all of a port for each: among a port's own it finds the others where it has just looked."""
    become(kernel, state_of("links: {'p[1-3]': {kind: dummy}, 'b[v=7-9]': {kind: bridge, ports: 'p[1-3].{v}'}}"))
    made = json.loads(told("ip", "-j", "link", "show", "type", "vlan"))
    assert [each["link"] for each in sorted(made, key=itemgetter("ifindex"))] == [*["p1"] * 3, *["p2"] * 3, *["p3"] * 3]
