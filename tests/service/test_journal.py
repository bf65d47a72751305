# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the daemon's log goes: to the journal where there is one, and to whoever started it by hand."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

_SAY = """
import sys
from netgroupd.service import journal
journal._SOCKET = sys.argv[1]
journal.start_logging()
journal.LOG.info("hello")
"""


@pytest.fixture
def socket(tmp_path: Path) -> str:
    """Something where the journal's socket would be."""
    path = tmp_path / "socket"
    path.touch()
    return str(path)


def test_terminal_shows_the_log_though_there_is_a_journal(socket: str) -> None:
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", _SAY, socket], check=True, stderr=theirs)
    os.close(theirs)
    assert os.read(ours, 100) == b"hello\r\n"
    os.close(ours)


def test_service_writes_no_line_twice_into_the_journal(socket: str) -> None:
    said = subprocess.run([sys.executable, "-c", _SAY, socket], check=True, capture_output=True)
    assert said.stderr == b""


def test_without_a_journal_the_log_goes_to_stderr(tmp_path: Path) -> None:
    said = subprocess.run([sys.executable, "-c", _SAY, str(tmp_path / "none")], check=True, capture_output=True)
    assert said.stderr == b"hello\n"
