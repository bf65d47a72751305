# SPDX-License-Identifier: GPL-2.0-or-later
"""Sources -> rendered text, each line with its origin, or every problem found.

Plain YAML passes through.  Templates go to one worker process for the whole
run (see ``worker``), which this side starts, feeds, bounds and ends; all that
is ever taken from it is text, checked.
"""

import difflib
import os
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from netgroupd.config import linemap
from netgroupd.config.facts import Facts, Gather
from netgroupd.config.linemap import LineMap, Lines
from netgroupd.config.process import Worker, WorkerError
from netgroupd.config.sources import ROOT, SUFFIXES, RefusedError, Source, Trust, read_text
from netgroupd.config.worker import wire
from netgroupd.errors import Problem

_MAKO = ".mako"
_SENTENCE_LIMIT = 500
_FETCH_LIMIT = 10_000  # includes of one template, in loops
_SEARCH_LIMIT = 1000  # directories looked into for a name like a wrong one: a file given alone may lie in /home


class Limits(NamedTuple):
    """What all templates of one run may use together.

    The processor's time is what ends a loop.  On a busy host the same work takes
    many times as long by the clock, which only ends what waits.
    """

    cpu_s: int = 20
    wall_s: float = 300
    memory: int = 1 << 30
    output: int = 128 << 20


class Rendered(NamedTuple):
    """One source as YAML, and where its lines come from."""

    source: Source
    text: str
    lines: LineMap

    def problem(self, line: int, column: int, message: str, hint: str = "", *, warning: bool = False) -> Problem:
        """Report something in the rendered text at the line that the operator wrote."""
        lines = Lines()
        source, at, position = self.lines.locate(line, column, self.text, lines)
        return _problem(lines, source, at, position, message, hint, warning=warning)


def shipped_templates() -> Path:
    """Find the templates that come with netgroupd: installed, or beside the package in a checkout."""
    checkout = Path(__file__).parents[2]
    if (checkout / "pyproject.toml").is_file():
        return checkout / "templates"
    # PREFIX/lib/python3/dist-packages; sys.prefix is the interpreter's, which may be another.
    return checkout.joinpath("../../../share/netgroup/templates").resolve()


def render(
    sources: Sequence[Source], *, facts: Gather, templates: Sequence[Path], limits: Limits, trust: Trust = ROOT
) -> tuple[tuple[Rendered, ...], tuple[Problem, ...]]:
    """Render every source; ``templates`` are the places that includes and variables come from, first wins.

    ``facts`` are asked for where there is a template.
    """
    rendered: dict[str, Rendered] = {}
    problems: list[Problem] = []
    waiting = []
    for source in sources:
        if source.name.endswith(_MAKO):
            waiting.append(source)
        else:
            rendered[source.path] = Rendered(source, source.text, LineMap((source,)))
    if waiting:
        run = _Run(facts(), templates, limits, trust)
        for source in waiting:
            result = run.render(source)
            if isinstance(result, Rendered):
                rendered[source.path] = result
            else:
                problems.extend(result)
        run.close()
    return tuple(rendered[source.path] for source in sources if source.path in rendered), tuple(problems)


class _Run:
    """The conversation with the worker, and with its successor when it dies of a template."""

    def __init__(self, facts: Facts, templates: Sequence[Path], limits: Limits, trust: Trust) -> None:
        self._setup = {
            "facts": {**facts._asdict(), "links": [link._asdict() for link in facts.links]},
            "cpu_s": limits.cpu_s,
            "memory": limits.memory,
            "output": limits.output,
        }
        self._output = limits.output
        self._wall_s = limits.wall_s
        self._spent_s = 0.0
        self._ready_at = 0.0
        self._library = _Library(templates, trust)
        # Numbered for the whole run: the worker keeps what it compiled for later templates.
        self._files: list[Source] = []
        self._worker: Worker | None = None

    def close(self) -> None:
        """End the worker."""
        if self._worker:
            self._worker.close()
            self._worker = None
            self._spent_s += time.monotonic() - self._ready_at

    def render(self, source: Source) -> Rendered | list[Problem]:
        """Render one template; a worker that dies of it takes no other one with it."""
        try:
            return self._converse(source)
        except (WorkerError, wire.GarbledError, OSError) as error:
            sentence = str(error) if isinstance(error, WorkerError) else f"the template worker sent no text: {error}"
            return [_problem(Lines(), source, 1, 1, sentence)]
        finally:
            if self._worker and not self._worker.idle:
                self.close()

    def _start(self) -> Worker:
        left_s = self._wall_s - self._spent_s
        if left_s <= 0:
            raise WorkerError("not rendered: the templates before it took all the time there is")
        self._ready_at = time.monotonic()
        worker = Worker(self._output)
        self._worker = worker
        worker.send({**self._setup, "wall_s": left_s})
        try:
            header, _ = worker.receive()
        except WorkerError as error:
            raise WorkerError("the process that renders templates did not start") from error
        if "broken" in header:
            raise WorkerError(_clean(header["broken"]))
        worker.allow(left_s)
        self._ready_at = header["ready"]  # when its clock began: what that ends has taken all the time there was
        return worker

    def _converse(self, source: Source) -> Rendered | list[Problem]:
        worker = self._worker or self._start()
        files = self._files
        files.append(source)
        worker.send({"file": len(files) - 1, "path": source.path, "name": source.name}, source.text.encode())
        for _ in range(_FETCH_LIMIT):
            header, payload = worker.receive()
            if "fetch" in header:
                self._answer(worker, _clean(header["fetch"]), _clean(header.get("from", "")))
            elif "faults" in header:
                problems = _problems(header["faults"], files)
                worker.idle = not header.get("spent")
                return problems
            else:
                result = _text(source, files, header, payload)
                worker.idle = True
                return result
        raise WorkerError(f"the template asks for more than {_FETCH_LIMIT} files")

    def _answer(self, worker: Worker, name: str, includer: str) -> None:
        try:
            found = self._library.find(name, includer)
        except RefusedError as refused:
            problem = refused.problem
            worker.send({"missing": f"{problem.message}; {problem.hint}"})
            return
        if found not in self._files:
            self._files.append(found)
        worker.send({"file": self._files.index(found), "path": found.path, "name": found.name}, found.text.encode())


