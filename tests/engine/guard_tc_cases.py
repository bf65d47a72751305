# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic control on the link of a session, and whether it surely loses the packets of that."""

from netgroupd.engine.session import Session

PEER, LOCAL = "10.9.0.7", "10.0.0.5"
SESSION = Session(PEER, LOCAL, 40000, 22)


def hook(rules: str, part: str = "ingress", where: str = "eth1") -> str:
    return f"tc: {{{where}: {{{part}: [{rules}]}}}}"


FROM_PEER, TO_PEER = f"src_ip: {PEER}", f"dst_ip: {PEER}"
DROP_ALL = "{pref: 90, matchall: {}, action: drop}"
OF_SESSION = [  # what was there, what comes, whether it cuts
    ("drop_of_all", "", DROP_ALL, True),
    ("pass_of_all", "", "{pref: 90, matchall: {}}", False),
    ("its_peer", "", f"{{pref: 9, protocol: ip, flower: {{{FROM_PEER}}}, action: drop}}", True),
    ("its_peers_network", "", "{pref: 9, protocol: ip, flower: {src_ip: 10.9.0.0/16}, action: drop}", True),
    ("another_peer", "", "{pref: 9, protocol: ip, flower: {src_ip: 10.9.0.8}, action: drop}", False),
    ("another_network", "", "{pref: 9, protocol: ip, flower: {src_ip: 10.8.0.0/16}, action: drop}", False),
    ("own_address", "", f"{{pref: 9, protocol: ip, flower: {{dst_ip: {LOCAL}}}, action: drop}}", True),
    ("the_other_direction", "", f"{{pref: 9, protocol: ip, flower: {{{TO_PEER}}}, action: drop}}", False),
    ("another_protocol", "", "{pref: 9, protocol: ipv6, flower: {}, action: drop}", False),
    ("any_of_ip", "", "{pref: 9, protocol: ip, flower: {src_ip: 0.0.0.0/0}, action: drop}", True),
    ("any_of_ipv6", "", "{pref: 9, protocol: ipv6, flower: {src_ip: '::/0'}, action: drop}", False),
    ("arp", "", "{pref: 9, protocol: arp, flower: {}, action: drop}", True),
    ("requests_of_arp", "", "{pref: 9, protocol: arp, flower: {arp_op: 1}, action: drop}", True),
    ("tcp", "", "{pref: 9, protocol: ip, flower: {ip_proto: tcp}, action: drop}", True),
    ("udp", "", "{pref: 9, protocol: ip, flower: {ip_proto: udp}, action: drop}", False),
    ("its_port", "", "{pref: 9, protocol: ip, flower: {ip_proto: tcp, dst_port: 22}, action: drop}", True),
    ("its_ports", "", "{pref: 9, protocol: ip, flower: {ip_proto: tcp, dst_port: 20-30}, action: drop}", True),
    ("a_mask_of_ports", "", "{pref: 9, protocol: ip, flower: {ip_proto: tcp, dst_port: 0/0xff00}, action: drop}", True),
    ("another_port", "", "{pref: 9, protocol: ip, flower: {ip_proto: tcp, dst_port: 80}, action: drop}", False),
    ("the_first_of_tcp", "", "{pref: 9, protocol: ip, flower: {ip_proto: tcp, tcp_flags: 2/2}, action: drop}", False),
    ("the_link_it_came_by", "", "{pref: 9, flower: {indev: eth1}, action: drop}", True),
    ("another_link", "", "{pref: 9, flower: {indev: eth2}, action: drop}", False),
    ("with_a_tag", "", "{pref: 9, protocol: 802.1q, flower: {}, action: drop}", False),
    ("u32_of_all", "", "{pref: 9, protocol: ip, u32: {}, action: drop}", True),
    ("u32_of_its_peer", "", f"{{pref: 9, protocol: ip, u32: {{match: {{ip src: {PEER}}}}}, action: drop}}", True),
    ("u32_of_another", "", "{pref: 9, protocol: ip, u32: {match: {ip src: 10.9.0.8}}, action: drop}", False),
    ("u32_of_its_port", "", "{pref: 9, protocol: ip, u32: {match: {ip dport: 22}}, action: drop}", True),
    ("u32_of_its_version", "", "{pref: 9, protocol: ip, u32: {match: 0x40000000/0xf0000000 at 0}, action: drop}", True),
    ("u32_of_another_version", "", "{pref: 9, u32: {match: 0x60000000/0xf0000000 at 0}, action: drop}", False),
    ("u32_of_tos", "", "{pref: 9, protocol: ip, u32: {match: {ip tos: 16}}, action: drop}", False),
    ("u32_of_the_next", "", "{pref: 9, protocol: ip, u32: {match: {tcp dst: 22}}, action: drop}", False),
    ("a_mark", "", "{pref: 9, fw: {mark: 7}, action: drop}", False),
    ("basic_of_all", "", "{pref: 9, basic: {}, action: drop}", True),
    ("basic_of_some", "", "{pref: 9, basic: {match: 'cmp(u8 at 9 layer network eq 17)'}, action: drop}", False),
    ("passed_by_the_usual_tos", "", f"{{pref: 9, flower: {{}}, protocol: arp}}, "
     f"{{pref: 10, protocol: ip, flower: {{ip_tos: 0}}}}, {DROP_ALL}", False),
    ("passed_before", "", f"{{pref: 9, matchall: {{}}, action: pass}}, {DROP_ALL}", False),
    ("passed_behind", "", f"{DROP_ALL}, {{pref: 99, matchall: {{}}, action: pass}}", True),
    ("dropped_already", DROP_ALL, f"{{pref: 9, protocol: ip, flower: {{{FROM_PEER}}}, action: drop}}", False),
    ("passed_by_what_goes", f"{{pref: 9, matchall: {{}}, action: pass}}, {DROP_ALL}", DROP_ALL, True),
    ("of_what_changes", "{pref: 90, matchall: {}, action: pass}", DROP_ALL, True),
    ("passed_by_its_port", "", f"{{pref: 9, flower: {{}}, protocol: arp}}, {{pref: 10, protocol: ip, flower: "
     f"{{ip_proto: tcp, dst_port: 22}}, action: pass}}, {DROP_ALL}", False),
    ("passed_by_its_state", "", f"{{pref: 9, flower: {{}}, protocol: arp}}, {{pref: 10, protocol: ip, flower: "
     f"{{ct_state: +trk+est}}, action: pass}}, {DROP_ALL}", False),
    ("of_one_preference", "", f"{{pref: 9, protocol: ip, flower: {{{FROM_PEER}}}, action: drop}}, "
     f"{{pref: 9, protocol: ip, flower: {{dst_ip: {LOCAL}}}}}", False),
    ("chain_that_drops", "", "{pref: 9, matchall: {}, action: goto chain 5}, "
     "{chain: 5, pref: 1, matchall: {}, action: drop}", True),
    ("chain_that_does_not", "", "{pref: 9, matchall: {}, action: goto chain 5}, "
     f"{{chain: 5, pref: 1, protocol: ip, flower: {{{TO_PEER}}}, action: drop}}", False),
    ("chain_that_goes_round", "", "{pref: 9, matchall: {}, action: goto chain 5}, "
     "{chain: 5, pref: 1, matchall: {}, action: goto chain 5}", True),
    ("continue", "", f"{{pref: 9, matchall: {{}}, action: continue}}, {DROP_ALL}", True),
    ("continue_to_the_end", "", "{pref: 9, matchall: {}, action: continue}", False),
    ("reclassify", "", "{pref: 9, matchall: {}, action: reclassify}", True),
    ("pipe_to_drop", "", "{pref: 9, matchall: {}, action: [{skbedit: {mark: 7}}, drop]}", True),
    ("pipe_to_the_end", "", "{pref: 9, matchall: {}, action: {skbedit: {mark: 7}}}", False),
    ("jump_over_drop", "", "{pref: 9, matchall: {}, action: [jump 2, drop, pass]}", False),
    ("jump_to_drop", "", "{pref: 9, matchall: {}, action: [jump 2, pass, drop]}", True),
    ("trap", "", "{pref: 9, matchall: {}, action: trap}", True),
    ("queued", "", "{pref: 9, matchall: {}, action: queued}", True),
    ("repeat", "", "{pref: 9, matchall: {}, action: repeat}", False),
    ("trap_in_hardware", "", "{pref: 9, matchall: {}, skip_sw: true, action: trap}", False),
    ("drop_in_hardware", "", "{pref: 9, matchall: {}, skip_sw: true, action: drop}", True),
    ("drop_in_hardware_first", "", "{pref: 1, matchall: {}, skip_hw: true}, "
     "{pref: 9, matchall: {}, skip_sw: true, action: drop}", True),
    ("redirected", "", "{pref: 9, matchall: {}, action: {mirred: {egress: redirect, dev: eth2}}}", True),
    ("redirected_and_back", "", "{pref: 9, matchall: {}, action: {mirred: {egress: redirect, dev: ifb0}}}", False),
    ("redirected_to_come_in", "", "{pref: 9, matchall: {}, action: {mirred: {ingress: redirect, dev: eth2}}}", False),
    ("redirected_to_itself", "", "{pref: 9, matchall: {}, action: {mirred: {egress: redirect, dev: eth1}}}", True),
    ("redirected_to_come_in_for_ever", "", "{pref: 9, matchall: {}, action: {mirred: {ingress: redirect, dev: eth1}}}",
     True),
    ("mirrored", "", "{pref: 9, matchall: {}, action: {mirred: {egress: mirror, dev: eth2}}}", False),
    ("mirrored_and_dropped", "", "{pref: 9, matchall: {}, action: [{mirred: {egress: mirror, dev: eth2}}, drop]}",
     True),
    ("policed", "", "{pref: 9, matchall: {}, action: {police: {rate: 1mbit, burst: 10k, control: drop}}}", False),
    ("policed_by_size", "", "{pref: 9, matchall: {}, action: {police: {mtu: 20, control: drop}}}", True),
    ("policed_to_less_than_a_segment", "", "{pref: 9, matchall: {}, action: {police: {mtu: 73, control: drop}}}", True),
    ("policed_to_a_segment", "", "{pref: 9, matchall: {}, action: {police: {mtu: 74, control: drop}}}", False),
    ("policed_to_one_packet_a_second", "", "{pref: 9, matchall: {}, action: "
     "{police: {pkts_rate: 1, pkts_burst: 1, control: drop}}}", True),
    ("for_another_host", "", "{pref: 9, matchall: {}, action: {skbedit: {ptype: otherhost}}}", True),
    ("for_all", "", "{pref: 9, matchall: {}, action: {skbedit: {ptype: broadcast}}}", True),
    ("for_this_host", "", "{pref: 9, matchall: {}, action: {skbedit: {ptype: host}}}", False),
    ("tagged", "", "{pref: 9, matchall: {}, action: {vlan: {do: push, id: 5}}}", True),
    ("tagged_and_not", "", "{pref: 9, matchall: {}, action: [{vlan: {do: push, id: 5}}, {vlan: {do: pop}}]}", False),
    ("labelled", "", "{pref: 9, matchall: {}, action: {mpls: {do: push, label: 5}}}", True),
    ("policed_by_next_to_no_rate", "", "{pref: 9, matchall: {}, action: "
     "{police: {rate: 8bit, burst: 50, control: drop}}}", True),
    ("policed_to_no_packet", "", "{pref: 9, matchall: {}, action: "
     "{police: {pkts_rate: 1, pkts_burst: 0, control: drop}}}", True),
    ("policed_to_drop", "", "{pref: 9, matchall: {}, action: "
     "{police: {rate: 1mbit, burst: 10k, control: drop, conform: drop}}}", True),
    ("by_chance", "", "{pref: 9, matchall: {}, action: {gact: {control: drop, random: netrand pass 10}}}", False),
    ("always_by_chance", "", "{pref: 9, matchall: {}, action: {gact: {control: pass, random: determ drop 1}}}", True),
    *((f"translated_{name}", "", "{pref: 9, protocol: ip, matchall: {}, action: "
       f"{{nat: {{direction: {direction}, old: {old}, new: 10.99.0.1}}}}}}", cut) for name, direction, old, cut in (
        ("itself", "ingress", LOCAL, True), ("with_its_network", "ingress", "10.0.0.0/24", True),
        ("from_its_peer", "egress", PEER, True), ("to_another", "ingress", "10.0.0.6", False),
        ("from_itself", "egress", LOCAL, False))),
    *((f"written_{name}", "", f"{{pref: 9, protocol: ip, flower: {{ip_proto: tcp}}, action: "
       f"[{{pedit: {{munge: {{{munge}}}}}}}{behind}]}}", cut) for name, munge, behind, cut in (
        ("to_another", "ip dst: 10.0.0.9", ", {csum: {of: [iph, tcp]}}", True),
        ("from_another", "ip src: 10.9.0.9", ", {csum: {of: [iph, tcp]}}", True),
        ("as_it_is", f"ip src: {PEER}, ip dst: {LOCAL}, tcp dport: 22", "", False),
        ("to_another_port", "tcp dport: 23", ", {csum: {of: [tcp]}}", True),
        ("a_port_of_udp", "udp dport: 23", "", False),
        ("as_udp", "ip protocol: 17", ", {csum: {of: [iph]}}", True),
        ("tos_without_a_sum", "ip dsfield: 8", "", True),
        ("tos_with_a_sum", "ip dsfield: 8", ", {csum: {of: [iph]}}", False),
        ("tos_behind_its_sum", "ip dsfield: 8", ", {csum: {of: [iph]}}, {pedit: {munge: {ip dsfield: 16}}}", True),
        ("for_another_card", "eth dst: '02:00:00:00:07:07'", "", False))),
    ("rewritten_and_asked_again", "", "{pref: 9, matchall: {}, action: [{vlan: {do: pop}}, reclassify]}", False),
]  # fmt: skip
OF_SESSION += [
    (name, "", f"{{pref: 9, protocol: ip, {match}, action: drop}}", cut)
    for name, match, cut in (
        ("basic_of_tcp", "basic: {match: 'cmp(u8 at 9 layer network eq 6)'}", True),
        ("basic_of_most_protocols", "basic: {match: 'cmp(u8 at 9 layer network lt 17)'}", True),
        ("basic_of_what_is_not_udp", "basic: {match: 'not cmp(u8 at 9 layer network eq 17)'}", True),
        ("basic_of_its_peer", "basic: {match: 'u32(0x0a090007/0xffffffff at 12)'}", True),
        ("basic_of_another", "basic: {match: 'u32(0x0a090008/0xffffffff at 12)'}", False),
        ("basic_of_a_mark", "basic: {match: 'cmp(u8 at 9 layer network eq 6) and meta(fwmark eq 5)'}", False),
        ("basic_of_either", "basic: {match: 'meta(fwmark eq 5) or (cmp(u8 at 9 layer network eq 6))'}", True),
        ("basic_of_its_peers_network", "basic: {match: 'cmp(u16 at 12 layer network eq 2569)'}", True),
        ("basic_of_another_layer", "basic: {match: 'cmp(u8 at 12 layer transport eq 10)'}", False),
        (
            "basic_of_what_comes_behind_and",
            "basic: {match: 'cmp(u8 at 9 layer network eq 17) and "
            "cmp(u8 at 9 layer network eq 17) or cmp(u8 at 9 layer network eq 6)'}",
            False,
        ),
        ("usual_tos", "flower: {ip_tos: 0}", True),
        ("usual_tos_by_its_mask", "flower: {ip_tos: 0/0xfc}", True),
        ("another_tos", "flower: {ip_tos: 16}", False),
        ("u32_of_the_usual_tos", "u32: {match: {ip tos: 0}}", True),
        ("any_ttl", "flower: {ip_ttl: 0/0}", True),
        ("ttl_of_whoever_is_there", "flower: {ip_ttl: 64}", False),
    )
]


