# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that live in other network namespaces than the one configured: made, moved, changed, put back."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.observe import Mine, look
from netgroupd.engine.paths import Paths
from netgroupd.engine.record.generations import Content
from netgroupd.engine.spoken import spoken_of
from netgroupd.engine.transaction import converge, plan_for
from netgroupd.errors import ConfigError, GuardError, KernelError
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.links import layout as links_layout
from netgroupd.kernel.links import read as links_read
from netgroupd.kernel.netlink import batch
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.state import Object, State
from netgroupd.plan.fate import MOVABLE
from netgroupd.plan.named import text_of
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op
from tests.engine.universe import state_of
from tests.vm.link_cases import BASE

SPACES = ("blue", "red")


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


@pytest.fixture(autouse=True)
def spaces() -> Iterator[None]:
    for space in SPACES:
        ip("netns", "add", space)
    yield
    for space in SPACES:
        ip("netns", "del", space)


class Found(NamedTuple):
    """Where every link is, and every address that somebody gave, as ``ip`` has it."""

    places: dict[str, str]
    addresses: set[tuple[str, str]]
    mtus: dict[str, int]


def found() -> Found:
    """Look into all namespaces."""
    seen = Found({}, set(), {})
    for space in ("", *SPACES):
        for link in json.loads(ip(*(("-n", space) if space else ()), "-j", "address") or "[]"):
            name = link["ifname"]
            if name == "lo":
                continue
            seen.places[name] = space
            seen.mtus[name] = link["mtu"]
            given = (info for info in link["addr_info"] if info["scope"] != "link")
            seen.addresses.update((space, f"{name} {info['local']}/{info['prefixlen']}") for info in given)
    return seen


def places() -> dict[str, str]:
    """Where every link is."""
    return found().places


class Desk:
    """Files, and an engine for the namespace of the test."""

    def __init__(self, directory: Path) -> None:
        self.config = directory / "config"
        self.config.mkdir()
        self.paths = Paths((self.config,), directory / "state", directory / "group")

    def wants(self, text: str) -> Engine:
        (self.config / "all.yaml").write_text(text)
        return Engine(self.paths)

    def reach(self, text: str) -> Engine:
        """Apply, and see that nothing is left to do."""
        engine = self.wants(text)
        engine.apply()
        assert not engine.diff().steps
        return engine


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


SETTING = ", sysctl: {ipv4.rp_filter: 2}"


def placed(low: str = "", top: str = "", end: str = "", mtu: int = 1600) -> str:
    """A dummy, what stands on it, a cable, and a bridge where the cable ends."""
    where = {name: f", netns: {space}" if space else "" for name, space in (("low", low), ("top", top), ("end", end))}
    return f"""
groups: {{tenants: {{up: true}}}}
links:
  low: {{kind: dummy, group: tenants, mtu: {mtu}, addresses: [10.0.0.1/24, "fd00::1/64"]{SETTING},
         neighbours: [{{ip: 10.0.0.9, lladdr: "02:00:00:00:00:09"}}]{where["low"]}}}
  low.5: {{group: tenants, mtu: 1500, addresses: [10.5.0.1/24]{where["top"]}}}
  mac: {{kind: macvlan, link: low, mode: bridge, alias: upper{where["top"]}}}
  sec: {{kind: macsec, link: v0{where["top"]}}}
  v0: {{kind: veth, peer: v1, group: tenants{where["low"]}}}
  v1: {{master: br, group: tenants, vlans: [{{vid: 7}}]{where["end"]}}}
  br: {{kind: bridge, group: tenants, vlan_filtering: true{where["end"]}}}
"""


NOTHING = "links: {}"
HERE = placed()
AWAY = placed("blue", "blue", "blue")
ABOVE = placed(top="blue", end="red")
BELOW = placed(low="blue")
APART = placed("blue", "red", "red", mtu=1700).replace("[10.0.0.1/24,", "[10.0.0.1/24, 10.9.0.1/24,")
RECREATED = APART.replace("v1: {", "v1: {numtxqueues: 2, ")
TOUR: dict[str, tuple[str, str, str]] = {
    HERE: ("", "", ""),
    ABOVE: ("", "blue", "red"),
    BELOW: ("blue", "", ""),
    APART: ("blue", "red", "red"),
    RECREATED: ("blue", "red", "red"),
    AWAY: ("blue", "blue", "blue"),
    NOTHING: ("", "", ""),
}


