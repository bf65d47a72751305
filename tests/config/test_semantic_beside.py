# SPDX-License-Identifier: GPL-2.0-or-later
"""What a link cannot have beside other things that it has is told at its line."""

import pytest

from tests.config.reading import told

_ENDS = "local: 192.0.2.1, remote: 192.0.2.2"
_KEYS = "ikey: 5, okey: 5"
CASES = [
    pytest.param("kind: bridge, group_fwd_mask: 1",
                 "38: group_fwd_mask: expected a whole number from 0 to 65535, without the bits 0x0007, "
                 "not the text '1'",
                 id="groups_that_no_bridge_forwards"),
    pytest.param("kind: bridge, stp: on, forward_delay: 100",
                 "31: 'it' speaks the spanning tree protocol (stp), and cannot have a forward_delay of 100; "
                 "at least 200, or stp off", id="spanning_tree_in_haste"),
    pytest.param("kind: bond, min_links: 2147483648",
                 "31: min_links: expected a whole number from 0 to 2147483647, not the text '2147483648'",
                 id="more_links_than_there_can_be"),
    pytest.param("kind: vxlan, id: 5, ageing: 0",
                 "36: ageing: expected a whole number from 1 to 4294967295, not the text '0'", id="no_time"),
    pytest.param("kind: vxlan, id: 5, vnifilter: on",
                 "28: 'it' cannot have 'vnifilter': it needs 'external: true'", id="filter_of_one_network"),
    pytest.param("kind: vxlan, external: on, gpe: on",
                 "35: 'it' cannot have 'gpe': it needs 'learning: false'", id="generic_protocols_and_learning"),
    pytest.param("kind: vxlan, id: 5, remote: 192.0.2.1, label: 5",
                 "47: 'it' cannot have 'label': that is for sending over IPv6; say by 'remote' where to",
                 id="flow_label_of_ipv4"),
    pytest.param("kind: geneve, id: 5, remote: '2001:db8::1', udpcsum: on",
                 "52: 'it' cannot have 'udpcsum': that is for sending over IPv4; say by 'remote' where to",
                 id="checksums_of_ipv4"),
    pytest.param("kind: geneve, external: on, id: 5",
                 "36: 'it' cannot have 'id': it is external, and packets say that", id="external_with_an_id"),
    pytest.param(f"kind: gre, {_ENDS}, ignore_df: on",
                 "56: 'it' cannot have 'ignore_df': it needs 'pmtudisc: false'", id="ignored_and_discovered"),
    pytest.param(f"kind: ipip, {_ENDS}, ttl: 64, pmtudisc: off",
                 "66: 'it' cannot have 'pmtudisc': with a ttl it discovers the MTU", id="ttl_without_discovery"),
    pytest.param("kind: gre, external: on, oseq: on",
                 "33: 'it' cannot have 'oseq': it is external, and packets say that", id="external_with_numbers"),
    pytest.param(f"kind: erspan, {_ENDS}",
                 "3: 'it' needs 'ikey' and 'okey': the session of ERSPAN", id="mirror_without_session"),
    pytest.param(f"kind: erspan, {_ENDS}, ikey: 1024, okey: 5",
                 "59: ikey 1024 of 'it' is no session of ERSPAN; at most 1023", id="session_too_large"),
    pytest.param(f"kind: erspan, {_ENDS}, {_KEYS}, erspan_hwid: 5",
                 "77: 'it' cannot have 'erspan_hwid': it is of version 1; that is of 'erspan_ver: 2'",
                 id="field_of_another_version"),
    pytest.param(f"kind: sit, {_ENDS}, 6rd_prefix: '2001:db8::', 6rd_prefixlen: 60",
                 "82: 6rd of 'it' would take 60 bits of the prefix, and 32 of IPv4; at most 64 together",
                 id="networks_too_small"),
    pytest.param(f"kind: sit, {_ENDS}, 6rd_prefix: '2001:db8::', 6rd_prefixlen: 16",
                 "56: 6rd_prefix 2001:db8:: of 'it' has bits behind its 6rd_prefixlen of 16", id="prefix_too_long"),
    pytest.param("kind: hsr, slave1: a, slave2: b, proto: prp, version: 1",
                 "53: 'it' cannot have 'version': it is a ring of PRP", id="version_of_prp"),
    pytest.param("kind: macvlan, link: a, macaddr: ['02:00:00:00:00:01']",
                 "32: 'it' cannot have 'macaddr': it lists senders in the mode source alone", id="senders"),
    pytest.param("kind: macsec, link: a, icvlen: 10",
                 "39: icvlen: expected 8, or a whole number from 12 to 16, not the text '10'", id="check_value"),
    pytest.param("kind: xfrm, external: on, if_id: 5",
                 "34: 'it' cannot have 'if_id': it is external, and packets say that", id="external_xfrm"),
]  # fmt: skip


@pytest.mark.parametrize(("attrs", "want"), CASES)
def test_what_a_link_cannot_have_beside_the_rest_is_told(attrs: str, want: str) -> None:
    got = told(f"links:\n  it: {{{attrs}}}\n", known=("a", "b"))
    assert got == [f"a.yaml:2:{want}"]


