# SPDX-License-Identifier: GPL-2.0-or-later
"""ifupdown2's options that are one attribute here: a table.

Each row is the option, our key (``port.cost`` is below ``port``,
``sysctl.ipv4.forwarding`` below ``sysctl``) and how its value is read.
"""

import re
from collections.abc import Callable
from typing import Any

_ON = frozenset({"yes", "on", "true", "1", "y"})
_OFF = frozenset({"no", "off", "false", "0", "n"})
_MAC = re.compile(r"[0-9a-f]{1,2}(:[0-9a-f]{1,2}){5}")


def switch(value: str) -> bool:
    """Read yes and no in all their spellings.

    Raises:
        ValueError: It is neither.
    """
    if value.lower() in _ON | _OFF:
        return value.lower() in _ON
    raise ValueError("expected yes or no")


def _setting(value: str) -> int:
    return int(value) if value.isdecimal() else int(switch(value))


def _seconds(value: str) -> int:
    """Turn seconds into the hundredths that bridges count in."""
    return round(float(value) * 100)


def mac(value: str) -> str:
    """Read a MAC address, whose bytes may be written with one digit.

    Raises:
        ValueError: It is none.
    """
    word = value.removeprefix("ether").strip().lower().replace("-", ":")
    if not _MAC.fullmatch(word):
        raise ValueError("expected a MAC address")
    return ":".join(byte.zfill(2) for byte in word.split(":"))


def as_text(value: str) -> str:
    """Write a text such that no brackets and braces in it are ranges and references."""
    return re.sub(r"[\[\]{}]", r"\g<0>\g<0>", value)


def _quoted(value: str) -> str:
    text = value.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _word(value: str) -> str:
    return value.lower()


def _bond_mode(value: str) -> str:
    numbers = ("balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb")
    return numbers[int(value)] if value.isdecimal() and int(value) < len(numbers) else value


def _lacp_rate(value: str) -> str:
    return {"0": "slow", "1": "fast"}.get(value, value)


def _router(value: str) -> int:
    words = {"disabled": 0, "automatic": 1, "enabled": 2}
    return words[value.lower()] if value.lower() in words else _setting(value)


def _ttl(value: str) -> int:
    return 0 if value.lower() in ("auto", "inherit") else int(value)


def _several(value: str) -> list[str]:
    return value.replace(",", " ").split()


def _inverse(value: str) -> bool:
    return not switch(value)


Row = tuple[str, Callable[[str], Any]]

ATTRIBUTES: dict[str, Row] = {
    "alias": ("alias", _quoted),
    "description": ("alias", _quoted),
    "hwaddress": ("mac", mac),
    "link-down": ("up", _inverse),
    "mtu": ("mtu", int),
    "txqueuelen": ("txqueuelen", int),
    "vlan-bridge-binding": ("bridge_binding", switch),
    "vlan-id": ("id", int),
    "vlan-protocol": ("protocol", _word),
    "vlan-raw-device": ("link", str),
    "vrf": ("master", str),
    # bridges
    "bridge-ageing": ("ageing_time", _seconds),
    "bridge-bridgeprio": ("priority", int),
    "bridge-fd": ("forward_delay", _seconds),
    "bridge-hashmax": ("mcast_hash_max", int),
    "bridge-hello": ("hello_time", _seconds),
    "bridge-hw": ("mac", mac),
    "bridge-igmp-version": ("mcast_igmp_version", int),
    "bridge-maxage": ("max_age", _seconds),
    "bridge-mclmc": ("mcast_last_member_count", int),
    "bridge-mclmi": ("mcast_last_member_interval", _seconds),
    "bridge-mcmi": ("mcast_membership_interval", _seconds),
    "bridge-mcqi": ("mcast_query_interval", _seconds),
    "bridge-mcqifaddr": ("mcast_query_use_ifaddr", switch),
    "bridge-mcqpi": ("mcast_querier_interval", _seconds),
    "bridge-mcqri": ("mcast_query_response_interval", _seconds),
    "bridge-mcquerier": ("mcast_querier", switch),
    "bridge-mcrouter": ("mcast_router", _router),
    "bridge-mcsnoop": ("mcast_snooping", switch),
    "bridge-mcsqc": ("mcast_startup_query_count", int),
    "bridge-mcsqi": ("mcast_startup_query_interval", _seconds),
    "bridge-mcstats": ("mcast_stats_enabled", switch),
    "bridge-mld-version": ("mcast_mld_version", int),
    "bridge-stp": ("stp", switch),
    "bridge-vlan-aware": ("vlan_filtering", switch),
    "bridge-vlan-protocol": ("vlan_protocol", _word),
    "bridge-vlan-stats": ("vlan_stats_enabled", switch),
    # bonds
    "bond-ad-actor-sys-prio": ("ad_actor_sys_prio", int),
    "bond-ad-actor-system": ("ad_actor_system", mac),
    "bond-ad-sys-mac-addr": ("ad_actor_system", mac),
    "bond-ad-sys-priority": ("ad_actor_sys_prio", int),
    "bond-arp-interval": ("arp_interval", int),
    "bond-arp-ip-target": ("arp_ip_target", _several),
    "bond-arp-validate": ("arp_validate", _word),
    "bond-downdelay": ("downdelay", int),
    "bond-fail-over-mac": ("fail_over_mac", _word),
    "bond-lacp-rate": ("lacp_rate", _lacp_rate),
    "bond-miimon": ("miimon", int),
    "bond-min-links": ("min_links", int),
    "bond-mode": ("mode", _bond_mode),
    "bond-num-grat-arp": ("num_grat_arp", int),
    "bond-num-unsol-na": ("num_grat_arp", int),
    "bond-primary": ("primary", str),
    "bond-primary-reselect": ("primary_reselect", _word),
    "bond-updelay": ("updelay", int),
    "bond-use-carrier": ("use_carrier", switch),
    "bond-xmit-hash-policy": ("xmit_hash_policy", _word),
    # VXLANs and other tunnels
    "endpoint": ("remote", str),
    "local": ("local", str),
    "ttl": ("ttl", _ttl),
    "tunnel-endpoint": ("remote", str),
    "tunnel-local": ("local", str),
    "tunnel-physdev": ("dev", str),
    "tunnel-tos": ("tos", _word),
    "tunnel-ttl": ("ttl", _ttl),
    "vxlan-ageing": ("ageing", int),
    "vxlan-id": ("id", int),
    "vxlan-learning": ("learning", switch),
    "vxlan-mcastgrp": ("remote", str),
    "vxlan-mcastgrp6": ("remote", str),
    "vxlan-physdev": ("dev", str),
    "vxlan-port": ("dstport", int),
    "vxlan-svcnodeip": ("remote", str),
    "vxlan-svcnodeip6": ("remote", str),
    "vxlan-tos": ("tos", _word),
    "vxlan-ttl": ("ttl", _ttl),
    "vxlan-udp-csum": ("udpcsum", switch),
    "vxlan-vnifilter": ("vnifilter", switch),
    "veth-peer-name": ("peer", str),
    "xfrm-id": ("if_id", int),
    "xfrm-physdev": ("dev", str),
    # kernel settings of a link
    "accept-local": ("sysctl.ipv4.accept_local", _setting),
    "accept-ra": ("sysctl.ipv6.accept_ra", _setting),
    "arp-accept": ("sysctl.ipv4.arp_accept", _setting),
    "arp-announce": ("sysctl.ipv4.arp_announce", _setting),
    "arp-filter": ("sysctl.ipv4.arp_filter", _setting),
    "arp-ignore": ("sysctl.ipv4.arp_ignore", _setting),
    "arp-notify": ("sysctl.ipv4.arp_notify", _setting),
    "autoconf": ("sysctl.ipv6.autoconf", _setting),
    "dad-attempts": ("sysctl.ipv6.dad_transmits", int),
    "disable-ip6": ("sysctl.ipv6.disable_ipv6", _setting),
    "ip-forward": ("sysctl.ipv4.forwarding", _setting),
    "ip6-forward": ("sysctl.ipv6.forwarding", _setting),
    "mpls-enable": ("sysctl.mpls.input", _setting),
    "privext": ("sysctl.ipv6.use_tempaddr", int),
    "proxy-arp": ("sysctl.ipv4.proxy_arp", _setting),
    "rp-filter": ("sysctl.ipv4.rp_filter", _setting),
}

