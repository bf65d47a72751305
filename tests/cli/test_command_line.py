# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line without a kernel: parsing, help, the manual page, completions, colours and errors."""

import errno
import fcntl
import importlib
import io
import json
import os
import re
import struct
import subprocess
import sys
import termios
import time
from argparse import Namespace
from pathlib import Path

import pytest

from netgroupd.cli import completion, manual, show
from netgroupd.cli.command import Command
from netgroupd.cli.commands import COMMANDS, COMMON
from netgroupd.cli.main import main
from netgroupd.cli.parser import parse, singular
from netgroupd.cli.terminal import Terminal
from netgroupd.errors import ConfigError, Problem

_EVERY = pytest.mark.parametrize("command", COMMANDS, ids=[command.name for command in COMMANDS])


class Screen(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


def ends_with(argv: list[str]) -> object:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    return ended.value.code


@_EVERY
def test_command_has_a_module_that_runs_it(command: Command) -> None:
    assert callable(importlib.import_module(f"netgroupd.cli.{command.module or command.name}").run)


@_EVERY
def test_help_shows_options_and_examples(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert ends_with([command.name, "--help"]) == 0
    shown = capsys.readouterr().out
    for option in (*command.options, *COMMON):
        assert (option.metavar or option.name) in shown
        assert set(option.words) <= set(re.findall(r"\w+", shown))
    assert command.examples
    for example in command.examples:
        assert f"netgroupctl {example.line}" in shown


@_EVERY
def test_examples_can_be_parsed(command: Command) -> None:
    for example in command.examples:
        argv = re.split(r" [>|] ", example.line)[0].split()
        assert parse(argv).command == command.name


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["dif"], "there is no 'dif'; did you mean 'diff'?"),
        (["completion", "bsh"], "there is no 'bsh'; did you mean 'bash'?"),
        (["apply", "--confirm", "soon"], "--confirm: expected a whole number, not 'soon'"),
        (["rollback", "--confirm", "0"], "rollback: --confirm: expected 1 to 86400 seconds, not 0"),
        (["status", "--wait-online", "-5"], "status: --wait-online: expected 0 seconds or more, not -5"),
        (["revert"], "there is no 'revert'; did you mean 'rollback'?"),
        (
            ["apply", "--dry-run"],
            "there is no option '--dry-run' here; 'netgroupctl diff' says what apply would do, "
            "and 'netgroupctl check' whether the files are right",
        ),
        (["apply", "--confrim", "60"], "there is no option '--confrim' here; did you mean '--confirm'?"),
        (["check", "--offl"], "there is no option '--offl' here; did you mean '--offline'?"),
        (["check", "--confirm", "60"], "there is no option '--confirm' here; it is one of apply, rollback"),
        (["check", "network"], "'network' is a word too many"),
        (["help", "check"], "there is no 'help'; one of check, render, diff, "),
        (["diff", "--json=yes"], "--json takes no value"),
        (["-c", "network", "check"], "there is no option '-c' here"),
        (["--netns", "red", "--conf=network", "check"], "there is no option '--conf' here; did you mean '--config'?"),
        (["--confirm", "60", "apply"], "there is no option '--confirm' here; it is one of apply, rollback"),
        (["rollback", "--generation", "1"], "no option '--generation' here; it is a word by itself: rollback N"),
        (["history", "-n", "5"], "there is no option '-n' here\n"),
        ([], "COMMAND"),
    ],
    ids=[
        "command",
        "word",
        "number",
        "seconds",
        "seconds_before_now",
        "another_word_for_it",
        "dry_run",
        "option",
        "abbreviation",
        "of_another",
        "surplus",
        "help",
        "value",
        "before_the_verb",
        "abbreviation_before_the_verb",
        "of_the_verb",
        "word_by_itself",
        "number_of_something",
        "nothing",
    ],
)
def test_wrong_command_line_ends_with_64_and_says_what_was_meant(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends_with(argv) == os.EX_USAGE
    assert said in capsys.readouterr().err


def test_file_that_is_named_alone_is_told_with_the_option_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends_with(["check", str(tmp_path)]) == os.EX_USAGE
    assert f"is a word too many; a configuration elsewhere is named by --config {tmp_path}\n" in capsys.readouterr().err


def test_interrupt_while_the_line_is_read_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_line: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("netgroupd.cli.main.parse", interrupted)
    assert main(["diff"]) == 130


def test_too_little_memory_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def starved(_line: list[str]) -> None:
        raise MemoryError

    monkeypatch.setattr("netgroupd.cli.main.parse", starved)
    assert main(["diff"]) == 1
    assert capsys.readouterr().err == "error: there is not enough memory\n"


def test_what_the_system_lacks_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def starved(_arguments: Namespace, _terminal: Terminal) -> None:
        error = OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/proc/meminfo")
        error.add_note("what was there before could not be put back either: busy")
        raise error

    monkeypatch.setattr("netgroupd.cli.estimate.run", starved)
    assert main(["estimate"]) == 1
    assert capsys.readouterr().err == (
        "error: the system lacks what this needs: Too many open files (/proc/meminfo)\n"
        "what was there before could not be put back either: busy\n"
    )


@pytest.mark.parametrize("word", next(c.options[0].words for c in COMMANDS if c.name == "show"))
def test_one_of_many_is_called_the_same_however_it_is_asked_for(word: str) -> None:
    assert singular(singular(word)) == singular(word)


def test_all_that_show_lists_is_offered() -> None:
    command = next(command for command in COMMANDS if command.name == "show")
    what = next(option for option in command.options if option.name == "what")
    assert {singular(word) for word in what.words} == {word for word in show._CLASSES if word}


def test_common_options_stand_before_and_behind_the_command() -> None:
    assert parse(["--json", "diff"]).json
    assert parse(["diff", "--json"]).json
    assert parse(["--config", "a", "diff"]).config == ["a"]
    assert parse(["--config", "a", "--config", "b", "diff", "--config", "c"]).config == ["a", "b", "c"]
    assert parse(["diff"]).config == []


def test_manual_page_is_what_groff_expects() -> None:
    checked = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww"], input=manual.page(), capture_output=True, text=True, check=True
    )
    assert checked.stderr == ""


