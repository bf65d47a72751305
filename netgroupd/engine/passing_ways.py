# SPDX-License-Identifier: GPL-2.0-or-later
"""Refused nexthops and routes whose gateways are in no network of their links any more -> the same in the kernel.

It keeps such where the network goes, and takes none anew.  So each gateway is made one on its link, by a route that
is there for that moment alone: what leads by it stays without that.
"""

import errno
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from netgroupd.engine.observe import Connection
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.model.route import key as route_key
from netgroupd.model.state import Object, records
from netgroupd.plan.step import Op, Step

_NO_WAY = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EINVAL})
_LED = frozenset({"nexthop", "route"})


@contextmanager
def on_passing_ways(kernel: Connection, refused: Sequence[Refused]) -> Iterator[tuple[Refused, ...]]:
    """Make of what was ``refused`` what needs such routes, which stay as long; give what is refused still."""
    led = [(each, each.step) for each in refused if isinstance(each.step, Step) and _is_led(each.step)]
    stranded = [step.object for each, step in led if each.refusal.errno in _NO_WAY]
    ways = [Step(Op.CREATE, None, way, way.attrs) for way in _passing(stranded)]
    if not ways:
        yield tuple(refused)
        return
    there = {each.step.object.key for each in kernel.apply(ways) if isinstance(each.step, Step)}
    try:
        # Those behind one that is refused are to be sent too.
        left = kernel.apply([step._replace(after=step.object.having({"optional": True})) for _, step in led])
        still = {each.step.object[:2] for each in left if isinstance(each.step, Step)}
        made = {id(each) for each, step in led if step.object[:2] not in still}
        yield tuple(each for each in refused if id(each) not in made)
    finally:
        kernel.apply([Step(Op.DELETE, way.object, None) for way in ways if way.object.key not in there])


def _is_led(step: Step) -> bool:
    return step.op is not Op.DELETE and step.object.cls in _LED


def _passing(stranded: Iterable[Object]) -> Iterator[Object]:
    """The routes to the gateways, in the table in which the kernel looks after that of a VRF or route."""
    ways = (way for obj in stranded for way in (obj.attrs, *records(obj.attrs, "nexthops")))
    for via, dev in sorted({(str(way["via"]), str(way["dev"])) for way in ways if way.get("via") and way.get("dev")}):
        key = route_key(f"{via}/{128 if ':' in via else 32}")
        yield Object("route", key, {"dev": dev, "optional": True})
