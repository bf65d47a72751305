# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that lose IPv6, by an MTU that is too small for it or by a setting, and all of IPv6 that is on them."""

import pytest

from netgroupd.config.semantic import checks
from netgroupd.engine.engine import Engine
from netgroupd.engine.session import Session
from netgroupd.errors import GuardError, KernelError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.state import Object
from netgroupd.plan import present
from tests.engine.desk import Desk

LINKS = """
links:
  d0: {kind: dummy, up: true, mtu: %s, addresses: ["10.0.0.1/24", "fd01::1/64"], sysctl: {ipv6.accept_ra: 0%s}}
  d0.5: {kind: vlan, link: d0, id: 5, up: true, mtu: %s, addresses: ["fd05::1/64"]}
routes: [{to: "2001:db8::/32", via: "fd01::2", dev: d0}]
neighbours: [{dev: d0, ip: "fd01::9", lladdr: "02:00:00:00:00:09"}]
"""
OLD = LINKS % (1500, "", 1500)
_SMALL = """
links:
  d0: {kind: dummy, up: true, mtu: 1200, addresses: ["10.0.0.1/24"]}
  d0.5: {kind: vlan, link: d0, id: 5, up: true, addresses: ["fd05::1/64"]}
"""
ENDINGS = [
    pytest.param(_SMALL, "~ address d0.5  fd05::1/64  # d0 has no IPv6 with an MTU of 1200", "d0.5: Invalid", id="mtu"),
    pytest.param(
        LINKS % (1500, ", ipv6.disable_ipv6: 1", 1500),
        "~ address d0  fd01::1/64  # IPv6 is disabled on d0",
        "d0: Permission denied",
        id="setting",
    ),
]


@pytest.mark.parametrize(("new", "why", "refusal"), ENDINGS)
def test_what_a_link_lost_with_ipv6_comes_back_when_that_is_undone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, new: str, why: str, refusal: str
) -> None:
    monkeypatch.setattr(checks, "_CHECKS", ())  # which tell it before, where nobody else has a hand in it
    desk.wants(OLD)
    desk.kernel.state.add(Object("sysctl", ("net/ipv6/conf/d0/disable_ipv6",), {"value": "0"}))
    desk.engine.apply()
    before = desk.there()
    desk.wants(new)
    assert why in present.text(desk.engine.diff())
    assert "10.0.0.1" not in present.text(desk.engine.diff())
    with pytest.raises(KernelError, match=f"address {refusal}"):
        desk.engine.apply()
    assert desk.there() == before


UPLINK = [
    Object("link", ("eth0",), {"kind": "", "up": True, "group": 0x4E470000, "mtu": 1500}),
    Object("address", ("eth0", "10.0.0.2/24", None), {}),
    Object("address", ("eth0", "2001:db8:7::2/64", None), {}),
]


_DISABLED = "], sysctl: {ipv6.disable_ipv6: 1}"


@pytest.mark.parametrize(
    ("peer", "local", "new"),
    [
        pytest.param("2001:db8:9::9", "2001:db8:7::2", _DISABLED, id="by_ipv6"),
        pytest.param("", "2001:db8:7::2", _DISABLED, id="by_ipv6_from_nearby"),
        pytest.param("2001:db8:9::9", "2001:db8:7::2", "], mtu: 1200", id="by_ipv6_with_a_small_mtu"),
        pytest.param("", "2001:db8:7::2", "], mtu: 1200", id="by_ipv6_from_nearby_with_a_small_mtu"),
    ],
)
def test_plan_that_would_end_the_ipv6_of_a_way_is_refused(desk: Desk, peer: str, local: str, new: str) -> None:
    desk.kernel = FakeKernel(UPLINK)
    desk.kernel.ways = {peer: Route("eth0", local)} if peer else {}
    desk.wants(f"links: {{eth0: {{addresses: [10.0.0.2/24, {new}}}}}")
    engine = Engine(desk.paths, session=Session(peer, local), connect=lambda _netns: desk.kernel)
    with pytest.raises(GuardError, match=r"IPv6 .*--allow eth0"):
        engine.apply()


def test_way_of_ipv4_needs_no_ipv6(desk: Desk) -> None:
    desk.kernel = FakeKernel(UPLINK)
    desk.kernel.ways = {"198.51.100.9": Route("eth0", "10.0.0.2")}
    desk.wants(f"links: {{eth0: {{addresses: [10.0.0.2/24{_DISABLED}}}}}")
    Engine(desk.paths, session=Session("198.51.100.9", "10.0.0.2"), connect=lambda _netns: desk.kernel).apply()
    assert "2001:db8:7::2/64" not in str(desk.kernel.state.of("address").keys())