SHARED = [
    pytest.param("ipvlan", "mode: l2", "mode: l3s", "mode l3s and l2", id="layer"),
    pytest.param("ipvlan", "mode: l2", "up: on", "mode l3 and l2", id="layer_that_is_not_said"),
    pytest.param("ipvtap", "private: on", "private: off", "private False and True", id="private"),
    pytest.param("macvlan", "bclim: 5", "bclim: 6", "bclim 6 and 5", id="limit_of_broadcast"),
]


@pytest.mark.parametrize(("kind", "one", "other", "want"), SHARED)
def test_what_links_on_one_have_together_is_the_same(kind: str, one: str, other: str, want: str) -> None:
    text = f"links:\n  x: {{kind: {kind}, link: a, {one}}}\n  y: {{kind: {kind}, link: a, {other}}}\n"
    (got,) = told(text, known=("a",))
    assert got.endswith(f": 'y' and 'x' on 'a' have {want}; the kernel has one for all on that link")
    assert told(text.replace("link: a, " + other, "link: b, " + other), known=("a", "b")) == []


_IPV4, _IPV6 = "remote: 192.0.2.1", "remote: '2001:db8::1'"
OF_FAMILIES = [
    *((f"vxlan, {end}", "label: 5", 6) for end in (_IPV4, "local: 192.0.2.1", "ttl: 5")),
    *((f"vxlan, {end}", "label: 5", 0) for end in (_IPV6, "local: '2001:db8::1'")),
    *(("vxlan, " + _IPV4, attr, of) for attr, of in (("label: 0", 0), ("label_policy: inherit", 6))),
    ("vxlan, " + _IPV4, "label_policy: fixed", 0),
    ("vxlan, " + _IPV6, "label_policy: inherit", 0),
    *(("geneve, " + _IPV4, attr, 6) for attr in ("label: 5", "udp6zerocsumtx: on", "udp6zerocsumrx: off")),
    *(("geneve, " + _IPV6, attr, 0) for attr in ("label: 5", "udp6zerocsumtx: on", "udp6zerocsumrx: off")),
    *(("geneve, " + _IPV4, attr, 0) for attr in ("label: 0", "udp6zerocsumtx: off", "udp6zerocsumrx: on")),
    *((f"geneve, {end}", "udpcsum: on", of) for end, of in ((_IPV4, 0), (_IPV6, 4))),
    ("geneve, " + _IPV6, "udpcsum: off", 0),
]


@pytest.mark.parametrize(("kind", "attr", "of"), OF_FAMILIES)
def test_tunnel_has_what_is_of_the_ip_version_that_it_sends_by(kind: str, attr: str, of: int) -> None:
    field = attr.partition(":")[0]
    want = [f"'it' cannot have {field!r}: that is for sending over IPv{of}; say by 'remote' where to"] if of else []
    got = told(f"links:\n  it: {{kind: {kind}, id: 5, {attr}}}\n")
    assert [one.partition(": ")[2] for one in got] == want


@pytest.mark.parametrize(
    ("attrs", "fields"),
    [("id: 5", []), ("external: on", ["label"]), (f"id: 5, {_IPV4}", ["label"]), (f"id: 5, {_IPV6}", [])],
)
def test_what_a_tunnel_that_is_there_sends_by_is_known_where_the_file_says_it(attrs: str, fields: list[str]) -> None:
    got = told(f"links:\n  it: {{kind: vxlan, {attrs}, label: 5}}\n", known=("it",))
    assert [one.split("'")[3] for one in got] == fields


@pytest.mark.parametrize("attrs", ["vnifilter: on", "label: 5", "gpe: on", "macaddr: []"])
def test_what_is_not_said_of_a_link_that_is_there_is_left_to_the_kernel(attrs: str) -> None:
    kind = "macvlan, link: a" if "mac" in attrs else "vxlan, id: 5"
    assert told(f"links:\n  it: {{kind: {kind}, {attrs}}}\n", known=("a", "it")) == []


RULES = [
    pytest.param("{pref: 1, from: 10.0.0.0/8, tos: 32, lookup: 5}",
                 "36: a rule of IPv4 cannot select by a tos of 32; say 'dscp: 8'", id="large_tos"),
    pytest.param("{pref: 1, tos: 8, dscp: 2, lookup: 5}",
                 "27: this rule has tos and dscp, of which it can have one", id="tos_and_dscp"),
    pytest.param("{pref: 1, ipproto: 0, lookup: 5}",
                 "22: ipproto: expected one of icmp, igmp, tcp, udp, gre, esp, ah, icmpv6, l2tp, sctp, udplite, "
                 "or a number, not the text '0'", id="any_protocol"),
    pytest.param("{pref: 1, tos: 5, lookup: 5}",
                 "18: tos: expected a multiple of 4 from 0 to 252, not the text '5'", id="bits_of_ecn"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "want"), RULES)
def test_what_a_rule_cannot_select_by_is_told(rule: str, want: str) -> None:
    assert told(f"rules:\n- {rule}\n") == [f"a.yaml:2:{want}"]


def test_lock_of_what_is_not_there_is_told() -> None:
    got = told("routes:\n- {to: 10.0.0.0/8, via: 192.0.2.1, lock: [cwnd]}\n")
    assert got == ["a.yaml:2:42: the route to 10.0.0.0/8 has no 'cwnd' to lock; give it one"]
