# SPDX-License-Identifier: GPL-2.0-or-later
"""What is alike but for one field folds into a range of that field, whichever it is."""

import pytest

from netgroupd.engine.capture.host import captured
from netgroupd.model.state import Attrs, Object, State
from tests.config.reading import desired

HOSTS = [
    pytest.param(
        'links: {d0: {kind: dummy}}\nroutes:\n  - {to: default, table: "[t=1-100]", type: unreachable}\n'
        '  - {to: "10.{t}.0.0/16", table: "[t=1-100]", dev: d0}\n  - {to: "10.[0-99].0.0/16", dev: d0}\n',
        [
            '{table: "[1-100]", to: "0.0.0.0/0", type: unreachable}',
            '{to: "10.[a=1-100].0.0/16", table: "{a}", dev: d0}',
            '{to: "10.[0-99].0.0/16", dev: d0}',
        ],
        id="routes",
    ),
    pytest.param(
        "links: {d0: {kind: dummy}}\nneighbours:\n"
        '  - {dev: d0, ip: "10.0.0.[n=1-100]", lladdr: "{02:00:00:00:00:00 + n}"}\n',
        ['{ip: "10.0.0.[a=1-100]", dev: d0, lladdr: "02:00:00:00:00:{a:02x}"}'],
        id="neighbours",
    ),
    pytest.param(
        "links: {d0: {kind: dummy}}\nrules:\n  - {pref: 5, family: inet, fwmark: 7, lookup: main}\n"
        "  - {pref: 101, family: inet, lookup: 9, from: 10.0.0.20/32}\n"
        '  - {pref: "[p=121-134]", family: inet, lookup: 9, from: "10.0.0.{p - 100}/32"}\n',
        [
            '{pref: 5, family: inet, fwmark: "0x7", lookup: main}',
            '{pref: 101, family: inet, lookup: 9, from: "10.0.0.20/32"}',
            '{pref: "[a=121-134]", family: inet, lookup: 9, from: "10.0.0.{a - 100}/32"}',
        ],
        id="rules_behind_one_that_is_apart",
    ),
    pytest.param(
        "links: {vx: {kind: vxlan, id: 5, dstport: 4789}}\nfdb:\n"
        '  - {dev: vx, mac: "00:00:00:00:00:00", dst: "10.0.0.[7,9,21-30]"}\n',
        ['{dst: "10.0.0.[7,9,21-30]", dev: vx, mac: "00:00:00:00:00:00", where: self}'],
        id="receivers_of_one_address",
    ),
]


@pytest.mark.parametrize(("text", "want"), HOSTS)
def test_entries_fold_by_the_field_in_which_they_differ(text: str, want: list[str]) -> None:
    state = desired(text).state
    got = captured(state, {}, {})
    assert [line[4:] for line in got.splitlines() if line.startswith("  - ")] == want
    assert {name: set(found) for name, found in desired(got).state.classes.items()} == {
        name: set(found) for name, found in state.classes.items()
    }


def test_networks_and_vlans_of_which_the_same_is_said_are_ranges_and_addresses_stay_in_their_order() -> None:
    text = """links:
  vx0: {kind: vxlan, external: true, vnifilter: true, vnis: [{vni: "[1-9]", remote: 192.0.2.9}]}
  b: {kind: bridge, vlan_filtering: true, vlan_default_pvid: 0, vlans: [{vid: "[2-9]", untagged: true}]}
  d: {kind: dummy, addresses: [{address: 10.0.0.3/32, scope: link}, {address: 10.0.0.2/32, scope: link}]}
"""
    got = captured(State(desired(text).state), {}, {})
    assert 'vnis: [{vni: "[1-9]", remote: "192.0.2.9"}]' in got
    assert 'vlans: [{vid: "[2-9]", untagged: true}]' in got
    assert 'addresses: [{address: "10.0.0.3/32", scope: link}, {address: "10.0.0.2/32", scope: link}]' in got


def test_vlans_that_are_networks_of_several_tunnels_are_ranges_within_a_range() -> None:
    text = """links:
  br[n=1-3]: {kind: bridge, vlan_filtering: true, vlan_default_pvid: 0}
  vx[n=1-3]:
    kind: vxlan
    external: true
    dstport: "{n + 4788}"
    master: br{n}
    port: {vlan_tunnel: true}
    vlans: [{vid: "[v=100-110]", tunnel_id: "{v + 10000}"}, {vid: "[v=200-210]", tunnel_id: "{v}"}, 300]
"""
    state = desired(text).state
    got = captured(state, {}, {})
    assert 'vlans: [300, {vid: "[v=100-110]", tunnel_id: "{v + 10000}"}, {vid: "[v=200-210]", tunnel_id: "{v}"}]' in got
    assert "  vx[a=1-3]:\n" in got
    again = desired(got).state.of("bridge_vlan")
    assert {key: vlan.attrs for key, vlan in again.items()} == {
        key: vlan.attrs for key, vlan in state.of("bridge_vlan").items()
    }


def test_ports_that_differ_in_their_vlan_alone_are_one_range() -> None:
    names = [f"vni{10_000 + vid}" for vid in range(100, 120)]
    links = [Object("link", ("br",), {"kind": "bridge", "vlan_filtering": True, "vlan_default_pvid": 0})]
    links += (Object("link", (name,), {"kind": "dummy", "master": "br"}) for name in names)
    access: Attrs = {"pvid": True, "untagged": True}
    vlans = [Object("bridge_vlan", (name, int(name[3:]) - 10_000), access) for name in names]
    text = captured(State([*links, *vlans]), {}, {})
    assert "  vni[a=10100-10119]:\n" in text
    assert '    vlans: [{vid: "{a - 10000}", pvid: true, untagged: true}]\n' in text
    assert {key: obj.attrs for key, obj in desired(text).state.of("bridge_vlan").items()} == {
        vlan.key: access for vlan in vlans
    }
