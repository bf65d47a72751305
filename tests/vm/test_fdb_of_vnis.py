# SPDX-License-Identifier: GPL-2.0-or-later
"""Forwarding entries of a VXLAN for many VNIs, for one of them, or for the one that it has itself."""

import pytest

from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")


@pytest.mark.parametrize("mac", ["02:00:00:00:00:01", "00:00:00:00:00:00"])
@pytest.mark.parametrize(
    ("own", "said", "want"),
    [
        (", id: 5", "", "src_vni 5"),
        (", id: 5", ", src_vni: 7", "src_vni 7"),
        (", id: 5", ", vni: 9", "src_vni 5"),
        ("", "", ""),
        ("", ", src_vni: 0", ""),
        ("", ", src_vni: 7, vni: 7", "src_vni 7"),
    ],
)
def test_entry_is_for_the_vni_that_the_kernel_tells(
    engine_in: EngineIn, mac: str, own: str, said: str, want: str
) -> None:
    entry = f"{{mac: '{mac}', dst: 10.0.0.2{said}}}"
    engine = engine_in("here", f"links: {{v: {{kind: vxlan, external: on{own}, up: on, fdb: [{entry}]}}}}\n")
    engine.apply()
    (told,) = here("bridge fdb show dev v").splitlines()
    assert (want or "dst 10.0.0.2") in told
    assert bool(want) == ("src_vni" in told)
    assert not engine.diff().steps
    engine.rollback(0)
