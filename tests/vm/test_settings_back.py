# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel settings that others have changed below links that are made anew or go: they are back with their links."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netns import entered
from netgroupd.kernel.settings import sysctls_changed
from netgroupd.model.ethtool import FEATURES
from netgroupd.model.state import Object
from netgroupd.plan.step import Op, Step
from tests.vm.ethtool_calls import features
from tests.vm.hosts import EngineIn, here

VXLAN = "links: {{vx: {{kind: vxlan, id: {}, dstport: 4789, local: 127.0.0.1, up: true{}}}}}\n"
CHANGED = {
    "ipv4/conf/vx/rp_filter": "2",
    "ipv4/conf/vx/route_localnet": "1",
    "ipv6/conf/vx/accept_ra": "0",
    "ipv4/neigh/vx/base_reachable_time_ms": "12350",
    "ipv6/neigh/vx/gc_stale_time": "77",
}
FEATURE = Object("ethtool", ("vx", FEATURES), {"tso": False})
NET = Path("/proc/sys/net")


def told(netns: str = "here") -> dict[str, str]:
    with entered(netns):
        return {path: (NET / path).read_text().strip() for path in CHANGED}


def change(netns: str = "here") -> None:
    with entered(netns):
        for path, value in CHANGED.items():
            (NET / path).write_text(value)


@pytest.fixture
def blue() -> Iterator[None]:
    subprocess.run(["ip", "netns", "add", "blue"], check=True)
    yield
    subprocess.run(["ip", "netns", "del", "blue"], check=True)


@pytest.mark.parametrize("path", ["ipv6/neigh/vx/retrans_time_ms", "ipv4/neigh/vx/unres_qlen_bytes"])
def test_setting_of_the_file_is_as_before_under_its_other_name_too(engine_in: EngineIn, path: str) -> None:
    engine_in("here", VXLAN.format(7, "")).apply()
    with entered("here"):
        before = (NET / path).read_text()
    setting = f", sysctl: {{{path.replace('/vx', '').replace('/', '.')}: 9000}}"
    engine = engine_in("here", VXLAN.format(8, setting))
    engine.apply(confirm_s=60.0)
    engine.rollback()
    with entered("here"):
        assert (NET / path).read_text() == before


@pytest.mark.parametrize("few", [64, 0])
@pytest.mark.parametrize("after", [VXLAN.format(8, ""), "links: {d0: {kind: dummy}}\n"], ids=["made_anew", "goes"])
def test_settings_of_others_are_back_with_their_link(
    engine_in: EngineIn, monkeypatch: pytest.MonkeyPatch, after: str, few: int
) -> None:
    monkeypatch.setattr(sysctls_changed, "_FEW", few)
    engine_in("here", VXLAN.format(7, "")).apply()
    change()
    before = told()
    engine = engine_in("here", after)
    assert not engine.apply(confirm_s=60.0).plan.warnings
    engine.rollback()
    assert told() == before == CHANGED


@pytest.mark.usefixtures("blue")
def test_settings_of_others_are_back_with_a_link_that_goes_elsewhere(engine_in: EngineIn) -> None:
    engine_in("here", "links: {vx: {kind: dummy, up: true}}").apply()
    change()
    engine = engine_in("here", "links: {vx: {kind: dummy, up: true, netns: blue}}")
    engine.apply(confirm_s=60.0)
    engine.rollback()
    assert told() == CHANGED


def test_setting_of_ours_and_those_of_others_are_back_together(engine_in: EngineIn) -> None:
    own = ", sysctl: {ipv4.rp_filter: 1}"
    engine_in("here", VXLAN.format(7, own)).apply()
    change()
    engine_in("here", VXLAN.format(7, own)).apply()
    engine = engine_in("here", VXLAN.format(8, own))
    engine.apply(confirm_s=60.0)
    engine.rollback()
    assert told() == {**CHANGED, "ipv4/conf/vx/rp_filter": "1"}


@pytest.mark.parametrize(
    "after", ["links: {vx: {kind: dummy, up: true}}\n", "links: {}\n"], ids=["comes_here", "goes_away"]
)
@pytest.mark.usefixtures("blue")
def test_settings_of_others_are_back_with_a_link_that_lived_elsewhere(engine_in: EngineIn, after: str) -> None:
    engine_in("here", "links: {vx: {kind: dummy, up: true, netns: blue}}").apply()
    change("blue")
    with Kernel("blue") as kernel:
        kernel.apply([Step(Op.CHANGE, FEATURE, FEATURE, FEATURE.attrs)])
    before = features("vx", "blue")
    engine = engine_in("here", after)
    engine.apply(confirm_s=60.0)
    engine.rollback()
    assert told("blue") == CHANGED
    assert features("vx", "blue") == before


def on_vx_in_blue() -> list[str]:
    return [re.sub(r"^\d+: vx", "", here(f"ip {what} show dev vx", "blue")) for what in ("address", "neighbour")]


@pytest.mark.usefixtures("blue")
def test_what_others_have_on_a_link_elsewhere_is_told_and_back_with_it(engine_in: EngineIn) -> None:
    engine_in("here", "links: {vx: {kind: dummy, up: true, netns: blue}}").apply()
    for what in (
        "address add 192.0.2.1/24 dev vx",
        "address add 2001:db8::1/64 dev vx nodad",
        "neighbour add 192.0.2.9 lladdr 02:00:00:00:00:09 dev vx",
        "route add 198.51.100.0/24 dev vx proto static",
    ):
        here(f"ip {what}", "blue")
    before = on_vx_in_blue()
    engine = engine_in("here", "links: {vx: {kind: dummy, up: true}}\n")
    (warning,) = engine.apply(confirm_s=60.0).plan.warnings
    assert "addresses (2), neighbours (1), routes of proto static (1) on vx" in warning
    engine.rollback()
    assert on_vx_in_blue() == before


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.usefixtures("blue")
def test_addresses_that_a_link_elsewhere_keeps_do_not_go_when_it_is_down(engine_in: EngineIn, kept: bool) -> None:
    engine_in("here", "links: {vx: {kind: dummy, up: true, netns: blue}}").apply()
    here("ip address add 2001:db8::1/64 dev vx nodad", "blue")
    with entered("blue" if kept else "here"):
        (NET / f"ipv6/conf/{'vx' if kept else 'all'}/keep_addr_on_down").write_text("1")
    warnings = engine_in("here", "links: {vx: {kind: dummy, up: false, netns: blue}}").apply().plan.warnings
    assert ("2001:db8::1" in here("ip address show dev vx", "blue")) == kept == (not warnings)
