# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel settings that there are not, told where they are written; and which of those there are somebody changed."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.errors import ConfigError
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

ON_THE_HOST = ("nsenter", "--target=1", "--net")  # which the tests are not in
IN_HERE = ("ip", "netns", "exec", "here")


def refused(engine: Engine) -> list[str]:
    """What diff and apply both say."""
    said = []
    for ask in (engine.diff, engine.apply):
        with pytest.raises(ConfigError) as caught:
            ask()
        said.append([f"{each.line}:{each.column}: {each.message}; {each.hint}" for each in caught.value.problems])
    assert said[0] == said[1]
    return said[0]


def test_settings_that_there_are_not_are_told_by_their_places_before_anything_is_done(engine_in: EngineIn) -> None:
    engine = engine_in(
        "here",
        "links:\n"
        "  d[1-3]: {kind: dummy, sysctl: {ipv4.rp_fliter: 1}}\n"
        "  d4: {kind: dummy, sysctl: {ipv6.neigh.mcast_solict: 1, ipv4.rp_filter: 1}}\n"
        "sysctl:\n"
        "  net.ipv4.neigh.all.gc_stale_time: 5\n"
        "  net.ipv4: {ip_forwad: 1, ip_forward: 1, cnf.all.rp_filter: 1, ip_nonlocal_bind.all: 1}\n",
    )
    assert sorted(refused(engine)) == [
        "2:34: there is no kernel setting net/ipv4/conf/d1/rp_fliter; did you mean 'rp_filter'?",
        "3:30: there is no kernel setting net/ipv6/neigh/d4/mcast_solict; did you mean 'mcast_solicit'?",
        "5:3: there is no kernel setting net/ipv4/neigh/all/gc_stale_time; ",
        "6:14: there is no kernel setting net/ipv4/ip_forwad; did you mean 'ip_forward'?",
        "6:43: there is no kernel setting net/ipv4/cnf/all/rp_filter; did you mean 'conf'?",
        "6:65: there is no kernel setting net/ipv4/ip_nonlocal_bind/all; did you mean 'ip_nonlocal_bind'?",
    ]
    assert "dummy" not in here("ip link show type dummy")
    assert not engine.history()


def test_settings_that_only_a_new_link_has_pass(engine_in: EngineIn) -> None:
    settings = "ipv4.rp_filter: 2, ipv6.neigh.mcast_solicit: 5, ipv6.accept_ra: 0"
    engine = engine_in("here", f"links: {{d1: {{kind: dummy, up: true, sysctl: {{{settings}}}}}}}\n")
    assert engine.diff().steps
    engine.apply()
    assert not engine.diff().steps


def test_at_boot_the_rest_is_configured(engine_in: EngineIn) -> None:
    engine = engine_in("here", "links: {d1: {kind: dummy, sysctl: {ipv4.rp_fliter: 1}}, d2: {kind: dummy}}\n")
    assert "rp_fliter" in str(engine.apply(in_part=True).trouble)
    assert "d2" in here("ip link show type dummy")


def test_list_of_numbers_longer_than_the_kernel_tells_at_once_is_what_was_asked_for(engine_in: EngineIn) -> None:
    ports = ",".join(str(port) for port in range(1024, 11024, 2))
    engine = engine_in("here", f"sysctl: {{net.ipv4.ip_local_reserved_ports: '{ports}'}}\n")
    engine.apply()
    assert not engine.diff().steps


def tell(value: int, *in_namespace: str) -> None:
    """Give a namespace settings for all its links and those to come."""
    names = ("ip_forward", "conf.default.rp_filter", "conf.all.arp_ignore")
    subprocess.run([*in_namespace, "sysctl", "-qw", *(f"net.ipv4.{name}={value}" for name in names)], check=True)


@pytest.fixture
def told_host() -> Iterator[None]:
    """A host whose own namespace has settings that those which are made now have too."""
    tell(1, *ON_THE_HOST)
    yield
    tell(0, *ON_THE_HOST)


def test_settings_of_the_hosts_own_namespace_are_no_measure_of_what_was_changed(
    engine_in: EngineIn, request: pytest.FixtureRequest
) -> None:
    engine_in("here", "{}")
    request.getfixturevalue("told_host")
    assert engine_in("here", "{}").capture() == "{}\n"
    tell(1, *IN_HERE)
    want = ["net.ipv4.conf.all.arp_ignore: 1", "net.ipv4.conf.default.rp_filter: 1", "net.ipv4.ip_forward: 1"]
    text = engine_in("here", "{}").capture()
    assert [line.strip() for line in text.splitlines() if line.startswith("  net.")] == want


OF_THE_HOST = {
    "net.ipv4.neigh.default.gc_stale_time": ("120", "60"),
    "net.ipv4.neigh.default.gc_thresh3": ("4096", "1024"),
    "net.ipv4.tcp_congestion_control": ("reno", "cubic"),
    "net.ipv4.tcp_rmem": ("4096 87380 33554432", "4096 131072 6291456"),
}


def set_on_the_host(column: int) -> None:
    settings = [f"{name}={values[column]}" for name, values in OF_THE_HOST.items()]
    subprocess.run([*ON_THE_HOST, "sysctl", "-qw", *settings], check=True)


@pytest.fixture
def set_host() -> Iterator[None]:
    """A host whose own namespace was told what those that are made then have of it, and what all share."""
    set_on_the_host(0)
    yield
    set_on_the_host(1)


def test_what_a_namespace_had_of_the_hosts_own_nobody_has_changed(
    engine_in: EngineIn, request: pytest.FixtureRequest
) -> None:
    engine_in("here", "{}")
    here("ip link add d0 type dummy")
    request.getfixturevalue("set_host")
    here("ip link add d1 type dummy")
    assert "sysctl" not in engine_in("here", "{}").capture()
    subprocess.run([*IN_HERE, "sysctl", "-qw", "net.ipv4.neigh.d0.gc_stale_time=77"], check=True)
    assert engine_in("here", "{}").capture().count("gc_stale_time: 77") == 1


def test_what_the_hosts_own_namespace_was_told_is_captured_there(set_host: None) -> None:
    program = [*ON_THE_HOST, sys.executable, "-m", "netgroupd.cli.main", "--offline", "capture"]
    text = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    for name, (value, _) in OF_THE_HOST.items():
        assert f"  {name}: {value}\n" in text.replace('"', "")
