# SPDX-License-Identifier: GPL-2.0-or-later
"""All that is wrong is told at once, and of what only follows from it nothing."""

import os
from pathlib import Path

import pytest

from netgroupd.config import load
from netgroupd.config.facts import Facts
from netgroupd.config.sources import Trust
from netgroupd.errors import ConfigError
from tests.config.reading import told

ALL = [
    pytest.param(
        "routes:\n- {via: x, bogus: 1, metric: q}\n",
        ["2:3: this route needs 'to'", "2:9: via", "2:12: unknown key 'bogus'", "2:30: metric"],
        id="entry_without_what_it_needs",
    ),
    pytest.param(
        'routes:\n- {to: "10.0.[5-1].0/24", bogus: 1, metric: q, dev: "d{1}"}\n',
        ["2:15: the range runs backwards", "2:27: unknown key 'bogus'", "2:45: metric"],
        id="entry_with_a_wrong_range",
    ),
    pytest.param(
        "routes:\n- {to: '10.0.0.[0-255]/32', dev: lo, metric: '[1-10000]', bogus: 1}\n",
        ["2:3: with this route the configuration asks for 2,560,000 objects", "2:59: unknown key 'bogus'"],
        id="entry_over_the_limit",
    ),
    pytest.param(
        "links:\n  'a[5-1]': {kind: dummy, mtu: x, bogus: 1, alias: '{1}', addresses: bad}\n",
        ["2:5: the range runs backwards", "2:32: mtu", "2:35: unknown key 'bogus'", "2:70: address"],
        id="link_with_a_wrong_range",
    ),
    pytest.param(
        "links:\n  'a[5-1].7': {mtu: x, protocol: 802.1ad}\n",
        ["2:5: the range runs backwards", "2:21: mtu"],
        id="link_with_a_wrong_range_that_does_not_say_its_kind",
    ),
    pytest.param(
        "links:\n  b: {kind: dumy, mtu: x, addresses: [bad]}\n",
        ["2:13: unknown kind 'dumy'", "2:24: mtu", "2:39: address"],
        id="unknown_kind",
    ),
    pytest.param(
        "links:\n  b: {kind: brige, stp: on, mttu: 1}\n",
        ["2:13: unknown kind 'brige'", "2:29: unknown key 'mttu'; did you mean 'mtu'?"],
        id="key_that_no_kind_has",
    ),
    pytest.param(
        "links:\n  b: {stp: on, mttu: 1}\nroute: []\n",
        ["2:16: unknown key 'mttu'; did you mean 'mtu'?", "3:1: unknown section 'route'"],
        id="key_that_no_kind_has_where_something_is_left_out",
    ),
]


@pytest.mark.parametrize(("text", "want"), ALL)
def test_everything_that_is_wrong_is_told(text: str, want: list[str]) -> None:
    got = told(text)
    assert [line[: len(f"a.yaml:{start}")] for line, start in zip(got, want, strict=True)] == [
        f"a.yaml:{start}" for start in want
    ]


ONLY_THE_KIND = [
    pytest.param("  r: {kind: vrff, table: 7, links: lo}\n", id="links_of_a_vrf"),
    pytest.param("  r: {kind: brige, stp: on, vlans: [5], vnis: [7]}\n", id="nested"),
    pytest.param("  r: {kind: brige, ports: lo}\n  lo: {port: {cost: 4}}\n", id="attributes_of_its_ports"),
    pytest.param("  r: {kind: brige}\n  d: {kind: dummy, master: r, vlans: 5}\n", id="vlans_of_its_ports"),
    pytest.param("  wg.5: {kind: wiregard}\n", id="name_shaped_as_a_vlan"),
    pytest.param("  r: {kind: vrff}\nroutes:\n- {to: 10.0.0.0/8, dev: lo, vrf: r}\n", id="route_in_a_vrf"),
    pytest.param("  r: {kind: vrff}\nrules:\n- {pref: 5, vrf: r, lookup: 9}\n", id="rule_of_a_vrf"),
    pytest.param(
        "  r: {kind: vrff}\n  d: {kind: dummy, master: r, addresses: 10.0.0.1/24}\n  lo: {addresses: 10.0.0.1/24}\n",
        id="address_in_a_vrf",
    ),
]


@pytest.mark.parametrize("text", ONLY_THE_KIND)
def test_nothing_is_told_that_follows_from_an_unknown_kind(text: str) -> None:
    [problem] = told(f"links:\n{text}")
    assert "unknown kind" in problem


def test_link_that_is_no_mapping_is_there_nevertheless() -> None:
    assert told("links:\n  x: 5\n  d: {kind: macvlan, link: x}\n") == [
        "a.yaml:2:6: 'x' must be a mapping of attributes, not the text '5'"
    ]


def test_link_that_cannot_be_named_so_is_not_called_missing_besides() -> None:
    text = "links:\n  w%d: {addresses: 10.0.0.1/8}\n  d: {kind: macvlan, link: w%d}\n  e: {kind: macvlan, link: x}\n"
    told_of_name, told_of_other = told(text)
    assert "'w%d' cannot name a link" in told_of_name
    assert "there is no link 'x'" in told_of_other


