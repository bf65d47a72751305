# SPDX-License-Identifier: GPL-2.0-or-later
"""Cables between many network namespaces: each more costs as much as the one before."""

import subprocess

import pytest

from netgroupd.kernel.kernels import Kernels
from tests.vm.hosts import EngineIn

pytestmark = pytest.mark.vm("stock")

_CABLES = (
    "links: {'to[n=1-%s]': {kind: veth, peer: 'from{n}', up: true}, 'from[n=1-%s]': {netns: 'guest{n}', up: true}}\n"
)


def _asked(engine_in: EngineIn, cables: int) -> int:
    """How many messages it takes to see that all are there."""
    opened = list[Kernels]()

    def connect(netns: str | None) -> Kernels:
        opened.append(Kernels(netns))
        return opened[-1]

    text = _CABLES % (cables, cables)
    engine_in("here", text).apply()
    assert not engine_in("here", text, connect).diff().steps
    return sum(kernel.counters.messages for kernel in opened)


def test_messages_grow_with_their_number(engine_in: EngineIn) -> None:
    for number in range(1, 13):
        subprocess.run(["ip", "netns", "add", f"guest{number}"], check=True)
    try:
        asked = [_asked(engine_in, cables) for cables in (4, 8, 12)]
    finally:
        for number in range(1, 13):
            subprocess.run(["ip", "netns", "del", f"guest{number}"], check=True)
    assert asked[2] - asked[1] == asked[1] - asked[0]
