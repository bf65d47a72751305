# SPDX-License-Identifier: GPL-2.0-or-later
"""Nexthops that no file describes are somebody else's, or there are none: that is told before anything is done."""

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.errors import ConfigError
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

FILE = """links: {d1: {kind: dummy, up: on, addresses: 192.0.2.1/24}}
nexthops:
  8: {via: 192.0.2.8, dev: d1}
  10: {group: [{id: 8}, {id: 7}]}
routes:
- {to: "10.[0-1].0.0/16", nhid: 7}
"""
WANT = [
    "4:7: there is no nexthop 7, and nexthop 10 has it in its group; describe it under 'nexthops'",
    "6:3: there is no nexthop 7, and a route leads by it; describe it under 'nexthops'",
]


def refused(engine: Engine, verb: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        getattr(engine, verb)()
    return [f"{one.line}:{one.column}: {one.message}; {one.hint}" for one in caught.value.problems]


@pytest.mark.parametrize("verb", ["check", "diff", "apply"])
def test_of_nexthops_that_are_not_there_each_line_is_told(engine_in: EngineIn, verb: str) -> None:
    assert refused(engine_in("here", FILE), verb) == WANT
    assert "d1" not in here("ip link")


def test_what_the_host_lacks_is_told_at_once(engine_in: EngineIn) -> None:
    told = refused(engine_in("here", f"{FILE}sysctl: {{net.ipv4.ip_forwad: 1}}\n"), "diff")
    assert told[:2] == WANT
    assert "there is no kernel setting net/ipv4/ip_forwad" in told[2]


def test_nexthops_of_others_are_led_by(engine_in: EngineIn) -> None:
    engine = engine_in("here", FILE)
    here("ip link set lo up")
    here("ip nexthop add id 7 dev lo proto zebra")
    engine.check()
    engine.apply()
    assert "nhid 7" in here("ip route show 10.1.0.0/16")
    assert not engine.diff().steps


def test_a_line_less_leaves_no_nexthop_to_lead_by(engine_in: EngineIn) -> None:
    alone = FILE.replace(", {id: 7}", "").replace("nhid: 7", "nhid: 8")
    engine_in("here", alone).apply()
    engine = engine_in("here", alone.replace("  8: {via: 192.0.2.8, dev: d1}\n", ""))
    assert "there is no nexthop 8" in refused(engine, "diff")[0]


def test_at_boot_the_rest_is_configured(engine_in: EngineIn) -> None:
    assert "10" in str(engine_in("here", FILE).apply(in_part=True).trouble)
    assert "192.0.2.8" in here("ip nexthop show id 8")
