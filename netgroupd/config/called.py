# SPDX-License-Identifier: GPL-2.0-or-later
"""What other tools call things: who comes from them writes that, and nothing here is spelt like it."""

from collections.abc import Container

_CALLED = {
    "addresses": "address inet ip ip_address ip_addresses ipaddr ipv4 ipv6",
    "alias": "description",
    "altnames": "alt_names altname",
    "dev": "device iface interface next_hop_interface oif physdev vxlan_physdev",
    "dst": "remote",
    "dstport": "destination_port dst_port remote_port udp_port vxlan_port",
    "fwmark": "firewall_mark mark",
    "id": "tag tunnel_id vid vlan vlan_id vlanid vni vxlan_id",
    "ip": "address",
    "kind": "link_type type",
    "link": "base_iface dev device lower lower_device parent physdev raw_device real_dev vlan_device vlan_raw_device",
    "lladdr": "link_layer_address mac mac_address",
    "local": "local_address local_ip vxlan_local_tunnelip",
    "lookup": "route_table table table_id",
    "mac": "address cloned_mac_address ether hwaddr hwaddress lladdr mac_address macaddress",
    "master": "bond bond_master bridge controller vrf",
    "metric": "preference priority",
    "ports": "bond_slaves bridge_ports ifaces interfaces members slaves vrf_members",
    "pref": "priority",
    "pvid": "bridge_pvid default_vid",
    "remote": "destination remote_address remote_ip vxlan_remoteip",
    "src": "preferred_source prefsrc source",
    "table": "route_table route_table_id table_id vrf_table",
    "to": "destination dest dst network prefix",
    "max_tx_rate": "maximum_tx_rate rate",
    "min_tx_rate": "minimum_tx_rate",
    "num_vfs": "sriov_numvfs total_vfs virtual_function_count",
    "proto": "protocol vlan_proto vlan_protocol",
    "qos": "quality_of_service",
    "query_rss": "query_receive_side_scaling",
    "spoofchk": "mac_spoof_check spoof_check",
    "vfs": "sr_iov",
    "token": "ipv6_address_token ipv6_token",
    "up": "admin_state admin_up auto autostart enabled onboot state",
    "via": "gateway gw next_hop next_hop_address nexthop nexthop_via",
    "vlan": "vlan_id vlanid",
    "vlan_filtering": "bridge_vlan_aware vlan_aware",
    "vlans": "allowed_vlans bridge_vids trunk vids",
    # The last, for a link has ``links`` too.
    "links": "bonds bridges devices ethernets ifaces interface interfaces network tunnels vlans vrfs",
}
_ELSEWHERE = {
    "routes": "gateway gateway4 gateway6 gw route routes",
    "rules": "routing_policy rules",
}
_IN_A_PART = {
    "link_modes": "advertise duplex speed",
    "features": "gro gso lro rx rxhash rxvlan sg tso tx txvlan",
    "rings": "rx_jumbo rx_mini tx_push",
    "channels": "combined",
    "coalesce": "adaptive_rx adaptive_tx rx_frames rx_usecs tx_frames tx_usecs",
}
_DHCP = frozenset({"bootproto", "dhcp", "dhcp4", "dhcp6"})


def name_here(word: str, known: Container[str]) -> str:
    """The key that another tool has this word for; nothing where that is no such word."""
    same = _plain(word)
    return next((name for name, others in _CALLED.items() if name in known and same in others.split()), "")


def called_here(word: str, known: Container[str]) -> str:
    """What to write in place of another tool's word, as a sentence; nothing where that is no such word."""
    if name := name_here(word, known):
        return f"it is {name!r} here"
    same = _plain(word)
    if same == "latency" and "burst" in known:
        return "it is 'limit' here, in bytes: the rate times the latency, and the burst"
    if "link_modes" in known:  # what ethtool sets
        part = next((part for part, words in _IN_A_PART.items() if same in words.split()), "")
        return f"that stands under {part!r}" if part else ""
    if "mtu" in known and "kind" in known:  # of a link
        for section, others in _ELSEWHERE.items():
            if same in others.split():
                return f"that stands under {section!r}, beside 'links'"
        if same in _DHCP:
            return "a client of DHCP does that, and the addresses that it gives are left alone"
    return ""


def unspaced(word: str, known: Container[str]) -> str:
    """What to write in place of a key and a value in one word, as in ``up:true``; nothing where it is no such word."""
    name, mark, value = word.replace("=", ":").partition(":")
    return f"a blank must follow the colon: {name}: {value}" if mark and name in known else ""


def as_mapping(text: str, known: Container[str]) -> str:
    """An entry that is written as ``ip`` takes it, as it is written here; nothing where it is not read like that."""
    words = text.split()
    if len(words) % 2:
        words.insert(0, "to")
    keys = [word if word in known else name_here(word, known) for word in words[::2]]
    pairs = zip(keys, words[1::2], strict=True)
    return f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}" if all(keys) else ""


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")
