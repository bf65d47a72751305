# SPDX-License-Identifier: GPL-2.0-or-later
"""Of two steps of one plan which are of different classes, the one that the other needs comes first."""

import pytest

from netgroupd.model.state import Object
from netgroupd.model.value import Value
from tests.plan.test_plan import OURS, link, messages, planned


def _route(to: str, **attrs: Value) -> Object:
    return Object("route", ("inet", 254, to, 0, 0), {"type": "unicast", **attrs})


def _hop(number: int) -> Object:
    return Object("nexthop", (number,), {"family": "inet", "via": f"192.0.2.{number}", "dev": "d", "fdb": False})


D = link("d", "dummy", up=True)
_GROUP = Object("nexthop", (3,), {"group": ({"id": 1, "weight": 1},), "group_type": "mpath", "fdb": False})
_DUMMY = "d: {kind: dummy}"
_TEMPLATE = "chains: {parent: ingress, chain: 5, protocol: ip, flower: {dst_ip: 0.0.0.0/24, ip_proto: tcp}}"
CASES = {
    "rule_goes_before_the_routes_of_its_table": (
        f"links: {{{_DUMMY}}}",
        [D, Object("route", ("inet", 9, "10.0.0.0/8", 0, 0), {"dev": "d"}),
         Object("rule", ("inet", 9, ()), {"lookup": 9})],
        "delete rule", "delete route",
    ),
    "route_goes_before_its_nexthop": (
        f"links: {{{_DUMMY}}}", [D, _hop(1), _route("10.0.0.0/8", nhid=1)], "delete route", "delete nexthop",
    ),
    "group_goes_before_its_last_member": (
        f"links: {{{_DUMMY}}}", [D, _hop(1), _GROUP], "delete nexthop 3", "delete nexthop 1",
    ),
    "group_comes_behind_its_members": (
        f"links: {{{_DUMMY}}}\nnexthops: {{1: {{group: [{{id: 3}}]}}, 3: {{via: 192.0.2.3, dev: d}}}}", [D],
        "create nexthop 3", "create nexthop 1",
    ),
    "nexthop_comes_behind_the_way_to_its_gateway": (
        f"links: {{{_DUMMY}}}\nnexthops: {{1: {{via: 10.9.9.9, dev: d}}}}\nroutes: [{{to: 10.9.9.0/24, dev: d}}]", [D],
        "create route", "create nexthop",
    ),
    "nexthop_comes_behind_the_address_by_which_it_is_reached": (
        "links: {d: {kind: dummy, addresses: [192.0.2.1/24]}}\nnexthops: {1: {via: 192.0.2.2, dev: d}}", [D],
        "create address", "create nexthop",
    ),
    "route_comes_behind_the_one_to_its_gateway": (
        f"links: {{{_DUMMY}}}\nroutes: [{{to: 10.1.0.0/16, via: 10.9.9.9}}, {{to: 10.9.9.0/24, dev: d}}]", [D],
        "create route inet dev=d", "create route inet via=10.9.9.9",
    ),
    "rule_comes_behind_the_routes_of_its_table": (
        "links: {d: {kind: dummy, addresses: [192.0.2.1/24]}}\n"
        "routes: [{to: 10.0.0.0/8, via: 192.0.2.2, table: 9}]\nrules: [{pref: 9, lookup: 9}]",
        [D], "create route", "create rule",
    ),
    "rule_leads_elsewhere_before_the_routes_that_it_led_to_go": (
        f"links: {{{_DUMMY}}}\nroutes: [{{to: 10.0.0.0/8, dev: d, table: 10}}]\nrules: [{{pref: 9, lookup: 10}}]",
        [D, Object("route", ("inet", 9, "10.0.0.0/8", 0, 0), {"dev": "d"}),
         Object("rule", ("inet", 9, ()), {"lookup": 9})],
        "change rule", "delete route",
    ),
    "group_goes_before_its_last_member_where_both_are_made_anew": (
        f"links: {{{_DUMMY}}}\n"
        "nexthops: {1: {group: [{id: 5}]}, 3: {blackhole: true}, 5: {via: 192.0.2.5, dev: d}}\n"
        "routes: [{to: 10.0.0.0/8, nhid: 1}, {to: 11.0.0.0/8, nhid: 3}]",
        [D, _hop(1), _GROUP, _route("10.0.0.0/8", nhid=1), _route("11.0.0.0/8", nhid=3)],
        "delete nexthop 3", "delete nexthop 1",
    ),
    "vxlan_leaves_the_link_that_goes": (
        f"links: {{{_DUMMY}, x: {{kind: vxlan, id: 7, remote: 192.0.2.9, dev: d}}}}",
        [D, link("e", "dummy"), link("x", "vxlan", mtu=1400, id=7, remote="192.0.2.9", dev="e")],
        "change link x dev=d", "delete link e",
    ),
    "address_of_a_function_goes_before_the_functions_are_made_anew": (
        "links: {sim: {num_vfs: 2}, v: {}}",
        [link("sim", group=0), link("v", group=0), Object("sriov", ("sim",), {"num_vfs": 4}),
         Object("address", ("v", "192.0.2.1/24", None), {})],
        "delete address", "delete sriov",
    ),
    "bond_is_down_and_without_ports_before_its_mode_changes": (
        "links: {b: {kind: bond, mode: balance-rr, up: true, ports: [d]}, d: {kind: dummy}}",
        [link("b", "bond", mode="active-backup", up=True), link("d", "dummy", up=True, master="b")],
        "change link d master=None", "change link b mode=balance-rr",
    ),
    "port_leaves_before_it_moves_to_another_namespace": (
        "links: {b: {kind: bond, mode: balance-rr}, d: {kind: dummy, netns: blue, master: null}}",
        [link("b", "bond", mode="active-backup"), link("d", "dummy", master="b")],
        "change link d master=None", "change link d netns=blue",
    ),
    "link_moves_before_it_is_told_there_what_it_is": (
        "links: {d: {kind: dummy, netns: blue, alias: there}}", [D], "change link d netns=blue",
        "change link d alias=there",
    ),
    "link_below_is_up_before_a_vlan_of_it_is_a_port": (
        "links: {d: {kind: dummy, up: true}, b: {kind: bond, ports: [d.5]}}", [link("d", "dummy")],
        "change link d up=True", "change link d.5 master=b",
    ),
    "bridge_has_its_mtu_again_behind_its_ports": (
        "links: {b: {kind: bridge, mtu: 1400, ports: [d]}, d: {kind: dummy}}", [D], "change link d master=b",
        "change link b mtu=1400",
    ),
    "vlan_of_a_bridge_comes_when_that_has_its_mtu": (
        "links: {b: {kind: bridge, mtu: 1400, ports: [d]}, d: {kind: dummy}, b.5: {}}", [D], "change link b mtu=1400",
        "create link b.5",
    ),
    "vni_leaves_one_vlan_before_another_has_it": (
        "links: {x: {kind: vxlan, external: true, master: b, port: {vlan_tunnel: true},"
        " vlans: [{vid: 5, tunnel_id: null}, {vid: 6, tunnel_id: 50}]}, b: {kind: bridge, vlan_filtering: true}}",
        [link("b", "bridge", vlan_filtering=True), link("x", "vxlan", external=True, master="b"),
         Object("bridge_vlan", ("x", 5), {"tunnel_id": 50, "untagged": False}),
         Object("bridge_vlan", ("x", 6), {"untagged": False})],
        "change bridge_vlan x tunnel_id=None", "change bridge_vlan x tunnel_id=50",
    ),
    "vlan_is_in_its_tree_before_the_tree_has_a_state": (
        "links: {b: {kind: bridge, vlan_filtering: true, mst_enabled: true, vlan_global: [{vid: 5, msti: 1}]},"
        " d: {kind: dummy, master: b, vlans: [5], mst: [{msti: 1, state: blocking}]}}",
        [], "create vlan_global", "create mst",
    ),
    "limit_of_groups_comes_when_groups_are_learned": (
        "links: {b: {kind: bridge, vlan_filtering: true, mcast_vlan_snooping: true,"
        " vlan_global: [{vid: 5, mcast_snooping: true}]},"
        " d: {kind: dummy, master: b, vlans: [{vid: 5, mcast_max_groups: 9}]}}",
        [link("b", "bridge", vlan_filtering=True, mcast_vlan_snooping=True), link("d", "dummy", master="b"),
         Object("bridge_vlan", ("d", 5), {"untagged": False, "mcast_max_groups": 0}),
         Object("vlan_global", ("b", 5), {"mcast_snooping": False})],
        "change vlan_global b", "change bridge_vlan d",
    ),
    "vlan_of_a_bridge_is_there_before_it_is_told_what_a_port_is": (
        "links: {b: {kind: bridge, mtu: 1400, ports: [d]}, d: {kind: dummy}, b.5: {port: {cost: 50}},"
        " c: {kind: bridge, ports: [b.5]}}",
        [D], "create link b.5", "change link b.5 port.cost=50",
    ),
    "vlan_that_comes_up_along_is_taken_down_again": (
        "links: {d: {kind: dummy, up: true}, d.5: {up: false}}", [link("d", "dummy")], "change link d up=True",
        "change link d.5 up=False",
    ),
    "address_comes_when_its_vlan_is_down_again": (
        "links: {d: {kind: dummy, up: true}, d.5: {up: false, addresses: ['2001:db8::1/64']}}", [link("d", "dummy")],
        "change link d.5 up=False", "create address d.5",
    ),
    "route_comes_behind_the_address_that_it_is_sent_from": (
        "links: {d: {kind: dummy, up: true}, d.5: {up: false, addresses: [10.7.0.1/24]}}\n"
        "routes: [{to: 10.0.0.0/8, dev: d, src: 10.7.0.1}]", [link("d", "dummy")], "create address d.5", "create route",
    ),
    "route_comes_behind_its_group_of_nexthops": (
        f"links: {{{_DUMMY}}}\nnexthops: {{3: {{via: 192.0.2.3, dev: d}}, 1: {{group: [{{id: 3}}]}}}}\n"
        "routes: [{to: 10.0.0.0/8, nhid: 1}]", [D], "create nexthop 1", "create route",
    ),
    "link_is_up_before_a_route_by_it_comes": (
        "links: {d: {kind: dummy, up: true}}\nroutes: [{to: 10.0.0.0/8, dev: d}]", [link("d", "dummy")],
        "change link d up=True", "create route",
    ),
    "address_comes_before_its_link_is_up": (
        "links: {d: {kind: dummy, up: true, addresses: [192.0.2.1/24]}}", [link("d", "dummy")],
        "create address", "change link d up=True",
    ),
    "links_change_before_those_that_stand_on_them_come": (
        "links: {d: {kind: dummy, mtu: 9000}, d.5: {mtu: 9000}}", [link("d", "dummy")], "change link d", "create link",
    ),
    "link_that_goes_makes_room_for_one_that_comes": (
        "links: {e: {kind: dummy, mac: '02:00:00:00:00:01'}}", [D], "delete link d", "create link e",
    ),
    "entry_comes_behind_its_nexthop": (
        "links: {x: {kind: vxlan, id: 7, fdb: [{mac: '02:00:00:00:00:07', where: self, nhid: 3}]}}\n"
        "nexthops: {1: {via: 192.0.2.1, fdb: true}, 3: {group: [{id: 1}], fdb: true}}",
        [link("x", "vxlan", id=7)], "create nexthop 3", "create fdb",
    ),
    "setting_of_a_new_link_comes_before_its_token": (
        "links: {b: {kind: bridge, token: '::5', sysctl: {ipv6.accept_ra: 2}}}", [], "create sysctl", "create token",
    ),
    "functions_of_a_card_are_set_when_they_are_there": (
        "links: {sim: {num_vfs: 2, vfs: {1: {vlan: 5}}}}", [link("sim", group=0)], "create sriov", "create vf",
    ),
    "chain_comes_before_its_rules": (
        f"links: {{{_DUMMY}}}\ntc: {{d: {{{_TEMPLATE}, ingress: [{{pref: 1, chain: 5, protocol: ip,"
        " flower: {dst_ip: 0.0.0.0/24, ip_proto: tcp}, action: drop}]}}", [D], "create chain", "create filter",
    ),
    "hook_comes_before_its_chains": (
        f"links: {{{_DUMMY}}}\ntc: {{d: {{{_TEMPLATE}, qdiscs: {{kind: clsact}}}}}}", [D],
        "create qdisc", "create chain",
    ),
    "shared_action_comes_before_what_uses_it": (
        f"links: {{{_DUMMY}}}\nactions: {{gact 7: {{control: drop}}}}\n"
        "tc: {d: {ingress: [{pref: 1, matchall: {}, action: gact 7}]}}",
        [D], "create action", "create filter",
    ),
    "vlan_comes_before_its_options": (
        "links: {b: {kind: bridge, vlan_filtering: true, vlans: [5], vlan_global: [{vid: 5, mcast_snooping: false}]}}",
        [link("b", "bridge", vlan_filtering=True)], "create bridge_vlan", "create vlan_global",
    ),
    "address_of_a_function_goes_before_the_functions": (
        "links: {sim: {num_vfs: 0}, v: {}}",
        [link("sim", group=0), link("v", group=0), Object("sriov", ("sim",), {"num_vfs": 2}),
         Object("address", ("v", "192.0.2.1/24", None), {})],
        "delete address", "change sriov",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "there", "first", "behind"), CASES.values(), ids=CASES.keys())
def test_what_is_needed_comes_first(text: str, there: list[Object], first: str, behind: str) -> None:
    told = messages(planned(text, *there, owned=frozenset({OURS})))
    places = [[place for place, said in enumerate(told) if said.startswith(begin)] for begin in (first, behind)]
    assert all(places), told
    assert max(places[0]) < min(places[1]), told
