# SPDX-License-Identifier: GPL-2.0-or-later
"""A VXLAN that gets another link to send through does not go with the one that it had, nor what others have on it."""

import pytest

from tests.engine.universe import state_of
from tests.vm.stumbling import Stumbling, become, ip, to_and_fro, told

pytestmark = pytest.mark.vm("stock", "patched")

ON = """
links:
  d0: {kind: dummy, up: true}
  vx0: {kind: vxlan, id: 10, dstport: 4789, remote: 192.0.2.99, dev: %s, mac: '02:00:00:00:00:10', up: true}
"""
BELOW = "  d1: {kind: dummy, up: true}\n  d1.5: {up: true}\n"


def above() -> list[str]:
    return [line.split("@")[0] for line in told("ip", "-o", "link", "show", "type", "macsec").splitlines()]


@pytest.mark.parametrize("below", ["d1", "d1.5"])
@pytest.mark.parametrize("mtu", [pytest.param(1500, id="as_large"), pytest.param(9000, id="large_enough")])
def test_vxlan_outlives_the_link_that_it_has_sent_through(kernel: Stumbling, below: str, mtu: int) -> None:
    on = ON.replace("id: 10", "id: 10, mtu: 1450")
    first = state_of(on % "d0")
    become(kernel, first)
    ip("link add link vx0 name x4 up type macsec")
    before = above()
    assert before
    larger = BELOW.replace("kind: dummy", f"kind: dummy, mtu: {mtu}")
    to_and_fro(kernel, first, state_of(on % below + larger), above)
    assert above() == before


def test_vxlan_goes_with_one_where_the_other_is_made_anew(kernel: Stumbling) -> None:
    become(kernel, state_of(ON % "d1.5" + BELOW))
    again = state_of((ON % "d0").replace("kind: dummy", "kind: bridge"))
    become(kernel, state_of(ON % "d1.5" + BELOW))
    to_and_fro(kernel, state_of(ON % "d1.5" + BELOW), again)
