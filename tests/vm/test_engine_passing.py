# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on links that a change only takes down for a moment is there again when it has succeeded."""

import os
import signal
from collections.abc import Callable, Sequence
from itertools import count

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.plan.step import AnyStep
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

BOND = """
links:
  b0: {{kind: bond, mode: {}, up: {}, mac: '02:00:00:00:00:01', ports: d0{}}}
  d0: {{kind: dummy, up: true}}
  v0: {{kind: vrf, table: 7, up: true}}
"""
GIVEN = (
    "address add 10.0.0.5/24 dev b0",
    "address add fd01::5/64 dev b0 nodad",
    "nexthop add id 7 via 10.0.0.1 dev b0",
    "nexthop add id 20 group 7",
    "route add default via 10.0.0.2 dev b0 proto dhcp",
    "route add 2001:db8:1::/48 via fd01::1 dev b0",
    "route add 10.5.0.0/16 nhid 20",
    "route add 10.9.0.0/16 via 10.0.0.1 dev b0 proto bgp",
    "neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 dev b0 proto static",
)
SHOWN = (
    "address show dev b0 scope global",
    "nexthop",
    "neighbour show nud permanent",
    "route",
    "-6 route show proto boot",
)
PORTS = frozenset({"b0", "d0"})
WATCHED = "10.9.0.0/16 via 10.0.0.1 dev b0 proto bgp \n"
BACK = (
    "what is not netgroupd's goes with links that go down for a moment, and is given back: addresses (1), "
    "nexthops (1), neighbours of proto static (1), routes of proto dhcp (1), routes of proto boot (2) on b0"
)
LOST = "what is not netgroupd's goes when links go, go down or change their VRF: "


def shown() -> list[str]:
    return [here(f"ip {what}").replace(WATCHED, "") for what in SHOWN]


def taken(engine: Engine) -> list[str]:
    """What diff says of others' things, and not of the way that a change cuts."""
    return [line for line in engine.diff().warnings if not line.startswith("apply refuses this")]


def test_what_others_have_on_a_link_that_goes_down_for_a_moment_is_there_again(engine_in: EngineIn) -> None:
    engine_in("here", BOND.format("balance-rr", "true", "")).apply()
    for command in GIVEN:
        here(f"ip {command}")
    before = shown()
    engine = engine_in("here", BOND.format("active-backup", "true", ""))
    assert taken(engine) == [f"{LOST}routes of proto bgp (1) on b0", BACK]
    assert engine.apply(allow=PORTS).plan.warnings == (f"{LOST}routes of proto bgp (1) on b0", BACK)
    assert shown() == before
    assert not engine.diff().steps


@pytest.mark.parametrize(
    ("up", "more"),
    [pytest.param("false", "", id="stays_down"), pytest.param("true", ", master: v0", id="enters_a_vrf")],
)
def test_what_others_have_on_a_link_that_stays_away_is_lost(engine_in: EngineIn, up: str, more: str) -> None:
    engine_in("here", BOND.format("balance-rr", "true", "")).apply()
    for command in GIVEN:
        here(f"ip {command}")
    engine = engine_in("here", BOND.format("active-backup", up, more))
    lost, groups = taken(engine)
    assert lost.startswith(LOST)
    assert groups.endswith("lose members: 20")
    assert not [line for line in engine.apply(allow=PORTS).plan.warnings if "given back" in line]
    assert here("ip nexthop") == ""


def test_vlan_that_is_down_and_not_spoken_of_stays_down_when_the_link_below_goes_down_for_a_moment(
    engine_in: EngineIn,
) -> None:
    text = "links: {{a: {{kind: dummy, up: true{}}}, a.5: {{alias: x}}, r: {{kind: vrf, table: 10}}}}"
    engine_in("here", text.format("")).apply()
    here("ip link set a.5 down")
    engine = engine_in("here", text.format(", master: r"))
    engine.apply(allow=frozenset({"a"}))
    assert "UP" not in here("ip link show a.5")
    engine.rollback(1, allow=frozenset({"a"}))
    assert "UP" not in here("ip link show a.5")


@pytest.mark.parametrize("confirm_s", [None, 60])
def test_link_takes_no_more_packets_for_good_when_the_vrf_that_it_is_in_goes(
    engine_in: EngineIn, confirm_s: int | None
) -> None:
    text = """
links: {{a: {{kind: dummy, up: true{}}}, p: {{kind: dummy, up: true}}, a.5: {{up: true}}{},
  b: {{kind: bridge, up: true, ports: [a.5, p]}}}}
"""
    before, after = text.format("", ""), text.format(", master: r", ", r: {kind: vrf, table: 10, up: true}")
    engine_in("here", before).apply()
    engine = engine_in("here", after)
    engine.apply(allow=frozenset({"a"}), confirm_s=confirm_s)
    if confirm_s:
        engine.rollback()
    else:
        engine_in("here", before).apply(allow=frozenset({"a"}))
    assert "PROMISC" not in here("ip link show a")


