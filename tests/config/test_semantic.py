# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong with a configuration, as the operator reads it."""

import pytest

from tests.config.reading import problems, told

MISTAKES = [
    pytest.param("link: {}\n", "1:1: unknown section 'link'; did you mean 'links'?", id="section"),
    pytest.param("links: [a]\n", "1:8: 'links' must be a mapping of names, not a list", id="list_for_a_mapping"),
    pytest.param(
        "routes: {a: b}\n",
        "1:9: 'routes' must be a list, with - in front of each, not a mapping",
        id="mapping_for_a_list",
    ),
    pytest.param("links:\n  lo: {mtuu: 1}\n", "2:8: unknown key 'mtuu'; did you mean 'mtu'?", id="key"),
    pytest.param(
        "links:\n  lo: {mtu: 9x}\n",
        "2:13: mtu: expected a whole number from 0 to 2147483647, not the text '9x'",
        id="value",
    ),
    pytest.param(
        "links:\n  lo: {mtu: null}\n",
        "2:13: mtu: expected a whole number from 0 to 2147483647, not null",
        id="null_where_something_is_needed",
    ),
    pytest.param("links:\n  lo: {up: maybe}\n", "2:12: up: expected true or false, not the text 'maybe'", id="flag"),
    pytest.param("links:\n  x: {kind: dumy}\n", "2:13: unknown kind 'dumy'; did you mean 'dummy'?", id="kind"),
    pytest.param(
        "links:\n  x: 5\n",
        "2:6: 'x' must be a mapping of attributes, not the text '5'",
        id="link_that_is_a_text",
    ),
    pytest.param(
        "links:\n  d[99-100]345678901234: {kind: dummy}\n",
        "2:3: the name 'd100345678901234' has 16 characters; the kernel takes at most 15",
        id="name_of_one_expansion_too_long",
    ),
    pytest.param(
        "links:\n  a/b: {kind: dummy}\n",
        "2:3: 'a/b' cannot name a link; names have no blanks and none of / : % [ ] { }",
        id="name_with_a_slash",
    ),
    pytest.param(
        "links:\n  v[v=4094-4095]: {kind: vlan, link: lx, id: '{v}'}\n",
        "2:46: id: expected a whole number from 0 to 4094, not 4095, in v4095",
        id="vlan_id_out_of_range_in_one_instance",
    ),
    pytest.param(
        "links:\n  lx.4095: {}\n",
        "2:3: 'lx.4095' would be VLAN 4095; VLAN ids go from 0 to 4094",
        id="vlan_id_in_a_name",
    ),
    pytest.param(
        "links:\n  x: {kind: dummy, master: bro}\n  br0: {kind: bridge}\n",
        "2:20: there is no link 'bro' (master of 'x'); did you mean 'br0'?",
        id="unknown_master",
    ),
    pytest.param(
        "links:\n  d[1-1024]: {kind: dummy}\n  br0: {kind: bridge, ports: 'd[1-1024]'}\n",
        "3:23: 'br0' would have 1024 ports; Linux numbers the ports of a bridge from 1 to 1023",
        id="ports_of_a_bridge",
    ),
    pytest.param(
        "links:\n  x: {kind: macvlan, link: swp9}\n",
        "2:22: there is no link 'swp9' (lower link of 'x'); name it under `links`, or is it misspelt?",
        id="unknown_lower_link",
    ),
    pytest.param(
        "links:\n  br: {kind: bridge, ports: swp9}\n",
        "2:29: there is no link 'swp9' (port of 'br'); name it under `links`, or is it misspelt?",
        id="unknown_port",
    ),
    pytest.param(
        "links:\n  br: {kind: bridge, ports: swp9.5}\n",
        "2:29: there is no link 'swp9.5' (port of 'br'); name it under `links`, or is it misspelt?",
        id="vlan_of_an_unknown_link",
    ),
    pytest.param(
        "links:\n  br/0: {kind: bridge, ports: lx.5}\n",
        "2:3: 'br/0' cannot name a link; names have no blanks and none of / : % [ ] { }",
        id="port_that_is_made_for_a_master_that_cannot_be",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, ports: lo}\n",
        "2:20: a dummy has no ports; ports have bridges, bonds, teams and VRFs",
        id="ports_of_a_kind_without",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy}\n  e: {kind: dummy, master: d}\n",
        "3:20: 'd' cannot be the master of 'e': it is a dummy; ports have bridges, bonds, teams and VRFs",
        id="master_of_a_kind_without",
    ),
    pytest.param(
        "links:\n  v: {kind: vlan}\n",
        "2:3: 'v' needs 'id' and 'link': it is of the kind vlan",
        id="required",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, mac: 01:00:00:00:00:00}\n",
        "2:20: 01:00:00:00:00:00 of 'd' is a multicast address; the first byte of a link's own must be even, as 02",
        id="multicast_mac",
    ),
    pytest.param(
        "links:\n  a: {kind: vlan, link: lx, id: 5}\n  b: {kind: vlan, link: lx, id: 5}\n",
        "3:3: 'b' and 'a' are both VLAN 5 of 'lx'; 'a' is from a.yaml:2",
        id="a_vlan_twice",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, mtu: 1400}\n  d.5: {mtu: 1500}\n",
        "3:9: mtu 1500 of 'd.5' is over that of 'd'; at most 1400 can pass below, or raise that",
        id="mtu_over_that_below",
    ),
    pytest.param(
        "vrfs:\n  a: {table: 7}\n  b: {table: 7}\n",
        "3:7: VRFs 'a' and 'b' have the same table 7; the other is at a.yaml:2",
        id="two_vrfs_of_one_table",
    ),
    pytest.param("vrfs:\n  a: {}\n", "2:3: 'a' needs 'table': it is of the kind vrf", id="vrf_without_a_table"),
    pytest.param(
        "links:\n  d: {kind: dummy, addresses: ['2001:db8::1/64', '2001:db8::1/128']}\n",
        "2:50: 'd' would have 2001:db8::1 twice, of which the kernel takes one; the other is at a.yaml:2",
        id="address_twice_on_one_link",
    ),
    pytest.param(
        "links:\n  lo: {addresses: [300.0.0.1/8]}\n",
        "2:20: address: expected an IPv4 or IPv6 address, not the text '300.0.0.1/8'",
        id="no_address",
    ),
    pytest.param(
        "links:\n  lo: {addresses: ['10.0.0.[250-260]/32']}\n",
        "2:20: address: expected an IPv4 or IPv6 address, not '10.0.0.256/32', in lo",
        id="no_address_in_one_instance",
    ),
    pytest.param(
        "links:\n  lo: {addresses: [224.0.0.1/32]}\n",
        "2:20: 224.0.0.1 is a multicast address; a link cannot have it",
        id="multicast_address",
    ),
    pytest.param(
        "links:\n  lo: {addresses: [{peer: 10.0.0.1}]}\n",
        "2:20: this address needs 'address'",
        id="missing_field",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, vlans: [5]}\n",
        "2:28: 'd' is neither a bridge nor a port of one; VLANs are those of a bridge or of its ports; "
        "a VLAN device is named <link>.<vid>",
        id="vlans_of_no_port",
    ),
    pytest.param(
        "links:\n  v: {kind: vxlan, external: true, vnis: [5]}\n",
        "2:43: 'v' takes networks without a list; networks are listed for a VXLAN: "
        "{kind: vxlan, external: true, vnifilter: true}",
        id="vnis_without_a_filter",
    ),
    pytest.param(
        "links:\n  lo: {port: {cost: 4}}\n",
        "2:14: 'lo' has no master, so it has no attributes of a port; "
        "say its `master`, or name it under the `ports` of a bridge or bond",
        id="port_without_a_master",
    ),
    pytest.param(
        "links:\n  eth0: {master: eth1, port: {cost: 4}}\n",
        "2:30: what a port of 'eth1' can have depends on its kind; say the `kind` of 'eth1' under `links`",
        id="port_of_what_has_no_kind",
    ),
    pytest.param(
        "links:\n  lo: {group: tenants}\ngroups:\n  tenant: {}\n",
        "2:8: there is no group 'tenants'; did you mean 'tenant'?",
        id="unknown_group",
    ),
    pytest.param(
        "groups:\n  a: {id: 5}\n  b: {id: 5}\n",
        "3:7: groups 'a' and 'b' have the same id 5; see a.yaml:2",
        id="two_groups_of_one_id",
    ),
    pytest.param(
        "groups:\n  a: {members: b}\n  b: {members: a}\n",
        "2:3: group 'a' is inside itself",
        id="group_inside_itself",
    ),
    pytest.param(
        "groups:\n  a: {mac: 02:00:00:00:00:01}\n",
        "2:7: unknown key 'mac'",
        id="attribute_that_no_group_has",
    ),
    pytest.param(
        "groups:\n  a: {members: c, mtu: 1}\n  b: {members: c, mtu: 2}\n  c: {}\n",
        "4:3: group 'c' gets two values of 'mtu', of 'a' and 'b'; set it in the group itself",
        id="two_values_from_two_groups",
    ),
    pytest.param(
        "routes:\n- {to: 10.0.0.1/8, dev: lo}\n",
        "2:8: to: expected a network, and bits are set behind /8; it is 10.0.0.0/8",
        id="bits_behind_the_prefix",
    ),
    pytest.param(
        "routes:\n- {to: 10.0.0.0/8, dev: swp9}\n",
        "2:25: there is no link 'swp9', for the route to 10.0.0.0/8; name it under `links`",
        id="route_out_of_an_unknown_link",
    ),
    pytest.param(
        "routes:\n- {to: 10.0.0.0/8, nexthops: [{dev: swp9}]}\n",
        "2:30: there is no link 'swp9', for the route to 10.0.0.0/8; name it under `links`",
        id="nexthop_out_of_an_unknown_link",
    ),
    pytest.param(
        "routes:\n- {to: default, family: mpls, dev: lo}\n",
        "2:8: MPLS has no default route; its destinations are labels, such as 100",
        id="default_route_of_mpls",
    ),
    pytest.param(
        "routes:\n- {to: 10.0.0.0/8}\n",
        "2:3: the route to 10.0.0.0/8 does not say where to; "
        "give it via, dev, nexthops or nhid, or a type such as blackhole",
        id="route_to_nowhere",
    ),
    pytest.param(
        "routes:\n- {to: 10.0.0.0/8, type: blackhole, dev: lo}\n",
        "2:42: the route to 10.0.0.0/8 is of type blackhole and leads nowhere",
        id="blackhole_with_a_link",
    ),
    pytest.param(
        "routes:\n- {to: 10.0.0.0/8, dev: lo, vrf: rde}\nvrfs:\n  red: {table: 7}\n",
        "2:34: there is no VRF 'rde'; did you mean 'red'?",
        id="unknown_vrf",
    ),
    pytest.param(
        "routes:\n- {to: 10.0.0.0/8, dev: lo, vrf: red, table: 8}\nvrfs:\n  red: {table: 7}\n",
        "2:46: VRF 'red' has table 7, not 8; leave out `table` or `vrf`",
        id="vrf_and_another_table",
    ),
    pytest.param(
        "routes:\n- {to: 10.0.0.0/8, dev: lo, encap: {type: ip, dst: x}}\n",
        "2:52: dst: expected an IPv4 address",
        id="inside_a_record",
    ),
    pytest.param(
        "routes:\n- {to: 10.0.0.0/8, family: inet6, dev: lo}\n",
        "2:28: 10.0.0.0/8 is a destination of inet, not inet6",
        id="family_of_another_destination",
    ),
    pytest.param("rules:\n- {l3mdev: yes}\n", "2:3: this rule needs 'pref'", id="rule_without_a_preference"),
    pytest.param(
        "rules:\n- {pref: 5}\n",
        "2:3: this rule does nothing; give it lookup, vrf, l3mdev, goto or action",
        id="rule_that_does_nothing",
    ),
    pytest.param(
        "nexthops:\n  x: {dev: lo}\n",
        "2:3: the id of a nexthop: expected a whole number from 1 to 4294967295, not 'x'",
        id="nexthop_id",
    ),
    pytest.param(
        "sysctl:\n  kernel.panic: 1\n",
        "2:3: expected a setting below net/, like net/ipv4/ip_forward, not 'kernel.panic'",
        id="setting_elsewhere",
    ),
    pytest.param(
        "links:\n  lo: {sysctl: {rp_filter: 0}}\n",
        "2:17: unknown setting 'rp_filter' of a link; begin with ipv4., ipv6. or mpls.",
        id="setting_of_no_protocol",
    ),
    pytest.param(
        "links:\n  br-[v=1-2]: {kind: bridge, alias: '{w}'}\n",
        "2:39: 'w' is not the name of a range; there are v",
        id="unknown_range",
    ),
    pytest.param("links:\n  br-[1-: {kind: bridge}\n", "2:6: '[' has no counterpart", id="open_bracket_in_a_key"),
    pytest.param(
        "links:\n  x[v=0-1]: {kind: dummy, txqueuelen: '{5//v}'}\n",
        "2:39: txqueuelen: division by zero, in x0",
        id="division_by_zero_in_one_instance",
    ),
    pytest.param(
        "links:\n  a: {kind: veth, peer: c}\n  b: {kind: veth, peer: c}\n",
        "3:19: 'c' cannot be the other end of 'b'; it is the other end of 'a', at a.yaml:2",
        id="one_peer_of_two",
    ),
    pytest.param(
        "links:\n  a: {kind: veth, peer: a}\n", "2:19: 'a' cannot be its own other end", id="veth_that_is_its_own_peer"
    ),
    pytest.param(
        "links:\n  a: {altnames: [b]}\n  b: {}\n",
        "2:7: 'b' cannot be another name of 'a'; a link has that name",
        id="further_name_that_is_a_link",
    ),
    pytest.param(
        "links:\n  a: {altnames: [c]}\n  b: {altnames: [c]}\n",
        "3:7: 'c' cannot be another name of 'b'; it is one of 'a'",
        id="further_name_of_two",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, l2only: on, addresses: [10.0.0.1/24]}\n",
        "2:44: 'd' is l2only and can have no address",
        id="address_of_a_link_without_layer_3",
    ),
    pytest.param(
        "links:\n  swp1: {master: br, port: {backup_port: swp9}}\n  br: {kind: bridge}\n",
        "2:42: there is no link 'swp9' (backup_port of 'swp1')",
        id="port_attribute_of_an_unknown_link",
    ),
    pytest.param(
        "links:\n  v[v=1-2]: {kind: vlan, link: lx, id: {v}}\n",
        '2:40: id: expected a whole number from 0 to 4094; YAML reads {v} as a mapping: put it in quotes, "{v}"',
        id="reference_without_quotes",
    ),
    pytest.param(
        "links:\n  br: {kind: bridge, vlans: [5-9]}\n",
        "2:30: vid: expected a whole number from 1 to 4094, not the text '5-9'; "
        'a range has brackets, and quotes for YAML: "[5-9]"',
        id="range_without_quotes",
    ),
    pytest.param(
        "links:\n  enp129s0f0np0: {}\n  br: {kind: bridge, ports: 'enp129s0f0np0.[9-10]'}\n",
        "3:29: the name 'enp129s0f0np0.10' has 16 characters; the kernel takes at most 15",
        id="name_of_a_vlan_too_long",
    ),
    pytest.param(
        "links:\n  x: {kind: vxlan, external: no}\n",
        "2:3: 'x' needs 'id' or 'external': it is of the kind vxlan",
        id="tunnel_without_an_id",
    ),
    pytest.param(
        "links:\n  swp[1-6]: {}\n  br: {kind: bridge, ports: swp1-6.10}\n",
        "3:29: there is no link 'swp1-6.10' (port of 'br'); a range has brackets: swp[1-6].10",
        id="range_as_ifupdown2_writes_it",
    ),
    pytest.param(
        "links:\n  swp[1-6]: {}\n  br: {kind: bridge, ports: swp1 swp2}\n",
        "3:29: there is no link 'swp1 swp2' (port of 'br'); several names are a list: [swp1, swp2]",
        id="several_names_in_one_text",
    ),
]