@_EVERY
def test_manual_page_has_every_command_and_option(command: Command) -> None:
    page = manual.page().replace("\\-", "-")
    assert f".SS \\fB{command.name}\\fR" in page
    for option in command.options:
        assert option.metavar in page
        assert option.name in page or option.positional


def test_manual_page_says_what_can_be_repeated_and_every_exit_status() -> None:
    page = manual.page().replace("\\-", "-")
    assert "\\fIFORMAT\\fR \\fIFILE\\fR ...\n" in page
    statuses = page.partition(".SH EXIT STATUS")[2]
    assert re.findall(r"\\fB([0-9]+)\\fR", statuses) == ["0", "1", "2", "3", "64", "130"]
    assert "For apply and rollback: it is done, but" in statuses


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("netgroupctl di", {"diff"}),
        ("netgroupctl show ad", {"addresses", "address"} & {"addresses"}),
        ("netgroupctl apply --co", {"--confirm", "--config"}),
        ("netgroupctl completion ", {"bash", "zsh", "fish"}),
        ("netgroupctl apply --allow l", {"lo"}),
    ],
    ids=["command", "word", "option", "values", "link"],
)
def test_bash_completes(line: str, offered: set[str]) -> None:
    assert offered <= set(_offered_by_bash(line))


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("netgroupctl show vrf l", ["lo"]),
        ("netgroupctl show links li", []),
        ("netgroupctl --netns blue show li", ["links"]),
        ("netgroupctl --config = apply show vrf l", ["lo"]),
        ("netgroupctl completion bash ba", []),
        ("netgroupctl import ifupdown2 ifu", []),
        ("netgroupctl apply --confirm ", []),
        ("netgroupctl --config = /etc/host-that-is-n", []),
        ("netgroupctl --config = /etc/os-rele", ["/etc/os-release"]),
    ],
    ids=["name", "class", "behind_a_value", "a_value_is_no_verb", "shell", "format", "number", "no_file", "file"],
)
def test_bash_offers_nothing_else(line: str, offered: list[str]) -> None:
    assert _offered_by_bash(line) == offered


def test_bash_carries_out_no_name_of_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "_PLACES", {"link": tmp_path, "netns": tmp_path})
    (tmp_path / "$(>done)").mkdir()
    monkeypatch.chdir(tmp_path)
    assert _offered_by_bash("netgroupctl apply --allow ") == ["$(>done)"]
    assert [path.name for path in tmp_path.iterdir()] == ["$(>done)"]


def _offered_by_bash(line: str) -> list[str]:
    words = line.split(" ")
    script = f"""compopt() {{ :; }}
{completion.bash()}
COMP_WORDS=({" ".join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}
_netgroupctl; printf '%s\\n' "${{COMPREPLY[@]}}" """
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert not ran.stderr
    return ran.stdout.split()


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completions_know_every_command(shell: str) -> None:
    script = completion.SHELLS[shell]()
    assert all(command.name in script for command in COMMANDS)


def test_zsh_completes_a_file_behind_an_equals_sign() -> None:
    assert "'*--config=[" in completion.zsh()


def test_fish_offers_names_behind_a_class_and_no_class_twice() -> None:
    classes, names = (line for line in completion.fish().splitlines() if "_from show; and" in line)
    assert "; and not __fish_seen_subcommand_from links " in classes
    assert names.endswith(" -a '(ls /sys/class/net 2>/dev/null)'")


