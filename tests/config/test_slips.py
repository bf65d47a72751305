# SPDX-License-Identifier: GPL-2.0-or-later
"""What a tired hand writes that YAML reads as something else: what would be right is told."""

import pytest

from tests.config.reading import told

SLIPS = [
    pytest.param(
        "links:\n  w: {kind: wireguard, private_key_file: yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=}\n",
        "2:42: private_key_file: expected the absolute path of a file; a key itself stands in no configuration",
        id="key_in_place_of_its_file_is_told_to_nobody",
    ),
    *(
        pytest.param(
            f"routes:\n- {{{word}: 10.0.0.0/8}}\n",
            f"2:4: unknown key {word!r}; as in {{type: {word}, to: 10.0.0.0/8}}",
            id=f"type_{word}_in_place_of_to",
        )
        for word in ("blackhole", "throw", "local")
    ),
    pytest.param(
        "links:\n  lo: {addresses: 'fe80::1%lo/64'}\n",
        "2:19: address: expected an IPv4 or IPv6 address, not the text 'fe80::1%lo/64'; "
        "an address is written without '%lo': it stands under its link",
        id="zone_of_an_address",
    ),
    pytest.param(
        "routes:\n- {to: default, via: 'fe80::1%lo'}\n",
        "2:22: via: expected an IPv4 or IPv6 address, not the text 'fe80::1%lo'; "
        "an address is written without '%lo': the link is its 'dev': lo",
        id="zone_of_a_gateway",
    ),
    pytest.param(
        "links:\n  lo: {up:true}\n",
        "2:8: unknown key 'up:true'; a blank must follow the colon: up: true",
        id="no_blank",
    ),
    pytest.param(
        "links:\n  lo:\n    up:true\n",
        "3:5: 'lo' must be a mapping of attributes, not the text 'up:true'; a blank must follow the colon: up: true",
        id="no_blank_behind_the_only_colon",
    ),
    pytest.param(
        "links:\n  lo:\n  up: true\n",
        "3:7: 'up' must be a mapping of attributes, not the text 'true'; "
        "'up' is an attribute: indent it below the link that it is of",
        id="attribute_beside_its_link",
    ),
    pytest.param(
        "links:\n  lo: {addresses: 10.0.0.1/24, 10.0.0.2/24}\n",
        "2:32: unknown key '10.0.0.2/24'; "
        "it has no value; where it is one of several values, these are a list: [one, another]",
        id="values_without_brackets",
    ),
    pytest.param(
        "links:\n  lo:\n    addresses: 10.0.0.1/24, 10.0.0.2/24\n",
        "3:16: address: expected one, not the text '10.0.0.1/24, 10.0.0.2/24'; "
        "several are a list: [10.0.0.1/24, 10.0.0.2/24]",
        id="values_in_one_text",
    ),
    pytest.param(
        "links:\n  lo: {addresses: 192.0.2.1/255.255.255.0}\n",
        "2:19: address: expected one, not the text '192.0.2.1/255.255.255.0'; "
        "with the length of its network it is 192.0.2.1/24",
        id="netmask",
    ),
    pytest.param(
        "routes:\n- {to: 10.1.0.0/255.255.0.0, dev: lo}\n",
        "2:8: to: expected a prefix length from 0 to 32, as 24 for 255.255.255.0, not the text '10.1.0.0/255.255.0.0'",
        id="netmask_of_a_route",
    ),
    pytest.param(
        "links:\n  b: {kind: bridge, vlans: '10-20,30 40'}\n",
        "2:28: vid: expected a whole number from 1 to 4094, not the text '10-20,30 40'; "
        'a range has brackets, and quotes for YAML: "[10-20,30,40]"',
        id="ranges_as_bridge_vids_has_them",
    ),
    pytest.param(
        "links:\n  b: {kind: bridge, vlans: [[1-100]]}\n",
        "2:29: expected a mapping of vid, member, pvid, untagged, tunnel_id, state, mcast_router, mcast_max_groups, "
        'neigh_suppress, not a list; a range has brackets, and quotes for YAML: "[1-100]"',
        id="range_without_quotes",
    ),
    pytest.param(
        "links:\n  b: {kind: bridge, vlans: [10 pvid untagged]}\n",
        "2:29: vid: expected one, not the text '10 pvid untagged'; as in {vid: 10, pvid: true, untagged: true}",
        id="vlan_as_bridge_takes_it",
    ),
    pytest.param(
        "links:\n  b: {kind: bridge, vlans: {10: {}, 20: {}}}\n",
        "2:29: unknown key '10'; as in {vid: 10}, and several are a list",
        id="vlans_by_number",
    ),
    pytest.param(
        "tc:\n  lo: {qdiscs: {kind: htb, handle: 1:}}\n",
        "2:37: this is not YAML: found unexpected ':' (while scanning a plain scalar); "
        'a value that ends with : must be quoted: "1:"',
        id="handle",
    ),
    pytest.param(
        "links:\n{% for v in x %}\n",
        "2:2: this is not YAML: found character that cannot start any token (while scanning for the next token); "
        "in a *.mako file a loop is a line such as % for v in range(3): with % endfor behind it",
        id="jinja",
    ),
    pytest.param(
        "links:\n% for v in range(3):\n  d${v}: {kind: dummy}\n% endfor\n",
        "2:2: this is not YAML: could not find expected directive name (while scanning a directive); "
        "a file with lines of Mako, such as this, is named *.mako",
        id="mako",
    ),
    pytest.param(
        "auto lo\niface lo inet loopback\n",
        "1:1: expected sections such as `links:` at the top of the file; "
        "netgroupctl import ifupdown2 FILE makes a configuration of such a file",
        id="interfaces",
    ),
    pytest.param(
        "nexthops: [{id: 1, dev: lo}]\n",
        "1:11: 'nexthops' must be a mapping of numbers, not a list; what each is called stands before it, as in 1: {…}",
        id="list_of_what_has_numbers",
    ),
    pytest.param(
        "links:\n  d: {kind: dummy, mtu: None}\n",
        "2:25: mtu: expected a whole number from 0 to 2147483647, not the text 'None'; "
        "nothing is null in YAML, and ${value | yaml} writes it so",
        id="nothing_as_python_has_it",
    ),
    pytest.param(
        "links:\n  swp1-4: {up: true}\n",
        "2:3: warning: 'swp1-4' is one link, of that very name; a range has brackets: swp[1-4]",
        id="range_without_brackets",
    ),
    pytest.param(
        "links:\n  b: {kind: bridge, ports: 'lan1-lan4'}\n",
        "2:28: there is no link 'lan1-lan4' (port of 'b'); a range has brackets: lan[1-4]",
        id="range_from_name_to_name",
    ),
    pytest.param(
        "links:\n  b: {kind: bridge, ports: 'lan1,lan3-4'}\n",
        "2:28: there is no link 'lan1,lan3-4' (port of 'b'); several names are a list: [lan1, lan[3-4]]",
        id="names_with_commas",
    ),
    pytest.param(
        "groups:\n  edge: [access, uplink]\n",
        "2:9: group 'edge' must be a mapping of attributes, not a list; "
        "groups inside of it are its members: {members: […]}",
        id="members_alone",
    ),
    pytest.param(
        "links:\n  veth0: {kind: veth, peer: {name: veth1}}\n",
        "2:29: peer: expected the name of a link, not a mapping",
        id="mapping_in_place_of_a_name",
    ),
]


