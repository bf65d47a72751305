# SPDX-License-Identifier: GPL-2.0-or-later
"""The section of traffic control: what it gives, and what is wrong with it."""

import pytest

from netgroupd.config import Desired
from netgroupd.model.state import Attrs, Key
from tests.config.reading import desired, told


def keys(found: Desired, cls: str) -> list[Key]:
    """The keys of one class."""
    return list(found.state.of(cls))


def attrs(found: Desired, cls: str, *key: object) -> Attrs:
    """The attributes of one object."""
    return dict(found.state.of(cls)[key].attrs)  # type: ignore[index]


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param("10.0.0.[1-2]", {"10.0.0.1", "10.0.0.2"}, id="of_its_own_range"),
        pytest.param("10.0.{p}.1", {"10.0.1.1", "10.0.2.1"}, id="by_name"),
        pytest.param("10.0.{1}.[1-2]", {"10.0.1.1", "10.0.1.2", "10.0.2.1", "10.0.2.2"}, id="by_place"),
    ],
)
def test_filter_is_made_for_each_link_that_it_refers_to(value: str, want: set[str]) -> None:
    found = desired(
        f"""
links: {{'swp[p=1-2]': {{}}}}
tc:
  swp[p=1-2]: {{ingress: {{pref: 1, flower: {{dst_ip: "{value}"}}, action: drop}}}}
"""
    )
    rules = keys(found, "filter")
    assert {key[4] for key in rules} == {(("dst_ip", address),) for address in want}
    assert len(rules) == (len(want) if "{" in value else 2 * len(want))


def test_hooks_have_their_filters_and_are_owned() -> None:
    text = """
links:
  swp[1-2]: {}
tc:
  swp[1-2]:
    ingress:
    - {pref: 10, protocol: ip, flower: {dst_ip: "10.1.[0-1].[1-2]"}, action: drop}
    - {pref: 20, matchall: {}, action: {mirred: {egress: redirect, dev: swp2}}}
  block 7:
    chains: {chain: 0, atomic: true}
    ingress: {pref: 1, matchall: {}, action: pass}
"""
    found = desired(text)
    assert keys(found, "qdisc") == [("swp1", "clsact"), ("swp2", "clsact")]
    hook = {"kind": "clsact", "hooks": ("ingress",), "ingress_block": None}
    assert attrs(found, "qdisc", "swp1", "clsact") == hook
    filters = [key for key in keys(found, "filter") if key[0] == "swp2"]
    assert filters == [
        *(("swp2", "ingress", 0, 10, (("dst_ip", f"10.1.{net}.{host}"),)) for net in (0, 1) for host in (1, 2)),
        ("swp2", "ingress", 0, 20, ()),
    ]
    assert attrs(found, "filter", *filters[0]) == {
        "kind": "flower",
        "protocol": "ip",
        "actions": ({"kind": "gact", "control": "drop"},),
    }
    assert ("block 7", "", 0, 1, ()) in keys(found, "filter")
    assert keys(found, "chain") == [("block 7", "", 0)]


def test_actions_are_shared_by_kind_and_index() -> None:
    text = """
actions:
  police 7: {rate: 1mbit, burst: 10000, control: drop}
  "gact [1-2]": trap
tc:
  lo: {ingress: {pref: "[p=1-2]", matchall: {}, action: [police 7, "gact {p}"]}}
"""
    found = desired(text)
    assert attrs(found, "action", "police", 7) == {
        "actions": ({"kind": "police", "rate": 125000, "burst": 10000, "control": "drop"},)
    }
    assert attrs(found, "action", "gact", 2) == {"actions": ({"kind": "gact", "control": "trap"},)}
    assert attrs(found, "filter", "lo", "ingress", 0, 2, ())["actions"] == ({"kind": "police 7"}, {"kind": "gact 2"})