def test_zsh_completes_every_file_of_several() -> None:
    assert "'*:path:_files'" in completion.zsh()


def test_colour_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen, file = Screen(), io.StringIO()
    Terminal(screen, screen).changes("+ vlan swp1.10")
    Terminal(file, file).changes("+ vlan swp1.10")
    assert screen.getvalue() == "\033[32m+ vlan swp1.10\033[0m\n"
    assert file.getvalue() == "+ vlan swp1.10\n"


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen()
    Terminal(screen, screen).changes("- vlan swp1.10")
    assert screen.getvalue() == "- vlan swp1.10\n"


def test_problem_is_shown_with_its_line_and_a_mark() -> None:
    err = io.StringIO()
    problem = Problem("a.yaml", 2, 5, "unknown key 'knid'", "did you mean 'kind'?", "    knid: vlan")
    Terminal(io.StringIO(), err).error(ConfigError([problem]))
    assert err.getvalue() == ("a.yaml:2:5: unknown key 'knid'; did you mean 'kind'?\n        knid: vlan\n        ^\n")


def test_problem_goes_to_the_journal_without_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "journal").open("w+") as err:
        found = os.fstat(err.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{found.st_dev}:{found.st_ino}")
        Terminal(io.StringIO(), err).error(ConfigError([Problem("a.yaml", 2, 5, "wrong", "", "    key: 4711")]))
        err.seek(0)
        assert err.read() == "a.yaml:2:5: wrong\n"


def test_json_error_has_every_problem() -> None:
    out = io.StringIO()
    Terminal(out, io.StringIO(), as_json=True).error(ConfigError([Problem("a.yaml", 2, 5, "wrong")]))
    answer = json.loads(out.getvalue())
    assert answer["error"] == "org.netgroup1.Error.Config"
    assert answer["problems"][0]["line"] == 2


def test_progress_tells_rate_and_time_left() -> None:
    screen = Screen()
    terminal = Terminal(io.StringIO(), screen)
    terminal.progress(0, 100)
    terminal._drawn = terminal._started = terminal._started - 1
    terminal.progress(50, 100)
    assert re.search(r"50/100  5\d/s|50/100  4\d/s", screen.getvalue())
    assert "1 s left" in screen.getvalue()


def test_nothing_to_do_has_no_progress() -> None:
    screen = Screen()
    Terminal(io.StringIO(), screen).progress(0, 0)
    assert screen.getvalue() == ""


@pytest.mark.parametrize(("encoding", "bar"), [("utf-8", "███████░░"), ("iso-8859-1", "#######..")])
def test_progress_is_drawn_with_what_the_terminal_has(encoding: str, bar: str) -> None:
    side, terminal_side = os.openpty()
    with (
        os.fdopen(terminal_side, "w", encoding=encoding, errors="backslashreplace") as stream,
        os.fdopen(side, "rb", buffering=0) as screen,
    ):
        Terminal(io.StringIO(), stream).progress(80, 100)
        got = screen.read(4096).decode(encoding)
    assert bar in got
    assert "\\" not in got


@pytest.mark.parametrize(("columns", "most"), [(80, 79), (48, 47), (20, 19), (0, 79)])
def test_progress_stays_on_one_line_of_a_narrow_terminal(columns: int, most: int) -> None:
    side, terminal_side = os.openpty()
    fcntl.ioctl(terminal_side, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with os.fdopen(terminal_side, "w", encoding="utf-8") as stream, os.fdopen(side, "rb", buffering=0) as screen:
        terminal = Terminal(io.StringIO(), stream)
        terminal._started = time.monotonic() - 100
        terminal.progress(400_000, 800_000)
        got = screen.read(4096).decode()
    assert len(got.removeprefix("\r\033[K")) <= most
    assert "400000/800000" in got


def test_table_aligns_numbers_to_the_right() -> None:
    out = io.StringIO()
    Terminal(out, io.StringIO()).table(("NAME", "LINKS"), [("a", 5), ("tenants", 1200)])
    assert out.getvalue() == "NAME     LINKS\na            5\ntenants   1200\n"


def test_command_loads_neither_the_engine_nor_the_bus_before_it_must() -> None:
    code = "import sys, netgroupd.cli.main as m; m.main(['completion', 'bash']); print(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    ).stderr.split()
    assert not {"netgroupd.engine.engine", "netgroupd.kernel.kernel", "gi", "yaml", "mako"} & set(loaded)


def test_who_asks_the_daemon_loads_nothing_that_reads_files_or_knows_objects() -> None:
    verbs = ("apply", "confirm", "reload", "rollback", "status", "watch")
    code = "import sys, netgroupd.service.client; from netgroupd.cli import {}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code.format(", ".join(verbs))],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    ).stdout.split()
    assert not {"netgroupd.config", "netgroupd.model", "netgroupd.plan", "netgroupd.kernel"} & set(loaded)
