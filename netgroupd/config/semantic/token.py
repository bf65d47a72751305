# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens of links that listen to no router."""

from collections.abc import Iterator

from netgroupd.config.checked import Checked
from netgroupd.config.semantic.links import WITHOUT_ETHERNET
from netgroupd.config.semantic.pairs import sends_packets
from netgroupd.model.address import LEAST_MTU
from netgroupd.model.state import Attrs
from netgroupd.model.token import NONE

_LEAST = LEAST_MTU["inet6"]
_WITHOUT_FRAMES = ("l3", "l3s", "tun")
_DEAF = WITHOUT_ETHERNET | {"dummy", "ifb", "nlmon", "vrf"}
"""Kinds that look for no neighbours unless they are told to."""


def tokens(checked: Checked) -> None:
    """A link has a token only if it makes itself addresses of what routers tell."""
    for obj in checked.state.of("token").values():
        place, attrs = checked.entry(obj).place("token"), checked.attrs(obj.name)
        if obj.attrs["token"] == NONE:
            continue
        for why, hint in (*_lacking(obj.name, attrs, checked), *_deafened(obj.name, checked)):
            checked.report.once(place, f"{obj.name!r} cannot have a token: {why}", hint)
        if why := _forwards(obj.name, checked):
            told = f"{obj.name!r} has a token, and {why}: a router listens to no other unless it is told to"
            tell = checked.report.warn if obj.name in checked.links.known else checked.report.once
            tell(place, told, "set its sysctl ipv6.accept_ra to 2")


def _lacking(name: str, attrs: Attrs, checked: Checked) -> Iterator[tuple[str, str]]:
    """What it takes and the link has not, and what would be right."""
    mtu, kind = attrs.get("mtu"), str(attrs.get("kind"))
    if name == "lo":
        yield "it is the loopback device", ""
    if attrs.get("l2only"):
        yield "it is l2only", ""
    if isinstance(mtu, int) and mtu < _LEAST:
        yield f"with an MTU of {mtu} it has no IPv6", f"give it {_LEAST} at least"
    deaf = kind in _DEAF or attrs.get("mode") in _WITHOUT_FRAMES or sends_packets(name, checked)
    if attrs.get("arp") is False or (deaf and not attrs.get("arp")):
        why = "its arp is off" if attrs.get("arp") is False else f"it is a {kind}"
        yield f"{why}, and it looks for no neighbours", "set its arp"


def _setting(name: str, setting: str, checked: Checked) -> str:
    """What a setting of a link is said to be; "" where nothing says it."""
    found = checked.state.of("sysctl").get((f"net/ipv6/conf/{name}/{setting}",))
    return str(found.attrs.get("value")) if found else ""


def _deafened(name: str, checked: Checked) -> Iterator[tuple[str, str]]:
    for setting in ("accept_ra", "router_solicitations"):
        if _setting(name, setting, checked) == "0":
            yield f"its sysctl ipv6.{setting} is 0", "leave one of them out"


def _forwards(name: str, checked: Checked) -> str:
    """What has the link forward and keeps it from listening; "" where it does not, or listens nevertheless."""
    if _setting(name, "accept_ra", checked) in ("0", "2"):
        return ""
    told = ((_setting(one, "forwarding", checked), what) for one, what in ((name, "it"), ("all", "all links")))
    said = next(((value, what) for value, what in told if value), ("0", ""))
    return "" if said[0] == "0" else f"{said[1]} forward{'s' if said[1] == 'it' else ''}"
