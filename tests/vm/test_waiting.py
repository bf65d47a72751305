# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes that send from an address in doubt: they wait for the carrier of its link, and nothing else does."""

import pytest

from netgroupd.errors import KernelError
from netgroupd.service.picture import take
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

ROUTE = """
links:
  e0: {{kind: veth, peer: e1, up: true, addresses: ["fd01::5/64"]}}
  e1: {{kind: veth, peer: e0, up: {}}}
  x0: {{kind: dummy, up: {}}}
routes: [{{to: "2001:db8::/32", via: "fd01::1", dev: e0, src: "fd01::{}"}}]
"""
WAITS = "configured when the link of their source has a carrier: 2001:db8::/32 src fd01::5"


def routes() -> str:
    return here("ip -6 route show 2001:db8::/32")


def test_route_from_an_address_of_a_link_without_a_carrier_is_made_when_it_comes(engine_in: EngineIn) -> None:
    engine = engine_in("here", ROUTE.format("false", "true", 5))
    assert engine.apply().plan.warnings == (WAITS,)
    assert routes() == ""
    assert (engine.diff().steps, engine.diff().warnings) == ((), (WAITS,))
    again = engine_in("here", ROUTE.format("false", "false", 5))
    assert again.apply().plan.warnings == (WAITS,)
    last = take(again)
    assert (last.drifted, last.broken) == (0, frozenset())
    here("ip link set e1 up")
    picture = take(again, last)
    assert "e0" in picture.broken
    assert take(again, picture).broken == picture.broken
    again.repair(frozenset({"e0"}))
    assert "via fd01::1 dev e0" in routes()
    assert "e0" not in take(again, picture).broken


def test_route_that_is_there_stays_until_its_new_source_is_beyond_doubt(engine_in: EngineIn) -> None:
    known = '{address: "fd01::5/64", nodad: true}'
    assert not engine_in("here", ROUTE.format("false", "true", 5).replace('"fd01::5/64"', known)).apply().plan.warnings
    before = routes()
    text = ROUTE.format("false", "true", 6).replace('"fd01::5/64"', f'{known}, "fd01::6/64"')
    engine = engine_in("here", text)
    assert engine.apply().plan.warnings == (WAITS.replace("::5", "::6"),)
    assert routes() == before
    here("ip link set e1 up")
    engine.apply()
    assert "src fd01::6" in routes()


def test_route_from_an_address_that_is_nowhere_is_refused(engine_in: EngineIn) -> None:
    with pytest.raises(KernelError, match="create route 2001:db8::/32"):
        engine_in("here", ROUTE.format("false", "true", 9)).apply()
    assert here("ip link show type veth") == ""
