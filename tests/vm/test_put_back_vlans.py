# SPDX-License-Identifier: GPL-2.0-or-later
"""What a refused change leaves of VLANs that the kernel brings up and takes down with the link below them."""

import pytest

from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn
from tests.vm.stumbling import Stumbling, become, there_and_back, told


@pytest.mark.vm("stock")
@pytest.mark.parametrize(
    "more",
    [
        pytest.param("a.5: {}, br: {kind: bridge, ports: [a.5]}", id="of_a_bridge"),
        pytest.param("a.5: {}, v: {kind: vlan, link: a.5, id: 6, addresses: ['fd00::[1-3]/64']}", id="below_another"),
        pytest.param("a.5: {up: false}", id="that_is_to_be_down"),
        pytest.param("a.5: {loose_binding: true, up: true}", id="that_follows_none"),
    ],
)
def test_vlans_are_down_again_with_the_link_that_was_to_come_up(kernel: Stumbling, more: str) -> None:
    text = f"links: {{a: {{kind: dummy%s}}, {more}}}"
    become(kernel, state_of(text % ""))
    goal = state_of(text % ", up: true" + "\nroutes: [{to: 10.0.0.0/8, dev: a}]\n")
    there_and_back(kernel, goal, lambda: told("ip", "-br", "address"), refused=True)


@pytest.mark.vm("stock")
def test_what_a_range_does_not_tell_of_them_stays(engine_in: EngineIn) -> None:
    text = (
        "links:\n  p: {kind: dummy, up: true}\n  b: {kind: bridge, vlan_filtering: true}\n"
        "  p.100: {master: b, up: true, vlans: [{vid: 101}, {vid: 102%s}]}\n"
        "  bond0: {kind: bond, mode: active-backup, up: true, ports: [p]%s}\n"
    )
    engine_in("here", text % (", neigh_suppress: true", "")).apply()
    engine_in("here", text % ("", "")).apply()
    engine_in("here", text % ("", ", fail_over_mac: active")).apply(confirm_s=60.0)
    engine_in("here", text % ("", "")).rollback()
    assert "{vid: 102, neigh_suppress: true}" in engine_in("here", "{}").capture()
