# SPDX-License-Identifier: GPL-2.0-or-later
"""Links by which all that comes in is somebody else's already: who has it is told."""

import pytest

from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock", "patched")

_BUSY = "Device or resource busy"
_FILE = "links:\n  p: {kind: dummy, up: true}\n  b: {kind: bridge}\n"
_PORT = "links:\n  p: {kind: dummy, up: true, master: b}\n  b: {kind: bridge}\n"
_ON_IT = f"{_FILE}  m: {{kind: macsec, link: p}}\n"


@pytest.mark.parametrize(
    ("made", "text", "want"),
    [
        pytest.param("x0 link p type macvlan", _PORT, f"2: change link p: {_BUSY} (master b); the macvlan 'x0'",
                     id="macvlan_on_a_port"),
        pytest.param("x0 link p type ipvlan", _PORT, f"2: change link p: {_BUSY} (master b); the ipvlan 'x0'",
                     id="ipvlan_on_a_port"),
        pytest.param("x0 link p type macvlan", _ON_IT, f"4: create link m: {_BUSY}; the macvlan 'x0'",
                     id="another_sort"),
        pytest.param("x0 type bridge", _ON_IT, f"4: create link m: {_BUSY}; the bridge 'x0'",
                     id="bridge"),
    ],
)  # fmt: skip
def test_it_is_told(engine_in: EngineIn, made: str, text: str, want: str) -> None:
    engine_in("here", _FILE).apply()
    here(f"ip link add name {made}")
    if made.endswith("bridge"):
        here("ip link set dev p master x0")
    with pytest.raises(KernelError) as caught:
        engine_in("here", text).apply()
    assert f"{want} takes all that comes in by 'p'" in str(caught.value)


def test_one_beside_is_not_blamed(engine_in: EngineIn) -> None:
    engine_in("here", _FILE).apply()
    here("ip link add link p name x0 type macsec")
    with pytest.raises(KernelError) as caught:
        engine_in("here", _ON_IT).apply()
    assert "takes all" not in str(caught.value)
