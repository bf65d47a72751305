# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of traffic control: which need each other, and what the kernel makes of them."""

import gc

import pytest

from netgroupd.model.collector import uncollected
from tests.config.reading import attrs, desired, keys, told

_RULE = "tc:\n  lo: {{ingress: {{pref: 1, {}}}}}\n"
_QDISC = "tc:\n  lo: {{qdiscs: {{{}}}}}\n"
_NAT = _RULE.format("matchall: {}, action: {nat: {direction: egress, %s}}")
_CT = _RULE.format("matchall: {}, action: {ct: {commit: true, nat_src: %s}}")
_HELPED = _RULE.format("matchall: {}, action: {ct: {helper: %s}}")
# What could not be sent to the kernel at all.
IMPOSSIBLE = [
    (_QDISC.format("kind: prio, priomap: [0, 1]"), "2:38: priomap: expected 16 numbers, one for each priority, not 2"),
    (_QDISC.format("kind: mqprio, map: [0]"), "2:36: map: expected 16 numbers, one for each priority, not 1"),
    (
        _QDISC.format("kind: mqprio, num_tc: 2, queues: [1, 0]"),
        "2:50: queues: expected 4 numbers, count and offset of each of num_tc 2, not 2",
    ),
    (_QDISC.format("kind: netem, delay: 1.5"), "2:37: delay: expected a time such as 10ms, or a number of micro"),
    (_QDISC.format("kind: netem, delay: 4295s"), "2:37: delay: expected a time such as 10ms, or a number of m"),
    (_QDISC.format("kind: fq_codel, target: 4294967295"), "2:41: target: expected a time such as 10ms"),
    (_RULE.format("matchall: {}, action: goto chain 268435456"), "2:49: action: expected one of pass"),
    (_RULE.format("flow: {mode: hash}"), "2:33: flow: 'keys' is missing"),
    (_QDISC.format("kind: red, limit: 100k, probability: 0"), "2:54: probability: expected a percentage above 0"),
    (_RULE.format("fw: {}"), "2:31: fw: 'mark' is missing"),
    (
        _RULE.format("matchall: {}, action: {police: {rate: 1mbt, burst: 10k}}"),
        "2:65: rate: expected a rate such as 100mbit, or 1gbps for bytes, or a number of bytes per second, not the",
    ),
    (_RULE.format("matchall: {}, action: {pedit: {}}"), "2:57: pedit: 'munge' is missing"),
    (_NAT % "old: '2001:db8::/64', new: 10.0.0.1", "2:80: old: expected an IPv4 address"),
    (_NAT % "old: 10.0.0.1, new: '2001:db8::1'", "2:95: new: expected an IPv4 address"),
    (_CT % "nonsense", "2:78: nat_src: expected an IPv4 or IPv6 address"),
    (_CT % "10.0.0.1 port 99999", "2:78: nat_src: expected an address"),
    (_CT % "10.0.0.1 port 90-80", "2:78: nat_src: expected an address"),
    (_CT % "10.0.0.9-10.0.0.1", "2:78: nat_src: expected an address"),
    (_CT % "'10.0.0.9-2001:db8::1'", "2:78: nat_src: expected an address"),
    (
        _HELPED % "ftp",
        "2:63: helper: expected a family, a protocol and a name of up to 15 bytes, like ipv4-tcp",
    ),
    (_HELPED % "tcp-ftp", "2:63: helper: expected a family, a protocol and a name of up to 15 bytes"),
    (_HELPED % "inet-tcp-ftp", "2:63: helper: expected a family, a protocol and a name of up to 15 bytes"),
    (_HELPED % "ipv4-ftp-tcp", "2:63: helper: expected a family, a protocol and a name of up to 15 bytes"),
    (
        _HELPED % "ipv4-tcp-sixteenbyteslong",
        "2:63: helper: expected a family, a protocol and a name of up to 1",
    ),
    (_HELPED % "ipv4-tcp-ftp, clear: true", "2:63: helper: ct to clear takes none"),
]


@pytest.mark.parametrize(("text", "want"), IMPOSSIBLE, ids=[row[1] for row in IMPOSSIBLE])
def test_value_that_cannot_be_sent_is_told(text: str, want: str) -> None:
    found = told(text)
    assert len(found) == 1
    assert found[0].startswith(f"a.yaml:{want}"), found[0]


