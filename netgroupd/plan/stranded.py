# SPDX-License-Identifier: GPL-2.0-or-later
"""Gateways that nobody can reach any more: the kernel keeps what goes by way of them, and would not make it again.

So it is asked again, and refuses it now, and not when the host boots.
"""

from collections.abc import Iterable, Iterator

from netgroupd.model.state import Object, State, records
from netgroupd.model.value import Value, ip_bytes
from netgroupd.plan.absent import network_of, networks_of


class Stranded:
    """The networks that links are not in any more, with the addresses that go."""

    def __init__(self, deleted: Iterable[Object] = (), desired: State | None = None) -> None:
        self._left = {
            (obj.name, network): f"{obj.key[1]} is deleted" for obj in deleted for network in networks_of([obj.key])
        }
        for key in desired.of("address") if desired and self._left else ():
            for network in networks_of([key]):
                self._left.pop((str(key[0]), network), None)
        self._sizes = {(bits, length) for _, (bits, length, _) in self._left}

    def why(self, obj: Object) -> str:
        """Why ``obj`` may lead nowhere; "" if it does not."""
        if not self._left or obj.cls not in ("nexthop", "route") or obj.attrs.get("onlink") or obj.attrs.get("nhid"):
            return ""
        return next(filter(None, (self._why(via, dev) for via, dev in _ways(obj))), "")

    def _why(self, via: Value, dev: Value) -> str:
        gateway = ip_bytes(str(via))
        found = (
            self._left.get((str(dev), network_of(gateway, size)))
            for bits, size in self._sizes
            if bits == len(gateway) * 8
        )
        return next(filter(None, found), "")


def _ways(obj: Object) -> Iterator[tuple[Value, Value]]:
    for way in (obj.attrs, *records(obj.attrs, "nexthops")):
        if way.get("via") and way.get("dev"):
            yield way["via"], way["dev"]