def test_links_are_made_moved_and_removed_wherever_they_are_to_live() -> None:
    mine = Mine(classes=frozenset({"sysctl", "bridge_vlan"}))
    with Kernels() as kernel:
        for text, (low, top, end) in TOUR.items():
            goal = state_of(text)
            mine = mine.joined(Content(named=text_of(goal)))
            plan = plan_for(kernel, goal, look(kernel, goal, mine), mine)
            converge(kernel, plan, goal, mine)  # which sees that nothing is left to do
            mine = mine._replace(away=mine.away | spoken_of(goal).away)
            if text is NOTHING:
                assert not places()
                continue
            seen = found()
            assert seen.places == {"low": low, "v0": low, "sec": top, "low.5": top, "mac": top, "v1": end, "br": end}
            further = {(low, "low 10.9.0.1/24")} if text in (APART, RECREATED) else set()
            there = {(low, "low 10.0.0.1/24"), (low, "low fd00::1/64"), (top, "low.5 10.5.0.1/24")}
            assert seen.addresses == there | further


@pytest.mark.vm("stock")
@pytest.mark.parametrize(("old", "new"), [(NOTHING, APART), (APART, HERE), (ABOVE.replace(SETTING, ""), NOTHING)])
def test_what_is_refused_at_the_end_is_put_back_wherever_it_was(desk: Desk, old: str, new: str) -> None:
    desk.reach(old)
    before = found()
    # No way leads to the gateway, which the kernel says when all else is done.
    engine = desk.wants(f"{new}\nroutes: [{{to: 192.0.2.0/24, via: 198.51.100.77}}]\n")
    with pytest.raises(KernelError):
        engine.apply()
    assert found() == before
    assert not desk.wants(old).diff().steps


@pytest.mark.vm("stock")
def test_kill_half_way_is_resolved_by_the_next_start(desk: Desk) -> None:
    desk.reach(HERE)
    before = found()
    child = os.fork()
    if not child:
        batch._MESSAGES = 4

        def progress(done: int, _total: int) -> None:
            if done > 4:
                os.kill(os.getpid(), signal.SIGKILL)

        desk.wants(APART).apply(progress=progress)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert "is rolled back to generation 1" in str(desk.wants(APART).recover())
    assert found() == before
    assert not desk.wants(HERE).diff().steps


@pytest.mark.vm("stock")
def test_unconfirmed_move_is_undone_and_an_earlier_generation_comes_back(desk: Desk) -> None:
    desk.reach(AWAY)
    desk.wants(BELOW).apply(confirm_s=0.0)
    assert "was not confirmed in time" in str(desk.wants(BELOW).expire())
    assert places()["low.5"] == "blue"
    engine = desk.reach(NOTHING)
    assert not places()
    engine.rollback()
    assert places()["low.5"] == "blue"
    assert not desk.wants(AWAY).diff().steps


@pytest.mark.vm("patched")
def test_hardware_is_moved_there_and_back(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links_read, "_learnt", links_read._Learnt())
    monkeypatch.setattr(links_layout, "_SIMULATED", "none of these")  # so that it looks as a card does
    Path("/sys/bus/netdevsim/new_device").write_text("9 1")
    try:
        card = next(iter(places()))
        ip("link", "set", card, "mtu", "1400", "up")
        engine = desk.reach(f"links: {{{card}: {{netns: blue, up: true, mtu: 1300, addresses: [10.0.0.1/24]}}}}")
        assert places() == {card: "blue"}
        assert found().addresses == {("blue", f"{card} 10.0.0.1/24")}
        engine.rollback(0)
        assert places() == {card: ""}
        assert found().mtus[card] == 1400
        desk.reach(f"links: {{{card}: {{netns: blue}}}}")
        desk.reach(NOTHING)
        assert places() == {card: ""}
    finally:
        Path("/sys/bus/netdevsim/del_device").write_text("9")


def kinds_in(space: str) -> State:
    """A link of every kind there; those that stand on one stand on one that stays here."""
    made: dict[str, Mapping[str, object]] = {}
    for number, kind in enumerate(KINDS):
        attrs = dict(BASE.get(kind, {}))
        if kind == "netdevsim":  # of these one number serves all namespaces, and other tests have used theirs
            attrs["id"] = 8
        for place, row in enumerate(("link", "slave1", "slave2")):
            if row in attrs:
                attrs[row] = f"low{number}-{place}"
                home: Mapping[str, object] = {} if row == "link" and kind != "ipvtap" else {"netns": space}
                made[f"low{number}-{place}"] = {"kind": "dummy", "up": True, **home}
        if kind in PAIRS:
            attrs["peer"] = f"other-{kind}"
            made[f"other-{kind}"] = {"kind": kind, "peer": kind}
        made[kind] = {"kind": kind, "netns": space, **attrs}
    group = {"group": 0x4E470000}
    return State(Object("link", (name,), {**attrs, **group}) for name, attrs in made.items())  # type: ignore[dict-item]


