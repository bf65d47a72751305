# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes of other programs that go with nexthops of ours: told before it is done."""

from collections.abc import Iterable
from itertools import islice

from netgroupd.model.state import Object, State
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.present import title
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan

_SHOWN = 5
# As `ip route` calls them, where nobody has told it otherwise.
_PROTOCOLS = {2: "kernel", 3: "boot", 4: "static", 11: "zebra", 12: "bird", 16: "dhcp", 42: "babel"}
_PROTOCOLS |= {186: "bgp", 187: "isis", 188: "ospf", 189: "rip", 192: "eigrp"}


def deleted_nexthops(plan: Plan, actual: State) -> frozenset[int]:
    """The nexthops that a plan deletes, also those that it makes again: what went by way of them is gone then."""
    if not actual.of("nexthop"):
        return frozenset()
    steps = (step for step in singles(plan.steps) if step.object.cls == "nexthop" and step.op is Op.DELETE)
    return frozenset(number for step in steps if isinstance(number := step.object.key[0], int))


def warnings(routes: Iterable[Object], desired: State) -> tuple[str, ...]:
    """One sentence about all of them, but for those that become netgroupd's."""
    wants = desired.of("route")
    lost = [route for route in routes if route.key not in wants]
    if not lost:
        return ()
    more = f", … ({len(lost):,} in all)" if len(lost) > _SHOWN else ""
    named = ", ".join(map(_named, islice(lost, _SHOWN)))
    return (f"routes that are not netgroupd's go with the nexthops that are deleted: {named}{more}",)


def _named(route: Object) -> str:
    number = route.attrs[UNOWNED]
    protocol = _PROTOCOLS.get(number, number) if isinstance(number, int) else number
    return f"{' '.join(title(route))} by nexthop {route.attrs['nhid']} (proto {protocol})"
