# SPDX-License-Identifier: GPL-2.0-or-later
"""Lab tests that fail in every way; run by test_session.py, which reads what is said of them."""

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.vm("stock")
_PROVOKE = Path("/sys/kernel/debug/provoke-crash/DIRECT")


def test_1_passes() -> None:
    assert Path("/proc/1/comm").exists()


def test_2_fails() -> None:
    assert Path("/etc/hostname").read_text() == "another name"


def test_3_warns() -> None:
    _PROVOKE.write_text("WARNING")


def test_4_ends_the_interpreter() -> None:
    os._exit(7)


def test_5_panics() -> None:
    _PROVOKE.write_text("PANIC")


def test_6_passes_in_a_fresh_guest() -> None:
    assert float(Path("/proc/uptime").read_text().split()[0]) > 0
