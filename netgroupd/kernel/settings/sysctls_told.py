# SPDX-License-Identifier: GPL-2.0-or-later
"""What netlink tells of the settings of all links, in three dumps where /proc has a hundred files for each link.

It is not read: links of which it tells the same have the same settings, so that
the files of one of them say what all have.
"""

from collections.abc import Mapping
from itertools import chain
from sys import byteorder

from netgroupd.kernel.links.numbers import IFLA_AF_SPEC, IFLA_EXT_MASK, RTM_GETLINK, SKIP_STATS
from netgroupd.kernel.links.once import Once
from netgroupd.kernel.links.write import header
from netgroupd.kernel.netlink.message import NLM_F_DUMP, attributes, request, u32, walk
from netgroupd.kernel.netlink.request import Context
from netgroupd.model.family import INET, INET6

_IPV4 = (
    "accept_local accept_redirects accept_source_route arp_accept arp_announce arp_evict_nocarrier arp_filter"
    " arp_ignore arp_notify bc_forwarding bootp_relay disable_policy disable_xfrm drop_gratuitous_arp"
    " drop_unicast_in_l2_multicast force_igmp_version forwarding igmpv2_unsolicited_report_interval"
    " igmpv3_unsolicited_report_interval ignore_routes_with_linkdown log_martians mc_forwarding medium_id"
    " promote_secondaries proxy_arp proxy_arp_pvlan route_localnet rp_filter secure_redirects send_redirects"
    " shared_media src_valid_mark tag"
)
_IPV6 = (
    "accept_dad accept_ra accept_ra_defrtr accept_ra_from_local accept_ra_min_hop_limit accept_ra_min_lft"
    " accept_ra_mtu accept_ra_pinfo accept_ra_rt_info_max_plen accept_ra_rt_info_min_plen accept_ra_rtr_pref"
    " accept_redirects accept_source_route accept_untracked_na addr_gen_mode autoconf dad_transmits disable_ipv6"
    " disable_policy drop_unicast_in_l2_multicast drop_unsolicited_na enhanced_dad force_mld_version force_tllao"
    " forwarding hop_limit ignore_routes_with_linkdown ioam6_enabled ioam6_id ioam6_id_wide keep_addr_on_down"
    " max_addresses max_desync_factor mldv1_unsolicited_report_interval mldv2_unsolicited_report_interval"
    " ndisc_evict_nocarrier ndisc_notify ndisc_tclass optimistic_dad proxy_ndp ra_defrtr_metric regen_max_retry"
    " router_probe_interval router_solicitation_delay router_solicitation_interval"
    " router_solicitation_max_interval router_solicitations rpl_seg_enabled seg6_enabled seg6_require_hmac"
    " suppress_frag_ndisc temp_prefered_lft temp_valid_lft use_oif_addrs_only use_optimistic use_tempaddr"
)
_NEIGHBOUR = (
    "anycast_delay app_solicit base_reachable_time base_reachable_time_ms delay_first_probe_time gc_stale_time"
    " interval_probe_time_ms locktime mcast_resolicit mcast_solicit proxy_delay proxy_qlen retrans_time"
    " retrans_time_ms ucast_solicit unres_qlen unres_qlen_bytes"
)
TOLD: Mapping[str, frozenset[str]] = {
    "ipv4/conf": frozenset(_IPV4.split()),
    "ipv4/neigh": frozenset(_NEIGHBOUR.split()),
    "ipv6/conf": frozenset(_IPV6.split()),
    "ipv6/neigh": frozenset(_NEIGHBOUR.split()),
}
"""What is told of, by where it is below /proc/sys/net; there is more, and a later kernel may have more still."""

