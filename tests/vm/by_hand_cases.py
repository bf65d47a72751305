# SPDX-License-Identifier: GPL-2.0-or-later
"""What somebody does by hand, and what a capture of that host says among other things."""

from typing import NamedTuple


class Host(NamedTuple):
    """What was done by hand, what a capture of it says among other things, and how its comments end."""

    made: str
    said: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()


HOSTS = {
    "vlans-that-are-networks-of-a-tunnel": Host(
        """
        ip link add br0 up type bridge vlan_filtering 1 vlan_default_pvid 0
        ip link add vx0 up master br0 type vxlan external vnifilter dstport 4789
        bridge link set dev vx0 vlan_tunnel on
        bridge vlan add dev vx0 vid 100-120
        bridge vlan add dev vx0 vid 100-110 tunnel_info id 10100-10110
        bridge vlan add dev vx0 vid 112-120 tunnel_info id 112-120
        """,
        ('vlans: [111, {vid: "[v=100-110]", tunnel_id: "{v + 10000}"}, {vid: "[v=112-120]", tunnel_id: "{v}"}]',),
    ),
    "router-with-dead-ends": Host(
        """
        ip link add d0 up type dummy
        ip route add blackhole 10.0.0.0/8
        ip route add unreachable 172.16.0.0/12 metric 4000
        ip route add local 10.9.0.0/16 dev lo
        ip route add throw 10.7.0.0/16 table 7
        ip netns exec here sysctl -qw net.ipv4.ip_forward=1
        ip netns exec here sysctl -qw net.ipv6.conf.all.forwarding=1
        """,
        (
            '  - {to: "10.0.0.0/8", type: blackhole}\n',
            '  - {to: "10.7.0.0/16", table: 7, type: throw}\n',
            '  - {to: "172.16.0.0/12", metric: 4000, type: unreachable}\n',
            "sysctl:\n  net.ipv4.ip_forward: 1\n  net.ipv6.conf.all.forwarding: 1\n",
        ),
    ),
    "vrf-that-leads-nowhere-else": Host(
        """
        ip link add red up type vrf table 10
        ip rule add pref 1000 l3mdev
        ip rule add pref 1500 l3mdev goto 3000
        ip rule add pref 2000 l3mdev unreachable
        ip rule add pref 3000 lookup 77
        ip -6 rule add pref 2000 l3mdev prohibit
        """,
        (
            "  - {pref: 1500, family: inet, action: goto, goto: 3000, l3mdev: true}\n",
            "  - {pref: 2000, family: inet, action: unreachable, l3mdev: true}\n",
            "  - {pref: 2000, family: inet6, action: prohibit, l3mdev: true}\n",
        ),
    ),
    "rules-that-are-asked-in-turn": Host(
        """
        ip link add d0 up type dummy
        tc qdisc add dev d0 clsact
        tc filter add dev d0 ingress pref 5 bpf bytecode "1,6 0 0 1" action drop
        tc filter add dev d0 ingress pref 5 bpf bytecode "1,6 0 0 2" action pass
        tc filter add dev d0 ingress pref 5 bpf bytecode "1,6 0 0 3" action drop
        tc filter add dev d0 ingress pref 6 protocol ip flower dst_ip 10.0.0.1 action drop
        tc filter add dev d0 ingress pref 6 protocol ip flower dst_ip 10.0.0.0/24 action pass
        tc filter add dev d0 ingress pref 6 protocol ip flower dst_ip 10.0.0.0/16 action drop
        tc filter add dev d0 ingress pref 7 protocol ip flower dst_ip 10.0.0.1 action drop
        tc filter add dev d0 ingress pref 7 protocol ip flower dst_ip 10.0.0.2 action pass
        """,
        (
            '0 0 1"}, protocol: all, action: [drop]}, {pref: 5, bpf: {bytecode: "1,6 0 0 2"}',
            '0.1"}, protocol: ip, action: [drop]}, {pref: 6, flower: {dst_ip: "10.0.0.0/24"}',
            '{pref: 7, flower: {dst_ip: "10.0.0.2"}',
        ),
    ),
    "fdb-of-bridge-itself": Host(
        """
        ip link add d0 up address 02:00:00:00:00:10 type dummy
        ip link add br0 up type bridge vlan_filtering 1
        bridge vlan add dev br0 vid 10 self
        bridge fdb add 02:00:00:00:00:55 dev br0 self
        bridge fdb add 02:00:00:00:00:56 dev br0 self local vlan 10
        bridge fdb add 02:00:00:00:00:10 dev br0 self local
        bridge fdb add 01:00:5e:00:00:09 dev br0 self local
        """,
        (
            '{dev: br0, mac: "01:00:5e:00:00:09", where: self, state: permanent}',
            '{dev: br0, mac: "02:00:00:00:00:10", where: self, state: permanent}',
            '{dev: br0, mac: "02:00:00:00:00:55", where: self, state: permanent}',
            '{dev: br0, mac: "02:00:00:00:00:56", where: self, state: permanent, vlan: 10}',
        ),
    ),
    "fdb-with-several-receivers": Host(
        """
        ip link add vx0 up type vxlan id 5 dstport 4789
        bridge fdb append 00:00:00:00:00:00 dev vx0 dst 192.0.2.9
        bridge fdb append 00:00:00:00:00:00 dev vx0 dst 192.0.2.3
        bridge fdb append 00:00:00:00:00:00 dev vx0 dst 192.0.2.5
        bridge fdb append 01:00:5e:00:00:07 dev vx0 dst 192.0.2.9
        bridge fdb append 01:00:5e:00:00:07 dev vx0 dst 192.0.2.3
        ip link add br0 type bridge
        ip link add p1 up type dummy
        ip link set p1 master br0
        bridge fdb add 02:00:00:00:00:07 dev p1 master static
        bridge fdb add 02:00:00:00:00:05 dev p1 master static
        bridge fdb add 02:00:00:00:00:09 dev p1 master static
        """,
        (
            '  - {dst: "192.0.2.[3,5,9]", dev: vx0, mac: "00:00:00:00:00:00", where: self, state: permanent}\n'
            '  - {dst: "192.0.2.[3,9]", dev: vx0, mac: "01:00:5e:00:00:07", where: self, state: permanent}\n',
        ),
    ),
    "fdb-with-one-receiver-at-several-ports": Host(
        """
        ip link add vx0 up type vxlan id 5 dstport 4789
        bridge fdb append 00:00:00:00:00:00 dev vx0 dst 192.0.2.9
        bridge fdb append 00:00:00:00:00:00 dev vx0 dst 192.0.2.9 vni 7
        bridge fdb append 00:00:00:00:00:00 dev vx0 dst 192.0.2.9 port 99
        bridge fdb append 00:00:00:00:00:00 dev vx0 dst 192.0.2.3 vni 7
        """,
        ('state: permanent, vni: 7, dst: "192.0.2.3"}',),
        ("fdb vx0 00:00:00:00:00:00 self dst 192.0.2.9",),
    ),
    "ingress-in-a-block": Host(
        """
        ip link add d0 up type dummy
        ip link add d1 up type dummy
        ip link add d2 up type dummy
        tc qdisc add dev d0 ingress_block 5 ingress
        tc qdisc add dev d1 ingress_block 5 ingress
        tc qdisc add dev d2 ingress_block 5 clsact
        tc filter add block 5 pref 3 matchall action drop
        """,
        (
            "  d[0-1]:\n    qdiscs: [{kind: ingress, ingress_block: 5}]\n",
            "  d2:\n    ingress_block: 5\n",
            '  "block 5":\n    filters: [{pref: 3, matchall: {}',
        ),
    ),
    "mdb-of-a-bridge-that-learns-for-each-vlan": Host(
        """
        ip link add br0 up type bridge vlan_filtering 1
        ip link add p1 type dummy
        ip link set p1 up master br0
        bridge vlan add dev p1 vid 10
        bridge vlan add dev p1 vid 11
        bridge vlan add dev br0 vid 10 self
        bridge mdb add dev br0 port p1 grp 239.1.1.1 vid 11 permanent
        ip link set br0 type bridge mcast_vlan_snooping 1
        bridge mdb add dev br0 port p1 grp 239.1.1.1 vid 10 permanent
        bridge mdb add dev br0 port p1 grp 239.1.1.1 vid 1 permanent
        """,
        ("    mcast_vlan_snooping: true\n    vlans: [10]\n", '{vid: "[1,10]", group: "239.1.1.1", dev: br0, port: p1}'),
        ("mdb br0 p1 239.1.1.1 vid 11",),
    ),
    "options-of-vlans": Host(
        """
        ip link add br0 up type bridge vlan_filtering 1 mcast_vlan_snooping 1
        ip link add br1 up type bridge vlan_filtering 1
        ip link add p1 type dummy
        ip link set p1 up master br0
        bridge vlan add dev br0 vid 10-14 self
        bridge vlan add dev p1 vid 20-22
        bridge vlan global set dev br0 vid 10-13 mcast_querier 1 mcast_igmp_version 3
        bridge vlan global set dev br0 vid 14 mcast_snooping 0
        bridge vlan global set dev br0 vid 20 mcast_query_interval 6000 mcast_startup_query_interval 1500
        bridge vlan global set dev br0 vid 22 mcast_querier 1 mcast_igmp_version 3
        bridge vlan global set dev br1 vid 1 mcast_last_member_count 7
        """,
        (
            '    vlan_global: [{vid: "[10-13,22]", mcast_igmp_version: 3, mcast_querier: true}, '
            "{vid: 14, mcast_snooping: false}, "
            "{vid: 20, mcast_query_interval: 6000, mcast_startup_query_interval: 1500}]\n",
            "    vlan_global: [{vid: 1, mcast_last_member_count: 7}]\n",
        ),
    ),
    "another-default-vlan": Host(
        """
        ip link add br0 type bridge vlan_filtering 1 vlan_default_pvid 5
        ip link add p1 type dummy
        ip link add p2 type dummy
        ip link add p3 type dummy
        ip link add p4 type dummy
        ip link set p1 master br0
        ip link set p2 master br0
        ip link set p3 master br0
        ip link set p4 master br0
        bridge vlan add dev p1 vid 10
        bridge vlan add dev p2 vid 1 pvid untagged
        bridge vlan add dev p3 vid 5
        bridge vlan add dev p4 vid 5 untagged
        bridge vlan add dev br0 vid 1 self
        """,
        (
            "    vlan_default_pvid: 5\n    vlans: [1]\n",
            "  p1:\n    kind: dummy\n    master: br0\n    vlans: [10]\n",
            "vlans: [{vid: 1, pvid: true, untagged: true}, {vid: 5, pvid: false, untagged: true}]",
            "vlans: [{vid: 5, pvid: false, untagged: false}]",
        ),
    ),
    "no-default-vlan": Host(
        """
        ip link add br0 type bridge vlan_filtering 1 vlan_default_pvid 0
        ip link add p1 type dummy
        ip link set p1 master br0
        bridge vlan add dev p1 vid 1 pvid untagged
        """,
        ("vlans: [{vid: 1, pvid: true, untagged: true}]",),
    ),
    "out-of-the-default-vlan": Host(
        """
        ip link add br0 type bridge vlan_filtering 1
        ip link add p1 type dummy
        ip link set p1 master br0
        bridge vlan del dev p1 vid 1
        bridge vlan add dev p1 vid 10
        """,
        ("vlans: [10, {vid: 1, member: false}]",),
    ),
    "vlans-that-are-down": Host(
        """
        ip link add d0 up type dummy
        ip link add link d0 name d0.5 type vlan id 5
        ip link add link d0 name d0.6 up type vlan id 6
        ip link add link d0 name d0.7 type vlan id 7 loose_binding on
        ip link add link d0.5 name d0.5.9 type vlan id 9
        ip link add link d0 name mv0 type macvlan mode bridge
        """,
        ("  d0.5:\n    kind: vlan\n    up: false\n", "  d0.7:\n    kind: vlan\n    loose_binding: true\n"),
    ),
    "classes-with-others-below-them": Host(
        """
        ip link add d0 up type dummy
        tc qdisc add dev d0 root handle 1: htb default 10
        tc class add dev d0 parent 1: classid 1:1 htb rate 10mbit prio 3 quantum 3000
        tc class add dev d0 parent 1:1 classid 1:10 htb rate 3mbit prio 2 quantum 4000
        """,
        ("prio: 2",),
    ),
    "red-that-adapts": Host(
        """
        ip link add d0 up type dummy
        tc qdisc add dev d0 root handle 1: red limit 400000 min 30000 max 90000 avpkt 1000 adaptive probability 0.4
        """,
        ("adaptive: true",),
    ),
    "bond-that-uses-one-of-its-ports": Host(
        """
        ip link add bo0 type bond mode active-backup miimon 100
        ip link add p1 type dummy
        ip link add p2 type dummy
        ip link set p1 master bo0
        ip link set p2 master bo0
        ip link set bo0 up type bond active_slave p2
        """,
        ("  bo0:\n    kind: bond\n    up: true\n    mode: active-backup\n    miimon: 100\n  p[1-2]:\n",),
    ),
    "rules-on-a-class": Host(
        """
        ip link add d0 up type dummy
        tc qdisc add dev d0 root handle 1: htb
        tc class add dev d0 parent 1: classid 1:1 htb rate 10mbit
        tc class add dev d0 parent 1:1 classid 1:10 htb rate 3mbit
        tc filter add dev d0 parent 1: pref 5 matchall classid 1:1
        tc filter add dev d0 parent 1:1 pref 6 matchall classid 1:10
        """,
        ('parent: "1:1", protocol: all, classid: "1:10"}',),
    ),
    "actions-that-rules-share": Host(
        """
        ip link add d0 up type dummy
        tc qdisc add dev d0 clsact
        tc actions add action gact pass index 9
        tc filter add dev d0 ingress protocol ip pref 5 flower dst_ip 10.0.0.1 action gact drop index 7
        tc filter add dev d0 ingress protocol ip pref 6 flower dst_ip 10.0.0.2 action gact index 7
        tc filter add dev d0 ingress protocol ip pref 6 flower dst_ip 10.0.0.3 action gact index 9
        tc filter add dev d0 ingress protocol ip pref 6 flower dst_ip 10.0.0.4 action gact index 9
        tc filter add dev d0 ingress protocol ip pref 7 flower dst_ip 10.0.0.5 action drop
        tc filter add dev d0 egress pref 7 matchall action police rate 1mbit burst 10k index 3
        tc filter add dev d0 egress pref 8 matchall action police index 3
        """,
        ('actions:\n  "gact 9":\n', 'action: ["gact 9"]'),
        (
            "filter d0 egress pref [7-8], filter d0 ingress pref 5 dst_ip 10.0.0.1,"
            " filter d0 ingress pref 6 dst_ip 10.0.0.2",
        ),
    ),
    "tunnels-that-do-not-look-for-the-mtu-of-the-path": Host(
        """
        ip link add gr1 type gre local 192.0.2.1 remote 192.0.2.3
        ip link add gr2 type gre local 192.0.2.1 remote 192.0.2.4 nopmtudisc ignore-df
        ip link add ip1 type ipip local 192.0.2.1 remote 192.0.2.3
        ip link add ip2 type ipip local 192.0.2.1 remote 192.0.2.4 ttl 0 nopmtudisc
        """,
        (
            '  gr1:\n    kind: gre\n    local: "192.0.2.1"\n    remote: "192.0.2.3"\n',
            '    pmtudisc: false\n    ignore_df: true\n    local: "192.0.2.1"\n    remote: "192.0.2.4"\n',
            '  ip1:\n    kind: ipip\n    local: "192.0.2.1"\n    remote: "192.0.2.3"\n    mode: any\n  ip2:\n',
        ),
    ),
    "tunnels-over-ipv6": Host(
        """
        ip link add e60 type ip6erspan seq key 10 local 2001:db8::1 remote 2001:db8::5 erspan_ver 2 erspan_hwid 3
        ip link add g1 type geneve id 6 remote 2001:db8::1 udp6zerocsumtx udp6zerocsumrx
        ip link add g2 type geneve id 7 remote 192.0.2.1
        """,
        ("    udp6zerocsumtx: true\n    udp6zerocsumrx: true\n",),
    ),
    "mtus-as-of-any-card": Host(
        """
        ip link add d0 mtu 9000 up type dummy
        ip link add vx0 mtu 1500 type vxlan id 5 dstport 4789 dev d0
        ip link add gt1 mtu 1500 type gretap local 192.0.2.1 remote 192.0.2.3
        ip link add bo0 mtu 1450 type bond
        ip link add d1 master bo0 type dummy
        ip link set d1 mtu 1500
        """,
        (
            "  d1:\n    kind: dummy\n    mtu: 1500\n    master: bo0\n",
            '  gt1:\n    kind: gretap\n    local: "192.0.2.1"\n    remote: "192.0.2.3"\n    mtu: 1500\n',
            "    dstport: 4789\n    mtu: 1500\n",
        ),
    ),
    "address-on-several-links": Host(
        """
        ip link add d0 up type dummy
        ip link add d1 up type dummy
        ip address add 192.0.2.1/32 dev lo
        ip address add 192.0.2.1/32 dev d0
        ip address add 192.0.2.1/32 dev d1
        ip address add 192.0.2.1/24 dev d1
        ip address add 192.0.2.2 peer 192.0.2.3 dev d0
        ip address add 192.0.2.2 peer 192.0.2.4 dev d1
        ip address add 2001:db8::1/128 dev d0
        ip address add 2001:db8::1/128 dev d1
        """,
        ('  lo:\n    addresses: ["192.0.2.1/32"]\n',),
    ),
    "networks-of-number-0": Host(
        """
        ip link add vx0 type vxlan id 0 dstport 4789
        ip link add vx1 type vxlan id 1 dstport 4789
        ip link add ge0 type geneve id 0 remote 192.0.2.1
        """,
        (
            '  ge0:\n    kind: geneve\n    id: 0\n    remote: "192.0.2.1"\n',
            '  vx[a=0-1]:\n    kind: vxlan\n    id: "{a}"\n    dstport: 4789\n',
        ),
    ),
    "gateway-that-shares-what-it-sends": Host(
        """
        ip link add e0 up type dummy
        ip link add e1 up mtu 1400 type dummy
        ip link add i0 up type ifb
        tc qdisc add dev e0 root handle 1: htb default 30
        tc class add dev e0 parent 1: classid 1:1 htb rate 100mbit burst 15k
        tc class add dev e0 parent 1:1 classid 1:10 htb rate 50mbit ceil 100mbit burst 15k prio 1
        tc class add dev e0 parent 1:1 classid 1:20 htb rate 30mbit ceil 100mbit prio 2
        tc qdisc add dev e0 parent 1:10 fq_codel
        tc qdisc add dev e0 parent 1:20 handle 20: fq_codel limit 300 noecn
        tc filter add dev e0 protocol ip parent 1: prio 1 u32 match ip dport 22 0xffff flowid 1:10
        tc qdisc add dev e0 ingress
        tc filter add dev e0 parent ffff: prio 10 protocol all matchall action mirred egress redirect dev i0
        tc qdisc add dev i0 root cake bandwidth 45mbit nat wash
        tc qdisc add dev e1 root tbf rate 1mbit burst 32kbit latency 400ms
        """,
        (
            '    qdiscs: [{kind: htb, handle: "1:", default: "0x30"}, {parent: "1:10", kind: fq_codel}, '
            '{parent: "1:20", kind: fq_codel, handle: "20:", limit: 300, ecn: false}, {kind: ingress}]\n',
            '    classes: [{classid: "1:1", rate: "100mbit", burst: 15350, cburst: 1600}, '
            '{classid: "1:10", parent: "1:1", rate: "50mbit", ceil: "100mbit", burst: 15356, cburst: 1600, prio: 1}, '
            '{classid: "1:20", parent: "1:1", rate: "30mbit", ceil: "100mbit", burst: 1598, cburst: 1600, prio: 2}]\n',
            "matchall: {}, parent: ingress, protocol: all, action: [{mirred: {egress: redirect, dev: i0}}]}]\n",
            '  i0:\n    qdiscs: [{kind: cake, bandwidth: "45mbit", nat: true, wash: true}]\n',
            '  e1:\n    qdiscs: [{kind: tbf, rate: "1mbit", burst: 4096, limit: 54096}]\n',
        ),
    ),
    "isatap": Host(
        "ip link add si1 type sit local 192.0.2.1 isatap",
        ("    isatap: true\n",),
    ),
    "tun-beside-tap": Host(
        """
        ip tuntap add mode tun name tu0 user 1000 pi
        ip tuntap add mode tap name ta0
        """,
        ("  ta0:\n    kind: tun\n    mode: tap\n  tu0:\n    kind: tun\n    mode: tun\n    pi: true\n    user: 1000\n",),
    ),
    "macsec": Host(
        """
        ip link add d0 up type dummy
        ip link add link d0 name ms0 type macsec sci 0123456789abcdef encrypt on
        ip macsec add ms0 tx sa 0 pn 100 on key 00 0123456789abcdef0123456789abcdef
        """,
        (),
        ("ms0",),
    ),
}