def test_too_many_actions_are_told_by_their_number_alone() -> None:
    many = ", ".join(["drop"] * 33)
    wanted = ["a.yaml:2:49: action: expected at most 32 actions, not 33"]
    assert told(_RULE.format(f"matchall: {{}}, action: [{many}]")) == wanted


@pytest.mark.parametrize("match", ["dst_pi: '10.0.[0-9].[0-99]'", "dst_ip: '10.0.[0-9].[0-99]/33'"])
def test_one_slip_in_a_long_range_leaves_nothing_for_the_collector(match: str) -> None:
    gc.collect()
    with uncollected():
        assert len(told(_RULE.format(f"flower: {{{match}}}"))) == 1
        assert gc.collect() < 1000


# Options of a qdisc, and what they are once it is there.
SETTLED: list[tuple[str, dict[str, object]]] = [
    ("kind: fq, quantum: 100", {"quantum": 256}),
    ("kind: fq, quantum: 2mb", {"quantum": 1 << 20}),
    ("kind: fq_codel, quantum: 100, drop_batch: 0", {"quantum": 256, "drop_batch": 1}),
    ("kind: fq_codel, memory_limit: 4294967295", {"memory_limit": 1 << 31}),
    ("kind: cake, rtt: 20ms", {"rtt": 20000, "target": 1000}),
    ("kind: cake, rtt: 0, bandwidth: 20mbit", {"rtt": 1, "target": 1, "bandwidth": 2_500_000}),
    ("kind: cake, rtt: 20ms, target: 3ms, ack_filter: on", {"rtt": 20000, "target": 3000, "ack_filter": "on"}),
    ("kind: cake, overhead: null, nat: on", {"overhead": None, "nat": True}),
    ("kind: codel, target: 6ms", {"target": 6000}),
    ("kind: ets, bands: 3", {"bands": 3, "strict": 0, "priomap": (2,) * 16}),
    (
        "kind: ets, strict: 1, quanta: [3000, 1, 9mb], priomap: [3" + ", 0" * 15 + "]",
        {"bands": 4, "strict": 1, "quanta": (3000, 256, 1 << 20), "priomap": (3, *(0,) * 15)},
    ),
    ("kind: sfq, limit: 100, flows: 128", {"limit": 100, "flows": 100}),
    ("kind: sfq, flows: 200, divisor: 64, depth: 200", {"flows": 64, "divisor": 64, "depth": 127}),
    ("kind: sfq, limit: 50000, depth: 10", {"limit": 1280, "depth": 10}),
    ("kind: sfq, limit: 0, perturb: 0, quantum: 0", {"perturb": 0}),
    ("kind: red, adaptive: true, probability: 5, limit: 100k", {"adaptive": True, "limit": 102400}),
    ("kind: red, limit: 0, min: 0, ecn: false", {"ecn": False}),
    ("kind: tbf, rate: 1mbit, burst: 125, limit: 9, mtu: 0", {"rate": 125000, "burst": 125, "limit": 9}),
    ("kind: red, adaptive: false, probability: 5", {"adaptive": False, "probability": 5}),
    ("kind: red, probability: 5", {"adaptive": False, "probability": 5}),
    ("kind: tbf, rate: 8, burst: 1, limit: 9, peakrate: 0", {"rate": 8, "burst": 1, "limit": 9, "peakrate": None}),
    ("kind: netem, delay: 9s, jitter: 3s", {"delay": 9_000_000, "jitter": "2147483647ns"}),
    ("kind: netem, delay: 1.5us, jitter: 63ns", {"delay": "1500ns", "jitter": "63ns"}),
    ("kind: netem, delay: '7', jitter: 1000 ns", {"delay": 7, "jitter": 1}),
    ("kind: prio, bands: 2, priomap: [" + "1, " * 16 + "]", {"bands": 2, "priomap": (1,) * 16}),
    ("kind: sfq, divisor: 65536", {"divisor": 65536}),
    (
        "kind: mqprio, num_tc: 2, hw: true, mode: channel, shaper: bw_rlimit, max_rate: [0, 1mbit], fp: [E, P]",
        {
            "num_tc": 2,
            "hw": True,
            "mode": "channel",
            "shaper": "bw_rlimit",
            "max_rate": (0, 125000),
            "fp": ("express", "preemptible"),
        },
    ),
]


