# SPDX-License-Identifier: GPL-2.0-or-later
"""On the host: one boot per kernel for all the tests of a session, reported test by test.

The guests start as soon as the tests are collected and run beside the tests
that need no guest.  When a guest dies, the test that ran in it fails with the
console's last words, and the rest continues in a fresh one.
"""

import compileall
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import pytest

from netgroupd.errors import NetgroupError
from netgroupd.lab.boot import Guest
from netgroupd.lab.channel import Kind
from netgroupd.lab.kernel import CHECKOUT
from netgroupd.lab.machine import Machine, Process
from netgroupd.lab.ways import image_for
from tests.no_network import refuse_network
from tests.vm_place import PLACE, Place

_IDLE_LIMIT_S = 400.0
_LIFETIME_S = 3000.0
_SHOWN_CHARS = 6000
_FETCH_LIMIT_S = 60


@cache
def _build_package() -> None:
    """Make the package that the guests with systemd install, and compile it: there it would take a minute each."""
    environment = {**os.environ, "PYTHON": sys.executable}
    subprocess.run([CHECKOUT / ".ci/deb"], env=environment, check=True, stdout=subprocess.DEVNULL)
    compileall.compile_dir(CHECKOUT / "build/deb/usr/lib", quiet=2)


@cache
def _fetch_broker() -> None:
    """Have the other implementation of the bus at hand, where a mirror of Debian's has it."""
    directory = CHECKOUT / "build"
    if not list(directory.glob("dbus-broker_*.deb")):
        fetch = ["apt-get", "download", "-q", "dbus-broker"]
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(fetch, cwd=directory, capture_output=True, check=True, timeout=_FETCH_LIMIT_S)


class Outcome(NamedTuple):
    """What became of a test: reports of its phases, or why there are none."""

    reports: list[dict[str, Any]]
    failure: str = ""


