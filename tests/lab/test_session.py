# SPDX-License-Identifier: GPL-2.0-or-later
"""What pytest says about lab tests that fail, and about those after them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from netgroupd.errors import LabError
from tests.vm_outer import GuestSession
from tests.vm_place import Place

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def said() -> str:
    """Return what pytest prints about the provoked failures."""
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "tests/lab/provoked.py"]
    got = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert got.returncode == pytest.ExitCode.TESTS_FAILED, got.stdout + got.stderr
    return got.stdout


@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("1_passes", "PASSED"),
        ("2_fails", "FAILED"),
        ("3_warns", "ERROR"),
        ("4_ends_the_interpreter", "FAILED"),
        ("5_panics", "FAILED"),
        ("6_passes_in_a_fresh_guest", "PASSED"),
    ],
)
def test_outcome_is_that_of_the_test_alone(said: str, test: str, outcome: str) -> None:
    assert re.search(rf"::test_{test}\[stock\].*\b{outcome}\b", said), said


def test_assertion_is_shown_as_pytest_shows_them(said: str) -> None:
    assert re.search(r"E +AssertionError: assert .* == 'another name'", said), said


@pytest.mark.parametrize("report", ["WARNING: CPU: ", "Kernel panic - not syncing: "])
def test_fault_of_the_kernel_is_shown(said: str, report: str) -> None:
    assert report in said


def test_last_line_counts(said: str) -> None:
    assert said.rstrip().split("\n")[-1] == "3 passed, 4 failed"


def test_session_with_a_defect_fails_its_tests_and_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    session = GuestSession(Place(systemd=False, kernel="stock", cpus=1), ["a", "b"], "stock")
    monkeypatch.setattr(session, "_run_in_one_guest", lambda: os.open("/nonexistent", os.O_RDONLY))
    session.run()
    assert ["FileNotFoundError" in session.outcome(name).failure for name in "ab"] == [True, True]


def test_guest_that_dies_before_it_says_what_it_runs_is_replaced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    session = GuestSession(Place(systemd=False, kernel="stock", cpus=1), ["a", "b", "c"], "stock")
    guests = []

    def die() -> None:
        guests.append(1)
        raise LabError(f"guest {len(guests)} ended")

    monkeypatch.setattr(session, "_run_in_one_guest", die)
    session.run()
    said = [session.outcome(name).failure.strip() for name in "abc"]
    assert said == ["guest 1 ended", "guest 2 ended", "guest 2 ended"]
