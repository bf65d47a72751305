# SPDX-License-Identifier: GPL-2.0-or-later
"""Notifications on a real kernel: ours are told, others are dropped in the kernel, what is lost is said."""

from collections.abc import Iterator

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.monitor import Monitor, News
from netgroupd.model.owner import GROUP_BASE, GROUP_MASK
from netgroupd.model.state import Object
from netgroupd.plan.step import Op, Step

OURS = (GROUP_BASE, GROUP_MASK)


def make(name: str, **attrs: object) -> Step:
    link = Object("link", (name,), {"kind": "dummy", **attrs})  # type: ignore[dict-item]
    return Step(Op.CREATE, None, link, link.attrs)


def remove(name: str) -> Step:
    return Step(Op.DELETE, Object("link", (name,), {"kind": "dummy"}), None)


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    with Kernel() as opened:
        yield opened


def told(monitor: Monitor) -> list[tuple[str, str]]:
    return [(event.news, str(event.key[0])) for event in monitor.read() if event.cls == "link"]


def test_links_of_our_groups_are_told_and_others_are_not(kernel: Kernel) -> None:
    with Monitor(groups=OURS) as monitor:
        kernel.apply([make("ours", group=GROUP_BASE + 5), make("theirs", group=5), make("nobodys")])
        kernel.apply([remove("theirs"), remove("ours")])
        assert told(monitor) == [("there", "ours"), ("gone", "ours")]


def test_link_is_told_as_it_is_with_the_names_of_those_it_refers_to(kernel: Kernel) -> None:
    kernel.apply([make("low")])
    with Monitor() as monitor:
        kernel.apply([make("low.7", kind="vlan", link="low", id=7, mtu=1400)])
        event = [event for event in monitor.read() if event.key == ("low.7",)][-1]
    assert event.object
    assert {name: event.object.attrs[name] for name in ("kind", "link", "id", "mtu")} == {
        "kind": "vlan",
        "link": "low",
        "id": 7,
        "mtu": 1400,
    }


def test_address_is_told_by_its_class(kernel: Kernel) -> None:
    kernel.apply([make("low", up=True)])
    with Monitor(("address",)) as monitor:
        address = Object("address", ("low", "192.0.2.1/24", None), {})
        kernel.apply([Step(Op.CREATE, None, address)])
        assert [(event.news, event.cls) for event in monitor.read()] == [(News.THERE, "address")]


def test_overrun_is_said_once_and_news_go_on_behind_it(kernel: Kernel) -> None:
    kernel.apply([make("low")])
    change = Object("link", ("low",), {"kind": "dummy"})
    with Monitor(buffer=16384) as monitor:
        kernel.apply([Step(Op.CHANGE, change, change, {"mtu": 1300 + turn % 2}) for turn in range(2000)])
        news = [event.news for event in monitor.read()]
        assert news.count(News.OVERRUN) == 1
        kernel.apply([make("late")])
        assert ("there", "late") in told(monitor)
