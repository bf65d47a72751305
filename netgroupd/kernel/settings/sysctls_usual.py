# SPDX-License-Identifier: GPL-2.0-or-later
"""What settings are where nobody has changed them, of those that a new namespace has of the host's own.

The host's own may have been told something since a namespace was made, and is told by none what it began with.
"""

from collections.abc import Mapping
from mmap import PAGESIZE

ROOT = "/proc/sys/net"
# What IPv4 has for all links and for those to come, where nobody has said anything; all else is 0.
_OF_IPV4 = {
    **dict.fromkeys(("accept_redirects", "send_redirects", "secure_redirects", "shared_media"), "1"),
    "arp_evict_nocarrier": "1",
    "igmpv2_unsolicited_report_interval": "10000",
    "igmpv3_unsolicited_report_interval": "1000",
}
_USUAL_OF_IPV4: Mapping[str, Mapping[str, str]] = {
    f"{ROOT}/ipv4/conf/all": _OF_IPV4,
    f"{ROOT}/ipv4/conf/default": {**_OF_IPV4, "accept_source_route": "1"},
}
_FORWARDS = f"{ROOT}/ipv4/ip_forward"

# What links begin with, and what there is once for all namespaces; how much waits follows from how large a packet is.
_OF_NEIGHBOURS = {
    **dict.fromkeys(("app_solicit", "mcast_resolicit"), "0"),
    **dict.fromkeys(("mcast_solicit", "ucast_solicit"), "3"),
    "anycast_delay": "100",
    "base_reachable_time_ms": "30000",
    "delay_first_probe_time": "5",
    "gc_interval": "30",
    "gc_stale_time": "60",
    "gc_thresh1": "128",
    "gc_thresh2": "512",
    "gc_thresh3": "1024",
    "interval_probe_time_ms": "5000",
    "proxy_delay": "80",
    "proxy_qlen": "64",
    "retrans_time_ms": "1000",
}
_USUAL_OF_NEIGHBOURS: Mapping[str, Mapping[str, str]] = {
    f"{ROOT}/ipv4/neigh": {**_OF_NEIGHBOURS, "locktime": "100"},
    f"{ROOT}/ipv6/neigh": {**_OF_NEIGHBOURS, "locktime": "0"},
}
# Two sizes, and the most that the third can be: it is less with little memory.
_BUFFERS = {
    f"{ROOT}/ipv4/tcp_rmem": (f"{PAGESIZE} 131072 ", 6 << 20),
    f"{ROOT}/ipv4/tcp_wmem": (f"{PAGESIZE} 16384 ", 4 << 20),
}
_CONGESTION = f"{ROOT}/ipv4/tcp_congestion_control"


def of_neighbours(place: tuple[str, str]) -> str:
    """What a setting of a link's neighbours is where nobody has changed one of any link; "" for others."""
    return _USUAL_OF_NEIGHBOURS.get(place[0], {}).get(place[1], "")


def is_usual(path: str, value: str, new: str | None, *, first: bool) -> bool:
    """Whether a setting that belongs to no link is what a namespace is made with; a ``new`` one has that by now.

    The ``first`` namespace is the host's own, which new ones have some settings of, and others never.
    """
    place, _, name = path.rpartition("/")
    if place in _USUAL_OF_IPV4:
        return value == _USUAL_OF_IPV4[place].get(name, "0")
    if path == _FORWARDS:
        return value == "0"
    if new is None:
        return value == (of_neighbours((place.removesuffix("/default"), name)) or value)
    if path not in _BUFFERS and path != _CONGESTION:
        return value == new
    return (value == new and not first) or _is_of_the_host(path, value)


def _is_of_the_host(path: str, value: str) -> bool:
    if path == _CONGESTION:
        return value == "cubic"
    sizes, most = _BUFFERS[path]
    return value.startswith(sizes) and int(value.removeprefix(sizes)) <= most
