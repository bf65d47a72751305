# SPDX-License-Identifier: GPL-2.0-or-later
"""How often pictures are taken and repairs are made."""

import fcntl
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from netgroupd.engine.observe import Connection, Mine
from netgroupd.engine.report import Pending
from netgroupd.engine.transaction import plan_now
from netgroupd.errors import ConfigError, Problem
from netgroupd.model.state import State
from netgroupd.plan.step import Plan
from netgroupd.service import drift
from netgroupd.service.client import Remote
from netgroupd.service.daemon import Daemon
from netgroupd.service.drift import Damping, Drift, Spacing
from netgroupd.service.picture import Picture, take
from netgroupd.service.work import in_main_loop
from tests.engine.desk import Desk
from tests.service.conftest import PrivateBus, refused
from tests.service.fake import HARDWARE_CAME, PLAN, FakeEngine, News
from tests.waiting import PATIENCE_S, eventually


class Look:
    """A comparison that takes as long as the test wants it to."""

    def __init__(self, found: Plan) -> None:
        self.begun, self.end = threading.Event(), threading.Event()
        self._found = found

    def __call__(self) -> Plan:
        self.begun.set()
        self.end.wait()
        return self._found


@pytest.fixture
def look(engine: FakeEngine, daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> Look:
    """One that has begun."""
    engine.policy = "report"
    slow = Look(PLAN)
    monkeypatch.setattr(engine, "drift", slow)
    engine.news.tell()
    assert slow.begun.wait(PATIENCE_S)
    return slow


def test_picture_from_before_a_change_is_not_shown(
    look: Look, engine: FakeEngine, remote: Remote, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    remote.apply({})
    after = Look(Plan())
    monkeypatch.setattr(engine, "drift", after)
    look.end.set()
    assert after.begun.wait(PATIENCE_S)
    assert remote.properties()["Drift"] == 0
    assert "changed from outside" not in caplog.text
    after.end.set()


def test_drift_that_was_seen_while_a_change_was_refused_is_told(
    look: Look, engine: FakeEngine, bus: PrivateBus, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, show = threading.Event(), Drift._show

    def noted(*picture: Any) -> None:
        show(*picture)
        shown.set()

    monkeypatch.setattr(Drift, "_show", noted)
    engine.gate.clear()
    engine.error = ConfigError([Problem("/etc/netgroup/a.yaml", 3, 1, "unknown key 'mttu'")])
    caller = threading.Thread(target=lambda: refused(Remote(bus.connect()).reload))
    caller.start()
    eventually(lambda: remote.properties()["State"] == "changing")
    look.end.set()
    assert shown.wait(PATIENCE_S)  # it is over before the change is
    engine.gate.set()
    caller.join(PATIENCE_S)
    eventually(lambda: remote.properties()["Drift"] == 1)


def test_drift_that_takes_the_place_of_other_drift_is_told(
    engine: FakeEngine, remote: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    engine.policy = "report"
    bridge, _, vlan = HARDWARE_CAME.steps
    engine.drifted = Plan((bridge,))
    engine.news.tell()
    eventually(lambda: "+ bridge br-1" in caplog.text)
    assert "swp1.5" not in caplog.text
    engine.drifted = Plan((vlan,))
    engine.news.tell()
    eventually(lambda: "+ vlan swp1.5" in caplog.text)
    assert remote.properties()["Drift"] == 1


def test_drift_of_which_a_part_is_gone_is_no_news(
    engine: FakeEngine, remote: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    engine.policy = "report"
    bridge, _, vlan = HARDWARE_CAME.steps
    engine.drifted = Plan((bridge, vlan))
    engine.news.tell()
    eventually(lambda: remote.properties()["Drift"] == 2)
    engine.drifted = Plan((vlan,))
    engine.news.tell()
    eventually(lambda: remote.properties()["Drift"] == 1)
    assert caplog.text.count("changed from outside") == 1


def test_hardware_that_vanishes_is_told_once(
    engine: FakeEngine, remote: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    vanished = "not there any more, and configured when it comes again: swp[1-2]"
    for absent in (set[str](), {"swp1", "swp2"}, {"swp1", "swp2"}, {"swp1"}):
        engine.differ(Plan(absent=frozenset(absent)))
    engine.differ(HARDWARE_CAME)
    eventually(lambda: "changed from outside" in caplog.text)  # and all before it was shown
    assert [one for one in caplog.messages if "not there any more" in one] == [vanished]


def test_news_that_come_while_the_main_loop_is_busy_are_told_once(
    engine: FakeEngine, remote: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    go_on = threading.Event()

    def busy() -> None:
        go_on.wait()

    in_main_loop(busy)
    gone = Plan(absent=frozenset({"swp1"}))
    for found in (gone, gone._replace(steps=PLAN.steps)):
        engine.differ(found)
    go_on.set()
    eventually(lambda: engine.repaired)
    assert [one for one in caplog.messages if "not there any more" in one] == [
        "not there any more, and configured when it comes again: swp1"
    ]


def test_hardware_that_was_not_there_before_has_not_vanished_with_a_change_that_was_not_kept(
    engine: FakeEngine, remote: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    engine.policy = "report"
    engine.drifted = PLAN._replace(absent=frozenset({"swp1"}))
    for pending in (None, Pending(2, 30), None):
        caplog.clear()
        engine.waits, engine.generation = pending, 2 if pending else 1
        engine.news.tell()
        eventually(lambda pending=pending: remote.properties()["Drift"] == (0 if pending else 1))  # type: ignore[misc]
    assert "not there any more" not in caplog.text


def test_drift_that_comes_and_goes_is_told_once_and_then_summed_up(
    engine: FakeEngine, remote: Remote, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    timers: list[Callable[[], None]] = []
    monkeypatch.setattr(drift, "later", lambda _, call: timers.append(call))
    monkeypatch.setattr(drift, "time", SimpleNamespace(monotonic=lambda: 100.0))  # all of it comes in one moment
    engine.policy = "report"
    for found in (PLAN, Plan()) * 6:
        engine.drifted = found
        engine.news.tell()
        eventually(lambda: remote.properties()["Drift"] == len(engine.drifted.steps))
    (sum_up,) = timers
    in_main_loop(sum_up)
    eventually(lambda: any("again" in one for one in caplog.messages))
    told = [one.partition(":")[0] for one in caplog.messages if "br-1" in one]
    assert told == ["changed from outside", "changed from outside again, 5 times"]


def test_end_of_a_change_is_seen_at_once_though_others_have_kept_it_busy(
    engine: FakeEngine, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = threading.Event()

    def after(*_: object, **__: object) -> float:
        waits.set()
        return 600.0

    monkeypatch.setattr(Spacing, "after", after)
    engine.news.tell()
    assert waits.wait(PATIENCE_S)
    generation = remote.apply({})["generation"]
    eventually(lambda: remote.properties()["Generation"] == generation)


def test_end_of_somebody_elses_change_is_seen_though_there_is_no_news_of_it(
    engine: FakeEngine, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drift, "_LONGEST_S", 0.3)
    engine.policy = "report"
    engine.interrupted, engine.drifted = True, PLAN
    engine.news.tell()
    eventually(lambda: remote.properties()["Drift"] == 1)
    engine.drifted = Plan()
    engine.generation = 7
    engine.interrupted = False  # at last: who sees this looks no more
    eventually(lambda: remote.properties()["Generation"] == 7)
    assert remote.properties()["Drift"] == 0


def test_news_of_very_many_network_namespaces_are_heard(
    engine: FakeEngine, remote: Remote, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    away = News()
    away._read = fcntl.fcntl(away._read, fcntl.F_DUPFD, 1024)  # one for each of them
    monkeypatch.setattr(engine, "policy", "report")
    monkeypatch.setattr(engine, "watch_away", lambda _: [away])
    engine.news.tell()
    engine.drifted = PLAN
    away.tell()
    eventually(lambda: remote.properties()["Drift"] == 1)
    assert "defect" not in caplog.text


def test_drift_that_comes_back_is_repaired_again(daemon: Daemon, remote: Remote, engine: FakeEngine) -> None:
    for times in (1, 2):
        engine.drifted = PLAN
        engine.news.tell()
        eventually(lambda times=times: len(engine.repaired) == times)  # type: ignore[misc]


def test_hardware_that_has_come_is_configured_though_drift_is_only_reported(
    daemon: Daemon, remote: Remote, engine: FakeEngine
) -> None:
    engine.policy = "report"
    engine.drifted = HARDWARE_CAME
    engine.news.tell()
    eventually(lambda: engine.repaired)
    assert engine.repaired == [frozenset({"swp1", "swp1.5"})]


def test_picture_takes_one_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, planned = Desk(tmp_path), list[State]()

    def counted(kernel: Connection, goal: State, mine: Mine) -> tuple[Plan, State]:
        planned.append(goal)
        return plan_now(kernel, goal, mine)

    desk.wants("groups: {tenants: {drift: repair}}\nlinks: {br-1: {kind: bridge, group: tenants}}")
    desk.engine.apply()
    monkeypatch.setattr("netgroupd.engine.questions.plan_now", counted)
    picture = take(desk.engine)
    assert (picture.generation, picture.counts["link"], picture.drifted) == (1, 1, 0)
    assert len(planned) == 1


def test_repairs_that_follow_closely_wait_twice_as_long_each_time() -> None:
    damping = Damping()
    now, waits = 100.0, []
    for _ in range(6):
        assert damping.wait_s(now) == 0
        waits.append(damping.wait_s(now))
        now += waits[-1]
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]


def test_repair_after_a_calm_waits_no_longer() -> None:
    damping = Damping()
    for now in (100.0, 101.0, 103.0, 1000.0):
        assert damping.wait_s(now) == 0
    assert damping.wait_s(1000.0) == 1.0


def test_pictures_of_others_news_are_taken_ever_more_rarely() -> None:
    spacing = Spacing()
    waits = [spacing.after(0.1, 0.3, news_were_ours=False) for _ in range(8)]
    assert waits == sorted(waits)
    assert waits[-1] == 10.0


def test_own_news_are_looked_at_soon() -> None:
    spacing = Spacing()
    for _ in range(8):
        spacing.after(0.1, 0.3, news_were_ours=False)
    assert spacing.after(0.1, 0.3, news_were_ours=True) == 0.2


def test_long_comparison_leaves_half_of_the_processor() -> None:
    assert Spacing().after(25.0, 25.0, news_were_ours=True) == 25.0


def test_generation_is_told_before_anybody_has_looked_at_what_it_made(
    remote: Remote, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = threading.Event()

    def look(engine: FakeEngine, last: Picture | None) -> Picture:
        seen.wait()
        return take(engine, last)

    monkeypatch.setattr("netgroupd.service.drift.take", look)
    remote.reload()
    got = remote.properties()["Generation"]
    seen.set()
    assert got == engine.generation
