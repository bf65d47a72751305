# SPDX-License-Identifier: GPL-2.0-or-later
"""How deep links may be stacked: the kernel keeps a level with each link, and a model finds it anew each time."""

import errno
import random
import struct

import pytest

from tests.vm.kernel_netlink import LINK, MASTER, NEWLINK, Netlink, attr

pytestmark = pytest.mark.vm("patched")
_BRIDGES, _STEPS, _DEEPEST = 6, 60, 8


class Stacks:
    """Bridges with two VLANs on each, and which of these are ports of which bridge."""

    def __init__(self) -> None:
        self.below: dict[str, int | None] = {f"d{number}": None for number in range(_BRIDGES)}
        self.below |= {f"v{number}.{vid}": number for number in range(_BRIDGES) for vid in (1, 2)}
        self.master: dict[str, int] = {}

    def under(self, port: str) -> int:
        """How many links are stacked from this one down."""
        bridge = self.below[port]
        return 1 if bridge is None else 1 + self.under_bridge(bridge)

    def under_bridge(self, bridge: int) -> int:
        """The same for a bridge."""
        ports = (port for port, master in self.master.items() if master == bridge)
        return 1 + max(map(self.under, ports), default=0)

    def over_bridge(self, bridge: int) -> int:
        """How many links are stacked from this bridge up."""
        masters = (self.master.get(f"v{bridge}.{vid}") for vid in (1, 2))
        return 2 + max((self.over_bridge(master) for master in masters if master is not None), default=0)

    def makes_a_loop(self, port: str, bridge: int) -> bool:
        """Tell whether a bridge is somewhere below a port."""
        low = self.below[port]
        if low is None or low == bridge:
            return low is not None
        return any(self.makes_a_loop(other, bridge) for other, master in self.master.items() if master == low)


def test_depth_is_known_whatever_came_and_went() -> None:
    rng = random.Random(1)
    stacks = Stacks()
    refused = 0
    with Netlink() as nl:
        bridges = [nl.add_link(f"b{number}", "bridge") for number in range(_BRIDGES)]
        index: dict[str, int] = {}
        for port, bridge in stacks.below.items():
            if bridge is None:
                index[port] = nl.add_link(port, "dummy")
            else:
                vid = attr(1, struct.pack("H", int(port[-1])))
                index[port] = nl.add_link(port, "vlan", attr(LINK, bridges[bridge]), data=vid)
        for _ in range(_STEPS):
            port, to = rng.choice(list(index)), rng.randrange(_BRIDGES)
            if stacks.master.pop(port, None) is not None:
                assert nl.link(NEWLINK, attr(MASTER, 0), index=index[port]).error == 0
            if rng.random() < 0.2 or stacks.makes_a_loop(port, to):
                continue
            want = errno.EMLINK if stacks.under(port) + stacks.over_bridge(to) > _DEEPEST else 0
            assert nl.link(NEWLINK, attr(MASTER, bridges[to]), index=index[port]).error == want
            if want:
                refused += 1
            else:
                stacks.master[port] = to
    assert refused
