# SPDX-License-Identifier: GPL-2.0-or-later
"""(attributes of a message) -> whether the object has any that no file can say.

What a capture cannot write it must not have netgroupd take over, for then it would be gone.
"""

from collections.abc import Mapping
from typing import TypeAlias

from netgroupd.kernel.layer3.encap import says_all
from netgroupd.kernel.netlink.message import attributes
from netgroupd.model.route import FEATURES, LOCKABLE, METRICS

Found: TypeAlias = Mapping[int, memoryview]

# By what they are called in the kernel's headers without RTA_, FRA_ and NHA_, those among them that only inform.
_ROUTE = frozenset({1, 2, 4, 5, 6, 7, 8, 9, 11, 12, 15, 18, 19, 20, 21, 22, 24, 26, 30})
_RULE = frozenset({1, 2, 3, 4, 6, *range(10, 26)})
# Masks that newer kernels have, of ports and DSCP: one that leaves no bit out says nothing.
_WHOLE = {28: b"\xff\xff", 29: b"\xff\xff", 30: b"\x3f"}
_NEXTHOP = frozenset({*range(1, 9), 11, 12, 14})
_METRICS, _ENCAP_TYPE, _ENCAP = 8, 21, 22
_NEXTHOP_ENCAP_TYPE, _NEXTHOP_ENCAP = 7, 8
_LOCK, _FEATURES = 1, METRICS["features"].wire
_KNOWN_METRICS = frozenset({_LOCK, *(row.wire for row in METRICS.values())})
_LOCKABLE = sum(1 << number for number in LOCKABLE.values())
_KNOWN_FEATURES = sum(FEATURES.values())


def of_way(found: Found) -> bool:
    """Whether a route or one of its next hops has something unsaid."""
    return bool(found.keys() - _ROUTE) or (_ENCAP_TYPE in found and not says_all(found[_ENCAP_TYPE], found[_ENCAP]))


def of_route(found: Found) -> bool:
    """Whether a route has, itself, or in its metrics."""
    metrics = attributes(found[_METRICS]) if _METRICS in found else {}
    bits = {number: int.from_bytes(metrics.get(number, b""), "little") for number in (_LOCK, _FEATURES)}
    more = metrics.keys() - _KNOWN_METRICS or bits[_LOCK] & ~_LOCKABLE or bits[_FEATURES] & ~_KNOWN_FEATURES
    return bool(more) or of_way(found)


def of_rule(found: Found) -> bool:
    """Whether a rule has."""
    more = found.keys() - _RULE
    return any(bytes(found[number]) != _WHOLE.get(number) for number in more)


def of_nexthop(found: Found) -> bool:
    """Whether a nexthop has."""
    kind = found.get(_NEXTHOP_ENCAP_TYPE)
    return bool(found.keys() - _NEXTHOP) or (kind is not None and not says_all(kind, found[_NEXTHOP_ENCAP]))
