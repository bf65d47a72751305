# SPDX-License-Identifier: GPL-2.0-or-later
"""How a command ends where nobody reads any more what it prints, or a library is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_INTERRUPTED = """
import sys
from netgroupd.cli import completion, main
def run(arguments, terminal):
    terminal.say("begun")
    raise KeyboardInterrupt
completion.run = run
sys.exit(main.main(["completion", "bash"]))
"""
_WITHOUT_GLIB = """
import sys
from netgroupd.cli.main import main
class Finder:
    def find_spec(self, name, *_):
        if name == "gi":
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Finder())
sys.exit(main(["reload"]))
"""
_MAIN = ["-m", "netgroupd.cli.main"]


def _status(arguments: list[str], *streams: str) -> int:
    """What a command ends with whose ``streams`` lead into a pipe that nobody reads; buffered as Python is unasked."""
    reader, writer = os.pipe()
    os.close(reader)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    where = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL) | dict.fromkeys(streams, writer)
    command = [sys.executable, *arguments]
    try:
        return subprocess.run(
            command, stdout=where["stdout"], stderr=where["stderr"], env=environment, check=False
        ).returncode
    finally:
        os.close(writer)


@pytest.mark.parametrize(
    ("arguments", "status"), [(["check", "--config"], 1), (["nonsense"], 64), (["watch", "--offline"], 64)]
)
@pytest.mark.parametrize("streams", [("stderr",), ("stdout", "stderr")])
def test_what_nobody_is_told_of_a_mistake_does_not_change_how_it_ends(
    arguments: list[str], status: int, streams: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "10-bad.yaml").write_text("".join(f"bad{number}: 1\n" for number in range(20)))
    config = [str(tmp_path)] if "--config" in arguments else []
    assert _status([*_MAIN, *arguments, *config], *streams) == status


def test_what_is_written_before_an_interruption_is_not_missed() -> None:
    assert _status(["-c", _INTERRUPTED], "stdout") == 130


def test_result_that_nobody_reads_is_an_error() -> None:
    assert _status([*_MAIN, "completion", "bash"], "stdout", "stderr") == 1


def test_what_pip_cannot_install_is_told_by_its_name() -> None:
    ended = subprocess.run([sys.executable, "-c", _WITHOUT_GLIB], capture_output=True, text=True, check=False)
    told = "error: GLib for Python is missing (Debian: python3-gi, for /usr/bin/python3)\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", told)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_nothing_takes_the_number_of_a_closed_stream(closed: str, tmp_path: Path) -> None:
    script = f"""
import os
from netgroupd.cli import completion, main
def run(*_):
    lowest = min(os.pipe())
    with open({str(tmp_path / "lowest")!r}, "w") as file:
        file.write(str(lowest))
    return 0
completion.run = run
main.main(["completion", "bash"])
"""
    command = ["sh", "-c", f'exec "$0" -W error -c "$1" {closed}', sys.executable, script]
    said = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True).stderr
    assert int((tmp_path / "lowest").read_text()) > 2
    assert said == ""
