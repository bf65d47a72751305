# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of the MTU of a tunnel that is told something else."""

import json

import pytest

from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

_FILE = "links: {d: {kind: dummy, up: true, addresses: [192.0.2.1/24, %s/24]}%s}"
_TUNNEL = ", t: {kind: gre, local: 192.0.2.1, remote: 192.0.2.9%s}"
_WITHIN, _BEYOND = "192.0.2.9", "192.0.2.8"


def _mtu() -> int:
    (link,) = json.loads(here("ip -j link show dev t"))
    return int(link["mtu"])


@pytest.mark.parametrize(
    ("address", "before", "mtu"),
    [
        pytest.param(_BEYOND, 1476, 1476, id="stays"),
        pytest.param(_WITHIN, 65511, 65507, id="or_would_be_too_large"),
    ],
)
def test_with_a_larger_header(engine_in: EngineIn, address: str, before: int, mtu: int) -> None:
    engine_in("here", _FILE % (address, "")).apply()
    engine_in("here", _FILE % (address, _TUNNEL % "")).apply()
    assert _mtu() == before
    engine = engine_in("here", _FILE % (address, _TUNNEL % ", ocsum: true"))
    engine.apply()
    assert _mtu() == mtu
    assert not engine.diff().steps
