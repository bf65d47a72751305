# SPDX-License-Identifier: GPL-2.0-or-later
"""What is only warned of, and what is said nothing of."""

import pytest

from tests.config.reading import told
from tests.vm.refused_cases import ENTERING, FOLLOWING

_TEN = "{classid: '1:10', rate: 5}"
_INNER = "{classid: '1:1', ls: 5}, {parent: '1:1', classid: '1:10', ls: 5}"
_IN_VRF = (
    "vrfs:\n  r: {table: 10, up: on, links: d}\nlinks:\n"
    "  d: {kind: dummy, up: on, addresses: [10.0.0.1/24, '2001:db8::1/64']}\n"
    "  e: {kind: dummy, up: on, addresses: [10.1.0.1/24, '2001:db8:1::1/64']}\nroutes:\n"
)
DOUBTFUL = [
    pytest.param(
        f"{_IN_VRF}- {{to: 10.9.0.0/16, dev: e, src: 10.0.0.1}}\n",
        "7:34: warning: the route to 10.9.0.0/16 sends from 10.0.0.1, which is an address in VRF 'r': the route is "
        "elsewhere; the kernel refuses that",
        id="source_in_a_vrf",
    ),
    pytest.param(
        f"{_IN_VRF}- {{to: '2001:db8:9::/48', vrf: r, dev: d, src: '2001:db8:1::1'}}\n",
        "7:48: warning: the route to 2001:db8:9::/48 in table 10 sends from 2001:db8:1::1, which is an address in no "
        "VRF: the route is elsewhere; the kernel refuses that",
        id="source_in_no_vrf",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, up: on, addresses: 10.0.0.1/24}\nroutes:\n"
        "- {to: 10.9.0.0/16, dev: d, src: 10.0.0.2}\n",
        "4:34: warning: no file gives a link the address 10.0.0.2, from which the route to 10.9.0.0/16 sends; "
        "the kernel refuses that where nobody has",
        id="source_of_nobody",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, addresses: 10.0.0.1/24}\nroutes:\n- {to: 10.9.0.0/16, via: 10.0.0.2}\n",
        "4:3: warning: nothing sets 'd' up, and the route to 10.9.0.0/16 goes out of it; the kernel refuses that",
        id="gateway_in_a_network_of_a_link_that_is_down",
    ),
    pytest.param(
        "links:\n  br: {kind: bridge, vlans: [5]}\n",
        "2:30: warning: 'br' does not tell VLANs apart; set vlan_filtering of 'br'",
        id="vlans_of_a_bridge_without_filtering",
    ),
    pytest.param(
        "links:\n  br: {kind: bridge, vlan_filtering: true, ports: 'p[1-2]'}\n"
        "  p[1-2]: {vlans: [{vid: 5, pvid: true, untagged: true}]}\n",
        "3:20: warning: 'p1' sends without a tag what is of VLAN 1, too, into which 'br' puts its ports; "
        "`{vid: 1, member: false}` takes it out, or `vlan_default_pvid: 0` of 'br' all",
        id="access_port_in_the_VLAN_of_its_bridge",
    ),
    pytest.param(
        "groups:\n  a: {members: b}\n",
        "2:7: warning: group 'b' is not described; it is made, for links that say 'group: b'",
        id="member_that_nobody_describes",
    ),
    pytest.param(
        "vrfs:\n  a: {table: 254, up: true}\n",
        "2:7: warning: VRF 'a' has table 254, which is the table main of the host",
        id="vrf_of_the_main_table",
    ),
    pytest.param(
        "links:\n  d[1-2]: {kind: dummy, addresses: [10.0.0.1/24]}\n",
        "2:37: warning: 10.0.0.1 is on 'd1' and on 'd2', both in the same routing domain; the other is at a.yaml:2",
        id="address_of_two_links",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, addresses: [10.0.0.1/24, 10.0.0.1/25]}\n",
        "2:45: warning: 10.0.0.1 is twice on 'd', with two lengths; the other is at a.yaml:2",
        id="address_of_one_link",
    ),
    pytest.param(
        "links:\n  lo: {addresses: [10.0.0.0/24]}\n",
        "2:20: warning: 10.0.0.0/24 is the network address of its network",
        id="network_address",
    ),
    pytest.param(
        "links:\n  swp1: {master: br, addresses: [10.0.0.1/24]}\n  br: {kind: bridge}\n",
        "2:34: warning: 'swp1' has an address and is a port of the bridge 'br'; "
        "packets to it arrive at 'br': put it there",
        id="address_on_a_port",
    ),
    pytest.param(
        "links:\n  eth*: {up: true}\n",
        "2:3: warning: 'eth*' is one link, of that very name; several are a range, such as eth[0-3]",
        id="name_as_a_shell_would_look_for_it",
    ),
    pytest.param(
        "routes:\n- {to: 10.0.0.0/8, nhid: 5}\n",
        "2:26: warning: no file describes nexthop 5",
        id="nexthop_of_somebody_else",
    ),
    pytest.param(
        "vrfs:\n  red: {table: 7}\n",
        "2:3: warning: nothing sets VRF 'red' up; nothing passes it: up: true",
        id="vrf_that_is_never_up",
    ),
    pytest.param(
        "links:\n  br: {kind: bridge, up: false}\n  br.5: {up: true}\n",
        "3:10: warning: 'br.5' is to be up, and nothing sets 'br' up, which it is a VLAN of; the kernel refuses that",
        id="vlan_up_on_a_link_that_is_down",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy}\nroutes:\n- {to: 10.9.0.0/16, dev: d}\n",
        "4:3: warning: nothing sets 'd' up, and the route to 10.9.0.0/16 goes out of it; the kernel refuses that",
        id="route_out_of_a_link_that_is_down",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, up: true, carrier: off}\nnexthops: {7: {dev: d}}\n",
        "3:15: warning: 'd' has no carrier, and nexthop 7 goes out of it; the kernel refuses that",
        id="nexthop_out_of_a_link_without_a_carrier",
    ),
    pytest.param(
        "links:\n  lo: {addresses: [10.0.0.1/24]}\nroutes:\n- {to: 10.9.0.0/16, via: 10.0.1.1, dev: lo}\n",
        "4:26: warning: gateway 10.0.1.1 is in no network of 'lo'; if it is there nevertheless: onlink: true",
        id="gateway_outside_of_its_link",
    ),
    pytest.param(
        "links:\n  lo: {addresses: [10.0.0.1/24]}\nroutes:\n"
        "- {to: default, nexthops: [{via: 10.0.0.2, dev: lo}, {via: 10.0.2.2, dev: lo}]}\n",
        "4:27: warning: gateway 10.0.2.2 is in no network of 'lo'; if it is there nevertheless: onlink: true",
        id="gateway_of_several_outside_of_its_link",
    ),
    pytest.param(
        "links:\n  a: {kind: veth, peer: b, master: br}\n  b: {master: br}\n  br: {kind: bridge}\n",
        "2:19: warning: bridges are joined to a ring: br → br; packets go round for ever; "
        "set stp, or take out the cable 'a'",
        id="cable_from_a_bridge_to_itself",
    ),
    pytest.param(
        "links:\n  b[v=1-3]: {kind: bridge, ports: ['x{v}', 'y{(v + 1) % 3 + 1}']}\n"
        "  x[v=1-3]: {kind: veth, peer: 'y{v}'}\n",
        "3:26: warning: bridges are joined to a ring: b3 → b2 → b1 → b3; packets go round for ever; "
        "set stp, or take out the cable 'x3'",
        id="ring_of_bridges",
    ),
    pytest.param(
        f"tc:\n  lo:\n    qdiscs: {{kind: htb, handle: '1:', default: 10}}\n    classes: {_TEN}\n",
        "3:48: warning: default 10 of lo is the class 1:a, which has no description;"
        ' what no filter knows goes past the classes; for class 1:10 write "1:10"',
        id="default_that_is_meant_to_be_hexadecimal",
    ),
    pytest.param(
        f"tc:\n  lo:\n    qdiscs: {{kind: hfsc, handle: '1:', default: '1:1'}}\n    classes: [{_INNER}]\n",
        "3:49: warning: default 1 of lo is the class 1:1, which has classes below it; what no filter knows is dropped",
        id="default_with_classes_below_it",
    ),
    pytest.param(
        "tc:\n  lo:\n    qdiscs: {kind: htb, handle: '1:'}\n    classes: {classid: '1:1', rate: 2mbit, ceil: 1mbit}\n",
        "4:50: warning: the ceil of class 1:1 is below its rate; it gets no more than the ceil",
        id="ceil_below_the_rate",
    ),
    pytest.param(
        f"tc:\n  lo:\n    qdiscs: {{kind: htb, handle: '1:'}}\n    classes: {_TEN}\n"
        "    filters: {parent: '1:', pref: 1, matchall: {}, classid: '1:20'}\n",
        "5:61: warning: there is no class 1:20 on lo, for filter lo 1: 1; what it matches goes to the default",
        id="classid_of_no_class",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, matchall: {}, action: goto chain 5}}\n",
        "2:49: warning: no rule is in chain 5, which filter lo ingress 1 goes to; what gets there is past all rules",
        id="goto_a_chain_without_rules",
    ),
    pytest.param(
        "tc:\n  lo:\n    ingress:\n    - {pref: 1, matchall: {}, action: drop}\n"
        "    - {pref: 2, flower: {dst_ip: '10.0.0.[1-9]'}, action: pass}\n",
        "5:7: warning: no packet gets to filter lo ingress 2 dst_ip 10.0.0.1: pref 1 decides about all of them;"
        " that one is at a.yaml:4",
        id="rules_behind_one_for_all_packets",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, matchall: {}, action: {ct: {mark: 5}}}}\n",
        "2:49: warning: filter lo ingress 1 does not set the mark of a connection;"
        " it is set of those that are committed: commit: true",
        id="mark_of_a_connection_that_is_not_committed",
    ),
    pytest.param(
        "tc:\n  block 7: {filters: {pref: 1, matchall: {}}}\n",
        "2:22: warning: no file puts a link into block 7; ingress_block: 7 under a link puts it into it",
        id="block_without_links",
    ),
    pytest.param(
        "tc:\n  lo: {filters: {parent: ingress, pref: 1, matchall: {}}}\n",
        "2:26: warning: no file describes the clsact of lo;"
        " write its rules under `ingress`, which brings it, or add qdiscs: {kind: clsact}",
        id="rules_of_a_hook_of_somebody_else",
    ),
]


