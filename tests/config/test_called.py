# SPDX-License-Identifier: GPL-2.0-or-later
"""A key that is none is told with the one that was meant, in whatever tool's words."""

import pytest

from netgroupd.config import called
from netgroupd.config.merge import SECTIONS
from netgroupd.config.sections.links import NESTED, rows_of
from netgroupd.config.sections.table import HOOKS, LISTS, UNDER_LINK
from netgroupd.model.kinds import KINDS
from tests.config.reading import told

_PLACES = (
    set(SECTIONS),
    *({"kind", *NESTED, *rows_of(kind)} for kind in ("", *KINDS)),
    *(set(part.form.rows) for part in (*LISTS, *HOOKS, *UNDER_LINK)),
    {"qdiscs", "classes", *(part.name for part in HOOKS)},
)
_LINK = "links:\n  x: {{kind: {kind}, {key}: 1}}\n"


@pytest.mark.parametrize("name", called._CALLED)
def test_every_word_leads_to_a_key_where_it_is_none_itself(name: str) -> None:
    places = [place for place in _PLACES if name in place]
    for word in called._CALLED[name].split():
        hints = (called.called_here(word, place) for place in places if word not in place)
        assert any(hint.startswith(f"it is {name!r} here") for hint in hints)


@pytest.mark.parametrize(
    ("kind", "key", "hint"),
    [
        pytest.param("vxlan", "vni", "it is 'id' here", id="networkd"),
        pytest.param("vlan", "base-iface", "it is 'link' here", id="nmstate"),
        pytest.param("bridge", "bridge-ports", "it is 'ports' here", id="ifupdown2"),
        pytest.param("dummy", "ADDRESS", "it is 'addresses' here", id="in_capitals"),
        pytest.param("dummy", "enabled", "it is 'up' here", id="where_something_is_spelt_like_it"),
        pytest.param("dummy", "gateway4", "that stands under 'routes', beside 'links'", id="netplan"),
        pytest.param(
            "dummy",
            "dhcp4",
            "a client of DHCP does that, and the addresses that it gives are left alone",
            id="nothing_that_is_done_here",
        ),
        pytest.param(
            "bridge", "bridge_fd", "it is 'forward_delay' here, in hundredths of a second", id="kind_before_it"
        ),
        pytest.param("bridge", "bridge-pvid", "it is 'vlan_default_pvid' here", id="of_the_bridge"),
        pytest.param("vxlan", "arp-nd-suppress", "that stands under 'port', as 'neigh_suppress'", id="of_a_port"),
        pytest.param(
            "vxlan",
            "bridge-access",
            "that stands under 'vlans', as in {vid: 10, pvid: true, untagged: true}",
            id="vlan_of_a_port",
        ),
        pytest.param(
            "dummy", "accept-ra", "that stands under 'sysctl', as in sysctl: {ipv6.accept_ra: 1}", id="kernel_setting"
        ),
        pytest.param("vlan", "dev", "it is 'link' here", id="that_other_kinds_have"),
        pytest.param(
            "gre", "key", "it is 'ikey' for what comes in, and 'okey' for what goes out", id="two_in_place_of_one"
        ),
        pytest.param("vlan", "Id", "it is 'id' here", id="networkd_with_a_capital"),
        pytest.param("bridge", "VLANFiltering", "it is 'vlan_filtering' here", id="words_run_together"),
        pytest.param("bond", "mii-monitor-interval", "it is 'miimon' here", id="netplan_of_a_bond"),
        pytest.param("vxlan", "Learning", "it is 'learning' here", id="that_ports_of_bridges_have_too"),
        pytest.param("dummy", "qdisc", "that stands under 'tc', beside 'links'", id="traffic_control"),
        pytest.param("dummy", "link-speed", "that stands under 'link_modes' of its 'ethtool'", id="of_the_driver"),
        pytest.param(
            "dummy", "nameservers", "a resolver has that from elsewhere, such as /etc/resolv.conf", id="of_a_resolver"
        ),
        pytest.param("dummy", "vlan-id", "it is 'id' of a link of the kind vlan", id="of_a_vlan"),
        pytest.param("bridge", "vni", "it is 'id' of a link of the kind vxlan", id="of_a_vxlan"),
        pytest.param("vrf", "interfaces", "it is 'links' here", id="links_of_a_vrf"),
        pytest.param("dummy", "adresses", "did you mean 'addresses'?", id="misspelt_part"),
        pytest.param("dummy", "knid", "did you mean 'kind'?", id="misspelt_kind"),
    ],
)
def test_word_of_another_tool_is_told_with_ours(kind: str, key: str, hint: str) -> None:
    assert any(line.endswith(f"unknown key {key!r}; {hint}") for line in told(_LINK.format(kind=kind, key=key)))


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("lag", "it is 'bond' here"),
        ("linux-bridge", "it is 'bridge' here"),
        ("tap", "it is 'tun' here, with mode: tap"),
        ("Ethernet", "hardware is there, and has no kind"),
        ("dumy", "did you mean 'dummy'?"),
    ],
)
def test_kind_of_another_tool_is_told_with_ours(kind: str, hint: str) -> None:
    assert told(f"links: {{x: {{kind: {kind}}}}}\n") == [f"a.yaml:1:19: unknown kind {kind!r}; {hint}"]


