# SPDX-License-Identifier: GPL-2.0-or-later
"""Inside the guest: run the tests that the host asks for, and stream a report of each.

Loaded with ``-p`` into the guest's pytest.  Standard input holds the node ids
to run; standard output carries one JSON object a line.  A private network
namespace per test costs some milliseconds, a boot per test would cost seconds.
"""

import ctypes
import faulthandler
import fcntl
import json
import os
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from netgroupd.lab.console import excerpt, faults

_CLONE_NEWNET = 0x40000000
_TEST_LIMIT_S = 300
_LIBC = ctypes.CDLL(None, use_errno=True)
_WANTED = json.load(sys.stdin)
# Taken before pytest captures the descriptor; what else is printed is for the
# eyes of whoever looks into a failure.
_REPORTS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def _tell(**event: object) -> None:
    _REPORTS.write(json.dumps(event) + "\n")
    _REPORTS.flush()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what the host wants, in its order."""
    position = {nodeid: number for number, nodeid in enumerate(_WANTED)}
    items[:] = sorted((item for item in items if item.nodeid in position), key=lambda item: position[item.nodeid])


def pytest_runtest_logstart(nodeid: str) -> None:
    """Say which test runs, should it be the last: a kernel that panics takes along what is on its way."""
    for _ in range(2):  # who takes the second has passed on the first
        _tell(start=nodeid)
        while any(fcntl.ioctl(_REPORTS, termios.FIONREAD, bytes(4))):
            time.sleep(0.001)
    faulthandler.dump_traceback_later(_TEST_LIMIT_S, exit=True)


class Reporter:
    """Sends every report to the host."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send the report of one phase of one test."""
        content = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        _tell(report=content)


def pytest_configure(config: pytest.Config) -> None:
    """Start sending reports."""
    config.pluginmanager.register(Reporter(config))


def _check(returned: int) -> None:
    if returned:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


@contextmanager
def _own_namespace() -> Iterator[None]:
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_LIBC.unshare(_CLONE_NEWNET))
        yield
    finally:
        _check(_LIBC.setns(before, _CLONE_NEWNET))
        os.close(before)


@pytest.fixture(scope="module")
def module_netns() -> Iterator[None]:
    """One namespace for short tests that leave it as they found it: to make one and what is in it takes longer."""
    with _own_namespace():
        yield


@pytest.fixture(autouse=True)
def netns(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the test in a network namespace of its own, or its module's; under systemd all share the guest's."""
    if request.node.get_closest_marker("vm_systemd") or "module_netns" in request.fixturenames:
        yield
        return
    with _own_namespace():
        yield


@pytest.fixture(scope="session")
def kernel_log() -> Iterator[int]:
    """Open the kernel's log at its end."""
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.lseek(log, 0, os.SEEK_END)
    yield log
    os.close(log)


@pytest.fixture(autouse=True)
def kernel_reports_no_fault(kernel_log: int) -> Iterator[None]:
    """Fail the test during which the kernel warned."""
    yield
    printed = "\n".join(_records(kernel_log))
    if faults(printed):
        pytest.fail(f"the kernel reports a fault:\n{excerpt(printed)}", pytrace=False)


def _records(log: int) -> Iterator[str]:
    while True:
        try:
            record = os.read(log, 8192).decode(errors="replace")
        except BlockingIOError:
            return
        except BrokenPipeError:  # records were overwritten before they were read
            continue
        yield record.partition(";")[2].partition("\n")[0]


def pytest_sessionfinish() -> None:
    """Let the end of the session take the time it needs."""
    faulthandler.cancel_dump_traceback_later()
