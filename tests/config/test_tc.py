# SPDX-License-Identifier: GPL-2.0-or-later
"""The section of traffic control: what it gives, and what is wrong with it."""

import pytest

from tests.config.reading import attrs, desired, keys, told


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


def test_filter_of_each_link_has_its_own_match_in_a_list_that_ranges_are_in() -> None:
    rule = "{pref: 1, u32: {match: ['{p}/f at [0-4/4]']}, action: drop}"
    found = desired(f"links: {{'swp[p=1-2]': {{}}}}\ntc: {{'swp[p=1-2]': {{ingress: {rule}}}}}\n")
    got = {key[0]: dict(key[4])["match"][0][:10] for key in keys(found, "filter")}  # type: ignore[arg-type,index]
    assert got == {"swp1": "0x00000001", "swp2": "0x00000002"}


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
        "2:49: action: expected at most 32 actions, not 33",
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
    *(
        pytest.param(
            f"tc:\n  lo: {{}}\n  block {number}: {{filters: {{pref: 1, matchall: {{}}}}}}\n",
            f"3:3: {said!r} is no block; its number is from 1 to 4294967295, as in block 7",
            id=f"block_{number}",
        )
        for number, said in (
            ("0", "block 0"),
            ("07", "block 07"),
            ("4294967296", "block 4294967296"),
            ("[08-11]", "block 08"),
            ("x", "block x"),
        )
    ),
    pytest.param(
        "tc:\n  lo: {ingress_block: 7, egress: [], ingress: {pref: 1, matchall: {}}}\n",
        "2:38: ingress is in a shared block, and has no filters of its own; write them under the block, or leave out",
        id="filters_of_a_hook_in_a_block",
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
    pytest.param(
        "tc:\n  lo: {qdiscs: {kind: htb, handle: '1:'}, classes: {id: '1:10', rate: 5}}\n",
        "2:52: this class needs 'classid'; such as \"1:10\"",
        id="class_without_a_name",
    ),
    pytest.param(
        "tc:\n  lo: {qdiscs: {kind: htb, handle: '1:', default: '2:10'}}\n",
        "2:51: default: expected the handle 2: of the qdisc beside it; a class of another qdisc cannot be it",
        id="default_class_of_another_qdisc",
    ),
]


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


def test_hook_in_a_block_is_named_without_filters_and_out_of_it_with_some() -> None:
    found = desired("tc: {lo: {ingress_block: 7, ingress: [], egress_block: null, egress: {pref: 1, matchall: {}}}}\n")
    assert keys(found, "filter") == [("lo", "egress", 0, 1, ())]


def test_filters_of_a_block_hang_on_it() -> None:
    found = desired("tc: {block 7: {filters: {pref: 1, matchall: {}}, chains: {chain: 67108863, atomic: true}}}\n")
    assert keys(found, "filter") == [("block 7", "", 0, 1, ())]
    assert keys(found, "chain") == [("block 7", "", 67108863)]


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
    ('{pref: 1, u32: {match: "[a=0-4095]/0xffff at 0"}}', "pref 1 of lo has more than 4,095 rules of u32"),
    (
        f'{_TABLE}, {{pref: 1, u32: {{table: 1, bucket: 2, match: "[a=0-4095]/0xffff at 0"}}}}',
        "bucket 2 of hash table 1 has more than 4,095 rules of u32",
    ),
    (f"{_TABLE}], chains: [{{parent: ingress, chain: 0, atomic: true}}", "a chain that is atomic has no hash tables"),
    (f"{_TABLE}], chains: [{{parent: ingress, atomic: true}}", "a chain that is atomic has no hash tables"),
]


@pytest.mark.parametrize(("rules", "want"), HASHED, ids=[row[1] for row in HASHED])
def test_mistake_about_hash_tables_is_told(rules: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{ingress: [{rules}]}}\n")
    assert any(f": {want}" in problem for problem in found), "\n".join(found)


def test_u32_has_room_for_as_many_rules_as_there_are_numbers() -> None:
    assert told('tc:\n  lo: {ingress: [{pref: 1, u32: {match: "[a=1-4095]/0xffff at 0"}}]}\n') == []


@pytest.mark.parametrize(("text", "want"), MISTAKES)
def test_mistake_is_told_with_its_place(text: str, want: str) -> None:
    assert any(problem.startswith(f"a.yaml:{want}") for problem in told(text)), "\n".join([want, *told(text)])