@pytest.mark.parametrize(("text", "want"), MISTAKES)
def test_mistake_is_told_with_its_place(text: str, want: str) -> None:
    want = f"a.yaml:{want}"
    got = problems(text, known=("lx",))
    assert any(str(problem).startswith(want) for problem in got), "\n".join([want, *map(str, got)])
    assert not any(problem.warning for problem in got if str(problem).startswith(want))


def test_everything_is_told_at_once_in_the_order_of_the_files() -> None:
    got = told("links:\n  lo: {mtu: x, up: x}\n", "routes:\n- {to: x, dev: lo}\nvrfs: []\n")
    assert [problem.partition(": ")[0] for problem in got] == ["a.yaml:2:13", "a.yaml:2:20", "b.yaml:2:8", "b.yaml:3:7"]


def test_one_line_wrong_in_each_of_many_instances_is_told_once() -> None:
    assert len(told("links:\n  d[1-4000]: {kind: dummy, master: nobody}\n")) == 1


def test_one_line_wrong_in_two_ways_is_told_twice() -> None:
    assert told("links:\n  br[1-2]: {kind: bridge, addresses: [224.0.0.1/4]}\n") == [
        "a.yaml:2:39: 224.0.0.1 is a multicast address; a link cannot have it",
        "a.yaml:2:39: warning: "
        "224.0.0.1 is on 'br1' and on 'br2', both in the same routing domain; the other is at a.yaml:2",
    ]


