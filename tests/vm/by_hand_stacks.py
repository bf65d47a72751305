# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks that somebody makes by hand, and what a capture says of them: not what one layer has from another."""

from tests.vm.by_hand_cases import Host

STACKS = {
    "leaf-with-a-shared-gateway": Host(
        """
        ip link add bo0 mtu 9000 type bond mode 802.3ad miimon 100
        ip link add p1 type veth peer name q1
        ip link set p1 master bo0
        ip link set bo0 up
        ip link set q1 up
        ip link add br0 address 44:38:39:22:01:b1 type bridge vlan_filtering 1
        ip link set br0 mtu 9216
        ip link set bo0 master br0
        ip link set br0 up
        ip link add vx0 type vxlan external vnifilter dstport 4789
        ip link set vx0 master br0 up
        ip link add link br0 name vlan10 type vlan id 10
        ip link set vlan10 up
        ip link add link vlan10 name vlan10-v0 address 00:00:5e:00:01:01 type macvlan mode private
        bridge vlan add dev br0 vid 10 self
        bridge vlan add dev br0 vid 11 self
        bridge fdb add 00:00:5e:00:01:01 dev br0 vlan 10 self local
        bridge fdb add 00:00:5e:00:01:01 dev br0 vlan 11 self local
        bridge fdb append 00:00:00:00:00:00 dev vx0 src_vni 10010 dst 192.0.2.12 self permanent
        bridge fdb append 00:00:00:00:00:00 dev vx0 src_vni 10011 dst 192.0.2.12 self permanent
        bridge fdb append 00:00:00:00:00:00 dev vx0 src_vni 10012 dst 192.0.2.12 self permanent
        """,
        (
            '    mode: "802.3ad"\n    mtu: 9000\n    master: br0\n',
            '    mtu: 9216\n    mac: "44:38:39:22:01:b1"\n',
            "  p1:\n    kind: veth\n    peer: q1\n    master: bo0\n",
            "  vlan10:\n    kind: vlan\n    link: br0\n    id: 10\n    up: true\n  vlan10-v0:\n",
            '    mode: private\n    mac: "00:00:5e:00:01:01"\n',
            '  - {vlan: "[10-11]", dev: br0, mac: "00:00:5e:00:01:01", where: self, state: permanent}\n',
            '  - {src_vni: "[10010-10012]", dev: vx0, mac: "00:00:00:00:00:00", where: self, state: permanent, ',
        ),
    ),
    "macsec-on-the-ports-of-a-bond": Host(
        """
        ip link add d0 up mtu 9000 type dummy
        ip link add link d0 name ms0 type macsec encrypt on
        ip link add bo0 type bond mode 802.3ad
        ip link set ms0 master bo0
        ip link set bo0 up
        ip link add link d0 name ms1 type macsec port 2 icvlen 8
        """,
        (
            "  ms0:\n    kind: macsec\n    link: d0\n    encrypt: true\n    master: bo0\n",
            "    icvlen: 8\n",
        ),
        ("ms0, ms1",),
    ),
    "policers-in-the-place-of-actions": Host(
        """
        ip link add d0 up type dummy
        tc qdisc add dev d0 ingress
        tc filter add dev d0 parent ffff: protocol all u32 match u32 0 0 police rate 8mbit burst 1mb drop flowid :1
        tc filter add dev d0 parent ffff: protocol ip prio 9 handle 7 fw police rate 1mbit burst 10k pipe
        """,
        (
            'match: ["0x00000000/0x00000000 at 0"]}, parent: ingress, protocol: all, classid: "0:1", '
            'action: [{police: {control: drop, rate: "8mbit", burst: 1048576',
            'fw: {mark: "0x7"}, parent: ingress, protocol: ip, action: [{police: {',
        ),
    ),
    "tunnels-from-one-address": Host(
        """
        ip link add gr1 type gre local 192.0.2.1 remote 192.0.2.11
        ip link add gr2 type gre local 192.0.2.1 remote 192.0.2.12
        ip link add gr3 type gre local 192.0.2.1 remote 192.0.2.13
        ip link add gt1 type ip6gre local 2001:db8::1 remote 2001:db8::11
        ip link add gt2 type ip6gre local 2001:db8::1 remote 2001:db8::12
        ip link add gt3 type ip6gre local 2001:db8::1 remote 2001:db8::13
        """,
        (
            '  gr[a=1-3]:\n    kind: gre\n    local: "192.0.2.1"\n    remote: "192.0.2.{a + 10}"\n  gt',
            '    local: "2001:db8::1"\n    remote: "2001:db8::{a + 16:x}"\n',
        ),
    ),
}