@pytest.mark.parametrize(("said", "want"), SETTLED, ids=[row[0] for row in SETTLED])
def test_qdisc_is_what_the_kernel_makes_of_it(said: str, want: dict[str, object]) -> None:
    found = attrs(desired(_QDISC.format(said)), "qdisc", "lo", "root")
    assert {name: value for name, value in found.items() if name != "kind"} == want


INCOMPLETE = [
    ("qdiscs: {kind: cbs, idleslope: 5, sendslope: -5, hicredit: 1}", "this qdisc needs 'locredit'"),
    (
        "qdiscs: {kind: cbs, idleslope: 5, sendslope: 5, hicredit: 1, locredit: -1}",
        "sendslope: expected a whole number from -2147483648 to 0",
    ),
    ("qdiscs: {kind: etf, delta: 3s}", "delta: expected a time such as 10ms, or a number of nanoseconds"),
    ("qdiscs: {kind: ets}", "bands: expected it, or strict, or quanta"),
    ("qdiscs: {kind: ets, bands: 3, strict: 4}", "strict: expected at most 3, which is bands, not 4"),
    ("qdiscs: {kind: ets, strict: 15, quanta: [1k, 1k]}", "quanta: expected at most 16 bands, not 17 with those that"),
    ("qdiscs: {kind: ets, bands: 3, quanta: [1k]}", "quanta: expected 3 sizes, one for each of 3 bands that is not"),
    (f"qdiscs: {{kind: ets, bands: 3, priomap: {[3] * 16}}}", "priomap: expected none above 2 of 3 bands, not 3"),
    ("qdiscs: {kind: tbf, rate: 1mbit, burst: 10k, limit: 10k, mtu: 2k}", "mtu: expected peakrate beside it"),
    ("qdiscs: {kind: tbf, rate: 1mbit, burst: 10k, limit: 9, peakrate: 2mbit}", "peakrate: expected mtu beside it"),
    ("qdiscs: {kind: htb, handle: '0:'}", "handle: expected a handle of a qdisc, from 1: to ffff:"),
    ("qdiscs: {kind: htb, handle: '1:1'}", "handle: expected a handle of a qdisc, from 1: to ffff:"),
    ("classes: {kind: hfsc, classid: '1:1', rt: 0}", "rt: expected a rate, or a list of a first rate"),
    ("classes: {kind: htb, classid: '1:1', ceil: 1mbit}", "rate: expected one above 0"),
    ("classes: {kind: drr, classid: '1:1', quantum: 0}", "quantum: expected a size"),
    ("classes: {kind: htb, classid: '1:1', rate: 0}", "rate: expected one above 0"),
    ("classes: {kind: htb, classid: '1:1', rate: 1mbit, ceil: 0}", "ceil: expected one above 0; where it is not said"),
    ("classes: {kind: htb, classid: '1:1', rate: 1mbit, quantum: 0}", "quantum: expected a size"),
    ("qdiscs: {kind: prio, bands: 2}", "priomap: expected none above 1 of 2 bands, not 2; the usual one has band 2"),
    (
        f"qdiscs: {{kind: prio, priomap: [{'3, ' * 16}]}}",
        "priomap: expected none above 2 of 3 bands, not 3; the bands are counted from 0",
    ),
    ("qdiscs: {kind: mqprio, mode: channel}", "mode: expected hw: true beside it; only hardware has one"),
    ("qdiscs: {kind: mqprio, hw: false, fp: E}", "fp: expected hw: true beside it; only hardware has one"),
    ("qdiscs: {kind: mqprio, hw: true, mode: channels}", "mode: expected one of dcb, channel"),
    ("qdiscs: {kind: mqprio, hw: true, shaper: bw_rlimit}", "shaper: expected mode: channel beside bw_rlimit"),
    (
        "qdiscs: {kind: mqprio, hw: true, mode: channel, min_rate: 1mbit}",
        "min_rate: expected shaper: bw_rlimit beside it",
    ),
    (
        "qdiscs: {kind: mqprio, hw: true, mode: channel, shaper: bw_rlimit, max_rate: [1mbit, 2mbit]}",
        "max_rate: expected 1, one for each of num_tc 1, not 2",
    ),
    (
        "qdiscs: {kind: mqprio, hw: true, num_tc: 3, fp: [E, P]}",
        "fp: expected 3, one for each of num_tc 3, not 2",
    ),
    ("qdiscs: {kind: mqprio, hw: true, fp: [F]}", "fp: expected one of express, preemptible, e, p"),
    ("qdiscs: {kind: fq, buckets_log: 19}", "buckets_log: expected a whole number from 1 to 18"),
    ("qdiscs: {kind: fq, initial_quantum: 3gb}", "initial_quantum: expected a size"),
    ("qdiscs: {kind: fq_codel, flows: 0}", "flows: expected a whole number from 1 to 65536"),
    ("qdiscs: {kind: sfq, divisor: 100}", "divisor: expected a power of 2 up to 65536"),
    ("qdiscs: {kind: sfq, divisor: 131072}", "divisor: expected a power of 2 up to 65536"),
    ("qdiscs: {kind: red, limit: 100k, min: 30k}", "min: expected at most 25600, which is max"),
    ("qdiscs: {kind: red, limit: 100k, min: 30k, max: 20k}", "min: expected at most 20480, which is max"),
    ("qdiscs: {kind: tbf, rate: 1gbit, burst: 1, limit: 9}", "burst: expected at least 8; with less nothing is"),
    (
        "qdiscs: {kind: tbf, rate: 1mbit, burst: 9k, limit: 9, peakrate: 1mbit, mtu: 2k}",
        "peakrate: expected more than the rate",
    ),
    ("classes: {kind: hfsc, classid: '1:1', ul: 1mbit}", "ls: expected it or rt"),
    (
        "ingress: {pref: 1, matchall: {}, action: {ct: {commit: true, nat_src: 10.0.0.1, nat_dst: 10.0.0.2}}}",
        "expected either nat_src or nat_dst",
    ),
    (
        "ingress: {pref: 1, protocol: ip, flower: {dst_ip: '2001:db8::1'}}",
        "dst_ip: expected protocol ipv6 beside it, not ip",
    ),
    (
        "ingress: {pref: 1, protocol: 802.1q, flower: {vlan_ethtype: ipv6, src_ip: 10.0.0.1}}",
        "src_ip: expected vlan_ethtype ip beside it, not ipv6",
    ),
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
    ("ingress: {pref: 1, matchall: {}, action: {vlan: {do: push}}}", "id: vlan to push needs one"),
    ("ingress: {pref: 1, matchall: {}, action: {vlan: {do: modify, priority: 3}}}", "id: vlan to modify needs one"),
    ("ingress: {pref: 1, matchall: {}, action: {vlan: {do: push, id: 4095}}}", "id: expected a whole number from 0 to"),
    ("ingress: {pref: 1, matchall: {}, action: {vlan: {do: push_eth}}}", "dst_mac: vlan to push_eth needs one"),
    ("ingress: {pref: 1, matchall: {}, action: skbedit}", "nothing is to change; it can be priority, queue_mapping"),
    (
        "ingress: {pref: 1, matchall: {}, action: {skbedit: {inheritdsfield: false}}}",
        "nothing is to change; it can be priority, queue_mapping",
    ),
    ("ingress: {pref: 1, matchall: {}, action: {police: {rate: 0, burst: 0}}}", "burst: expected rate beside it"),
    ("ingress: {pref: 1, bpf: {bytecode: '2,6 0 0 0'}}", "bytecode: expected instructions as `tcpdump -ddd`"),
    ("ingress: {pref: 1, bpf: {bytecode: '1,65536 0 0 0'}}", "of numbers up to 65535, 255, 255, 4294967295"),
    ("ingress: {pref: 1, flow: {keys: []}}", "keys: expected one at least"),
    ("ingress: {pref: 1, flow: {keys: dst, perturb: 10}}", "perturb: expected mode hash beside it"),
    ("ingress: {pref: 1, flow: {keys: [src, dst]}}", "mode: expected hash beside several keys"),
    ("ingress: {pref: 1, flower: {ct_state: +trk-trk}}", "each once, not 'trk' again"),
    ("ingress: {pref: 1, matchall: {}, skip_hw: true, skip_sw: true}", "in hardware alone cannot skip it"),
    ("ingress: {pref: 1, fw: {mark: 0}}", "mark: expected one above 0 before the mask"),
    ("ingress: {pref: 1, fw: {mark: 0/0xff}}", "mark: expected one above 0 before the mask"),
    (
        "ingress: [{pref: 1, fw: {mark: 5/0xff}, action: drop}, {pref: 1, fw: {mark: 6/0xf}, action: drop}]",
        "filter lo ingress 1 mark 0x6/0xf is of the mask 0xf, and another of its pref is of 0xff",
    ),
    ("ingress: {pref: 1, matchall: {}, action: {police: {pkts_rate: 9}}}", "pkts_rate: expected pkts_burst beside it"),
    ("qdiscs: {kind: netem, loss_state: [1, 2]}", "loss_state: expected 5 percentages: p13, p31, p32, p14 and p23"),
    ("qdiscs: {kind: netem, slot_packets: 5}", "slot_packets: expected slot beside it"),
    ("qdiscs: {kind: netem, slot: [2ms, 1ms]}", "slot: expected a second time that is above 0 and not below"),
    (
        "qdiscs: {kind: red, limit: 100k, burst: 400, ewma: 5}",
        "ewma: expected none beside burst, which it follows from",
    ),
    ("qdiscs: {kind: red, limit: 400mb, burst: 99999}", "burst: expected another value; no average of 32 bits comes"),
    ("qdiscs: {kind: sfq, probability: 5}", "probability: expected min and max beside it, both above 0, min at most"),
    ("qdiscs: {kind: red, limit: 100k, nodrop: true}", "nodrop: expected ecn beside it; what is not dropped is marked"),
]

