# SPDX-License-Identifier: GPL-2.0-or-later
"""What there is of a host while a card of it is missing, and when that comes and goes."""

import pytest

from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

HOST = """
links:
  card: {up: true}
  d0: {kind: dummy, up: true}
  bond0: {kind: bond, mode: active-backup, up: true, ports: [card, d0], active_slave: card}
  vx: {kind: vxlan, id: 7, dev: card, local: 192.0.2.1, remote: 192.0.2.2}
  tunnel: {kind: gre, dev: card, local: 192.0.2.1, remote: 192.0.2.3}
"""


def test_bond_works_without_a_card_and_tunnels_wait_for_it(engine_in: EngineIn) -> None:
    engine = engine_in("here", HOST)
    warnings = engine.apply().plan.warnings
    assert warnings == ("not there yet, and configured when it comes: card and 2 objects on it",)
    assert "master bond0" in here("ip link show d0")
    assert not engine.diff().steps
    for _ in range(2):
        here("ip link add card type dummy")
        engine.apply()
        assert not engine.diff().steps
        assert "active_slave card " in here("ip -d link show bond0")
        assert "dev card " in here("ip -d link show vx")
        assert "dev card " in here("ip -d link show tunnel")
        here("ip link del card")  # the kernel takes vx along
        here("ip link show tunnel")
        assert not engine.diff().steps
