# SPDX-License-Identifier: GPL-2.0-or-later
"""From sections to objects."""

import pytest

from netgroupd.config import Desired, values
from netgroupd.config.sections import links
from netgroupd.model.kinds import KINDS
from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.state import Attrs, Key
from tests.config.reading import desired, told


def keys(found: Desired, cls: str) -> list[Key]:
    """The keys of one class."""
    return list(found.state.of(cls))


def attrs(found: Desired, cls: str, *key: object) -> Attrs:
    """The attributes of one object."""
    return dict(found.state.of(cls)[key].attrs)  # type: ignore[index]


def link(text: str, name: str, known: tuple[str, ...] = ()) -> Attrs:
    """The attributes of one link of a section, without its group."""
    found = attrs(desired(f"links:\n{text}", known=known), "link", name)
    return {key: value for key, value in found.items() if key != "group"}


def test_name_shaped_as_a_vlan_is_that_vlan() -> None:
    want = {"kind": "vlan", "link": "swp1", "id": 10, "mtu": 1400}
    assert link("  swp1: {}\n  swp1.10: {mtu: 1400}\n", "swp1.10") == want


def test_vlan_of_a_vlan_makes_the_one_between() -> None:
    found = desired("links:\n  swp1: {}\n  br: {kind: bridge, ports: swp1.10.20}\n")
    assert attrs(found, "link", "swp1.10.20")["link"] == "swp1.10"
    assert attrs(found, "link", "swp1.10")["link"] == "swp1"


def test_name_with_a_dot_of_another_kind_is_no_vlan() -> None:
    assert link("  wg.5: {kind: dummy}\n", "wg.5") == {"kind": "dummy"}


def test_name_with_a_dot_that_the_host_has_is_no_vlan() -> None:
    assert link("  eth0.5: {mtu: 1400}\n", "eth0.5", known=("eth0.5",)) == {"mtu": 1400}


def test_hardware_has_no_kind() -> None:
    assert link("  swp1: {up: yes}\n", "swp1") == {"up": True}


def test_ports_and_master_are_the_same_thing() -> None:
    by_ports = desired("links:\n  swp[1-2]: {}\n  br: {kind: bridge, ports: 'swp[1-2]'}\n")
    by_master = desired("links:\n  swp[1-2]: {master: br}\n  br: {kind: bridge}\n")
    assert by_ports.state.of("link").keys() == by_master.state.of("link").keys()
    assert attrs(by_ports, "link", "swp2") == attrs(by_master, "link", "swp2")


def test_port_that_only_the_host_has_becomes_a_link() -> None:
    found = desired("links:\n  br: {kind: bridge, ports: eth7}\n", known=("eth7",))
    assert attrs(found, "link", "eth7")["master"] == "br"


def test_vlan_made_for_a_bridge_is_up_and_grouped_as_the_bridge() -> None:
    text = "groups:\n  g: {mtu: 1400}\nlinks:\n  swp1: {}\n  br: {kind: bridge, up: on, group: g, ports: swp1.5}\n"
    found = desired(text)
    made = attrs(found, "link", "swp1.5")
    assert made == {
        "kind": "vlan",
        "link": "swp1",
        "id": 5,
        "master": "br",
        "up": True,
        "mtu": 1400,
        "group": found.state.groups["g"].id,
    }


@pytest.mark.parametrize("up", ["{mtu: 1400}", "{mtu: 1400, up: true}"], ids=["of_the_bridge", "of_the_group"])
def test_vlan_made_for_a_bridge_is_down_on_a_link_that_is_down(up: str) -> None:
    text = f"groups:\n  g: {up}\nlinks:\n  swp1: {{up: no}}\n  br: {{kind: bridge, up: on, group: g, ports: swp1.5}}\n"
    assert attrs(desired(text), "link", "swp1.5")["up"] is False


def test_port_attributes_are_those_of_the_masters_kind() -> None:
    assert link("  swp1: {master: br, port: {cost: 4}}\n  br: {kind: bridge}\n", "swp1") == {
        "master": "br",
        "port.cost": 4,
    }