def test_link_of_every_kind_lives_in_another_namespace(desk: Desk) -> None:
    with Kernels() as kernel:
        mine = Mine()
        for space in SPACES:
            goal = kinds_in(space)
            plan = plan_for(kernel, goal, look(kernel, goal, mine), mine)
            converge(kernel, plan, goal, mine)
            where = places()
            assert {name: where[name] for name in KINDS} == dict.fromkeys(KINDS, space)
            if space == "blue":
                mine = Mine(away=frozenset((space, name) for name in where if where[name] == space))
        recreated = {step.object.name for step in singles(plan.steps) if step.op is Op.CREATE}
        assert recreated & KINDS.keys() == KINDS.keys() - MOVABLE
        reasons = {step.object.name: step.why for step in singles(plan.steps) if step.op is Op.DELETE}
        assert reasons["bridge"] == "bridge netns cannot change in place"


@pytest.mark.vm("stock")
def test_namespace_that_is_not_there_is_named_with_its_line(desk: Desk) -> None:
    engine = desk.wants("links:\n  d: {kind: dummy}\n  e: {kind: dummy, netns: green}\n")
    for ask in (engine.diff, engine.apply):
        with pytest.raises(ConfigError) as caught:
            ask()
        told = "all.yaml:3:3: there is no network namespace 'green', for 'e'; make it with `ip netns add green`"
        assert str(caught.value).endswith(told)
    assert not places()


@pytest.mark.vm("patched")
def test_what_went_with_its_namespace_is_drift(desk: Desk) -> None:
    engine = desk.reach("links: {d: {kind: dummy, netns: blue}}")
    ip("-n", "blue", "link", "del", "dev", "d")
    assert [step.op for step in engine.drift().steps] == [Op.CREATE]
    engine.repair(frozenset({"d"}))
    assert places() == {"d": "blue"}
    ip("netns", "del", "blue")
    assert engine.status().differences == "1 to create; 1 message"
    ip("netns", "add", "blue")
    engine.apply()
    assert places() == {"d": "blue"}


@pytest.mark.vm("stock")
def test_neither_others_links_there_nor_the_way_out_are_touched(desk: Desk) -> None:
    ip("link", "add", "eth0", "type", "dummy")
    ip("address", "add", "198.51.100.2/24", "dev", "eth0")
    ip("link", "set", "eth0", "up")
    ip("route", "add", "default", "via", "198.51.100.1")
    ip("-n", "blue", "link", "add", "eth1", "group", str(0x4E470000), "type", "dummy")
    desk.wants("links: {d: {kind: dummy, netns: blue}}").apply()
    desk.reach("links: {}")
    assert places() == {"eth0": "", "eth1": "blue"}
    with pytest.raises(GuardError, match="eth0"):
        desk.wants("links: {eth0: {netns: blue}}").apply()
    assert places() == {"eth0": "", "eth1": "blue"}


@pytest.mark.vm("patched")
def test_files_of_the_namespace_itself_leave_alone_what_came_from_outside(desk: Desk, tmp_path: Path) -> None:
    outside = desk.reach("links: {d: {kind: dummy, up: true, netns: blue, addresses: [10.0.0.1/24]}}")
    inside = tmp_path / "inside.yaml"
    inside.write_text("links: {e: {kind: dummy}}\nroutes: [{to: 10.9.0.0/16, via: 10.0.0.9, dev: d}]")
    engine = Engine(Paths((inside,), tmp_path / "state", tmp_path / "group"), netns="blue")
    engine.apply()
    assert not engine.diff().steps
    assert not outside.diff().steps
    inside.write_text("{}")
    engine.apply()
    assert places() == {"d": "blue"}
    assert found().addresses == {("blue", "d 10.0.0.1/24")}
    assert not outside.diff().steps


@pytest.mark.vm("stock")
def test_capture_tells_where_a_link_lives(desk: Desk) -> None:
    text = "links: {d: {kind: dummy, netns: blue, addresses: [10.0.0.1/24]}, d.7: {}}"
    captured = desk.reach(text).capture()
    assert "netns: blue" in captured
    assert not desk.wants(captured).diff().steps


def test_namespace_is_asked_of_its_own_links_alone(desk: Desk) -> None:
    names = frozenset(f"a{number}" for number in range(40))
    links = "".join(f"  {name}: {{kind: dummy, netns: {SPACES[int(name[1:]) % 2]}}}\n" for name in names)
    away = spoken_of(desk.reach(f"links:\n{links}").applied()).away
    classes = frozenset({"token", "vf", "vlan_global"})
    with Kernels() as kernel:
        kernel.add_away(State(), away, Selection(links=names))
        before = {space: kernel._others[space].counters.messages for space in SPACES}
        kernel.add_away(State(), away, Selection(classes, tokens=names, bridges=names, cards=names))
        asked = {space: kernel._others[space].counters.messages - before[space] for space in SPACES}
    assert asked == dict.fromkeys(SPACES, len(classes) * len(names) // 2)
    desk.reach("links: {}\n")
