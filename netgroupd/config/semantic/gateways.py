# SPDX-License-Identifier: GPL-2.0-or-later
"""Gateways and lightweight tunnels of routes and nexthops that the kernel does not take as such."""

from collections.abc import Iterator, Mapping, Set
from ipaddress import ip_address
from typing import NamedTuple

from netgroupd.config.checked import Checked
from netgroupd.config.sections.entries import told
from netgroupd.model.address import plain_address
from netgroupd.model.route import MAIN_TABLE, family_of
from netgroupd.model.state import Attrs, Object, records

_LAST = "255.255.255.255"


class Gateway(NamedTuple):
    """One way of a route or nexthop."""

    dev: str
    via: str
    field: str
    onlink: bool


def ways_by_gateways(checked: Checked) -> Iterator[tuple[Object, Gateway]]:
    """The ways of routes and nexthops that name a link or a gateway."""
    for obj, field, said in _ways(checked):
        dev, via = said.get("dev") or "", said.get("via") or ""
        if dev or via:
            onlink = bool(said.get("onlink") or obj.attrs.get("onlink") or obj.attrs.get("encap"))
            yield obj, Gateway(str(dev), str(via), field, onlink)


def _ways(checked: Checked) -> Iterator[tuple[Object, str, Attrs]]:
    for cls in ("route", "nexthop"):
        for obj in checked.state.of(cls).values():
            yield obj, "via", obj.attrs
            for hop in records(obj.attrs, "nexthops"):
                yield obj, "nexthops", hop


def unfit_gateways(checked: Checked) -> None:
    """A gateway is one other host."""
    ways = [(obj, way) for obj, way in ways_by_gateways(checked) if way.via and not obj.attrs.get("fdb")]
    own = _own(checked, frozenset(way.via for _, way in ways if ":" in way.via and not way.via.startswith("fe80:")))
    for obj, way in ways:
        what, address = "", ip_address(way.via)
        if (
            address.is_multicast
            or address.is_unspecified
            or way.via == _LAST
            or (address.is_loopback and ":" in way.via and not way.onlink)  # that of IPv6 is looked for
        ):
            what = f"{way.via} is no host, and cannot be a gateway"
        elif link := own.get((way.via, _domain(obj, way, checked))):  # the kernel takes that of IPv4
            what = f"{way.via} is an address of this host, on {link!r}, and cannot be a gateway"
        if what:
            checked.refuse(obj, way.field, what)


def missing_gateways(checked: Checked) -> None:
    """What is on a link though no network says so is a gateway; of IPv6 the kernel takes it for none."""
    for obj, field, said in _ways(checked):
        if not said.get("onlink") or said.get("via") or obj.cls != "route" or obj.key[0] != "inet":
            continue
        entry = checked.entry(obj)
        if said.get("dev") and entry.record.whole:
            what = f"{told(obj.cls, obj.key)} has no gateway (via) that could be on its link"
            checked.refuse(obj, "onlink" if field == "via" else field, what)


def _own(checked: Checked, named: Set[str]) -> dict[tuple[str, str], str]:
    """The links by those of the addresses ``named`` that are this host's, and by their VRF."""
    addresses = checked.state.of("address").values() if named else ()
    found = ((plain_address(address.key), address.name) for address in addresses)
    return {
        (plain, checked.domain(link)): link
        for plain, link in found
        if plain in named and not checked.attrs(link).get("netns")
    }


def _domain(obj: Object, way: Gateway, checked: Checked) -> str:
    """The VRF in which a gateway is looked for; another word where that is not known."""
    if way.dev:
        return checked.domain(way.dev)
    return "" if obj.cls == "nexthop" or obj.key[1] == MAIN_TABLE else "?"


def unfit_tunnels(checked: Checked) -> None:
    """Segment routing is of IPv6; only as a header around it does it take packets of IPv4."""
    for obj, field, said in _ways(checked):
        encap = said.get("encap")
        name = _only_of_ipv6(encap) if isinstance(encap, Mapping) else ""
        if name and _family(obj) == "inet":
            place = checked.entry(obj).place("encap" if field == "via" else field)
            checked.report.once(place, f"{told(obj.cls, obj.key)} is one of IPv4, and cannot have {name}")


def _only_of_ipv6(encap: Attrs) -> str:
    """What an encapsulation is called that takes no packets of IPv4; "" for another."""
    if encap["type"] == "seg6" and encap.get("mode") == "inline":
        return "seg6 in the mode inline"
    return "seg6local" if encap["type"] == "seg6local" else ""


def _family(obj: Object) -> str:
    if obj.cls == "route":
        return str(obj.key[0])
    via = obj.attrs.get("via")
    return str(obj.attrs.get("family") or (family_of(str(via)) if via else "inet"))