def test_vrfs_are_links_with_ports() -> None:
    found = desired("links:\n  swp[1-2]: {}\nvrfs:\n  red: {table: 1001, links: 'swp[1-2]'}\n")
    assert attrs(found, "link", "red") == {"kind": "vrf", "table": 1001, "group": GROUP_BASE}
    assert attrs(found, "link", "swp2")["master"] == "red"


def test_other_end_of_a_veth_is_made() -> None:
    assert link("  v0: {kind: veth, peer: v1}\n", "v1") == {"kind": "veth", "peer": "v0"}


def test_words_mean_what_the_attribute_says() -> None:
    text = "  br: {kind: bridge, up: no, stp: on, alias: 1e3, priority: 022, mtu: 0x5dc, txqueuelen: 010}\n"
    want = {"up": False, "stp_state": True, "alias": "1e3", "priority": 22, "mtu": 1500, "txqueuelen": 10}
    assert link(text, "br") == {"kind": "bridge", **want}


def test_alias_may_be_the_word_no() -> None:
    assert link("  d: {kind: dummy, alias: no}\n", "d")["alias"] == "no"


def test_null_takes_away_and_zero_is_zero() -> None:
    assert link("  swp1: {alias: null, txqueuelen: 0}\n", "swp1") == {"alias": None, "txqueuelen": 0}


def test_instances_share_what_does_not_vary() -> None:
    found = desired("links:\n  d[1-3]: {kind: dummy, mtu: 1400}\n  e[v=1-3]: {kind: dummy, mtu: '{v+1400}'}\n")
    links = found.state.of("link")
    assert links[("d1",)].attrs is links[("d3",)].attrs
    assert [links[(f"e{number}",)].attrs["mtu"] for number in (1, 2, 3)] == [1401, 1402, 1403]


def test_addresses_count_up_across_a_range() -> None:
    text = 'links:\n  d[v=0-1]: {kind: dummy, addresses: ["10.0.{v}.[1-2]/24", "{2001:db8:: + v}/64"]}\n'
    want = [
        ("d0", "10.0.0.1/24", None),
        ("d0", "10.0.0.2/24", None),
        ("d0", "2001:db8::/64", None),
        ("d1", "10.0.1.1/24", None),
        ("d1", "10.0.1.2/24", None),
        ("d1", "2001:db8::1/64", None),
    ]
    assert keys(desired(text), "address") == want


def test_address_can_have_attributes_that_follow_its_range() -> None:
    text = "links:\n  lo: {addresses: [{address: '10.0.0.[5-6]/32', label: 'lo:{1}', scope: host, peer: 10.9.9.9}]}\n"
    assert attrs(desired(text), "address", "lo", "10.0.0.6/32", "10.9.9.9") == {"label": "lo:6", "scope": "host"}


def test_memberships_of_vlans_take_numbers_ranges_and_mappings() -> None:
    text = "links:\n  br: {kind: bridge}\n  swp1: {master: br, vlans: [5, '[7-8]', {vid: 9, pvid: on, untagged: on}]}\n"
    found = desired(text)
    assert keys(found, "bridge_vlan") == [("swp1", 5), ("swp1", 7), ("swp1", 8), ("swp1", 9)]
    assert attrs(found, "bridge_vlan", "swp1", 9) == {"pvid": True, "untagged": True}


def test_neighbours_under_a_link_and_in_their_section() -> None:
    text = (
        "links:\n  swp1: {neighbours: [{ip: 10.0.0.2, lladdr: 02:00:00:00:00:02}]}\n"
        "neighbours:\n- {ip: '10.0.0.[3-4]', dev: swp1, proxy: yes}\n"
    )
    want = [("swp1", "10.0.0.3", True), ("swp1", "10.0.0.4", True), ("swp1", "10.0.0.2", False)]
    assert keys(desired(text), "neighbour") == want


def test_forwarding_entries_are_in_the_bridge_for_ports_and_in_the_tunnel_for_its_ends() -> None:
    text = (
        "links:\n  br: {kind: bridge, ports: [swp1, vx]}\n  swp1: {fdb: [{mac: 02:00:00:00:00:01, vlan: 5}]}\n"
        "  vx: {kind: vxlan, id: 7, fdb: [{mac: 02:00:00:00:00:02, dst: 10.0.0.9}]}\n"
    )
    assert keys(desired(text), "fdb") == [
        ("swp1", "02:00:00:00:00:01", 5, "master", None, None),
        ("vx", "02:00:00:00:00:02", 0, "self", None, None),
    ]


