# SPDX-License-Identifier: GPL-2.0-or-later
"""Each action of traffic control as it is said first, and what it is changed to."""

_THERE = {"do": "set", "id": 5, "src_ip": "192.0.2.1", "dst_ip": "192.0.2.2"}
ACTION_CASES: dict[str, tuple[object, object]] = {
    "gact": ("drop", "pass"),
    "gact-trap": ("trap", "goto chain 5"),
    "gact-stolen": ("stolen", "queued"),
    "gact-repeat": ("repeat", {"gact": {"random": "determ queued 2", "control": "repeat"}}),
    "gact-more": ({"gact": {"control": "continue", "cookie": "0102ff"}}, {"gact": {"no_percpu": True}}),
    "mirred": ({"mirred": {"egress": "redirect", "dev": "v2"}}, {"mirred": {"egress": "mirror", "dev": "v1"}}),
    "gact-random": (
        {"gact": {"random": "determ drop 10", "control": "pass", "hw_stats": "disabled"}},
        {"gact": {"random": "netrand pass 3", "control": "drop", "hw_stats": "immediate"}},
    ),
    "mirred-block": (
        {"mirred": {"egress": "redirect", "block": 7}},
        {"mirred": {"egress": "mirror", "block": 8}},
    ),
    "mirred-ingress": (
        {"mirred": {"ingress": "redirect", "dev": "v2"}},
        {"mirred": {"ingress": "mirror", "dev": "v2"}},
    ),
    "vlan": ({"vlan": {"do": "push", "id": 5, "protocol": "802.1ad", "priority": 3}}, {"vlan": {"do": "pop"}}),
    "vlan-eth": (
        {"vlan": {"do": "push_eth", "dst_mac": "02:00:00:00:00:01", "src_mac": "02:00:00:00:00:02"}},
        {"vlan": {"do": "modify", "id": 7}},
    ),
    "skbedit": ({"skbedit": {"priority": 0x10001, "mark": "0x5/0xf"}}, {"skbedit": {"queue_mapping": 1}}),
    "skbedit-more": ({"skbedit": {"ptype": "host"}}, {"skbedit": {"inheritdsfield": True}}),
    "skbedit-queues": (
        {"skbedit": {"queue_mapping": 1, "queue_mapping_max": 3}},
        {"skbedit": {"queue_mapping": 0, "queue_mapping_max": 1, "inheritdsfield": True}},
    ),
    "police": (
        {"police": {"rate": 125000, "burst": 10000, "control": "drop"}},
        {"police": {"rate": 1250000000, "burst": 100000, "control": "drop", "conform": "pipe"}},
    ),
    "police-framing": (
        {"police": {"rate": 125000, "burst": 10000, "overhead": 24, "mpu": 64, "linklayer": "atm"}},
        {"police": {"rate": 125000, "burst": 10000, "overhead": 4, "linklayer": "ethernet"}},
    ),
    "police-conform": (
        {"police": {"rate": 125000, "burst": 10000, "control": "drop", "conform": "pass"}},
        {"police": {"rate": 125000, "burst": 10000, "control": "drop", "conform": "pipe"}},
    ),
    "police-mtu": (
        {"police": {"rate": "1gbit", "burst": "1mb", "peakrate": "10gbit", "mtu": 1514, "control": "drop"}},
        {"police": {"rate": "1gbit", "burst": "1mb", "peakrate": "10gbit", "mtu": 9014, "control": "drop"}},
    ),
    "police-peak": (
        {"police": {"rate": 125000, "burst": 10000, "peakrate": 250000, "mtu": 2000}},
        {"police": {"pkts_rate": 1000, "pkts_burst": 100}},
    ),
    "pedit": ({"pedit": {"munge": {"ip ttl": 64, "ip src": "10.0.0.1"}}}, {"pedit": {"munge": {"ip ttl": "add 255"}}}),
    "pedit-more": (
        {"pedit": {"munge": {"eth dst": "02:00:00:00:00:01", "tcp dport": 80}}},
        {"pedit": {"munge": {"ip6 dst": "2001:db8::1", "ip6 flow_lbl": "0x12345", "tcp flags": 2}}},
    ),
    "tunnel_key": (
        {"tunnel_key": {"do": "set", "id": 5, "src_ip": "192.0.2.1", "dst_ip": "192.0.2.2", "dst_port": 4789}},
        {"tunnel_key": {"do": "unset"}},
    ),
    "tunnel_key-more": (
        {
            "tunnel_key": {
                "do": "set",
                "src_ip": "2001:db8::1",
                "dst_ip": "2001:db8::2",
                "tos": 8,
                "ttl": 9,
                "csum": False,
                "nofrag": True,
            }
        },
        {"tunnel_key": {"do": "set", "src_ip": "2001:db8::1", "dst_ip": "2001:db8::2", "csum": True}},
    ),
    "tunnel_key-zeros": (
        {"tunnel_key": {**_THERE, "dst_port": 0, "tos": 0, "ttl": 0}},
        {"tunnel_key": {**_THERE, "dst_port": 4789, "tos": 0, "ttl": 64}},
    ),
    "tunnel_key-geneve": (
        {"tunnel_key": {**_THERE, "geneve_opts": "0102:80:00880022,0103:01:0000000000000001"}},
        {"tunnel_key": {**_THERE, "geneve_opts": "0102:80:00880023"}},
    ),
    "tunnel_key-options": (
        {"tunnel_key": {**_THERE, "vxlan_opts": 5}},
        {"tunnel_key": {**_THERE, "erspan_opts": "2:1:17"}},
    ),
    "mpls": (
        {"mpls": {"do": "push", "protocol": "mpls_uc", "label": 5, "tc": 1, "ttl": 9, "bos": 1}},
        {"mpls": {"do": "dec_ttl"}},
    ),
    "mpls-pop": ({"mpls": {"do": "pop", "protocol": "ip"}}, {"mpls": {"do": "modify", "label": 7}}),
    "ct": ({"ct": {"zone": 5}}, {"ct": {"commit": True, "zone": 5, "mark": "0x1/0xf", "label": "0x1/0xff"}}),
    "ct-nat": (
        {"ct": {"commit": True, "force": True, "nat_src": "192.0.2.1-192.0.2.9 port 1000-2000"}},
        {"ct": {"commit": True, "nat_dst": "192.0.2.5"}},
    ),
    "ct-helper": (
        {"ct": {"commit": True, "helper": "ipv4-tcp-ftp"}},
        {"ct": {"commit": True, "helper": "ipv6-tcp-ftp", "nat_dst": "2001:db8::5"}},
    ),
    "ct-clear": ({"ct": {"clear": True}}, {"ct": {"nat": True, "zone": 0}}),
    "nat": (
        {"nat": {"direction": "ingress", "old": "10.0.0.0/24", "new": "192.0.2.0"}},
        {"nat": {"direction": "egress", "old": "10.0.0.1/32", "new": "192.0.2.1"}},
    ),
    "csum": ({"csum": {"of": ["iph", "tcp"]}}, {"csum": {"of": ["udp", "icmp"]}}),
    "sample": ({"sample": {"rate": 10, "group": 5, "trunc": 100}}, {"sample": {"rate": 20, "group": 5}}),
    "connmark": ({"connmark": {"zone": 5}}, {"connmark": {}}),
    "bpf": ({"bpf": {"bytecode": "1,6 0 0 2"}}, {"bpf": {"bytecode": "1,6 0 0 0", "control": "drop"}}),
    "gact-less": ({"gact": {"control": "drop", "random": "determ pass 5", "cookie": "aa"}}, "drop"),
    "gact-usual": ({"gact": {"control": "drop", "hw_stats": "disabled", "no_percpu": True}}, {"gact": {}}),
    "mirred-less": ({"mirred": {"dev": "v2", "control": "pipe"}}, {"mirred": {"dev": "v2"}}),
    "vlan-less": (
        {"vlan": {"do": "push", "id": 5, "protocol": "802.1ad", "priority": 3}},
        {"vlan": {"do": "push", "id": 5}},
    ),
    "skbedit-less": ({"skbedit": {"priority": 1, "mark": 5}}, {"skbedit": {"priority": 1}}),
    "police-less": (
        {"police": {"rate": 125000, "burst": 10000, "peakrate": 250000, "mtu": 2000, "mpu": 64}},
        {"police": {"rate": 125000, "burst": 10000, "peakrate": 0, "mtu": 0}},
    ),
    "police-none": ({"police": {"pkts_rate": 1000, "pkts_burst": 100}}, {"police": {"pkts_rate": 0}}),
    "tunnel_key-less": (
        {"tunnel_key": {**_THERE, "ttl": 5, "csum": False, "vxlan_opts": 5}},
        {"tunnel_key": {"do": "set", "src_ip": "192.0.2.1", "dst_ip": "192.0.2.2"}},
    ),
    "mpls-less": ({"mpls": {"do": "push", "label": 5, "tc": 1, "bos": 1}}, {"mpls": {"do": "push", "label": 5}}),
    "ct-less": ({"ct": {"commit": True, "zone": 5, "mark": "0x1/0xf"}}, {"ct": {"commit": True}}),
    "ct-unhelped-less": ({"ct": {"commit": True, "helper": "ipv4-tcp-ftp"}}, {"ct": {"commit": True}}),
    "sample-less": ({"sample": {"rate": 10, "group": 5, "trunc": 64}}, {"sample": {"rate": 10}}),
}