# Actions that the kernel refuses, or takes part of.
_PUSH = "mpls: {do: push, label: 5"
ACTIONS = [
    ("tunnel_key: {do: set, id: 5}", "src_ip: tunnel_key to set needs one"),
    ("tunnel_key: {do: set, src_ip: 10.0.0.1}", "dst_ip: tunnel_key to set needs one"),
    ("tunnel_key: {do: set, src_ip: 10.0.0.1, dst_ip: '::1'}", "src_ip: expected an address of the family of dst_ip"),
    (
        "tunnel_key: {do: set, src_ip: 10.0.0.1, dst_ip: 10.0.0.2, vxlan_opts: 5, geneve_opts: '0102:80:00880022'}",
        "vxlan_opts: expected none beside geneve_opts; no tunnel has both",
    ),
    ("mpls: {do: push}", "label: mpls to push needs one"),
    ("mpls: {do: pop, protocol: ip, label: 5}", "label: mpls to pop takes none"),
    ("mpls: {do: dec_ttl, label: 5}", "label: mpls to dec_ttl takes none"),
    ("mpls: {do: pop}", "protocol: mpls to pop needs one"),
    ("mpls: {do: pop, protocol: all}", "protocol: expected what is below the label, such as ip, not all"),
    (_PUSH + ", protocol: ip}", "protocol: expected mpls_uc or mpls_mc for mpls to push, not ip"),
    ("mpls: {do: modify, label: 3}", "label: expected a label that a packet can have, which 3 is not"),
    ("vlan: {do: push, id: 5, protocol: ip}", "protocol: expected 802.1q or 802.1ad for vlan to push, not ip"),
    ("skbedit: {queue_mapping: 3, queue_mapping_max: 2}", "queue_mapping_max: expected a queue_mapping beside it that"),
    ("skbedit: {queue_mapping_max: 2}", "queue_mapping_max: expected a queue_mapping beside it"),
    ("police: {rate: 1mbit, burst: 9k, pkts_rate: 5, pkts_burst: 5}", "pkts_rate: expected none beside rate"),
    ("police: {rate: 1mbit, burst: 9k, conform: goto chain 5}", "conform: expected none that goes to a chain"),
    ("pedit: {munge: []}", "munge: expected 1 to 255 words, not 0"),
]


