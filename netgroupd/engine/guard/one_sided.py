# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings by which this host takes no more in what comes by another way than its answers go.

The link that has the address of a way is the one that it comes by, where that is another one than it leaves by.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from netgroupd.engine.guard.tc import Asked
from netgroupd.engine.guard.way import Way
from netgroupd.plan.step import Step

_FILTER = re.compile("net/ipv4/conf/(.+)/(rp_filter|arp_filter)")
_FOR_ALL_VRFS = "net/ipv4/tcp_l3mdev_accept"  # without it who listens in no VRF hears nothing of what comes into one
_YES, _NO = "1", "0"
_NEVER_IN = "dummy"


def one_sided(steps: Sequence[Step], ways: Sequence[Way], asked: Asked) -> Iterator[tuple[Step, Way]]:
    """The steps by which what comes for ``ways`` is not taken in any more."""
    steps = [step for step in steps if step.object.cls == "sysctl"]
    told = {str(step.object.key[0]): str(step.attrs.get("value")) for step in steps}
    for step in steps:
        path = str(step.object.key[0])
        for way in ways:
            deaf = path == _FOR_ALL_VRFS and told[path] == _NO and way.vrf and way.session.peer
            if deaf or _is_shut(path, way, told, asked):
                yield step, way


def _is_shut(path: str, way: Way, told: Mapping[str, str], asked: Asked) -> bool:
    """Whether a link that a way comes by begins to be strict with what is ``told``, of which ``path`` is a part."""
    setting = _FILTER.fullmatch(path)
    if setting is None:
        return False
    where, what = setting.groups()
    for name in coming_by(way):
        if where in ("all", name) and asked.kind(name) != _NEVER_IN:
            before = asked.settings(frozenset(f"net/ipv4/conf/{each}/{what}" for each in ("all", name)))
            if not _is_strict(before.values()) and _is_strict(told.get(each, was) for each, was in before.items()):
                return True
    return False


def _is_strict(values: Iterable[str]) -> bool:
    """The higher value counts, of a link and of all: 2 is the loose one."""
    return max(values, default=_NO) == _YES


def coming_by(way: Way) -> frozenset[str]:
    """The links that have the address of a way which leaves by another one."""
    apart = way.link and way.family == "inet" and way.link not in way.holders
    return way.holders - {"lo"} if apart else frozenset()