class GuestSession:
    """The tests of one place, run in one guest, or in as many as die under them."""

    def __init__(self, place: Place, nodeids: list[str], flavour: str) -> None:
        if place.systemd:
            _build_package()
            _fetch_broker()
        self._kernel = place.kernel
        # Two threads race on two processors only, which is what that kernel looks for.
        cpus = 2 if flavour == "kcsan" else place.cpus
        self._guest = Guest(python_path=CHECKOUT, systemd=place.systemd, cpus=cpus)
        self._image = image_for(flavour, self._guest)
        self._machine: Machine | None = None
        self._remaining = list(nodeids)
        self._outcomes: dict[str, queue.SimpleQueue[Outcome]] = {nodeid: queue.SimpleQueue() for nodeid in nodeids}
        self._reports: list[dict[str, Any]] = []
        self._current = ""
        self._stderr = ""
        self._cancelled = threading.Event()

    def outcome(self, nodeid: str) -> Outcome:
        """Wait for a test to end."""
        return self._outcomes[nodeid].get()

    def run(self) -> None:
        """Run every test, and see to it that every one has an outcome."""
        try:
            self._run()
        except Exception:  # whoever waits for an outcome would wait for ever
            for nodeid in self._remaining[:]:
                self._finish(nodeid, Outcome([], traceback.format_exc()))

    def _run(self) -> None:
        fruitless = 0
        while self._remaining and not self._cancelled.is_set():
            self._current, self._stderr, left = "", "", len(self._remaining)
            try:
                self._run_in_one_guest()
                reason = f"the guest's pytest ended without running it:\n{self._stderr[-_SHOWN_CHARS:]}"
            except NetgroupError as error:
                reason = f"{error}\n{self._stderr[-_SHOWN_CHARS:]}"
            # A kernel that dies can take along which test it was about to run: the first that was left.
            # Twice in a row without a test to blame, and the next guest would do no better.
            fruitless = 0 if self._current or len(self._remaining) < left else fruitless + 1
            for nodeid in [self._current] if self._current else self._remaining[: None if fruitless > 1 else 1]:
                self._finish(nodeid, Outcome([], reason))

    def cancel(self) -> None:
        """End the guest, whatever it does."""
        self._cancelled.set()
        if self._machine:
            self._machine.kill()

    def _run_in_one_guest(self) -> None:
        self._machine = Machine(self._guest, self._image, lifetime_s=_LIFETIME_S)
        with self._machine as machine:
            files = dict.fromkeys(nodeid.split("::", 1)[0] for nodeid in self._remaining)
            process = machine.start(
                [sys.executable, "-m", "pytest", "-q", "-p", "tests.vm_inner", "-p", "no:cacheprovider", *files],
                stdin=json.dumps(self._remaining).encode(),
                cwd=CHECKOUT,
                env={"NETGROUPD_TEST_KERNEL": self._kernel, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            )
            for event in self._events(process):
                self._take(event)

    def _events(self, process: Process) -> Iterator[dict[str, Any]]:
        pending = b""
        while frame := process.next_output(_IDLE_LIMIT_S):
            if frame.kind is Kind.STDERR:
                self._stderr += frame.payload.decode(errors="replace")
                continue
            *lines, pending = (pending + frame.payload).split(b"\n")
            yield from map(json.loads, lines)

    def _take(self, event: dict[str, Any]) -> None:
        if "start" in event:
            self._current, self._reports, self._stderr = event["start"], [], ""
            return
        self._reports.append(event["report"])
        if event["report"]["when"] == "teardown":
            self._finish(self._current, Outcome(self._reports))
            self._current = ""

    def _finish(self, nodeid: str, outcome: Outcome) -> None:
        self._remaining.remove(nodeid)
        self._outcomes[nodeid].put(outcome)


class Lab:
    """All guest sessions of one pytest session."""

    def __init__(self, wanted: dict[Place, list[str]], flavours: dict[str, str]) -> None:
        self._sessions = {
            place: GuestSession(place, nodeids, flavours.get(place.kernel, place.kernel))
            for place, nodeids in wanted.items()
        }
        self._pool = ThreadPoolExecutor(max_workers=(os.cpu_count() or 1) + 1)

    def start(self) -> None:
        """Start the guests, one more at a time than there are CPUs: the one with systemd mostly waits.

        Those with one CPU have by far the most tests, and can use no more than that: they begin.
        """
        for place in sorted(self._sessions, key=lambda place: (place.cpus, not place.systemd)):
            self._pool.submit(self._sessions[place].run)

    def reports(self, item: pytest.Item) -> Iterator[pytest.TestReport]:
        """Wait for a test to end, and turn what the guest said into reports of this pytest."""
        outcome = self._sessions[item.stash[PLACE]].outcome(item.nodeid)
        for content in outcome.reports:
            report = item.config.hook.pytest_report_from_serializable(config=item.config, data=content)
            if isinstance(report.longrepr, list):  # of a skipped test, whose reason JSON does not keep a tuple
                report.longrepr = tuple(report.longrepr)
            yield report
        if outcome.failure:
            yield pytest.TestReport(item.nodeid, item.location, {}, "failed", outcome.failure, "call")

    def stop(self) -> None:
        """End every guest."""
        for session in self._sessions.values():
            session.cancel()
        self._pool.shutdown(cancel_futures=True)


_LAB = pytest.StashKey[Lab]()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Whatever runs from here on has no network of this machine's."""
    if not session.config.option.collectonly:
        refuse_network()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Start the guests; the tests that need none run meanwhile."""
    wanted: defaultdict[Place, list[str]] = defaultdict(list)
    for item in session.items:
        if PLACE in item.stash:
            wanted[item.stash[PLACE]].append(item.nodeid)
    if not wanted or session.config.option.collectonly:
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # building a kernel takes minutes: show it
        try:
            session.config.stash[_LAB] = Lab(wanted, {"patched": session.config.option.patched})
        except NetgroupError as error:
            raise pytest.UsageError(str(error)) from error
    session.config.stash[_LAB].start()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Report a lab test when it has ended in its guest."""
    if PLACE not in item.stash:
        return None
    # GLib takes the signal over in tests of the daemon, and Ctrl-C would do nothing.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in item.config.stash[_LAB].reports(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave no guest behind."""
    if _LAB in session.config.stash:
        session.config.stash[_LAB].stop()
