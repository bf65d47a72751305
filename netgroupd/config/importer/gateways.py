# SPDX-License-Identifier: GPL-2.0-or-later
"""``gateway`` and ``metric`` of the stanzas -> default routes, of which a table has one for each metric."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface
from typing import NamedTuple

from netgroupd.config.importer.draft import Draft
from netgroupd.config.importer.fold import Body
from netgroupd.config.importer.stanzas import Option

NAMES = frozenset({"gateway", "metric"})


class _Gateway(NamedTuple):
    """One gateway of a stanza."""

    link: str
    address: IPv4Address | IPv6Address
    metric: int | None
    option: Option


class Gateways:
    """Takes gateways as they come, and makes routes of them when the addresses and VRFs of all links are known."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._asked: list[_Gateway] = []

    def take(self, name: str, options: Sequence[Option]) -> None:
        """Keep the gateways of one stanza."""
        metric = next((option for option in options if option.name == "metric"), None)
        for option in options:
            for text in option.value.split() if option.name == "gateway" else ():
                try:
                    distance = int(metric.value) if metric else None
                    self._asked.append(_Gateway(name, ip_address(text), distance, option))
                except ValueError:
                    wrong = f"{text!r} is not an address" if _is_number(metric) else "its metric is not a number"
                    self._draft.remark(option.place, wrong, name=name)

    def finish(self) -> None:
        """Make the routes; the kernel takes the first of those that are for the same place."""
        taken: dict[tuple[object, ...], str] = {}
        for link, address, metric, option in self._asked:
            body = self._draft.link(link)
            vrf = body.get("master") if body.get("master") in self._draft.vrfs else None
            before = taken.setdefault((vrf, address.version, metric), f"{address} on {link}")
            if before != f"{address} on {link}":
                hint = "the kernel takes one for each metric"
                self._draft.remark(option.place, f"there is a default route via {before} already", hint, name=link)
                continue
            onlink = None if _reaches(body, address) else True
            route = {"dev": link, "to": "default", "via": str(address), "metric": metric, "onlink": onlink, "vrf": vrf}
            self._draft.entry("routes", route)


def _is_number(metric: Option | None) -> bool:
    return metric is None or metric.value.isdecimal()


def _reaches(body: Body, gateway: IPv4Address | IPv6Address) -> bool:
    """Whether an address of the link has the gateway for a neighbour; ifupdown2 asks for the route regardless."""
    if gateway.is_link_local:
        return True
    for entry in body.get("addresses", ()):
        about = entry if isinstance(entry, dict) else {"address": entry}
        try:
            near = [ip_interface(str(about[key])).network for key in ("address", "peer") if key in about]
        except ValueError:
            continue  # from a command; reading the configuration tells of it
        if any(gateway in network for network in near):
            return True
    return False
