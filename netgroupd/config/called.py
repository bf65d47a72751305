# SPDX-License-Identifier: GPL-2.0-or-later
"""What other tools call things: who comes from them writes that, and nothing here is spelt like it."""

from collections.abc import Collection, Container, Mapping

from netgroupd.model.kinds import KINDS

_CALLED = {
    "address": "inet ip ip_address ipaddr",
    "addresses": "address inet ip ip_address ip_addresses ipaddr ipv4 ipv6",
    "alias": "description",
    "ageing_time": "age ageing ageing_time_sec aging",
    "altnames": "alt_names altname",
    "classid": "flowid",
    "dev": "device iface interface next_hop_interface oif physdev",
    "dst": "remote",
    "dstport": "destination_port dst_port remote_port udp_port",
    "forward_delay": "fd forward_delay_sec",
    "from": "source src",
    "fwmark": "firewall_mark mark",
    "id": "tag tunnel_id vid vlan vlan_id vlanid vni vxlan_id",
    "ip": "address dst to",
    "kind": "link_type type",
    "link": "base_iface dev device lower lower_device parent physdev raw_device real_dev",
    "lladdr": "link_layer_address mac mac_address",
    "local": "local_address local_ip local_tunnelip",
    "lookup": "route_table table table_id",
    "mac": "address cloned_mac_address ether hwaddr hwaddress lladdr mac_address macaddress",
    "master": "bond bridge controller vrf",
    "metric": "preference priority",
    "miimon": "mii_monitor_interval mii_monitor_sec",
    "neigh_suppress": "arp_nd_suppress arp_suppress",
    "netns": "namespace net_namespace network_namespace",
    "nexthops": "nexthop",
    "ports": "ifaces interfaces members slaves",
    "pref": "prio priority",
    "pvid": "default_vid",
    "qdiscs": "qdisc root",
    "remote": "destination remote_address remote_ip remoteip",
    "src": "preferred_source prefsrc source",
    "stp": "spanning_tree",
    "table": "route_table route_table_id table_id",
    "to": "destination dest dst network prefix",
    "max_tx_rate": "maximum_tx_rate rate",
    "min_tx_rate": "minimum_tx_rate",
    "num_vfs": "sriov_numvfs total_vfs virtual_function_count",
    "proto": "protocol vlan_proto vlan_protocol",
    "protocol": "proto",
    "qos": "quality_of_service",
    "query_rss": "query_receive_side_scaling",
    "spoofchk": "mac_spoof_check spoof_check",
    "vfs": "sr_iov",
    "token": "ipv6_address_token ipv6_token",
    "up": "admin_state admin_up auto autostart enabled onboot state",
    "via": "gateway gw next_hop next_hop_address nexthop_via",
    "vid": "id tag vlan vlan_id vlanid",
    "vlan": "vlan_id vlanid",
    "vlan_default_pvid": "pvid",
    "vlan_filtering": "vlan_aware",
    "vlans": "allowed_vlans trunk vids",
    "links": "bonds bridges devices ethernets ifaces interface interfaces network tunnels vlans",
}
_ELSEWHERE = {
    "routes": "gateway gateway4 gateway6 gw route routes",
    "rules": "routing_policy rules",
    "tc": "classes egress filters ingress qdisc qdiscs tc",
}
_UNDER_A_LINK = {
    "a link": "address addresses ethtool neighbors vfs vlan_global vnis",
    "a link in 'tc'": "class classes egress filter filters ingress qdisc qdiscs",
}
_KINDS = {
    "it is 'bond' here": "bonding lag lacp port_channel trunk",
    "it is 'bridge' here": "linux_bridge ovs_bridge switch",
    "it is 'tun' here, with mode: tap": "tap",
    "it is 'ip6gre' here": "gre6",
    "it is 'ip6tnl' here": "ip4ip6 ip6ip6 ipip6",
    "it is 'sit' here": "6in4",
    "it is 'wireguard' here": "wg",
    "hardware is there, and has no kind": "device eth ethernet hardware infiniband nic physical wifi wireless wlan",
    "it is there, and has no kind": "lo loopback",
}
_TYPES = "anycast blackhole broadcast local multicast prohibit throw unicast unreachable"
_IN_A_VLAN = frozenset({"access", "access_vlan", "pvid", "tagged", "untagged"})
_NUMBERED = {"vlan": "tag vid vlan_id vlanid", "vxlan": "vni vxlan_id"}
_SETTINGS = {
    "ipv4.forwarding": "forwarding ip_forward ip4_forward ipv4_forwarding",
    "ipv4.proxy_arp": "proxy_arp",
    "ipv4.rp_filter": "rp_filter",
    "ipv6.accept_ra": "accept_ra ipv6_accept_ra",
    "ipv6.addr_gen_mode": "addr_gen_mode addrgenmode ip6_addrgen ipv6_address_generation",
    "ipv6.autoconf": "autoconf",
    "ipv6.disable_ipv6": "disable_ipv6",
    "ipv6.forwarding": "ip6_forward ipv6_forwarding",
    "ipv6.use_tempaddr": "ipv6_privacy use_tempaddr",
    "mpls.input": "mpls mpls_enable",
}
_IN_A_PART = {
    "link_modes": "advertise autoneg duplex link_duplex link_speed speed",
    "features": "gro gso lro rx rxhash rxvlan sg tso tx txvlan",
    "rings": "rx_jumbo rx_mini tx_push",
    "channels": "combined",
    "coalesce": "adaptive_rx adaptive_tx rx_frames rx_usecs tx_frames tx_usecs",
}
_SENTENCES = (  # the words, what is known where they say so, and what to write
    ("latency", "burst", "it is 'limit' here, in bytes: the rate times the latency, and the burst"),
    ("key", "ikey", "it is 'ikey' for what comes in, and 'okey' for what goes out"),
    ("netmask prefix prefixlen prefix_length", "address", "it stands behind the address: 192.0.2.1/24"),
    ("netmask", "addresses", "the length of the network stands behind the address: addresses: [192.0.2.1/24]"),
    ("interfaces links ports", "drift", "a link names its group: group: NAME"),
    ("weight", "group_type", "the group says it, as in group: [{id: 1, weight: 5}]"),
    ("master self", "where", "as in where: WORD"),
    (_TYPES, "nhid", "as in {type: WORD, to: 10.0.0.0/8}"),
    ("drop pass", "action", "as in action: WORD"),
    ("class classes", "stab", "that stands beside 'qdiscs', and names this as its 'parent'"),
    ("csum ct mirred mpls nat pedit police sample skbedit tunnel_key vlan", "action", "as in action: {WORD: {…}}"),
)
_BY_OTHERS = {
    "a client of DHCP does that, and the addresses that it gives are left alone": "bootproto dhcp dhcp4 dhcp6",
    "a resolver has that from elsewhere, such as /etc/resolv.conf": "dns dns_nameservers dns_search nameservers",
}