NOT_ITSELF = [
    pytest.param("links:\n  nosuch.10: {}\n", id="vlan"),
    pytest.param("links:\n  nosuch.10: {}\n  nosuch.20: {}\n", id="two_vlans"),
    pytest.param("links:\n  uplink0: {kind: macvlan, link: uplink}\n", id="link"),
    pytest.param("links:\n  swp1: {master: swp}\n", id="port"),
    pytest.param("groups:\n  tenants: {members: tenant}\n", id="group"),
]


@pytest.mark.parametrize("text", NOT_ITSELF)
def test_who_asks_is_not_who_is_meant(text: str) -> None:
    assert told(text)
    assert not any("did you mean" in line for line in told(text))


# Each line refers to something that nothing here describes, or is right only with it.
REFERRING = """
links:
  d1: {kind: dummy, master: br, group: g, port: {cost: 4}}
  d2: {kind: dummy, port: {cost: 4}, vlans: 5}
  v1: {kind: macvlan, link: below, up: on}
  br: {stp: on}
  br2: {kind: bridge, ports: nobody.5}
  vx: {vnis: 7}
routes:
- {to: 10.0.0.0/8, dev: nobody}
- {to: 10.1.0.0/16, dev: d1, vrf: red}
- {to: 10.2.0.0/16, nhid: 5}
rules:
- {pref: 5, vrf: red}
neighbours:
- {ip: 10.0.0.1, dev: nobody, lladdr: 02:00:00:00:00:01}
tc:
  nobody: {ingress: [{pref: 1, matchall: {}, action: police 7}]}
"""

UNREAD = [
    pytest.param("links:\n  a: [\n", "this is not YAML", id="no_yaml"),
    pytest.param("links: {}\nlinks: {below: {}}\n", "'links' is here twice", id="section_twice"),
    pytest.param("links: {}\nlinks: {below: &a {}}\n", "'links' is here twice", id="section_twice_with_an_anchor"),
    pytest.param("[]", "expected sections", id="list"),
    pytest.param("links: [below]", "'links' must be a mapping", id="list_of_links"),
    pytest.param("lnks: {below: {}}\n", "unknown section 'lnks'", id="misspelt_section"),
    pytest.param("links:\n  'b[5-1]': {}\n", "the range runs backwards", id="wrong_range"),
]


@pytest.mark.parametrize(("text", "want"), UNREAD)
def test_nothing_is_told_to_be_missing_where_something_could_not_be_read(text: str, want: str) -> None:
    assert len([line for line in told("", REFERRING) if line.startswith("b.yaml:")]) > 10
    [problem] = told(text, REFERRING)
    assert want in problem


def test_nothing_is_told_to_be_missing_when_a_template_does_not_run(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "1.mako").write_text("links:\n  below: {kind: dummy, mtu: ${nothing}}\n")
    (tmp_path / "2.yaml").write_text(REFERRING + "groups:\n  h: {members: g}\n")
    (tmp_path / "3.yaml").write_text("links:\n  lo: {mtu: x}\n")
    with pytest.raises(ConfigError) as caught:
        load([tmp_path], facts=Facts, trust=Trust.of_user(os.getuid(), os.getgid()))
    assert [problem.message for problem in caught.value.problems] == [
        "unknown name 'nothing'",
        "mtu: expected a whole number from 0 to 2147483647, not the text 'x'",
    ]


UNREADABLE = [
    pytest.param("routes:\n- {to: default, dev: lo, table: many}\n- {to: default, via: 127.0.0.2}\n", id="table"),
    pytest.param("routes:\n- {to: 10.0.0.0/8, type: blakhole}\n", id="type_of_a_route"),
    pytest.param("routes:\n- {to: 10.0.0.0/8, vai: 127.0.0.2}\n", id="key_of_a_route"),
    pytest.param("rules:\n- {pref: 10, lookup: many}\n", id="table_of_a_rule"),
    pytest.param("rules:\n- {pref: 10, lookup: 5, from: 10.0.0.1/33}\n- {pref: 10, lookup: 6}\n", id="selector"),
    pytest.param(
        "vrfs:\n  r: {table: many, up: true}\nroutes:\n- {to: default, vrf: r, dev: lo}\n", id="table_of_a_vrf"
    ),
    pytest.param("links:\n  lo: {addresses: {address: 239.1.1.1/24, autojoin: perhaps}}\n", id="flag_of_an_address"),
    pytest.param("links:\n  v: {kind: vxlan, external: on, vnifilter: perhaps, vnis: [5]}\n", id="flag_of_a_vxlan"),
]


@pytest.mark.parametrize("text", UNREADABLE)
def test_nothing_is_told_that_follows_from_a_value_that_cannot_be_read(text: str) -> None:
    assert len(told(text)) == 1


def test_vrf_without_a_table_is_told_where_it_is_alone() -> None:
    [got] = told("vrfs:\n  r: {up: true}\nroutes:\n- {to: default, vrf: r, dev: lo}\n")
    assert got.startswith("a.yaml:2:3: 'r' needs 'table'")


def test_route_whose_way_is_taken_away_leads_nowhere() -> None:
    [got] = told("routes:\n- {to: 10.0.0.0/8, via: null}\n")
    assert "does not say where to" in got
