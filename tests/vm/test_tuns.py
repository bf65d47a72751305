# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may open a tun: the kernel gives one to another user, and takes it away from none; a new one is nobody's.

And one that nobody has opened comes up with a carrier, and loses it.
"""

import re
import time

import pytest

from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

_TUN = "links: {t: {kind: tun, mode: tun%s}}\n"


def opened_by() -> str:
    """The words of `ip` that say who may open it."""
    found = re.search(r"persist on (.*)addrgenmode", here("ip -details link show t"))
    assert found
    return found[1].strip()


@pytest.mark.parametrize("more", [", user: 1", ", user_group: 2", ", user: 1, user_group: 2"])
def test_tun_that_nobody_was_given_is_nobodys_after_a_rollback(engine_in: EngineIn, more: str) -> None:
    engine_in("here", _TUN % "").apply()
    before = opened_by()
    engine = engine_in("here", _TUN % more)
    engine.apply(confirm_s=60.0)
    assert opened_by() != before
    engine.rollback()
    assert opened_by() == before


def test_tun_is_taken_away_by_null(engine_in: EngineIn) -> None:
    engine_in("here", _TUN % ", user: 1").apply()
    before = opened_by()
    engine = engine_in("here", _TUN % ", user: null, up: on")
    engine.apply(confirm_s=60.0)
    assert not opened_by()
    assert not engine.diff().steps
    engine.rollback()
    assert opened_by() == before


def test_tun_of_somebody_else_keeps_its_user_and_no_rollback_fails_for_it(engine_in: EngineIn) -> None:
    engine_in("here", "links: {d: {kind: dummy}}\n").apply()
    here("ip tuntap add name t mode tun")
    number = here("ip link show t").partition(":")[0]
    engine = engine_in("here", "links: {d: {kind: dummy, mtu: 1300}, t: {kind: tun, mode: tun, mtu: 1300, user: 1}}\n")
    engine.apply(confirm_s=60.0)
    told = "t is not netgroupd's to make anew, and keeps its user"
    assert told in engine.rollback().plan.warnings
    assert here("ip link show t").startswith(f"{number}: ")
    assert "mtu 1500" in here("ip link show t")
    assert "mtu 1500" in here("ip link show d")


@pytest.mark.parametrize("said", ["managed: on", "state: noarp"])
def test_neighbour_on_a_new_tun_outlasts_its_carrier(engine_in: EngineIn, said: str) -> None:
    text = f"links: {{t%s: {{kind: tun, mode: tun, up: on, neighbours: [{{ip: '2001:db8::9', {said}}}]}}}}\n"
    for number in range(5):
        engine = engine_in("here", text % number)
        engine.apply()
        time.sleep(1.2)  # by then the kernel has looked, unasked
        assert not engine.diff().steps
