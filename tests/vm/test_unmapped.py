# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs that lose their tunnels together with the flag of their port that lets them have any."""

from functools import partial

import pytest

from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import Stumbling

pytestmark = pytest.mark.vm("stock")

_FILE = (
    "links:\n  b: {kind: bridge, vlan_filtering: true}\n"
    "  p: {kind: dummy, master: b, port: {vlan_tunnel: %s}, vlans: [{vid: '[v=102-105]', tunnel_id: %s}]}\n%s"
)
_MAPPED, _PLAIN = (("true", "'{v + 2000}'"), ("false", "null"))


def _stumbling(at: int, netns: str | None) -> Stumbling:
    kernel = Stumbling(netns)
    kernel.stumbles_at = at
    return kernel


def test_they_lose_them_first(engine_in: EngineIn) -> None:
    engine_in("here", _FILE % (*_MAPPED, "")).apply()
    assert "2105" in here("bridge vlan tunnelshow dev p")
    engine = engine_in("here", _FILE % (*_PLAIN, ""))
    engine.apply()
    assert not engine.diff().steps


def test_they_lose_them_again_after_a_refusal(engine_in: EngineIn) -> None:
    engine_in("here", _FILE % (*_PLAIN, "")).apply()
    text = _FILE % (*_MAPPED, "  z: {kind: dummy, up: true}\n")
    last = len(engine_in("here", text).diff().steps) - 1
    with pytest.raises(KernelError) as caught:
        engine_in("here", text, partial(_stumbling, last)).apply()
    assert "put back" not in str(caught.value)
    assert not engine_in("here", _FILE % (*_PLAIN, "")).diff().steps
