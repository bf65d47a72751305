# SPDX-License-Identifier: GPL-2.0-or-later
"""Wait for the IPv6 addresses that routes are told to send from: the kernel takes no route with one still in doubt.

It takes a second or two to find out whether an address is somebody else's, and a carrier.
"""

import time
from collections.abc import Iterable, Sequence, Set
from contextlib import suppress
from itertools import islice

from netgroupd.kernel.carrier import ENOUGH_S, OFTEN_S, running
from netgroupd.kernel.layer3.addresses import doubtful
from netgroupd.kernel.names import UnknownLinkError
from netgroupd.kernel.netlink.request import Context
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.model.route import source_of
from netgroupd.model.value import ip_bytes
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import AnyStep, Op, cls_of


def needed(steps: Sequence[AnyStep]) -> list[int]:
    """Before which step to wait: the first about a route that has a source."""
    return [*islice((place for place, step in enumerate(steps) if _is_of_route(step) and _sources((step,))), 1)]


def _is_of_route(step: AnyStep) -> bool:
    return step.op is not Op.DELETE and cls_of(step) == "route"


def _sources(steps: Iterable[AnyStep]) -> frozenset[bytes]:
    routes = singles(filter(_is_of_route, steps))
    return frozenset(ip_bytes(source) for route in routes if (source := source_of(route.object)))


def settled(socket: Socket, steps: Sequence[AnyStep]) -> None:
    """Wait until no source of a route is in doubt any more, or it has taken too long for that."""
    wanted, end = _sources(steps), time.monotonic() + ENOUGH_S
    while time.monotonic() < end and not wanted.isdisjoint(doubtful(socket)):
        time.sleep(OFTEN_S)


def without_carrier(context: Context, sources: Set[str]) -> frozenset[str]:
    """Those of some addresses that stay in doubt until their link has a carrier."""
    places = doubtful(context.socket) if sources else {}
    links: dict[str, str] = {}
    for source in sources:
        if index := places.get(ip_bytes(source)):
            with suppress(UnknownLinkError):  # it has gone meanwhile
                links[source] = context.names.name(index)
    ready = running(links.values(), context.netns) if links else frozenset()
    return frozenset(source for source, name in links.items() if name not in ready)
