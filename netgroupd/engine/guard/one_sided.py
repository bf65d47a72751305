# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings by which this host takes no more in what comes by another way than its answers go.

The link that has the address of a way is the one that it comes by, where that is another one than it leaves by.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from netgroupd.engine.guard.way import Way
from netgroupd.model.state import State
from netgroupd.plan.step import Step

_STRICT = re.compile("net/ipv4/conf/(.+)/(?:rp_filter|arp_filter)")
_FOR_ALL_VRFS = "net/ipv4/tcp_l3mdev_accept"  # without it who listens in no VRF hears nothing of what comes into one
_YES, _NO, _LOOSE = "1", "0", "2"
_NEVER_IN = "dummy"


def one_sided(
    steps: Sequence[Step], ways: Sequence[Way], around: State, kind: Callable[[str], str]
) -> Iterator[tuple[Step, Way]]:
    """The steps by which what comes for ``ways`` is not taken in any more; ``kind`` tells that of a link."""
    steps = [step for step in steps if step.object.cls == "sysctl"]
    settings = {key[0]: each.attrs.get("value") for key, each in around.of("sysctl").items()} if steps else {}
    settings |= {step.object.key[0]: step.attrs.get("value") for step in steps}
    for step in steps:
        path, value = str(step.object.key[0]), step.attrs.get("value")
        strict = _STRICT.fullmatch(path) if value == _YES else None
        for way in ways:
            felt = (name for name in _coming_by(way) if strict and strict[1] in ("all", name))
            coming = [name for name in felt if kind(name) != _NEVER_IN]
            loose = (settings.get(f"net/ipv4/conf/{name}/rp_filter") == _LOOSE for name in ("all", *coming))
            deaf = path == _FOR_ALL_VRFS and value == _NO and way.vrf and way.session.peer
            if deaf or (coming and not (path.endswith("/rp_filter") and any(loose))):
                yield step, way


def _coming_by(way: Way) -> frozenset[str]:
    """The links that have the address of a way which leaves by another one."""
    apart = way.link and way.family == "inet" and way.link not in way.holders
    return way.holders - {"lo"} if apart else frozenset()
