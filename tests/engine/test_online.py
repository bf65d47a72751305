# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host waits for before it is online."""

from collections.abc import Iterable

import pytest

from netgroupd.engine import online
from netgroupd.model.state import Group, Object, State
from netgroupd.plan.step import Op, Step


def link(name: str, **attrs: object) -> Object:
    return Object("link", (name,), attrs)  # type: ignore[arg-type]


SPARE = {"spare": Group("spare", 7, {}, online=False), "lab": Group("lab", 8, {})}
STATE = State(
    [
        link("swp1", up=True, master="bond0"),
        link("swp2", up=True, master="bond0"),
        link("swp3", up=True, group=7),
        link("swp4", up=True, group=8),
        link("swp5", up=False),
        link("eth0", up=True, master="red"),
        link("far0", up=True, netns="blue"),
        link("bond0", kind="bond", up=True, master="br0"),
        link("br0", kind="bridge", up=True),
        link("br1", kind="bridge", up=True),
        link("red", kind="vrf", up=True),
    ],
    SPARE,
)
ALL_UP = {None: {"swp1", "br0", "swp4", "eth0"}, "blue": {"far0"}}
RULE = Object("rule", (100, "inet", ()), {})


def made(obj: Object) -> Step:
    return Step(Op.CREATE, None, obj, obj.attrs)


def changed(obj: Object, **attrs: object) -> Step:
    return Step(Op.CHANGE, obj, obj, attrs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lost", "steps", "awaited"),
    [
        ((), (), []),
        (("br0",), (), ["br0"]),
        (("swp1", "swp3", "bond0"), (), []),
        (("eth0", "swp4"), (), ["eth0", "swp4"]),
        (("far0",), (), ["far0"]),
        ((), (made(link("br1", kind="bridge")),), ["br1"]),
        ((), (made(link("swp3")), changed(link("br1"), mtu=1300)), []),
        ((), (changed(link("br1"), up=True),), ["br1"]),
        ((), (made(Object("address", ("br1", "192.0.2.1/24"), {})), made(RULE)), ["br1", "rule"]),
    ],
)
def test_host_waits_for_what_is_missing_and_for_carriers(
    monkeypatch: pytest.MonkeyPatch, lost: tuple[str, ...], steps: tuple[Step, ...], awaited: list[str]
) -> None:
    def running(names: Iterable[str], netns: str | None) -> frozenset[str]:
        return frozenset(ALL_UP[netns].intersection(names).difference(lost))

    monkeypatch.setattr(online, "running", running)
    on_links = [("" if step.object == RULE else step.object.name, step) for step in steps]
    assert online.awaited(STATE, on_links, None) == awaited


def test_namespace_that_is_not_there_is_waited_for() -> None:
    away = State([link("far0", up=True, netns="not-there-at-all")])
    assert online.awaited(away, (), None) == ["far0"]