_RTM_GETNEIGHTBL = 66
_TABLE_HEADER = 4
_CONF = {INET: 1, INET6: 2}  # where the settings are in what is of IPv4 and of IPv6
_FLAGS, _HEARD = 1, 0x20  # IF_RA_RCVD
_PARMS, _IFINDEX = 6, 1
_SWAYING = frozenset({_IFINDEX, 2, 3})  # nor how many use it, nor a time that the kernel draws anew
_LINK_HEADER = 16
_INDEX_AT = 4
_ATTR = 4  # the header of an attribute


def told(context: Context) -> dict[str, tuple[bytes, ...]]:
    """By the name of a link what is told of its settings."""
    asked = request(RTM_GETLINK, NLM_F_DUMP, header(0), u32(IFLA_EXT_MASK, SKIP_STATS))
    links = dict(context.socket.dump(asked, Once(_of_link, _places_of_link).read, "read the settings of links"))
    neighbours = [dict(_tables(context, family)) for family in _CONF]
    names = context.names.by_index
    return {
        names[index]: (*parts, *chain.from_iterable(table.get(index, (b"",)) for table in neighbours))
        for index, parts in links.items()
        if index in names
    }


def advised(context: Context) -> frozenset[str]:
    """The links that have heard the advertisement of a router, and have settings from there."""
    asked = request(RTM_GETLINK, NLM_F_DUMP, header(0), u32(IFLA_EXT_MASK, SKIP_STATS))
    heard = context.socket.dump(asked, _hears, "read which links have heard a router")
    names = context.names.by_index
    return frozenset(names[index] for index, hears in heard if hears and index in names)


def _hears(_kind: int, payload: memoryview) -> tuple[int, bool]:
    families = _inside(attributes(payload, _LINK_HEADER).get(IFLA_AF_SPEC))
    flags = _inside(families.get(INET6)).get(_FLAGS, b"")
    return int.from_bytes(payload[_INDEX_AT : _INDEX_AT + 4], byteorder), bool(
        int.from_bytes(flags, byteorder) & _HEARD
    )


def _tables(context: Context, family: int) -> list[tuple[int, tuple[bytes, ...]]]:
    asked = request(_RTM_GETNEIGHTBL, NLM_F_DUMP, bytes((family, 0, 0, 0)))
    return context.socket.dump(asked, Once(_of_neighbours, _places_of_neighbours).read, "read the settings of links")


def _of_link(payload: memoryview) -> tuple[bytes, ...]:
    families = _inside(attributes(payload, _LINK_HEADER).get(IFLA_AF_SPEC))
    return tuple(bytes(_inside(families.get(family)).get(conf, b"")) for family, conf in _CONF.items())


def _places_of_link(payload: memoryview) -> tuple[int, list[tuple[int, int]]]:
    """Where its index is, and the headers of all attributes with what counts of their values."""
    found = []
    for number, begin, stop in walk(payload, _LINK_HEADER):
        found.append((begin - _ATTR, begin))
        for family, first, last in walk(payload, begin, stop) if number == IFLA_AF_SPEC else ():
            found.append((first - _ATTR, first))
            told = walk(payload, first, last)
            found += ((start - _ATTR, end if conf == _CONF.get(family) else start) for conf, start, end in told)
    return _INDEX_AT, found


def _of_neighbours(payload: memoryview) -> tuple[bytes, ...]:
    parms = _inside(attributes(payload, _TABLE_HEADER).get(_PARMS))
    return (b"".join(bytes(value) for name, value in parms.items() if name not in _SWAYING),)


def _places_of_neighbours(payload: memoryview) -> tuple[int, list[tuple[int, int]]]:
    found, at = [], len(payload)  # nowhere in what is told of all links
    for number, begin, stop in walk(payload, _TABLE_HEADER):
        found.append((begin - _ATTR, begin))
        for name, start, end in walk(payload, begin, stop) if number == _PARMS else ():
            found.append((start - _ATTR, start if name in _SWAYING else end))
            at = start if name == _IFINDEX else at
    return at, found


def _inside(nest: memoryview | None) -> dict[int, memoryview]:
    return {} if nest is None else attributes(nest)