def test_routes_have_their_family_table_and_metric() -> None:
    text = """
links:
  swp1: {}
vrfs:
  red: {table: 1001}
routes:
- {to: 10.1.0.0/16, via: 10.0.0.1}
- {to: default, via: 2001:db8::1, dev: swp1}
- {to: "10.[a=2-3].0.0/16", via: "10.0.0.{a}", vrf: red, metric: 5}
- {to: 10.9.0.0/16, type: blackhole, table: 77}
- {to: 10.8.0.0/16, nexthops: [{via: 10.0.0.1, weight: 2}, {dev: swp1}]}
- {to: 40.1.1.1/32, dev: swp1, encap: {type: ip, id: 10, dst: 50.1.1.2}}
- {to: 100, via: 10.0.0.1, as: 200}
"""
    found = desired(text)
    assert keys(found, "route") == [
        ("inet", 254, "10.1.0.0/16", 0, 0),
        ("inet6", 254, "::/0", 0, 1024),
        ("inet", 1001, "10.2.0.0/16", 0, 5),
        ("inet", 1001, "10.3.0.0/16", 0, 5),
        ("inet", 77, "10.9.0.0/16", 0, 0),
        ("inet", 254, "10.8.0.0/16", 0, 0),
        ("inet", 254, "40.1.1.1/32", 0, 0),
        ("mpls", 254, "100", 0, 0),
    ]
    assert attrs(found, "route", "inet", 1001, "10.3.0.0/16", 0, 5) == {"via": "10.0.0.3"}
    assert attrs(found, "route", "inet", 254, "10.8.0.0/16", 0, 0) == {
        "nexthops": ({"via": "10.0.0.1", "weight": 2}, {"dev": "swp1"})
    }


@pytest.mark.parametrize(
    ("whole", "family"),
    [("default", "inet"), ("0.0.0.0/0", "inet"), ("::/0", "inet6")],
    ids=["default", "ipv4", "ipv6"],
)
@pytest.mark.parametrize("name", ["from", "to"])
def test_network_of_a_rule_that_is_everything_is_none(name: str, whole: str, family: str) -> None:
    found = desired(f"rules:\n- {{pref: 100, {name}: '{whole}', lookup: 77}}\n")
    assert attrs(found, "rule", family, 100, ()) == {"lookup": 77}


def test_rules_are_known_by_what_they_select() -> None:
    text = """
vrfs:
  red: {table: 1001}
rules:
- {pref: 1000, l3mdev: yes}
- {pref: "[p=100-101]", from: "10.{p}.0.0/16", vrf: red}
- {pref: 7, family: inet6, iif: lo, lookup: local}
"""
    found = desired(text)
    assert keys(found, "rule") == [
        ("inet", 1000, (("l3mdev", True),)),
        ("inet", 100, (("from", "10.100.0.0/16"),)),
        ("inet", 101, (("from", "10.101.0.0/16"),)),
        ("inet6", 7, (("iif", "lo"),)),
    ]
    assert attrs(found, "rule", "inet", 100, (("from", "10.100.0.0/16"),))["lookup"] == 1001


def test_nexthops_are_known_by_their_ids() -> None:
    text = "nexthops:\n  '[n=1-2]': {via: '10.0.0.{n}', dev: lo}\n  9: {group: [{id: 1}, {id: 2, weight: 3}]}\n"
    found = desired(text)
    assert keys(found, "nexthop") == [(1,), (2,), (9,)]
    assert attrs(found, "nexthop", 9) == {"group": ({"id": 1}, {"id": 2, "weight": 3})}