def test_qdiscs_and_their_classes() -> None:
    text = """
links:
  swp1: {}
tc:
  swp1:
    qdiscs: [{kind: htb, handle: "1:", default: 0x10}, {kind: fq_codel, parent: "1:10", limit: 100}]
    classes: {classid: "1:[10-11]", rate: 1000000}
    filters: {parent: "1:", pref: 1, protocol: ip, flower: {ip_proto: tcp}, classid: "1:10"}
"""
    found = desired(text)
    assert keys(found, "qdisc") == [("swp1", "root"), ("swp1", "1:10")]
    assert attrs(found, "tclass", "swp1", "1:11") == {"kind": "htb", "parent": "1:", "rate": 1000000}
    assert keys(found, "filter")[0][:4] == ("swp1", "1:", 0, 1)


MISTAKES = [
    pytest.param("tc:\n  lo: {ingres: []}\n", "2:8: unknown key 'ingres'; did you mean 'ingress'?", id="tc_key"),
    pytest.param(
        "tc:\n  swp9: {ingress: []}\n",
        "2:3: there is no link 'swp9', for qdisc swp9 clsact",
        id="tc_of_an_unknown_link",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, flower: {dst_ipp: 10.0.0.1}}}\n",
        "2:36: unknown key 'dst_ipp'; did you mean 'dst_ip'?",
        id="tc_match",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, flower: {dst_ip: 10.0.0.0/33}}}\n",
        "2:44: dst_ip: expected a prefix length from 0 to 32",
        id="tc_mask_too_long",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, flower: {dst_mac: '02:00:00:00:00:01/ff:ff'}}}\n",
        "2:45: dst_mac: expected a MAC address, with a mask",
        id="tc_mask_too_short",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, flower: {ip_tos: 0x10/0xffff}}}\n",
        "2:44: ip_tos: expected a number of 8 bits",
        id="tc_mask_too_wide",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, flower: {geneve_opts: '0102:80:00880022/ffff:ff:ffff'}}}\n",
        "2:49: geneve_opts: expected class:type:data",
        id="tc_mask_shorter_than_its_option",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, basic: {match: 'cmp(u8 at 9 layer net eq 6)'}}}\n",
        "2:42: match: expected the layer link, network, transport, not 'net'",
        id="layer_of_no_packet",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, basic: {match: '(meta(vlan eq 5) or u32(1/1 at 0)'}}}\n",
        "2:42: match: expected conditions like",
        id="parenthesis_that_is_not_closed",
    ),
    pytest.param(
        "tc:\n  lo: {chains: {parent: ingress, chain: 0, atomic: true, flower: {dst_ip: 10.0.0.1}}}\n",
        "2:66: a chain that is atomic has no template",
        id="template_of_an_atomic_chain",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, protocol: ip, flower: {src_port: 80}}}\n",
        "2:60: src_port: expected ip_proto tcp or udp or sctp beside it",
        id="tc_port_of_no_protocol",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, flower: {ip_proto: tcp, dst_port: 80}, action: drop}}\n",
        "2:46: ip_proto: expected protocol ip or ipv6 beside it, not all; the kernel would leave it out and match more",
        id="ip_proto_of_all_protocols",
    ),
    pytest.param(
        "tc:\n  lo: {chains: {parent: ingress, chain: 1, protocol: arp, flower: {ip_ttl: 0/0xff}}}\n",
        "2:76: ip_ttl: expected protocol ip or ipv6 beside it, not arp",
        id="ttl_of_a_template_for_arp",
    ),
    pytest.param(
        "tc:\n  lo:\n    ingress:\n"
        "      - {pref: 1, flower: {dst_ip: 10.0.0.1}, action: drop}\n"
        "      - {pref: 1, flower: {dst_ip: 10.0.0.1/32}, action: pass}\n",
        "5:9: filter lo ingress 1 dst_ip 10.0.0.1 was described differently; the other is at a.yaml:4",
        id="two_rules_with_one_identity",
    ),
    pytest.param(
        f"tc:\n  lo: {{ingress: {{pref: 1, matchall: {{}}, action: [{', '.join(['pass'] * 33)}]}}}}\n",
        "2:49: actions: expected at most 32 actions, not 33",
        id="action_chain_too_long",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: [{pref: 1, protocol: ip, matchall: {}}, {pref: 1, protocol: ip, flower: {arp_op: 1}}]}\n",
        "2:57: filter lo ingress 1 arp_op 1 is of the kind flower, and another of its pref is of matchall;"
        " the other is at a.yaml:2; give one of them another pref",
        id="two_kinds_with_one_preference",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: [{pref: 1, protocol: ip, flower: {}}, {pref: 1, protocol: arp, flower: {arp_op: 1}}]}\n",
        "2:55: filter lo ingress 1 arp_op 1 is of the protocol arp, and another of its pref is of ip",
        id="two_protocols_with_one_preference",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, matchall: {}, action: police 7}}\n",
        "2:49: there is no action 'police 7'; describe it under `actions`",
        id="shared_action_that_is_not_described",
    ),
    pytest.param(
        "actions:\n  police: {rate: 1mbit, burst: 10k}\n",
        "2:3: 'police' is no action that filters can share; a kind and an index, such as police 7",
        id="shared_action_without_an_index",
    ),
    pytest.param(
        "actions:\n  police 7: {rate: 1mbit, bursts: 10k}\n",
        "2:27: unknown key 'bursts'; did you mean 'burst'?",
        id="unknown_key_of_a_shared_action",
    ),
    pytest.param(
        "actions:\n  mirred 7: {egress: redirect, dev: swp9}\n",
        "2:13: there is no link 'swp9', for action mirred 7",
        id="shared_action_to_an_unknown_link",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, action: drop}}\n",
        "2:17: this filter does not say what it matches",
        id="filter_that_matches_nothing",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, matchall: {}, action: {mirred: {egress: redirect, dev: swp9}}}}\n",
        "2:49: there is no link 'swp9', for filter lo ingress 1",
        id="action_to_an_unknown_link",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, basic: {}, skip_hw: true}}\n",
        "2:47: basic has no skip_hw; it is of flower, matchall, u32, bpf",
        id="flag_of_another_classifier",
    ),
    pytest.param(
        "tc:\n  lo: {ingress: {pref: 1, flower: {}, direct_action: true}}\n",
        "2:54: flower has no direct_action; it is of bpf",
        id="verdict_of_no_program",
    ),
    pytest.param(
        "tc:\n  lo: {filters: {pref: 1, matchall: {}}}\n",
        "2:17: this filter needs 'parent'; a handle like 1: or 1:10, or ingress or egress",
        id="filter_that_hangs_on_nothing",
    ),
    pytest.param(
        "tc:\n  lo: {filters: {parent: root, pref: 1, matchall: {}}}\n",
        "2:26: no filters hang on root; a handle like 1:",
        id="filter_of_the_root",
    ),
    pytest.param(
        "tc:\n  lo: {chains: {parent: root, chain: 1, atomic: true}}\n",
        "2:25: no filters hang on root",
        id="chain_of_the_root",
    ),
    pytest.param(
        "tc:\n  lo: {chains: {parent: ingress, chain: 67108864, atomic: true}}\n",
        "2:41: a chain that is atomic has a number up to 67108863",
        id="atomic_chain_without_room_for_its_spare_ones",
    ),
    pytest.param(
        "tc:\n  lo: {qdiscs: {kind: fq_codel, rate: 5}}\n",
        "2:33: unknown key 'rate'",
        id="option_of_another_qdisc",
    ),
    pytest.param(
        "tc:\n  lo: {classes: {classid: '2:1', rate: 5}}\n",
        "2:17: no qdisc here has such a class; describe its qdisc with this handle, or say which `kind` it is",
        id="class_without_a_qdisc",
    ),
]


