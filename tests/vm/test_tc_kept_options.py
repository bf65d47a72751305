# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of qdiscs and classes that a file does not say any more: they stay, but for what cannot."""

import pytest

from netgroupd.plan.present import text
from tests.vm.hosts import EngineIn, here

_PEAK = "peakrate: 2mbit, mtu: 2000"
_RED = "limit: 400000, min: 90000"
_MAP = "[3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]"
_KEPT = {
    "tbf_with_a_lower_peak": (
        f"kind: tbf, rate: 1mbit, burst: 10k, limit: 20k, overhead: 4, {_PEAK}",
        "kind: tbf, rate: 5mbit, burst: 10k, limit: 20k",
        "mtu 2000 -> none  peakrate 2mbit -> none",
        "overhead 4",
    ),
    "tbf_with_a_higher_peak": (
        f"kind: tbf, rate: 1mbit, burst: 10k, limit: 20k, {_PEAK}",
        "kind: tbf, rate: 1500kbit, burst: 10k, limit: 20k",
        "rate 1mbit -> 1500kbit",
        "peakrate 2Mbit",
    ),
    "red_with_a_lower_max": (
        "kind: red, limit: 100000, min: 2000, max: 30000, ecn: true",
        f"kind: red, {_RED}",
        "max 30000 -> none",
        "max 100000b ecn",
    ),
    "prio_with_more_bands": (
        f"kind: prio, bands: 8, priomap: {_MAP}",
        "kind: prio, bands: 3",
        "priomap 3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3 -> none",
        "priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
    ),
}


def _text(qdisc: str, classes: str = "") -> str:
    return f"links: {{v0: {{kind: dummy, up: on}}}}\ntc: {{v0: {{qdiscs: {{handle: '1:', {qdisc}}}{classes}}}}}\n"


@pytest.mark.parametrize(("was", "then", "told", "shown"), _KEPT.values(), ids=_KEPT)
def test_what_cannot_stay_beside_what_is_said_goes_and_is_told(
    engine_in: EngineIn, was: str, then: str, told: str, shown: str
) -> None:
    engine_in("here", _text(was)).apply()
    before = here("tc qdisc show dev v0")
    engine = engine_in("here", _text(then))
    assert told in text(engine.diff())
    engine.apply()
    assert shown in here("tc qdisc show dev v0")
    assert not engine.diff().steps
    engine.rollback()
    assert here("tc qdisc show dev v0") == before


def test_class_of_which_a_burst_at_its_ceil_is_said_and_no_ceil_has_its_rate(engine_in: EngineIn) -> None:
    htb = "kind: htb", ", classes: {classid: '1:1', rate: 40gbit, %s}"
    engine_in("here", _text(htb[0], htb[1] % "ceil: 50gbit")).apply()
    engine_in("here", _text(htb[0], htb[1] % "cburst: 5120")).apply()
    assert "rate 40Gbit ceil 40Gbit" in here("tc class show dev v0")
    assert not engine_in("here", _text(htb[0], htb[1] % "cburst: 5120")).diff().steps