@pytest.mark.parametrize(("said", "want"), ACTIONS, ids=[row[0] for row in ACTIONS])
def test_action_that_the_kernel_does_not_take_is_told(said: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{egress: {{pref: 1, matchall: {{}}, action: {{{said}}}}}}}\n")
    assert len(found) == 1
    assert f": {want}" in found[0]
    assert "actions" not in found[0]


@pytest.mark.parametrize(("said", "want"), INCOMPLETE, ids=[row[0] for row in INCOMPLETE])
def test_option_that_does_nothing_alone_is_told(said: str, want: str) -> None:
    found = told(f"tc:\n  lo: {{{said}}}\n")
    assert len(found) == 1
    assert want in found[0]


def test_shared_policer_needs_its_burst() -> None:
    (found,) = told("actions: {police 7: {rate: 1mbit}}\n")
    assert "police 7: rate: expected burst beside it" in found


def test_bytecode_is_what_the_kernel_will_tell() -> None:
    found = desired("tc: {lo: {ingress: {pref: 1, bpf: {bytecode: '01,006 0 00 0'}}}}\n")
    assert [key[4] for key in keys(found, "filter")] == [(("bytecode", "1,6 0 0 0"),)]


@pytest.mark.parametrize(("said", "want"), [("", 1), (", gap: 5", 5)])
def test_packets_overtake_without_a_gap_too(said: str, want: int) -> None:
    found = desired(f"tc: {{lo: {{qdiscs: {{kind: netem, delay: 10ms, reorder: 50{said}}}}}}}\n")
    assert attrs(found, "qdisc", "lo", "root")["gap"] == want