_RULE = "tc:\n  lo: {{ingress: {{pref: 1, {}}}}}\n"
_QDISC = "tc:\n  lo: {{qdiscs: {{{}}}}}\n"
_NAT = _RULE.format("matchall: {}, action: {nat: {direction: egress, %s}}")
_CT = _RULE.format("matchall: {}, action: {ct: {commit: true, nat_src: %s}}")


def test_class_finds_its_qdisc_however_the_handle_is_written() -> None:
    found = desired(
        """
tc:
  lo:
    qdiscs: {kind: htb, handle: "A:"}
    classes: [{classid: "0A:10", rate: 5}, {classid: "a:[11-12]", rate: 5}]
"""
    )
    assert {key[1]: obj.attrs["kind"] for key, obj in found.state.of("tclass").items()} == {
        "a:10": "htb",
        "a:11": "htb",
        "a:12": "htb",
    }


def test_prio_and_quantum_are_of_classes_with_none_below_them() -> None:
    said = "rate: 1mbit, prio: 3, quantum: 2000"
    found = desired(
        f"""
tc:
  lo:
    qdiscs: {{kind: htb, handle: "1:"}}
    classes: [{{classid: "1:1", {said}}}, {{parent: "1:1", classid: "1:[10-11]", {said}}}]
"""
    )
    of_both = {"kind": "htb", "rate": 125000}
    assert attrs(found, "tclass", "lo", "1:1") == {**of_both, "parent": "1:"}
    assert attrs(found, "tclass", "lo", "1:11") == {**of_both, "parent": "1:1", "prio": 3, "quantum": 2000}