@pytest.mark.parametrize(("text", "want"), DOUBTFUL)
def test_doubtful_thing_is_only_warned_of(text: str, want: str) -> None:
    assert told(text) == [f"a.yaml:{want}"]


FINE = [
    pytest.param(
        "links:\n  br: {kind: bridge, vlans: [{vid: 1, member: false}]}\n",
        id="bridge_without_filtering_that_is_taken_out_of_a_VLAN",
    ),
    *(
        pytest.param(
            f"links:\n  br: {{kind: bridge, vlan_filtering: true{own}, ports: p}}\n  p: {{vlans: [{vlan}{out}]}}\n",
            id=f"access_port_{what}",
        )
        for vlan, own, out, what in (
            (
                "{vid: 5, pvid: true, untagged: true}",
                ", vlan_default_pvid: 0",
                "",
                "of_a_bridge_without_a_VLAN_of_its_own",
            ),
            ("{vid: 5, pvid: true, untagged: true}", ", vlan_default_pvid: 5", "", "in_the_VLAN_of_its_bridge_alone"),
            ("{vid: 5, pvid: true, untagged: true}", "", ", {vid: 1, member: false}", "that_is_taken_out"),
            ("{vid: 5, pvid: true, untagged: true}", "", ", {vid: 1}", "of_which_it_is_said"),
            ("5", "", "", "that_is_a_trunk"),
        )
    ),
    pytest.param(
        "links:\n  d[1-2]: {kind: dummy, addresses: 10.0.0.1/24}\n  d1: {up: on, master: r}\n  d2: {master: s}\n"
        "vrfs:\n  r: {table: 5, up: on}\n  s: {table: 6, up: on}\n"
        "routes:\n- {to: 10.9.0.0/16, via: 10.0.0.2, vrf: r}\n",
        id="gateway_that_is_down_in_another_vrf",
    ),
    pytest.param(
        "links:\n  e: {kind: dummy}\n  a: {kind: vlan, link: e, id: 5}\n"
        "  b: {kind: vlan, link: e, id: 5, protocol: 802.1ad}\n",
        id="one_id_in_two_protocols",
    ),
    pytest.param(
        "vrfs:\n  a: {table: 7, up: on, addresses: [10.0.0.1/32]}\n  b: {table: 8, up: on, addresses: [10.0.0.1/32]}\n",
        id="an_address_in_each_vrf",
    ),
    pytest.param(
        "links:\n  d[1-2]: {kind: dummy, addresses: ['fe80::1/64']}\n",
        id="a_link_local_address_on_each_link",
    ),
    pytest.param("links:\n  lo: {addresses: [10.0.0.0/31, 10.0.0.4/32]}\n", id="point_to_point_has_no_network_address"),
    pytest.param("links:\n  br: {kind: bridge, ports: d}\n  d: {kind: dummy, master: br}\n", id="said_on_both_sides"),
    pytest.param(
        "routes:\n- {to: default, dev: lo}\n- {to: default, dev: lo, family: inet6}\n",
        id="a_default_of_each_family",
    ),
    pytest.param("links: ~\nroutes:\n", id="empty_sections"),
    pytest.param(
        "links:\n  lo: {addresses: [10.0.0.1/24, {address: 10.5.0.1/32, peer: 10.6.0.1}]}\nroutes:\n"
        "- {to: 10.1.0.0/16, via: 10.0.0.2, dev: lo}\n"
        "- {to: 10.2.0.0/16, via: 10.9.0.2, dev: lo, onlink: true}\n"
        "- {to: 10.3.0.0/16, via: 10.6.0.1, dev: lo}\n"
        "- {to: 10.9.9.9/32, dev: lo}\n"
        "- {to: 10.4.0.0/16, via: 10.9.9.9, dev: lo}\n"
        "- {to: '2001:db8::/32', via: 'fe80::1', dev: lo}\n"
        "- {to: '2001:db8:1::/48', via: '2001:db8:2::1', dev: lo}\n",
        id="gateways_that_can_be_reached_or_of_which_nothing_is_known",
    ),
    pytest.param(
        "links:\n  br[1-2]: {kind: bridge, stp: true}\n  x[v=1-2]: {kind: veth, peer: 'y{v}', master: br1}\n"
        "  y[1-2]: {master: br2}\n",
        id="ring_that_the_spanning_tree_breaks",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, up: on}\n  e: {kind: dummy, up: on, addresses: 10.0.0.1/24}\n  lo: "
        "{addresses: 10.0.0.2/32}\nroutes:\n- {to: 10.9.0.0/16, dev: d, src: 10.0.0.7}\n"
        "- {to: 10.8.0.0/16, dev: e, src: 10.0.0.2}\n",
        id="sources_of_others_and_of_another_link",
    ),
    pytest.param(
        f"{_IN_VRF}- {{to: 10.9.0.0/16, vrf: r, dev: d, src: 10.0.0.1}}\n- {{to: 10.8.0.0/16, vrf: r, dev: d, "
        "src: 10.1.0.1}\n- {to: '2001:db8:9::/48', vrf: r, dev: d, src: '2001:db8::1'}\n",
        id="sources_of_the_same_vrf_and_for_ipv4_of_none",
    ),
    pytest.param(FOLLOWING, id="vlans_that_follow_the_link_below"),
    pytest.param(ENTERING, id="link_that_is_up_since_it_is_in_a_bond"),
    *(
        pytest.param(
            f"tc:\n  lo:\n    qdiscs: {{kind: htb, handle: '1:', default: {default}}}\n    classes: {_TEN}\n",
            id=f"default_{default}",
        )
        for default in ("0x10", "16", "'1:10'", "1:10", "0")
    ),
    pytest.param(
        "tc:\n  lo:\n    ingress:\n    - {pref: 1, matchall: {}, action: drop, skip_sw: true}\n"
        "    - {pref: 2, protocol: ip, matchall: {}, action: drop}\n    - {pref: 3, matchall: {}, action: pass}\n"
        "    - {pref: 3, chain: 5, matchall: {}, action: drop}\n    - {pref: 2, chain: 5, matchall: {}}\n",
        id="rules_before_and_beside_one_for_all_packets",
    ),
    pytest.param(
        "tc:\n  lo:\n    ingress_block: 7\n    filters: {parent: egress, pref: 1, u32: {}}\n"
        "  block 7: {chains: {chain: 5, atomic: true}, filters: {pref: 1, matchall: {}, action: goto chain 5}}\n",
        id="chain_and_block_that_are_described",
    ),
    pytest.param(
        "tc:\n  lo:\n    qdiscs: [{parent: '7:1', kind: prio, handle: '8:'}, {parent: '8:3', kind: pfifo}]\n"
        "    classes: {kind: htb, classid: '9:10', parent: '9:1', rate: 5}\n"
        "    filters: [{parent: '9:', pref: 1, u32: {}, classid: '9:20'}, {parent: '8:', pref: 1, u32: {}}]\n",
        id="what_may_hang_on_what_the_host_has",
    ),
    pytest.param(
        "tc:\n  lo:\n    qdiscs: [{kind: mq, handle: '1:'}, {kind: tbf, parent: '1:1', handle: '2:',"
        " rate: 5, burst: 9k, limit: 9k}, {kind: fq_codel, parent: '2:1', handle: '3:'}]\n"
        "    filters: {parent: '3:', pref: 1, u32: {}, classid: '3:7'}\n",
        id="classes_that_qdiscs_have_by_themselves",
    ),
]


@pytest.mark.parametrize("text", FINE)
def test_nothing_is_said_of(text: str) -> None:
    assert told(text) == []
