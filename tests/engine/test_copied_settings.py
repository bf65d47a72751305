# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of all links, which the kernel copies to each, beside those that are said of one."""

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.session import Session
from netgroupd.errors import GuardError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.state import Object
from netgroupd.plan import present
from netgroupd.plan.serialise import singles
from netgroupd.plan.settings import overwritten_by
from tests.engine.desk import Desk

ADDRESS = Object("address", ("eth0", "2001:db8:7::2/64", None), {})
PARTS = (
    "sysctl: {net.ipv6.conf.all.disable_ipv6: 1}",
    "links: {eth0: {up: true, addresses: ['2001:db8:7::2/64'], sysctl: {ipv6.disable_ipv6: %s}}}",
)


def setting(path: str, value: str) -> Object:
    return Object("sysctl", (path,), {"value": value})


@pytest.fixture
def there() -> list[Object]:
    return [
        Object("link", ("eth0",), {"kind": "", "up": True, "group": 0x4E470000, "mtu": 1500}),
        *(setting(f"net/ipv6/conf/{name}/disable_ipv6", "0") for name in ("all", "eth0", "eth1")),
    ]


@pytest.mark.parametrize("parts", [PARTS, PARTS[::-1]], ids=["all_first", "link_first"])
@pytest.mark.parametrize("address", [[], [ADDRESS]], ids=["address_comes", "address_is_there"])
def test_link_keeps_ipv6_when_all_links_lose_it(
    desk: Desk, there: list[Object], parts: tuple[str, str], address: list[Object]
) -> None:
    desk.kernel = FakeKernel([*there, *address])
    desk.wants("\n".join(parts) % 0)
    plan = desk.engine.diff()
    assert [step.object.key[0] for step in singles(plan.steps)] == [
        "net/ipv6/conf/all/disable_ipv6",
        "net/ipv6/conf/eth0/disable_ipv6",
        "eth0",
    ]
    assert "# the kernel writes it with net.ipv6.conf.all.disable_ipv6" in present.text(plan)
    assert ("# IPv6 is disabled on eth0 for a moment" in present.text(plan)) == bool(address)
    desk.engine.apply()
    assert desk.kernel.state.of("address").keys() == {ADDRESS.key}
    assert desk.kernel.state.of("sysctl")["net/ipv6/conf/eth1/disable_ipv6",].attrs["value"] == "1"
    assert not desk.engine.diff().steps


@pytest.fixture
def session(desk: Desk, there: list[Object]) -> Engine:
    desk.kernel = FakeKernel([*there, ADDRESS])
    peer = "2001:db8:9::9"
    desk.kernel.ways[peer] = Route("eth0", "2001:db8:7::2")
    return Engine(desk.paths, session=Session(peer, "2001:db8:7::2"), connect=lambda _netns: desk.kernel)


def test_way_is_not_cut_where_its_link_keeps_ipv6(desk: Desk, session: Engine) -> None:
    desk.wants("\n".join(PARTS) % 0)
    session.apply()
    assert ADDRESS.key in desk.kernel.state.of("address")


def test_way_is_cut_where_its_link_loses_ipv6_with_all_others(desk: Desk, session: Engine) -> None:
    desk.wants(PARTS[0] + "\nlinks: {eth0: {up: true}}")
    with pytest.raises(GuardError, match="IPv6 is disabled on eth0"):
        session.apply()


def test_router_accepts_the_redirects_that_it_is_told_to(desk: Desk) -> None:
    redirects = "net/ipv4/conf/all/accept_redirects"
    desk.kernel = FakeKernel([setting("net/ipv4/ip_forward", "0"), setting(redirects, "1")])
    desk.wants("sysctl: {net.ipv4.conf.all.accept_redirects: 1, net.ipv4.ip_forward: 1}")
    desk.engine.apply()
    assert desk.kernel.state.of("sysctl")[redirects,].attrs["value"] == "1"
    assert not desk.engine.diff().steps


@pytest.mark.parametrize(
    ("written", "sources"),
    [
        ("net/ipv6/conf/eth0/forwarding", ("net/ipv6/conf/all/forwarding",)),
        ("net/ipv6/conf/default/forwarding", ("net/ipv6/conf/all/forwarding",)),
        ("net/ipv6/conf/eth0/accept_ra", ()),
        ("net/ipv6/conf/all/forwarding", ()),
        ("net/ipv4/conf/eth0/rp_filter", ("net/ipv4/conf/default/rp_filter",)),
        ("net/ipv4/conf/default/rp_filter", ()),
        ("net/ipv4/conf/default/forwarding", ("net/ipv4/ip_forward", "net/ipv4/conf/all/forwarding")),
        ("net/ipv4/conf/all/forwarding", ()),
        ("net/core/somaxconn", ()),
    ],
)
def test_settings_that_the_kernel_writes_with_others_are_known(written: str, sources: tuple[str, ...]) -> None:
    assert overwritten_by(written) == sources
