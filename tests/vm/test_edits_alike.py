# SPDX-License-Identifier: GPL-2.0-or-later
"""One edit after the other of the file of a host that runs: it is what a new host becomes by the edited file.

But for what a file said and the next one does not mention, which stays: no edit here is of that kind.
"""

import re

import pytest

from netgroupd.engine.engine import Engine
from tests.vm.hosts import EngineIn

pytestmark = pytest.mark.vm("stock")

TEXT = """
links:
  t[0-3]: {kind: dummy, up: true}
  t0: {vlans: [{vid: 10, pvid: true, untagged: true}, "[20-22]"]}
  br0: {kind: bridge, up: true, vlan_filtering: true, ports: [t0, t1], vlans: ["[10-12]"]}
  bond0: {kind: bond, mode: active-backup, up: true, ports: [t2], addresses: [192.0.2.1/24]}
  bond0.5: {up: true, addresses: [198.51.100.1/24, "2001:db8::1/64"]}
  vx0: {kind: vxlan, id: 7, dstport: 4789, local: 192.0.2.1, up: true, master: br0}
  d0: {kind: dummy, up: true, addresses: [10.0.0.1/24, 10.0.0.2/24]}
vrfs:
  red: {table: 10, up: true, links: [d0]}
nexthops:
  1: {via: 192.0.2.2, dev: bond0}
  2: {via: 198.51.100.2, dev: bond0.5}
  3: {group: [{id: 1}, {id: 2}]}
routes:
  - {to: 10.1.0.0/16, nhid: 3}
  - {to: 10.2.0.0/16, via: 192.0.2.9}
  - {to: 10.3.0.0/16, nexthops: [{via: 192.0.2.5}, {via: 198.51.100.5, weight: 2}]}
  - {to: 10.4.0.0/16, via: 10.0.0.9, vrf: red}
rules:
  - {pref: 100, from: 10.1.0.0/16, lookup: 100}
fdb:
  - {dev: vx0, mac: "00:00:00:00:00:00", dst: 192.0.2.3}
tc:
  t3:
    qdiscs: {kind: htb, handle: "1:"}
    classes:
      - {classid: "1:1", rate: 1gbit}
      - {parent: "1:1", classid: "1:2", rate: 1mbit}
      - {classid: "1:3", rate: 1mbit}
    filters: {parent: "1:", pref: 1, protocol: ip, flower: {dst_ip: 10.7.0.1}, classid: "1:2"}
    ingress:
      - {pref: 10, protocol: ip, flower: {dst_ip: "10.1.0.[1-4]"}, action: drop}
      - {pref: 20, protocol: ip, flower: {dst_ip: "10.2.0.[1-4]"}, action: pass}
"""
_TEN, _TWENTY = '{pref: 10, protocol: ip, flower: {dst_ip: "10.1', '{pref: 20, protocol: ip, flower: {dst_ip: "10.2'
EDITS = {
    "port_leaves": (("ports: [t0, t1]", "ports: [t1]"), ('[{vid: 10, pvid: true, untagged: true}, "[20-22]"]', "[]")),
    "port_goes_from_a_bridge_to_a_bond": (("[t0, t1]", "[t0]"), ("[t2]", "[t2, t1]")),
    "port_goes_from_a_bond_to_a_bridge": (("[t0, t1]", "[t0, t1, t2]"), ("ports: [t2]", "ports: [t3]")),
    "tunnel_leaves_its_bridge": ((", master: br0", ""),),
    "range_of_vlans": (("[20-22]", "[21-25]"),),
    "default_vlan": (("vlan_filtering: true", "vlan_filtering: true, vlan_default_pvid: 30"),),
    "bridge_has_another_name": (("br0", "br9"),),
    "vlan_has_another_number": (("bond0.5", "bond0.6"),),
    "mode_of_a_bond": (("active-backup", "balance-xor"),),
    "number_of_a_tunnel": (("id: 7", "id: 8"),),
    "table_of_a_vrf": (("table: 10", "table: 11"),),
    "link_leaves_its_vrf": (("links: [d0]", "links: []"), (", vrf: red", "")),
    "another_vrf": (
        ("links: [d0]}", "links: []}\n  blue: {table: 11, up: true, links: [d0]}"),
        ("vrf: red", "vrf: blue"),
    ),
    "prefix_length": (("10.0.0.1/24, 10.0.0.2/24", "10.0.0.1/25, 10.0.0.2/25"),),
    "another_subnet": (("192.0.2.", "203.0.113."),),
    "addresses_are_swapped": (
        ("192.0.2.1/24", "XX"),
        ("198.51.100.1/24", "192.0.2.1/24"),
        ("XX", "198.51.100.1/24"),
        ("dev: bond0}", "dev: XX}"),
        ("dev: bond0.5}", "dev: bond0}"),
        ("dev: XX}", "dev: bond0.5}"),
    ),
    "group_becomes_one_nexthop": (("{group: [{id: 1}, {id: 2}]}", "{via: 192.0.2.7, dev: bond0}"),),
    "nexthop_becomes_a_group": (
        ("2: {via: 198.51.100.2, dev: bond0.5}", "2: {group: [{id: 1}]}"),
        ("{id: 1}, {id: 2}", "{id: 1}"),
    ),
    "weight_is_not_said": ((", weight: 2", ""),),
    "one_way_of_several": (("nexthops: [{via: 192.0.2.5}, {via: 198.51.100.5, weight: 2}]", "via: 192.0.2.5"),),
    "route_becomes_another_type": (("to: 10.2.0.0/16, via: 192.0.2.9", "to: 10.2.0.0/16, type: blackhole"),),
    "rule_leads_elsewhere": (("lookup: 100", "lookup: 101"),),
    "other_end_of_a_tunnel": (("dst: 192.0.2.3", "dst: 192.0.2.4"),),
    "all_rules_of_a_preference": (("10.1.0.[1-4]", "10.9.0.[1-4]"),),
    "preferences_are_swapped": (
        (_TEN, "XX"),
        (_TWENTY, _TWENTY.replace("20", "10", 1)),
        ("XX", _TEN.replace("10", "20", 1)),
    ),
    "rules_at_the_other_hook": (("ingress:", "egress:"),),
    "class_in_another": (('{parent: "1:1", classid: "1:2"', '{parent: "1:3", classid: "1:2"'),),
    "number_of_a_class": (("1:2", "1:4"),),
    "qdisc_of_another_kind": (
        ("kind: htb, ", "kind: drr, "),
        ("rate: 1gbit", "quantum: 1500"),
        ('parent: "1:1", ', ""),
        ("rate: 1mbit", "quantum: 1500"),
    ),
    "section_goes": ((TEXT[TEXT.index("tc:\n") :], ""),),
}


def _edited(text: str, edits: tuple[tuple[str, str], ...]) -> str:
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


def _seen(engine: Engine) -> list[str]:
    """What there is, in no order and without MACs that were drawn."""
    told = re.sub(r"active_slave: \S+", "", engine.capture())
    return sorted(line for line in re.split(r"\n|(?<=\}), ", told) if "mac:" not in line)


@pytest.mark.parametrize("edits", [pytest.param(edits, id=what) for what, edits in EDITS.items()])
def test_host_is_as_new_after_an_edit(engine_in: EngineIn, edits: tuple[tuple[str, str], ...]) -> None:
    engine_in("here", TEXT).apply()
    before = _seen(engine_in("here", TEXT))
    engine = engine_in("here", _edited(TEXT, edits))
    engine.apply()
    assert not engine.diff().steps
    new = engine_in("there", _edited(TEXT, edits))
    new.apply()
    assert _seen(engine) == _seen(new)
    engine.rollback(1)
    assert _seen(engine) == before