def test_what_follows_from_a_mistake_is_not_told() -> None:
    assert len(told("routes:\n- {to: 10.0.0.0/8, via: 10.0.0.300}\n")) == 1
    assert len(told("links:\n  br: {kind: brdige}\n  lo: {master: br}\n")) == 1
    assert len(told("links:\n  br: {kind: bridge, group: g, ports: lx.5}\n", known=("lx",))) == 1
    assert len(told("links:\n  x: {kind: vxlan, id: seven}\n  v: {kind: vlan, link: x, id: 4095}\n")) == 2


def test_more_problems_than_anybody_reads_are_counted() -> None:
    got = told("links:\n" + "".join(f"  d{number}: {{kind: nothing}}\n" for number in range(1200)))
    assert len(got) == 1001
    assert got[-1].endswith("and 200 problems more")


def test_problem_points_at_its_text_with_a_caret() -> None:
    (problem,) = problems("links:\n  lo: {mtu: 9x}\n")
    assert problem.pointed().splitlines()[1:] == ["      lo: {mtu: 9x}", "                ^"]


def test_one_line_of_a_megabyte_is_not_told_with_each_of_its_problems() -> None:
    rows = ", ".join(f"d{number}: {{alias: '{'x' * 900}', knid{number}: 1}}" for number in range(1000))
    found = problems(f"links: {{{rows}}}\n")
    assert len(found) == 1001
    assert sum(len(problem.pointed()) for problem in found) < 1_000_000


def test_a_value_that_is_too_long_is_told_without_its_middle() -> None:
    (problem,) = problems(f"links:\n  lo: {{alias: {'x' * 1_000_000}}}\n")
    assert problem.message.startswith("alias: expected a text of at most 255 characters, not the text 'xxx")
    assert len(problem.pointed()) < 3000


@pytest.mark.parametrize("section", ["links", "groups", "nexthops", "vrfs", "sysctl", "tc"])
def test_key_that_cannot_be_computed_is_told_at_its_place(section: str) -> None:
    [problem] = problems(f"{section}:\n  'd[v=1-3]{{1//(v-1)}}': {'0' if section == 'sysctl' else '{}'}\n")
    assert (problem.line, problem.message) == (2, "'d[v=1-3]{1//(v-1)}': division by zero")