def test_filters_of_a_block_hang_on_it() -> None:
    found = desired("tc: {block 7: {filters: {pref: 1, matchall: {}}, chains: {chain: 67108863, atomic: true}}}\n")
    assert keys(found, "filter") == [("block 7", "", 0, 1, ())]
    assert keys(found, "chain") == [("block 7", "", 67108863)]


# What could not be sent to the kernel at all.
IMPOSSIBLE = [
    (_QDISC.format("kind: prio, priomap: [0, 1]"), "2:38: priomap: expected 16 numbers, one for each priority, not 2"),
    (_QDISC.format("kind: mqprio, map: [0]"), "2:36: map: expected 16 numbers, one for each priority, not 1"),
    (
        _QDISC.format("kind: mqprio, num_tc: 2, queues: [1, 0]"),
        "2:50: queues: expected 4 numbers, count and offset of each of num_tc 2, not 2",
    ),
    (_QDISC.format("kind: fq_codel, target: 4294967295"), "2:41: target: expected a time such as 10ms"),
    (_RULE.format("matchall: {}, action: goto chain 268435456"), "2:49: actions: expected one of pass"),
    (_RULE.format("flow: {mode: hash}"), "2:33: flow: 'keys' is missing"),
    (_QDISC.format("kind: red, limit: 100k, probability: 0"), "2:54: probability: expected a percentage above 0"),
    (_RULE.format("fw: {}"), "2:31: fw: 'mark' is missing"),
    (_NAT % "old: '2001:db8::/64', new: 10.0.0.1", "2:49: actions: old: expected an IPv4 address"),
    (_NAT % "old: 10.0.0.1, new: '2001:db8::1'", "2:49: actions: new: expected an IPv4 address"),
    (_CT % "nonsense", "2:49: actions: nat_src: expected an IPv4 or IPv6 address"),
    (_CT % "10.0.0.1 port 99999", "2:49: actions: nat_src: expected an address"),
    (_CT % "10.0.0.1 port 90-80", "2:49: actions: nat_src: expected an address"),
    (_CT % "10.0.0.9-10.0.0.1", "2:49: actions: nat_src: expected an address"),
    (_CT % "'10.0.0.9-2001:db8::1'", "2:49: actions: nat_src: expected an address"),
]


@pytest.mark.parametrize(("text", "want"), IMPOSSIBLE, ids=[row[1] for row in IMPOSSIBLE])
def test_value_that_cannot_be_sent_is_told(text: str, want: str) -> None:
    found = told(text)
    assert len(found) == 1
    assert found[0].startswith(f"a.yaml:{want}"), found[0]


# Options of a qdisc, and what they are once it is there.
SETTLED: list[tuple[str, dict[str, object]]] = [
    ("kind: fq, quantum: 100", {"quantum": 256}),
    ("kind: fq, quantum: 2mb", {"quantum": 1 << 20}),
    ("kind: fq_codel, quantum: 100, drop_batch: 0", {"quantum": 256, "drop_batch": 1}),
    ("kind: fq_codel, memory_limit: 4294967295", {"memory_limit": 1 << 31}),
    ("kind: sfq, limit: 100, flows: 128", {"limit": 100, "flows": 100}),
    ("kind: sfq, flows: 200, divisor: 64, depth: 200", {"flows": 64, "divisor": 64, "depth": 127}),
    ("kind: sfq, limit: 50000, depth: 10", {"limit": 1280, "depth": 10}),
    ("kind: sfq, limit: 0, perturb: 0, quantum: 0", {"perturb": 0}),
    ("kind: red, adaptive: true, probability: 5, limit: 100k", {"adaptive": True, "limit": 102400}),
    ("kind: red, limit: 0, min: 0, ecn: false", {"ecn": False}),
    ("kind: tbf, rate: 1mbit, burst: 125, limit: 9, mtu: 0", {"rate": 125000, "burst": 125, "limit": 9}),
    ("kind: red, adaptive: false, probability: 5", {"adaptive": False, "probability": 5}),
]