def test_multicast_group_of_a_vxlan_is_told_as_its_other_end() -> None:
    (line,) = told("links: {x: {kind: vxlan, id: 5, group: 239.0.0.1}}\n")
    assert line.endswith("there is no group '239.0.0.1'; the multicast group that it sends to is its 'remote'")


def test_word_that_tc_and_ethtool_have_for_it() -> None:
    tbf = told("tc: {lo: {qdiscs: {kind: tbf, rate: 1mbit, burst: 2k, limit: 9k, latency: 5ms}}}\n")
    hint = "it is 'limit' here, in bytes: the rate times the latency, and the burst"
    assert [line for line in tbf if "latency" in line] == [f"a.yaml:1:66: unknown key 'latency'; {hint}"]
    (classes, *_) = told("tc: {lo: {qdiscs: {kind: htb, default: 1, classes: [{classid: 1:1}]}}}\n")
    assert classes.endswith("unknown key 'classes'; that stands beside 'qdiscs', and names this as its 'parent'")
    (modes,) = told("links: {lo: {ethtool: {speed: 1000}}}\n")
    assert modes == "a.yaml:1:24: unknown key 'speed'; that stands under 'link_modes'"
    (feature,) = told("links: {lo: {ethtool: {tso: false}}}\n")
    assert feature == "a.yaml:1:24: unknown key 'tso'; that stands under 'features'"


def test_word_for_all_links_is_not_told_of_one() -> None:
    (line, *_) = told(_LINK.format(kind="dummy", key="interface"))
    assert "links" not in line


def test_flag_of_bridge_is_told_as_where_an_entry_is() -> None:
    want = "a.yaml:1:41: unknown key 'master'; as in where: master"
    assert want in told("fdb: [{dev: lo, mac: 02:00:00:00:00:01, master: true}]\n")


def test_action_beside_its_filter_is_told_with_the_key_for_it() -> None:
    rule = "{pref: 1, protocol: ip, matchall: {}, police: {rate: 10mbit, burst: 10k}}"
    want = "a.yaml:1:59: unknown key 'police'; as in action: {police: {…}}"
    assert want in told(f"tc: {{lo: {{ingress: [{rule}]}}}}\n")


def test_word_of_another_tool_for_a_section() -> None:
    assert told("interfaces: {}\n")[0] == "a.yaml:1:1: unknown section 'interfaces'; it is 'links' here"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "links:\n  x: {kind: dummy, stp: true}\n",
            "2:20: unknown key 'stp' of a dummy; links of the kind bridge have it",
            id="one",
        ),
        pytest.param(
            "links:\n  x: {kind: dummy, local: 10.0.0.1}\n",
            "2:20: unknown key 'local' of a dummy; links of the kind vxlan, gre, gretap or others have it",
            id="many",
        ),
        pytest.param(
            "links:\n  swp1: {table: 3}\n",
            "2:10: unknown key 'table' of a link without a kind; links of the kind vrf have it",
            id="of_a_link_that_is_there",
        ),
    ],
)
def test_key_of_another_kind_is_told_with_that_kind(text: str, want: str) -> None:
    assert f"a.yaml:{want}" in told(text)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "routes: [default via 10.0.0.1 dev lo]\n",
            "1:10: expected a mapping like {to: default, via: 10.0.0.1, dev: lo}, not the text "
            "'default via 10.0.0.1 dev lo'",
            id="route",
        ),
        pytest.param(
            "rules: [from 10.0.0.0/8 table 10 priority 3]\n",
            "1:9: expected a mapping like {from: 10.0.0.0/8, lookup: 10, pref: 3}, not the text "
            "'from 10.0.0.0/8 table 10 priority 3'",
            id="rule_in_words_that_are_others_here",
        ),
    ],
)
def test_entry_as_ip_takes_it_is_told_as_it_is_written_here(text: str, want: str) -> None:
    assert f"a.yaml:{want}" in told(text)


def test_entry_that_cannot_be_read_is_told_with_the_keys_that_there_are() -> None:
    assert told("rules: [something else entirely]\n")[0].startswith("a.yaml:1:9: expected a mapping of family, pref, ")


def test_range_in_braces_is_told_with_its_brackets() -> None:
    want = "a.yaml:1:14: ',' is not part of the language of {…}; a range has brackets: [5,6]"
    assert told("links: {'swp{5,6}': {up: true}}\n") == [want]
