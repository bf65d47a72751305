# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command prints: results on stdout, everything else on stderr, colour only for people."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from netgroupd.errors import ConfigError, NetgroupError, Problem
from netgroupd.service.details import Answer, error_answer

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "grey": "90", "bold": "1"}
_BY_SIGN = {"+": "green", "-": "red", "~": "yellow"}
_REFRESH_S = 0.1
_BAR = 30
_USUAL_WIDTH = 79
_CALLED = {
    "bridge_vlan": "bridge VLAN",
    "vlan_global": "VLAN setting",
    "mst": "spanning tree state",
    "vni": "VNI",
    "ethtool": "driver setting",
    "vf": "virtual function",
    "sriov": "number of virtual functions",
    "fdb": "fdb entry",
    "mdb": "mdb entry",
    "tclass": "tc class",
}


class OutputError(NetgroupError):
    """The result cannot be written."""


@contextmanager
def writing() -> Iterator[None]:
    """Tell what keeps the block from writing; that nobody reads any more is for the caller.

    Raises:
        OutputError: The disk is full, for instance.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write the result: {error.strerror}") from error


class Terminal:
    """The two streams of a command."""

    def __init__(self, out: TextIO, err: TextIO, *, as_json: bool = False) -> None:
        self._out = out
        self._err = err
        self.as_json = as_json
        self._drawn = 0.0
        self._started = 0.0

    def paint(self, text: str, colour: str, stream: TextIO | None = None) -> str:
        """``text`` in ``colour`` where somebody looks at it and NO_COLOR is not set."""
        colourful = (stream or self._out).isatty() and not os.environ.get("NO_COLOR")
        return f"\033[{_COLOURS[colour]}m{text}\033[0m" if colourful else text

    def say(self, text: str = "") -> None:
        """Print a line of the result."""
        self._put(text + "\n")

    def write(self, text: str) -> None:
        """Print a result that is a text of its own."""
        self._put(text if text.endswith("\n") or not text else text + "\n")

    def answer(self, answer: object) -> None:
        """Print the result as JSON."""
        self._put(json.dumps(answer, indent=2 if self._out.isatty() else None) + "\n")

    def yaml(self, text: str) -> None:
        """Print a configuration."""
        if self.as_json:
            self.answer({"yaml": text})
        else:
            self.write(text)

    def flush(self) -> None:
        """Have what was printed leave this process."""
        self._put("", flush=True)

    def _put(self, text: str, *, flush: bool = False) -> None:
        with writing():
            print(text, end="", file=self._out, flush=flush)

    def note(self, text: str) -> None:
        """Print something that is not part of the result."""
        print(text, file=self._err)

    def changes(self, text: str) -> None:
        """Print the lines of a plan, each in the colour of its sign."""
        for line in text.splitlines():
            colour = _BY_SIGN.get(line.lstrip()[:1])
            self.say(self.paint(line, colour) if colour else line)

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print ``rows`` in columns; numbers to the right."""
        cells = [[str(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
        right = [bool(rows) and all(isinstance(row[at], int | float) for row in rows) for at in range(len(heads))]
        self.say(self.paint(_columns(heads, widths, right), "bold"))
        for row in cells:
            self.say(_columns(row, widths, right))

    def error(self, error: NetgroupError) -> None:
        """Print what went wrong."""
        if self.as_json:
            self.answer(error_answer(error))
        elif isinstance(error, ConfigError):
            for problem in error.problems:
                self.problem(problem)
        else:
            self.note(f"{self.paint('error:', 'red', self._err)} {error}")

    def problem(self, problem: Problem) -> None:
        """Print a problem with the line it is about and a mark under the column."""
        if _is_journal(self._err):
            problem = problem._replace(text="")
        colour = "yellow" if problem.warning else "red"
        self.note(problem.pointed(lambda text: self.paint(text, colour, self._err)))

    def doubts(self, answer: Answer) -> None:
        """Print what an answer has to say of lines of files; a daemon from before an upgrade says nothing."""
        for problem in answer.get("problems", ()):
            self.problem(Problem(**problem))

    def progress(self, done: int, total: int) -> None:
        """Draw how far it is, how fast, and how long it will take; only for people."""
        now = time.monotonic()
        self._started = self._started or now
        if not (total and self._err.isatty()) or (now - self._drawn < _REFRESH_S and done < total):
            return
        self._drawn = now
        rate = done / max(now - self._started, 0.001)
        left = f"{(total - done) / rate:.0f} s left" if rate and done < total else ""
        told, width = f" {done}/{total}  {rate:.0f}/s  {left}", _width(self._err)
        bar = max(0, min(_BAR, width - len(told)))
        full = bar * done // total
        done_sign, left_sign = _signs(self._err)
        self._redraw(f"{done_sign * full}{left_sign * (bar - full)}{told}"[:width])

    def end_progress(self) -> None:
        """Take the progress away."""
        if self._drawn:
            self._redraw("")

    def _redraw(self, line: str) -> None:
        self._err.write(f"\r\033[K{line}")
        self._err.flush()


def _is_journal(stream: TextIO) -> bool:
    """Whether systemd keeps what is written: more people read that than files, whose lines may hold keys."""
    with suppress(OSError):
        found = os.fstat(stream.fileno())
        return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
    return False


def _signs(stream: TextIO) -> tuple[str, str]:
    """What a bar is drawn with: what is not in the stream's encoding would be written as \\u2588 each time."""
    try:
        "█░".encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return "#", "."
    return "█", "░"


def _width(stream: TextIO) -> int:
    """How much a line may have that is drawn over: of a longer one only the last row would be."""
    with suppress(OSError):
        if columns := os.get_terminal_size(stream.fileno()).columns:
            return columns - 1
    return _USUAL_WIDTH


def _columns(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(padded).rstrip()


def size(count: float) -> str:
    """A number of bytes as people say it."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def counted(count: int, cls: str) -> str:
    """So many objects of a class, as people call them."""
    name = _CALLED.get(cls, cls)
    if count != 1:
        name = name[:-1] + "ies" if name.endswith("y") else name + ("es" if name.endswith("s") else "s")
    return f"{count:,} {name}"