@pytest.mark.parametrize(("said", "want"), SETTLED, ids=[row[0] for row in SETTLED])
def test_qdisc_is_what_the_kernel_makes_of_it(said: str, want: dict[str, object]) -> None:
    found = attrs(desired(_QDISC.format(said)), "qdisc", "lo", "root")
    assert {name: value for name, value in found.items() if name != "kind"} == want


INCOMPLETE = [
    ("qdiscs: {kind: tbf, rate: 1mbit, burst: 10k, limit: 10k, mtu: 2k}", "mtu: expected peakrate beside it"),
    ("qdiscs: {kind: tbf, rate: 1mbit, burst: 10k, limit: 9, peakrate: 2mbit}", "peakrate: expected mtu beside it"),
    ("qdiscs: {kind: htb, handle: '0:'}", "handle: expected a handle of a qdisc, from 1: to ffff:"),
    ("qdiscs: {kind: htb, handle: '1:1'}", "handle: expected a handle of a qdisc, from 1: to ffff:"),
    ("classes: {kind: hfsc, classid: '1:1', rt: 0}", "rt: expected a rate, or a list of a first rate"),
    ("qdiscs: {kind: tbf, rate: 1mbit, burst: 10k}", "this qdisc needs 'limit'"),
    ("qdiscs: {kind: tbf, limit: 10k}", "this qdisc needs 'burst' and 'rate'"),
    ("ingress: {pref: 1, matchall: {}, action: {police: {rate: 1mbit}}}", "rate: expected burst beside it"),
    ("ingress: {pref: 1, matchall: {}, action: {vlan: {do: pop, id: 5}}}", "id: vlan to pop takes none"),
    ("ingress: {pref: 1, matchall: {}, action: {vlan: {do: push_eth, id: 5}}}", "id: vlan to push_eth takes none"),
    ("ingress: {pref: 1, matchall: {}, action: {tunnel_key: {do: unset, ttl: 5}}}", "ttl: tunnel_key to unset takes"),
    ("ingress: {pref: 1, matchall: {}, action: {ct: {clear: true, zone: 5}}}", "zone: ct to clear takes none"),
    (
        "ingress: {pref: 1, matchall: {}, action: {mirred: {ingress: mirror, egress: mirror, dev: lo}}}",
        "expected either ingress or egress",
    ),
    ("ingress: {pref: 1, matchall: {}, action: {police: {overhead: 4}}}", "overhead: expected rate beside it"),
    ("ingress: {pref: 1, matchall: {}, action: {police: {burst: 10k}}}", "burst: expected rate beside it"),
    ("ingress: {pref: 1, matchall: {}, action: {police: {pkts_rate: 9}}}", "pkts_rate: expected pkts_burst beside it"),
]


@pytest.mark.parametrize(("said", "want"), INCOMPLETE, ids=[row[0] for row in INCOMPLETE])
def test_option_that_does_nothing_alone_is_told(said: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{{said}}}\n")
    assert len(found) == 1
    assert want in found[0]


def test_shared_policer_needs_its_burst() -> None:
    (found,) = told("actions: {police 7: {rate: 1mbit}}\n")
    assert "police 7: rate: expected burst beside it" in found


@pytest.mark.parametrize(("said", "want"), [("", 1), (", gap: 5", 5)])
def test_packets_overtake_without_a_gap_too(said: str, want: int) -> None:
    found = desired(f"tc: {{lo: {{qdiscs: {{kind: netem, delay: 10ms, reorder: 50{said}}}}}}}\n")
    assert attrs(found, "qdisc", "lo", "root")["gap"] == want


