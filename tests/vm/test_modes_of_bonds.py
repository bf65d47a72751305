# SPDX-License-Identifier: GPL-2.0-or-later
"""A bond that goes to another mode and back has the options again that it is not told in its own."""

import pytest

from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import Stumbling, become, there_and_back

pytestmark = pytest.mark.vm("stock")

_BOND = "links: {b: {kind: bond, mode: %s, up: %s%s}, p: {kind: dummy, master: %s}}"
_OF_ANOTHER_MODE = [
    pytest.param("802.3ad", "balance-tlb", "tlb_dynamic_lb: off", id="balance by load"),
    pytest.param("802.3ad", "balance-rr", "packets_per_slave: 3", id="packets"),
    pytest.param("balance-tlb", "active-backup", "arp_missed_max: 9", id="answers"),
    pytest.param("active-backup", "802.3ad", "lacp_rate: fast, lacp_active: off", id="LACP"),
    pytest.param("balance-rr", "802.3ad", "ad_actor_sys_prio: 7, ad_user_port_key: 9", id="actor"),
    pytest.param("balance-xor", "active-backup", "primary: p, arp_interval: 500, arp_ip_target: 192.0.2.9", id="ports"),
]


@pytest.mark.parametrize("up", ["on", "off"])
@pytest.mark.parametrize(("first", "then", "told"), _OF_ANOTHER_MODE)
def test_options_of_another_mode_are_as_they_were(kernel: Stumbling, first: str, then: str, told: str, up: str) -> None:
    become(kernel, state_of(_BOND % (first, up, "", "b")), at_once=False)
    there_and_back(kernel, state_of(_BOND % (then, up, f", {told}", "b")), refused=True)


def test_bond_that_is_made_again_is_told_the_options_of_its_mode(kernel: Stumbling) -> None:
    become(kernel, state_of(_BOND % ("802.3ad", "on", "", "b")), at_once=False)
    more = ", tlb_dynamic_lb: off, numtxqueues: 3"
    there_and_back(kernel, state_of(_BOND % ("balance-tlb", "on", more, "b")), refused=True)


def test_generation_before_has_them_too(engine_in: EngineIn) -> None:
    engine_in("here", _BOND % ("802.3ad", "on", "", "b")).apply()
    before = here("ip -d link show b").split("tlb_dynamic_lb")[1].split()[0]
    engine_in("here", _BOND % ("balance-tlb", "on", ", tlb_dynamic_lb: off", "b")).apply()
    engine_in("here", "").rollback()
    assert here("ip -d link show b").split("tlb_dynamic_lb")[1].split()[0] == before