WRITTEN = [
    ("flower: {dst_ip: 10.1.0.1/255.0.255}", "dst_ip: expected a mask behind the slash like 255.255.0.0, or a length"),
    ("flower: {dst_ip: '10.1.0.1/ffff::'}", "dst_ip: expected a mask behind the slash like 255.255.0.0, or a length"),
    (
        "flower: {dst_ip: 10.1.0.1/24}",
        "dst_ip: expected 10.1.0.0/24 or 10.1.0.1: 10.1.0.1/24 has bits that the mask leaves out",
    ),
    ("u32: {match: {ip protocol: tcpp}}", "match: expected a number up to 255 for ip protocol, not 'tcpp'"),
    ("u32: {match: {ip sport: -5}}", "match: expected a number up to 65535 for ip sport, not '-5'"),
]


@pytest.mark.parametrize(("said", "want"), WRITTEN, ids=[row[0] for row in WRITTEN])
def test_value_that_is_not_right_is_told_with_one_that_is(said: str, want: str) -> None:
    found = told(_RULE.format(said))
    assert [problem.split(": ", 1)[1].startswith(want) for problem in found] == [True], "\n".join(found)


def test_protocol_of_u32_has_a_name() -> None:
    by_name, by_number = (desired(_RULE.format(f"u32: {{match: {{ip protocol: {said}}}}}")) for said in ("tcp", 6))
    assert keys(by_name, "filter") == keys(by_number, "filter")


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
    ("ip", "dst_ip: '::/0'", "dst_ip: expected protocol ipv6 beside it, not ip"),
    ("ip", "enc_dst_ip: 0.0.0.0/0.0.0.0", "enc_dst_ip: expected fewer than all addresses"),
    ("all", "cfm: mdl 5", "cfm: expected protocol cfm beside it, not all"),
    ("all", "src_ip: 10.0.0.1, dst_ip: '2001:db8::1'", "dst_ip: expected an address of the family of src_ip"),
    ("all", "enc_src_ip: 10.0.0.1, enc_dst_ip: '::1'", "enc_dst_ip: expected an address of the family of enc_src_ip"),
    ("all", "src_ip: 10.0.0.1, enc_dst_ip: '2001:db8::1'", ""),
    ("all", "vxlan_opts: 5, geneve_opts: '0102:80:00880022'", "vxlan_opts: expected none beside geneve_opts"),
    ("ip", "ct_state: +new", "ct_state: expected +trk beside others that are set"),
    ("ip", "ct_state: +trk+new+est", "ct_state: expected no +est beside +new"),
    ("ip", "ct_state: +trk+inv+rpl", "ct_state: expected +trk alone beside +inv"),
    ("ip", "ct_state: +trk-new", ""),
    ("ip", "ct_state: -trk", ""),
    ("mpls_uc", "mpls_label: 5, mpls_lse: depth 2 label 5", "mpls_label: expected none beside mpls_lse"),
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