# What flower matches for which protocol, and what is wrong with that.
BESIDE = [
    ("ip", "ip_proto: tcp, dst_port: 80", ""),
    ("ip", "vlan_id: 5", "vlan_id: expected protocol 802.1q or 802.1ad beside it, not ip"),
    ("all", "vlan_id: 5, num_of_vlans: 1", ""),
    ("802.1ad", "vlan_id: 5", ""),
    ("802.1q", "vlan_id: 5, ip_tos: 8", "ip_tos: expected vlan_ethtype ip or ipv6 beside it"),
    (
        "802.1q",
        "vlan_id: 5, vlan_ethtype: arp, ip_tos: 8",
        "ip_tos: expected vlan_ethtype ip or ipv6 beside it, not arp",
    ),
    ("802.1q", "vlan_ethtype: ipv6, ip_tos: 8", ""),
    ("802.1ad", "cvlan_id: 5", "cvlan_id: expected vlan_ethtype 802.1q or 802.1ad beside it"),
    ("802.1ad", "vlan_ethtype: 802.1q, cvlan_id: 5, cvlan_ethtype: ip, ip_ttl: 1", ""),
    ("ip", "arp_op: 1", "arp_op: expected protocol arp or rarp beside it, not ip"),
    ("rarp", "arp_op: 3", ""),
    ("ip", "ip_proto: icmpv6, icmp_type: 1", "icmp_type: expected protocol ipv6 beside it, not ip"),
    ("ipv6", "ip_proto: icmpv6, icmp_type: 1", ""),
    ("all", "mpls_label: 5", "mpls_label: expected protocol mpls_uc or mpls_mc beside it, not all"),
    ("0x8847", "mpls_label: 5", ""),
    ("ip", "pppoe_sid: 5", "pppoe_sid: expected protocol ppp_ses beside it, not ip"),
    ("ppp_ses", "pppoe_sid: 5, ip_proto: tcp", "ip_proto: expected ppp_proto ip or ipv6 beside it"),
    ("ppp_ses", "ppp_proto: ip, ip_proto: tcp", ""),
    ("all", "dst_ip: 0.0.0.0/0", "dst_ip: expected protocol ip beside it"),
    ("ip", "dst_ip: '::/0'", "dst_ip: expected protocol ipv6 beside it"),
    ("ip", "enc_dst_ip: 0.0.0.0/0.0.0.0", "enc_dst_ip: expected fewer than all addresses"),
    ("all", "cfm: mdl 5", "cfm: expected protocol cfm beside it, not all"),
]


@pytest.mark.parametrize(("protocol", "match", "want"), BESIDE, ids=[f"{row[0]}: {row[1]}" for row in BESIDE])
def test_flower_key_is_for_a_protocol(protocol: str, match: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{ingress: {{pref: 1, protocol: {protocol}, flower: {{{match}}}}}}}\n")
    assert [problem.split(": ", 1)[1].partition(";")[0] for problem in found] == [want] * bool(want)


@pytest.mark.parametrize(
    ("protocol", "match", "want"),
    [
        ("ip", "flower: {dst_ip: 0.0.0.0/0}", {}),
        ("ipv6", "flower: {src_ip: '::/0', dst_ip: '::/0'}", {}),
        ("802.1q", "flower: {vlan_ethtype: ip, dst_ip: 0.0.0.0/0}", {"vlan_ethtype": "ip"}),
        ("all", "flower: {src_ip: 10.0.0.0/8, dst_ip: 0.0.0.0/0}", {"src_ip": "10.0.0.0/8"}),
        ("ip", "flower: {dst_ip: '0.0.0.0/[0-0]', ip_tos: 0x0/0x0}", {}),
        ("all", "flower: {dst_mac: '00:00:00:00:00:00/00:00:00:00:00:00', ct_mark: 0/0}", {}),
        ("all", "u32: {mark: 0/0}", {}),
        ("all", "flow: {keys: dst}", {"keys": ("dst",), "mode": "map"}),
        (
            "all",
            "flow: {keys: dst, mode: map, addend: 0, mask: 0xffffffff, xor: 0, rshift: 0, baseclass: '1:'}",
            {"keys": ("dst",), "mode": "map"},
        ),
        ("all", "flow: {keys: dst, baseclass: '1:5'}", {"keys": ("dst",), "mode": "map", "baseclass": "1:5"}),
    ],
)
def test_what_the_kernel_does_not_tell_is_not_matched(protocol: str, match: str, want: object) -> None:
    text = f"tc:\n  lo: {{ingress: {{pref: 1, protocol: {protocol}, {match}}}}}\n"
    ((*_, found),) = keys(desired(text), "filter")
    assert dict(found) == want  # type: ignore[arg-type]  # pairs, as filter.key makes