# Of a port when it stands under the port, of several when under the bridge: swp1=4 swp2=8.
PORT_ATTRIBUTES: dict[str, Row] = {
    "bridge-arp-nd-suppress": ("neigh_suppress", switch),
    "bridge-broadcast-flood": ("bcast_flood", switch),
    "bridge-hairpin": ("hairpin", switch),
    "bridge-learning": ("learning", switch),
    "bridge-multicast-flood": ("mcast_flood", switch),
    "bridge-pathcost": ("cost", int),
    "bridge-pathcosts": ("cost", int),
    "bridge-portmcfl": ("fastleave", switch),
    "bridge-portmcrouter": ("mcast_router", _router),
    "bridge-portprio": ("priority", int),
    "bridge-portprios": ("priority", int),
    "bridge-port-isolation": ("isolated", switch),
    "bridge-unicast-flood": ("flood", switch),
}

# As bridge-utils-interfaces(5) has them: a port and its value, swp1 4.
OF_ONE_PORT = frozenset({"bridge-hairpin", "bridge-pathcost", "bridge-portprio"})

TUNNEL_KINDS = {
    "gre": "gre", "gretap": "gretap", "ip6gre": "ip6gre", "ip6gretap": "ip6gretap", "ipip": "ipip", "sit": "sit",
    "vti": "vti", "vti6": "vti6", "ip6ip6": "ip6tnl", "ipip6": "ip6tnl", "any": "ip6tnl", "ip6tnl": "ip6tnl",
}  # fmt: skip

# What is not to be read in another file, or on a terminal.
SECRETS = ("wpa-psk", "wpa-pass", "wpa-private-key-pass", "wpa-wep-key", "wireless-key")

# Why an option is listed instead of taken over, by the beginning of its name.
REASONS = {
    "bond-lacp-bypass": "the kernel has no LACP bypass",
    "bridge-gcint": "the kernel collects by itself",
    "bridge-maxwait": "netgroupd waits for no port",
    "bridge-waitport": "netgroupd waits for no port",
    "clag": "MLAG is another daemon's",
    "dns-": "name servers are resolvconf(8)'s",
    "es-sys-mac": "MLAG is another daemon's",
    "mstpctl": "spanning tree by mstpd is another daemon's",
    "wireless-": "radio is iwconfig(8)'s",
    "wpa-": "radio is wpa_supplicant(8)'s",
    "ovs-": "Open vSwitch's bridges and ports are ovs-vsctl(8)'s",
}