class _Library:
    """The files that templates may include, by name."""

    def __init__(self, places: Sequence[Path], trust: Trust) -> None:
        self._places = places
        self._trust = trust
        self._read: dict[Path, Source] = {}  # a file asked for a thousand times is held once

    def find(self, name: str, includer: str) -> Source:
        """Look beside the includer, then in every place.

        Raises:
            RefusedError: There is no such file, or it may not be read.
        """
        name = name.lstrip("/")
        if not name.endswith(SUFFIXES):
            raise RefusedError(Problem("", 1, 1, f"'{name}' cannot be included", "only *.mako and *.yaml can"))
        beside = str(PurePosixPath(includer.lstrip("/")).parent / name)
        for relative in dict.fromkeys((beside, name)):
            for place in self._places:
                path = place / relative
                # Path's own raises for a name that is too long.
                there = ".." not in PurePosixPath(relative).parts and os.path.isfile(path)  # noqa: PTH113
                if path not in self._read and there:
                    text = read_text(path, roots=self._places, trust=self._trust)
                    self._read[path] = Source(str(path), relative, text)
                if path in self._read:
                    return self._read[path]
        # The ending, which all have, makes no names alike.
        names = {known.rpartition(".")[0]: known for known in self._names()}
        near = [names[stem] for stem in difflib.get_close_matches(name.rpartition(".")[0], list(names), 1)]
        places = ", ".join(map(str, self._places)) or "no directory"
        hint = f"did you mean '{near[0]}'?" if near else f"looked in {places}"
        raise RefusedError(Problem("", 1, 1, f"there is no file '{name}' to include", hint))

    def _names(self) -> Iterator[str]:
        for place in self._places:
            for directory, _, names in islice(os.walk(place), _SEARCH_LIMIT):
                below = Path(directory).relative_to(place)
                yield from (str(below / name) for name in names if name.endswith(SUFFIXES))


def _text(source: Source, files: list[Source], header: wire.Header, payload: bytes) -> Rendered:
    """Take the text and its origins out of a message.

    Raises:
        GarbledError: They do not fit.
    """
    size = header.get("text")
    if not isinstance(size, int) or not 0 <= size <= len(payload):
        raise wire.GarbledError("a message of no known kind")
    try:
        text = payload[:size].decode()
        return Rendered(source, text, linemap.from_bytes(files, payload[size:], text))
    except ValueError as error:
        raise wire.GarbledError(str(error)) from error


def _problems(faults: object, files: list[Source]) -> list[Problem]:
    """Take the faults out of a message; a template that failed has at least one.

    Raises:
        GarbledError: They are none.
    """
    if not isinstance(faults, list) or not faults:
        raise wire.GarbledError("a failure without a fault")
    lines = Lines()
    return [_checked(fault, files, lines) for fault in faults[:1000]]


def _checked(fault: object, files: list[Source], lines: Lines) -> Problem:
    """Believe of a fault what can be believed.

    Raises:
        GarbledError: It is not a fault.
    """
    match fault:
        case [int(file), int(line), int(column), str(message), str(hint)] if 0 <= file < len(files):
            source = files[file]
            place = min(max(line, 1), source.text.count("\n") + 1)
            end = len(lines.of(source.text, place)) + 1
            return _problem(lines, source, place, min(max(column, 1), end), _clean(message), _clean(hint))
    raise wire.GarbledError("a fault that is none")


def _clean(sentence: object) -> str:
    """Take what could drive a terminal out of a sentence."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(sentence)[:_SENTENCE_LIMIT])
    return " ".join(text.split())


def _problem(
    lines: Lines, source: Source, line: int, column: int, message: str, hint: str = "", *, warning: bool = False
) -> Problem:
    text = linemap.shown(lines.of(source.text, line), column)
    return Problem(source.path, line, column, message, hint, text, warning)