def name_here(word: str, known: Collection[str]) -> str:
    """The key that another tool has this word for, or spells otherwise; nothing where that is no such word."""
    short = _without_kind(word)
    if short in known:
        return short
    said = {_run_together(word), _run_together(short)} - {""}
    if alike := next((name for name in known if _run_together(name) in said), ""):
        return alike
    found = (name for name, words in _WORDS.items() if name in known and said & words)
    name = next((name for name in found if name != "links" or "routes" in known), "")
    return "links" if name == "ports" and "table" in known else name  # of a VRF, which has no ports of its own


def behind(word: str, known: Container[str]) -> str:
    """The key whose value stands behind a word for something else, as in ``blackhole: 10.0.0.0/8``; or nothing."""
    return "to" if "nhid" in known and "to" in known and _plain(word) in _TYPES.split() else ""


def kind_here(word: str) -> str:
    """What to write in place of another tool's kind of link, as a sentence; nothing where that is no such word."""
    return _row_with(_plain(word), _KINDS)


def called_here(word: str, known: Collection[str]) -> str:
    """What to write in place of another tool's word, as a sentence; nothing where that is no such word."""
    same = _plain(word)
    if "mtu" in known and "kind" in known and (told := _numbered(same, known) or _of_a_link(word, known)):
        return told
    if name := name_here(word, known):
        row = KINDS["bridge"].attrs.get(name)
        return f"it is {name!r} here" + (", in hundredths of a second" if row and row.ticks else "")
    if "link_modes" in known:  # what ethtool sets
        return _stands("under {!r}", _row_with(same, _IN_A_PART))
    if "links" in known and "routes" in known:  # the sections
        return _stands("under {}", _row_with(same, _UNDER_A_LINK))
    return _in_an_entry(same, known)