@pytest.mark.parametrize(("text", "want"), SLIPS)
def test_slip_is_told_with_what_is_right(text: str, want: str) -> None:
    assert f"a.yaml:{want}" in told(text)


ALONE = [
    pytest.param("routes:\n- {blackhole: 10.0.0.0/8}\n", "unknown key 'blackhole'", id="type_in_place_of_to"),
    pytest.param("links:\n  x: {kind: vxlan, vni: 10, local: 10.0.0.1}\n", "unknown key 'vni'", id="what_is_needed"),
    pytest.param(
        "rules:\n  - {from: 10.0.0.0/8, priority: 5, lookup: 9}\n", "unknown key 'priority'", id="of_an_entry"
    ),
    pytest.param("links:\n  lo: {addresses: [{adress: 10.0.0.1/8}]}\n", "unknown key 'adress'", id="misspelt"),
    pytest.param("links:\n  g: {type: gre, local: 10.0.0.1, remote: 10.0.0.2}\n", "unknown key 'type'", id="kind"),
    pytest.param("links:\n  b: {kind: bond, mode: lacp, lacp_rate: fast}\n", "mode: expected one of", id="mode"),
    pytest.param(
        "links:\n  b: {kind: bridge, ports: lan1-2}\n  lan1: {kind: dummy, port: {cost: 5}}\n",
        "there is no link 'lan1-2'",
        id="ports",
    ),
]


@pytest.mark.parametrize(("text", "want"), ALONE)
def test_what_follows_from_a_mistake_is_not_told_beside_it(text: str, want: str) -> None:
    (only,) = told(text)
    assert f": {want}" in only


def test_all_that_is_wrong_inside_of_a_value_is_told_at_once() -> None:
    text = """links:
  wg0:
    kind: wireguard
    peers:
    - {publickey: x, endpoint: vpn}
    - {public_key: abc, allowed_ips: [10.0.0.2/32, no]}
"""
    assert told(text) == [
        "a.yaml:5:8: unknown key 'publickey'; it is 'public_key' here",
        "a.yaml:5:32: endpoint: expected an endpoint like 192.0.2.1:51820 or [2001:db8::1]:51820, not the text 'vpn'",
        "a.yaml:6:20: public_key: expected a public key of 44 characters, not the text 'abc'",
        "a.yaml:6:52: allowed_ips: expected an IPv4 or IPv6 address, not the text 'no'",
    ]
