# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes that name a gateway and no link, while another link has a default route that takes any gateway."""

import pytest

from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

FILE = """
links:
  up0: {{kind: dummy, addresses: [192.0.2.2/24, '2001:db8:1::2/64'], up: {up}}}
  up1: {{kind: dummy, up: on, addresses: [198.51.100.2/24], master: red}}
  wg0: {{kind: dummy, up: on, addresses: [10.9.0.2/24]}}
  wg1: {{kind: dummy, up: on, master: red}}
vrfs: {{red: {{table: 7, up: on}}}}
routes:
  - {{to: 10.1.0.0/16, via: 192.0.2.1}}
  - {{to: 10.2.0.0/16, nexthops: [{{via: 192.0.2.1}}, {{via: 10.9.0.1}}]}}
  - {{to: 10.3.0.0/16, via: 198.51.100.1, vrf: red}}
  - {{to: '2001:db8:f::/48', via: '2001:db8:1::1'}}
"""
SILENT = FILE.replace(", up: {up}}}\n  up1", "}}\n  up1").format()
DEFAULTS = (
    "ip route add default dev wg0 metric 50",
    "ip -6 route add default dev wg0 metric 50",
    "ip route add default dev wg1 table 7 metric 50",
)


def ways() -> list[str]:
    tables = ("route show proto 78", "route show table 7 proto 78", "-6 route show proto 78")
    return [" ".join(line.split()) for table in tables for line in here(f"ip {table}").splitlines()]


def test_routes_that_went_astray_while_a_link_was_down_come_back_to_it(engine_in: EngineIn) -> None:
    engine = engine_in("here", FILE.format(up="true"))
    engine.apply()
    before = ways()
    for command in (*DEFAULTS, "ip link set up0 down", "ip link set up1 down"):
        here(command)
    for route in ("10.1.0.0/16 via 192.0.2.1", "10.3.0.0/16 via 198.51.100.1 table 7"):
        here(f"ip route add {route} proto 78")  # which the kernel leads by way of the default route
    for link in ("up0", "up1"):
        here(f"ip link set {link} up")
    assert any("dev wg0" in way for way in ways())
    engine.apply()
    assert ways() == before
    assert not engine.diff().steps


def test_link_of_a_gateway_is_not_looked_for_elsewhere_while_it_is_down(engine_in: EngineIn) -> None:
    engine = engine_in("here", FILE.format(up="true"))
    engine.apply()
    for command in (*DEFAULTS, "ip link set up0 down"):
        here(command)
    before = ways()
    engine = engine_in("here", SILENT)
    with pytest.raises(KernelError, match=r"10\.1\.0\.0"):
        engine.apply()
    assert ways() == before
    here("ip link set up0 up")
    engine.apply()
    assert not [way for way in ways() if "dev wg0" in way and "10.9.0.1" not in way]


def test_route_of_somebody_that_tells_closer_where_the_gateway_is_counts(engine_in: EngineIn) -> None:
    engine = engine_in("here", FILE.format(up="true"))
    engine.apply()
    here("ip route add 192.0.2.1/32 dev wg0")
    here("ip route replace 10.1.0.0/16 via 192.0.2.1 proto 78")
    assert "10.1.0.0/16 via 192.0.2.1 dev wg0" in ways()
    assert not engine.diff().steps


@pytest.mark.parametrize(("address", "gateway"), [("192.0.2.1/24", "192.0.2.9"), ("2001:db8::1/64", "2001:db8::9")])
def test_nexthop_in_a_network_that_others_took_stays_when_a_change_is_refused(
    engine_in: EngineIn, address: str, gateway: str
) -> None:
    text = f"links:\n  d: {{kind: dummy, up: on, addresses: ['{address}']}}\n"
    nexthops = f"nexthops: {{1: {{via: '{gateway}', dev: d}}}}\n"
    engine_in("here", text + nexthops).apply()
    here("ip address flush dev d")
    before = here("ip nexthop")
    assert gateway in before
    engine = engine_in("here", f"{text}  e: {{kind: dummy}}\n  e.5: {{up: on}}\n{nexthops}")
    with pytest.raises(KernelError, match="Network is down") as error:
        engine.apply(allow=frozenset({"d"}))
    assert "put back" not in str(error.value)
    assert here("ip nexthop") == before


BEHIND = """
links: {d0: {kind: dummy, up: true, addresses: [192.0.2.1/24, {address: '2001:db8::1/64', nodad: true}]}}
nexthops: {1: {via: 10.9.9.9, dev: d0}, 2: {via: '2001:db8:9::9', dev: d0}}
routes:
  - {to: 10.5.0.0/16, nhid: 1}
  - {to: '2001:db8:5::/64', nhid: 2}
  - {to: 10.9.9.0/24, dev: d0}
  - {to: '2001:db8:9::/64', dev: d0}
"""


def test_nexthops_whose_gateways_a_route_of_the_same_change_leads_to(engine_in: EngineIn) -> None:
    engine = engine_in("here", BEHIND)
    engine.apply()
    assert "via 10.9.9.9" in here("ip route show 10.5.0.0/16")
    assert "via 2001:db8:9::9" in here("ip -6 route show 2001:db8:5::/64")
    assert not engine.diff().steps