def tree(said: str, classes: str = "", filters: str = "") -> str:
    return f"tc: {{eth1: {{qdiscs: [{said}], classes: [{classes}], filters: [{filters}]}}}}"


HFSC, HTB, PRIO = "{kind: hfsc, handle: '1:'%s}", "{kind: htb, handle: '1:'%s}", "{kind: prio, handle: '1:'}"
CURVED, RATED = "{classid: '1:10', ls: 1mbit}", "{classid: '1:10', rate: 1mbit}"
TO_CLASS = "{parent: '1:', pref: 1, matchall: {}, classid: '1:10'}"
LOSS = "{kind: netem, loss: 100, parent: '1:10'}"
TAPRIO = ("{kind: taprio, num_tc: 1, map: [" + "0, " * 16 + "], queues: [4, 0], clockid: TAI,"
          " sched_entry: [S 00 1ms, S %s 1ms]}")  # fmt: skip
TREES = [
    ("loss_of_all", tree("{kind: netem, loss: 100}"), True),
    ("loss_of_some", tree("{kind: netem, loss: 99}"), False),
    ("loss_of_all_twice", tree("{kind: netem, loss: 100, duplicate: 100}"), False),
    ("loss_of_all_that_is_not_marked", tree("{kind: netem, loss: 100, ecn: true}"), True),
    ("loss_in_either_state", tree("{kind: netem, loss_gemodel: [100, 0, 100, 100]}"), True),
    ("loss_in_one_state", tree("{kind: netem, loss_gemodel: [50, 50, 100, 0]}"), False),
    ("all_late", tree("{kind: netem, delay: 100s}"), True),
    ("all_late_as_by_satellite", tree("{kind: netem, delay: 1s}"), False),
    ("some_late", tree("{kind: netem, delay: 4s, jitter: 2s}"), False),
    ("all_spoilt", tree("{kind: netem, corrupt: 100}"), True),
    ("next_to_no_rate_of_netem", tree("{kind: netem, rate: 8bit}"), True),
    ("next_to_no_rate_of_tbf", tree("{kind: tbf, rate: 8bit, burst: 100, limit: 10k}"), True),
    ("next_to_no_rate_of_cake", tree("{kind: cake, bandwidth: 8bit}"), True),
    ("next_to_no_rate_of_htb", tree(HTB % ", default: 0x10", "{classid: '1:10', rate: 8bit, burst: 1, cburst: 1}"),
     True),
    ("next_to_no_rate_that_is_lent", tree(HTB % ", default: 0x10", "{classid: '1:10', rate: 8bit, ceil: 1mbit}"),
     False),
    ("htb_without_default_or_room", tree(HTB % ", direct_qlen: 0", RATED), True),
    ("no_room", tree("{kind: pfifo, limit: 0}"), True),
    ("room_for_one", tree("{kind: pfifo, limit: 1}"), False),
    ("no_room_for_bytes", tree("{kind: bfifo, limit: 10}"), True),
    ("no_burst", tree("{kind: tbf, rate: 1mbit, burst: 20, limit: 10k}"), True),
    ("burst_below_a_segment", tree("{kind: tbf, rate: 1mbit, burst: 73, limit: 10k}"), True),
    ("burst", tree("{kind: tbf, rate: 1mbit, burst: 10k, limit: 10k}"), False),
    ("hfsc_without_default", tree(HFSC % "", CURVED), True),
    ("hfsc_with_default", tree(HFSC % ", default: '1:10'", CURVED), False),
    ("hfsc_with_a_rule", tree(HFSC % "", CURVED, TO_CLASS), False),
    ("htb_without_default", tree(HTB % "", RATED), False),
    ("htb_with_a_rule_that_drops", tree(HTB % "", RATED, "{parent: '1:', pref: 1, matchall: {}, action: drop}"), True),
    ("class_that_loses_all", tree(f"{HTB % ', default: 0x10'}, {LOSS}", RATED), True),
    ("class_that_a_rule_leads_to", tree(f"{HTB % ''}, {LOSS}", RATED, TO_CLASS), True),
    ("class_of_others", tree(f"{HTB % ''}, {LOSS}", RATED), False),
    ("one_band_of_three", tree(f"{PRIO}, {LOSS.replace('1:10', '1:1')}"), False),
    ("band_of_a_rule", tree(f"{PRIO}, {LOSS.replace('1:10', '1:1')}", "", TO_CLASS.replace("1:10", "1:1")), True),
    ("drr_without_a_rule", tree("{kind: drr, handle: '1:'}", "{classid: '1:10'}"), True),
    ("drr_with_a_rule", tree("{kind: drr, handle: '1:'}", "{classid: '1:10'}", TO_CLASS), False),
    ("last_band_of_ets", tree("{kind: ets, handle: '1:', bands: 3}, " + LOSS.replace("1:10", "1:3")), True),
    ("first_band_of_ets", tree("{kind: ets, handle: '1:', bands: 3}, " + LOSS.replace("1:10", "1:1")), False),
    ("packets_without_a_time", tree("{kind: etf}"), True),
    ("gates_that_are_never_open", tree(TAPRIO % "02"), True),
    ("gates_that_are_open_at_times", tree(TAPRIO % "01"), False),
    ("below_credits", tree("{kind: cbs, handle: '1:', idleslope: 9, sendslope: -9, hicredit: 9, locredit: -9}, "
                           + LOSS.replace("1:10", "1:1")), True),
    ("below_a_bucket", tree(f"{{kind: tbf, handle: '1:', rate: 1mbit, burst: 10k, limit: 10k}}, "
                            f"{LOSS.replace('1:10', '1:1')}"), True),
]  # fmt: skip