def _in_an_entry(same: str, known: Container[str]) -> str:
    if numbered := numbered_by(same, known):
        return f"as in {{{numbered}: {same}}}, and several are a list"
    told = (sentence for words, beside, sentence in _SENTENCES if same in words.split() and beside in known)
    return next(told, "").replace("WORD", same)


def numbered_by(word: str, known: Container[str]) -> str:
    """The key for the number that stands in place of a key; or nothing."""
    return next((name for name in ("vid", "vni", "msti") if name in known and word.isdecimal()), "")


def _numbered(same: str, known: Container[str]) -> str:
    kind = "" if "id" in known else _row_with(same, _NUMBERED)
    return f"it is 'id' of a link of the kind {kind}" if kind else ""


def _of_a_link(word: str, known: Collection[str]) -> str:
    same, short = _plain(word), _without_kind(word)
    if told := _stands("under {!r}, beside 'links'", _row_with(same, _ELSEWHERE)) or _row_with(same, _BY_OTHERS):
        return told
    if path := _row_with(same, _SETTINGS):
        return f"that stands under 'sysctl', as in sysctl: {{{path}: 1}}"
    if "vlan_filtering" in known:  # of a bridge, whose own it may be
        return ""
    if (short or same) in _IN_A_VLAN:
        return "that stands under 'vlans', as in {vid: 10, pvid: true, untagged: true}"
    of_ports = {row for kind in KINDS.values() for row in kind.port}
    name = short if short in of_ports else name_here(word, of_ports)
    if name and not {name, word} & {*known}:
        return f"that stands under 'port', as {name!r}"
    return _stands("under {!r} of its 'ethtool'", _row_with(same, _IN_A_PART)) if "ethtool" in known else ""


def _row_with(word: str, table: Mapping[str, str]) -> str:
    """The row of a table whose words a word is one of; or nothing."""
    return next((name for name, words in table.items() if word in words.split()), "")


def _stands(how: str, place: str) -> str:
    return f"that stands {how.format(place)}" if place else ""


def _without_kind(word: str) -> str:
    """The rest of a word that says beforehand of what kind of links it is, as ``bridge_ports``; or nothing."""
    kind, _, rest = _plain(word).partition("_")
    return rest if kind in KINDS else ""


def unspaced(word: str, known: Container[str]) -> str:
    """What to write in place of a key and a value in one word, as in ``up:true``; nothing where it is no such word."""
    name, mark, value = word.replace("=", ":").partition(":")
    return f"a blank must follow the colon: {name}: {value}" if mark and name in known else ""


def as_mapping(text: str, known: Collection[str]) -> str:
    """An entry that is written as ``ip`` takes it, as it is written here; nothing where it is not read like that."""
    words = text.split()
    if len(words) % 2:
        words.insert(0, "to")
    keys = [word if word in known else name_here(word, known) for word in words[::2]]
    pairs = zip(keys, words[1::2], strict=True)
    return f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}" if all(keys) else ""


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


def _run_together(word: str) -> str:
    """A word as all spell it: ``vlan_filtering``, ``VLANFiltering`` and ``vlan-filtering`` are one."""
    return _plain(word).replace("_", "")


_WORDS = {name: frozenset(map(_run_together, others.split())) for name, others in _CALLED.items()}