def test_settings_of_the_host_and_of_links() -> None:
    text = """
links:
  swp[1-2].10: {sysctl: {ipv4.rp_filter: 0, ipv6: {accept_ra: no, neigh: {gc_stale_time: 5}}}}
  swp[1-2]: {}
sysctl:
  net.ipv4.ip_forward: on
  net/ipv4/tcp_rmem: 4096 131072 6291456
  net: {ipv4: {tcp_l3mdev_accept: 1}}
"""
    found = desired(text)
    values = {key[0]: obj.attrs["value"] for key, obj in found.state.of("sysctl").items()}
    assert values["net/ipv4/ip_forward"] == "1"
    assert values["net/ipv4/tcp_rmem"] == "4096 131072 6291456"
    assert values["net/ipv4/tcp_l3mdev_accept"] == "1"
    assert values["net/ipv4/conf/swp2.10/rp_filter"] == "0"
    assert values["net/ipv6/conf/swp1.10/accept_ra"] == "0"
    assert values["net/ipv6/neigh/swp1.10/gc_stale_time"] == "5"


def test_attributes_of_the_group_apply_unless_the_link_has_its_own() -> None:
    text = "groups:\n  g: {mtu: 9000, up: on}\nlinks:\n  swp[1-2]: {group: g}\n  swp2: {mtu: 1500}\n"
    found = desired(text)
    got = [(attrs(found, "link", name)["mtu"], attrs(found, "link", name)["up"]) for name in ("swp1", "swp2")]
    assert got == [(9000, True), (1500, True)]


def test_group_makes_links_lightweight_and_leaves_hardware_as_it_is() -> None:
    text = "groups:\n  netgroupd: {lightweight: true}\nlinks:\n  eth0: {up: on}\n  d[1-2]: {kind: dummy}\n"
    text += "  d2: {lightweight: false}\n"
    found = desired(text, known=("eth0",))
    assert [attrs(found, "link", name).get("lightweight") for name in ("eth0", "d1", "d2")] == [None, True, False]


def test_links_without_a_group_are_in_the_one_of_netgroupd() -> None:
    found = desired("groups:\n  netgroupd: {up: yes}\nlinks:\n  swp1: {}\n")
    assert attrs(found, "link", "swp1") == {"up": True, "group": GROUP_BASE}


def test_group_by_number_needs_no_description() -> None:
    assert attrs(desired("links:\n  swp1: {group: 42}\n"), "link", "swp1")["group"] == 42


def test_groups_inside_a_group_have_its_attributes_and_ids_that_begin_alike() -> None:
    text = "groups:\n  all: {members: [a, b], mtu: 9000, up: on}\n  a: {mtu: 1500}\n  b: {}\n"
    groups = desired(text).state.groups
    assert (groups["a"].attrs, groups["b"].attrs) == ({"mtu": 1500, "up": True}, {"mtu": 9000, "up": True})
    assert groups["a"].within == ("all",)
    prefix = ~7
    assert len({groups[name].id & prefix for name in ("all", "a", "b")}) == 1
    assert len({groups[name].id for name in ("all", "a", "b")}) == 3


def test_id_of_a_group_stays_when_others_come() -> None:
    few = desired("groups:\n  a: {}\n  b: {}\n").state.groups
    more = desired("groups:\n  g[1-99]: {}\n  b: {}\n  a: {}\n").state.groups
    assert (few["a"].id, few["b"].id) == (more["a"].id, more["b"].id)
    assert len({group.id for group in more.values()}) == len(more) == 102


@pytest.mark.parametrize("name", ["", "7", "x" * 64, "a b", "a\\nb", "a#", "a\\0"])
def test_name_of_a_group_is_a_word_of_the_table_that_ip_reads(name: str) -> None:
    (line,) = told(f'groups: {{"{name}": {{}}}}\n')
    assert "cannot name a group; expected 1 to 63 characters without blanks and #, not only digits" in line


def test_objects_know_their_place() -> None:
    found = desired("links:\n  swp1: {}\n  swp[2-3]:\n    addresses:\n    - 10.0.{1}.1/24\n")
    assert [(obj.cls, obj.name, obj.origin) for obj in found.state] == [
        ("link", "swp1", ("a.yaml", 2, 3)),
        ("link", "swp2", ("a.yaml", 3, 3)),
        ("link", "swp3", ("a.yaml", 3, 3)),
        ("address", "swp2", ("a.yaml", 5, 7)),
        ("address", "swp3", ("a.yaml", 5, 7)),
    ]


def test_more_than_two_million_are_refused_before_anything_is_made() -> None:
    assert told("links:\n  d[1-2000].[0-1000]: {}\n") == [
        "a.yaml:2:3: 'd[1-2000].[0-1000]' stands for 2,002,000 instances; the limit is 2,000,000"
    ]