def test_rules_of_hash_tables_are_a_range() -> None:
    found = desired(
        """
links: {v0: {}}
tc:
  v0:
    ingress:
    - {pref: 10, protocol: ip, u32: {table: 1, divisor: 256}}
    - pref: 10
      protocol: ip
      u32: {table: 1, bucket: "[b=0-255]", match: {ip src: "10.0.0.{b}", udp dst: 53}}
      action: drop
    - pref: 10
      protocol: ip
      u32: {match: {ip protocol: 17}, link: 1, hashkey: 0xff at 12, offset: "mask 0xf00 at 0 shift 6"}
"""
    )
    rules = [dict(key[4]) for key in keys(found, "filter")]  # type: ignore[arg-type]  # pairs, as filter.key makes
    assert len(rules) == 258
    assert rules[7] == {
        "table": 1,
        "bucket": 6,
        "match": ("0x0a000006/0xffffffff at 12", "0x00000035/0x0000ffff at nexthdr+0"),
    }
    assert rules[-1]["hashkey"] == "0x000000ff at 12"
    assert rules[-1]["offset"] == "mask 0x0f00 at 0 shift 6"


_TABLE = "{pref: 1, u32: {table: 1, divisor: 16}}, {pref: 1, u32: {link: 1}}"
HASHED = [
    ("{pref: 1, u32: {table: 1, divisor: 17}}", "divisor: expected how many buckets: one of 1, 2, 4, 8"),
    ("{pref: 1, u32: {divisor: 16, link: 1}}", "divisor: expected table beside it and nothing else"),
    ("{pref: 1, u32: {bucket: 1}}", "bucket: expected table beside it"),
    ("{pref: 1, u32: {link: 1, hashkey: 0}}", "hashkey: expected a mask and where it is"),
    ("{pref: 1, u32: {link: 1, offset: shift}}", "offset: expected an offset like"),
    ("{pref: 1, u32: {table: 2, link: 2}}", "link: expected a table of a higher number"),
    ("{pref: 1, u32: {table: 1, divisor: 16}}", "no rule leads to hash table 1; one with link: 1 does"),
    ("{pref: 1, u32: {link: 3}}", "there is no hash table 3 of pref 1"),
    (f"{_TABLE}, {{pref: 2, u32: {{table: 1, divisor: 16}}}}", "hash table 1 of lo is described twice"),
    (f"{_TABLE}, {{pref: 1, u32: {{table: 1, bucket: 16}}}}", "bucket 16 is beyond hash table 1, which has 16"),
    (f"{_TABLE}, {{pref: 2, u32: {{table: 1, bucket: 1}}}}", "there is no hash table 1 of pref 2"),
    ("{pref: 1, u32: {table: 1, divisor: 16}, action: drop}", "hash table 1 has no action and no class"),
    (f"{_TABLE[:-1]}, action: drop}}", "a rule that leads to a hash table has no action and no class"),
    ("{pref: 1, u32: {}}], egress: [{pref: 1, u32: {}}", "u32 rules of pref 1 are in two chains or hooks of lo"),
    (f"{_TABLE}], chains: [{{parent: ingress, chain: 0, atomic: true}}", "a chain that is atomic has no hash tables"),
]


@pytest.mark.parametrize(("rules", "want"), HASHED, ids=[row[1] for row in HASHED])
def test_mistake_about_hash_tables_is_told(rules: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{ingress: [{rules}]}}\n")
    assert any(f": {want}" in problem for problem in found), "\n".join(found)


@pytest.mark.parametrize(("text", "want"), MISTAKES)
def test_mistake_is_told_with_its_place(text: str, want: str) -> None:
    assert any(problem.startswith(f"a.yaml:{want}") for problem in told(text)), "\n".join([want, *told(text)])