class Mortal(Kernels):
    """The real kernel, of a process that is killed when it has done so many steps."""

    steps_left = 0

    def apply(self, steps: Sequence[AnyStep], progress: Callable[[int], None] | None = None) -> tuple[Refused, ...]:
        if len(steps) > self.steps_left:
            super().apply(steps[: self.steps_left])
            os.kill(os.getpid(), signal.SIGKILL)
        self.steps_left -= len(steps)
        return super().apply(steps, progress)


def killed(engine_in: EngineIn, config: str, steps: int) -> bool:
    """Apply in a child that is killed when it has done so many steps; whether it was."""

    def mortal(netns: str | None) -> Kernels:
        kernel = Mortal(netns)
        kernel.steps_left = steps
        return kernel

    if child := os.fork():
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    engine_in("here", config, mortal).apply(allow=PORTS)
    os._exit(0)


def test_what_others_have_on_a_link_that_goes_down_for_a_moment_outlives_a_kill(engine_in: EngineIn) -> None:
    old, new = (BOND.format(mode, "true", "") for mode in ("balance-rr", "active-backup"))
    engine_in("here", old).apply()
    for command in GIVEN:
        here(f"ip {command}")
    before, ends = shown(), set()
    for steps in count():
        if not killed(engine_in, new, steps):
            break
        said = engine_in("here", new).recover()
        assert shown() == before, (steps, said)
        ends.add(str(said))
        engine_in("here", old).apply(allow=PORTS)
    assert {end.rpartition(" ")[2] for end in ends} == {"kept", "1"}


def test_what_others_have_above_a_link_that_changes_its_vrf_is_there_again(engine_in: EngineIn) -> None:
    text = "links: {{d: {{kind: dummy, up: true{}}}, d.5: {{kind: vlan, up: true}}}}\nvrfs: {{v0: {{table: 7}}}}"
    engine_in("here", text.format(", master: v0")).apply()
    here("ip address add fd01::5/64 dev d.5 nodad")
    here("ip address add fd02::5/64 dev d nodad")
    engine = engine_in("here", text.format(""))
    back = "what is not netgroupd's goes with links that go down for a moment, and is given back: addresses (1) on d.5"
    assert engine.diff().warnings == (f"{LOST}addresses (1) on d", back)
    engine.apply()
    assert "fd01::5/64" in here("ip address show dev d.5 up")
    assert "fd02::5/64" not in here("ip address show dev d up")
    assert not engine.diff().steps


@pytest.mark.parametrize("up", ["true", "false"])
def test_what_others_have_on_a_port_of_a_vrf_that_is_made_anew_is_there_again(engine_in: EngineIn, up: str) -> None:
    text = f"links: {{d: {{kind: dummy, up: {up}, master: v0}}}}\nvrfs: {{v0: {{table: %s, up: true}}}}"
    engine_in("here", text % 7).apply()
    here("ip address add fd01::5/64 dev d nodad")
    engine = engine_in("here", text % 8)
    back = "what is not netgroupd's goes with links that go down for a moment, and is given back: addresses (1) on d"
    assert engine.diff().warnings == (back,)
    engine.apply()
    assert "fd01::5/64" in here("ip address show dev d")
    assert not engine.diff().steps


@pytest.mark.parametrize("more", ["vlans: [{vid: 5}]", "vlan_default_pvid: 3"])
def test_neighbours_on_a_bridge_that_has_the_mac_of_a_port_for_a_moment_are_there_again(
    engine_in: EngineIn, more: str
) -> None:
    text = "links: {{p: {{kind: dummy, master: {}}}, br: {{kind: bridge, up: true, vlan_filtering: true{}}}}}"
    engine_in("here", text.format("br", "")).apply()
    engine_in("here", text.format("null", "")).apply()
    here("ip neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 dev br")
    engine = engine_in("here", text.format("null", f", {more}"))
    back = "may go with the MAC that links have for a moment, and is given back: neighbours (1) on br"
    assert engine.diff().warnings == (f"what is not netgroupd's {back}",)
    engine.apply()
    assert "10.0.0.9" in here("ip neighbour show dev br nud permanent")