def by_ifb(said: str, rule: str = "{pref: 9, matchall: {}, action: %s}", part: str = "ingress") -> str:
    """What comes in is redirected to an ifb, whose traffic control is as said."""
    redirected = rule.replace("%s", "{mirred: {egress: redirect, dev: ifb0}}")
    return f"tc: {{eth1: {{{part}: [{redirected}]}}, ifb0: {{{said}}}}}"


ROOM, NO_ROOM = "qdiscs: [{kind: pfifo, limit: 9}]", "qdiscs: [{kind: pfifo, limit: 0}]"
OF_UDP = "{pref: 9, protocol: ip, flower: {ip_proto: udp}, action: %s}"
OF_NOBODY = "{pref: 1, protocol: ip, flower: {src_ip: 10.9.0.8}}"
BY_SHARED, SHARED = "{pref: 9, matchall: {}, action: mirred 7}", "\nactions: {mirred 7: {egress: redirect, dev: ifb0}}"
IFBS = [  # what was there, what comes, whether it cuts
    ("queue_without_room", by_ifb(ROOM), by_ifb(NO_ROOM), True),
    ("queue_with_room", by_ifb(""), by_ifb(ROOM), False),
    ("queue_that_loses_all", by_ifb(ROOM), by_ifb("qdiscs: [{kind: netem, loss: 100}]"), True),
    ("class_that_loses_all", by_ifb(""),
     by_ifb(f"qdiscs: [{HTB % ', default: 0x10'}, {LOSS}], classes: [{RATED}]"), True),
    ("rule_that_drops", by_ifb(""), by_ifb(f"egress: [{DROP_ALL}]"), True),
    ("another_rule_that_drops", by_ifb(f"egress: [{OF_NOBODY}]"), by_ifb(f"egress: [{OF_NOBODY}, {DROP_ALL}]"), True),
    ("rule_that_drops_another", by_ifb(""),
     by_ifb("egress: [{pref: 9, protocol: ip, flower: {src_ip: 10.9.0.8}, action: drop}]"), False),
    ("rule_that_is_not_asked", by_ifb(""), by_ifb(f"ingress: [{DROP_ALL}]"), False),
    ("block_that_drops", by_ifb(""),
     by_ifb("egress_block: 7").replace("tc: {", f"tc: {{block 7: {{filters: [{DROP_ALL}]}}, "), True),
    ("on_the_way_out", by_ifb(ROOM, part="egress"), by_ifb(NO_ROOM, part="egress"), True),
    ("led_to_what_has_no_room", f"tc: {{ifb0: {{{NO_ROOM}}}}}", by_ifb(NO_ROOM), True),
    ("led_to_it_by_a_shared_action", by_ifb(ROOM, BY_SHARED) + SHARED, by_ifb(NO_ROOM, BY_SHARED) + SHARED, True),
    ("led_to_it_in_part", f"tc: {{ifb0: {{{NO_ROOM}}}}}", by_ifb(NO_ROOM, OF_UDP), False),
    ("led_to_itself", by_ifb(""),
     by_ifb("egress: [{pref: 9, matchall: {}, action: {mirred: {egress: redirect, dev: ifb0}}}]"), True),
    ("lost_already", by_ifb(NO_ROOM), by_ifb(f"{NO_ROOM}, egress: [{DROP_ALL}]"), False),
]  # fmt: skip