def test_ports_of_many_masters_count_for_each() -> None:
    text = "links:\n  br[1-9999]: {kind: bridge, ports: 'swp[1-9999]'}\n"
    assert told(text) == ["a.yaml:2:38: 'swp[1-9999]' stands for 99,980,001 instances; the limit is 2,000,000"]


def test_addresses_of_many_links_count_for_each() -> None:
    text = "links:\n  d[1-2000]: {kind: dummy, addresses: ['10.0.[0-3].[0-249]/24']}\n"
    want = "a.yaml:2:40: with this address the configuration asks for 2,002,000 objects; the limit is 2,000,000"
    assert told(text) == [want]


def test_line_behind_one_that_is_over_the_limit_is_not_blamed_for_it() -> None:
    routes = "routes:\n- {to: '10.0.0.[0-255]/32', dev: lo, metric: '[1-9000]'}\n- {to: 10.9.0.0/16, dev: lo}\n"
    many = "with this route the configuration asks for 2,304,000 objects; the limit is 2,000,000"
    assert told(routes + "rules:\n- {pref: x}\n") == [
        f"a.yaml:2:3: {many}",
        "a.yaml:5:10: pref: expected a whole number from 0 to 4294967295, not the text 'x'",
    ]


def test_text_behind_those_that_stand_for_too_much_is_not_blamed_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "_MOST_TEXTS", 10)
    [problem] = told("links:\n  a[1-6]: {kind: dummy}\n  b[1-6]: {kind: dummy}\n  c[1-4]: {kind: dummy}\n")
    assert problem.startswith("a.yaml:3:3: with 'b[1-6]' all ranges together stand for over 10 instances")


def test_ranges_of_several_lines_add_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "LIMIT", 10)
    text = "links:\n  a[1-6]: {}\n  b[1-6]: {}\n"
    assert told(text) == ["a.yaml:3:3: with 'b5' there are over 10 links"]


MINIMAL = {
    **dict.fromkeys(("veth", "netkit"), "peer: y"),
    "vlan": "link: a, id: 5",
    "macvlan": "link: a",
    "macvtap": "link: a, mode: bridge",
    "ipvlan": "link: a, mode: l3",
    "ipvtap": "link: a",
    "vxlan": "id: 5, local: 10.0.0.1, dstport: 4789",
    "geneve": "external: true",
    "bareudp": "dstport: 6635, ethertype: mpls_uc",
    "gre": "local: 10.0.0.1, remote: 10.0.0.2",
    "ip6gre": "local: '2001:db8::1', remote: '2001:db8::2'",
    **dict.fromkeys(("erspan", "ip6erspan"), "ikey: 5, okey: 5"),
    "xfrm": "if_id: 7",
    "wireguard": "private_key_file: /etc/wireguard/key, listen_port: 51820",
    "vrf": "table: 5",
    "tun": "mode: tap",
    "macsec": "link: a",
    "hsr": "slave1: a, slave2: b",
    "netdevsim": "id: 1",
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_can_be_described(kind: str) -> None:
    text = f"links:\n  a: {{}}\n  b: {{}}\n  x: {{kind: {kind}, {MINIMAL.get(kind, '')}}}\n"
    found = attrs(desired(text), "link", "x")
    said = {part.partition(":")[0].strip() for part in MINIMAL.get(kind, "").split(", ") if part}
    assert found.keys() == {"kind", "group", *said}


def test_kinds_that_need_something_are_all_in_the_table() -> None:
    assert {kind.name for kind in KINDS.values() if kind.required or kind.lower} <= MINIMAL.keys()


def test_vlan_that_somebody_else_has_made_is_described_by_its_name_and_kind() -> None:
    there = ("swp1", "swp1.5", "swp1.6")
    links = desired("links: {swp1.5: {kind: vlan}, swp1.6: {up: true}}", known=there).state.of("link")
    described, there_already = links["swp1.5",].attrs, links["swp1.6",].attrs
    assert [described[name] for name in ("kind", "link", "id")] == ["vlan", "swp1", 5]
    assert not {"kind", "link", "id"} & there_already.keys()
