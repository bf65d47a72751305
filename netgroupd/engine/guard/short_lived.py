# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings with which what is sent from here does not get past the first router."""

import re
from collections.abc import Iterable, Iterator, Sequence

from netgroupd.engine.guard.way import Way
from netgroupd.plan.step import Step

_LEAST = "1"
_OF_IPV6 = re.compile("net/ipv6/conf/(.+)/hop_limit")


def short_lived(steps: Iterable[Step], ways: Sequence[Way]) -> Iterator[tuple[Step, Way]]:
    """The steps by which packets of ``ways`` leave with the least TTL; those of tunnels have one of their own."""
    for step in steps:
        if step.object.cls != "sysctl" or str(step.attrs.get("value")) != _LEAST:
            continue
        path = str(step.object.key[0])
        of_link = _OF_IPV6.fullmatch(path)
        for way in ways:
            own = way.is_routed and (way.anywhere or way.session.peer)
            is_about = (
                (way.family == "inet") if path == "net/ipv4/ip_default_ttl" else of_link and of_link[1] == way.link
            )
            if own and is_about:
                yield step, way
