# SPDX-License-Identifier: GPL-2.0-or-later
"""Wait for the IPv6 addresses that routes are told to send from: the kernel takes no route with one still in doubt.

It takes a second or two to find out whether an address is somebody else's.
"""

import time
from collections.abc import Iterable, Sequence
from itertools import islice

from netgroupd.kernel.addresses import doubtful
from netgroupd.kernel.socket import Socket
from netgroupd.model.value import ip_bytes
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import AnyStep, Op, cls_of

_ENOUGH_S = 4  # of a link without a carrier they stay in doubt
_OFTEN_S = 0.05


def needed(steps: Sequence[AnyStep]) -> list[int]:
    """Before which step to wait: the first about a route that has a source."""
    return [*islice((place for place, step in enumerate(steps) if _is_of_route(step) and _sources((step,))), 1)]


def _is_of_route(step: AnyStep) -> bool:
    return step.op is not Op.DELETE and cls_of(step) == "route"


def _sources(steps: Iterable[AnyStep]) -> frozenset[bytes]:
    sources = (str(route.object.attrs.get("src") or "") for route in singles(filter(_is_of_route, steps)))
    return frozenset(ip_bytes(source) for source in sources if ":" in source)


def settled(socket: Socket, steps: Sequence[AnyStep]) -> None:
    """Wait until no source of a route is in doubt any more, or it has taken too long for that."""
    wanted, end = _sources(steps), time.monotonic() + _ENOUGH_S
    while time.monotonic() < end and not wanted.isdisjoint(doubtful(socket)):
        time.sleep(_OFTEN_S)
