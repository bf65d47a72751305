# SPDX-License-Identifier: GPL-2.0-or-later
"""Problems as they are found -> ``Problem`` values that point into the templates.

Nothing is raised on the way, so that one run tells everything that is wrong.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from netgroupd.config.linemap import LONGEST_SHOWN, Lines, shown
from netgroupd.config.node import unpack
from netgroupd.config.sources import Source
from netgroupd.errors import Problem
from netgroupd.model.state import Origin

if TYPE_CHECKING:
    from netgroupd.config.render import Rendered

MOST_SHOWN = 1000
MOST_LOCATED = 20_000
_INSTANCE = re.compile(r"'[^']*'|\S*[0-9]\S*")  # what differs between instances in a sentence: names and numbers
MOST_GUESSES = 100  # a guess compares a word with every name there is
MOST_COMPARED = 2000


class _Finding(NamedTuple):
    at: int
    message: str
    hint: str
    warning: bool


class Report:
    """Collects what is wrong in the rendered texts, and knows the way back to the templates."""

    def __init__(self, rendered: "Sequence[Rendered]") -> None:
        self.rendered = rendered
        self.failed = False
        self.partial = False  # whether something that is described is left out, and may be what others refer to
        self._findings: dict[_Finding, None] = {}
        self._told: set[tuple[int, str]] = set()
        self._guesses: dict[str, str] = {}
        self._lines = Lines()
        self._origins: dict[int, Origin] = {}
        self._shared: dict[Origin, Origin] = {}  # by the column as it is rendered: a line may ask for a million objects

    def error(self, at: int, message: str, hint: str = "") -> None:
        """Note something that makes the configuration unusable."""
        self.failed = True
        self._findings[_Finding(at, message, hint, False)] = None

    def unread(self, at: int, message: str, hint: str = "") -> None:
        """Note an error for which something is left out that others may refer to."""
        self.partial = True
        self.error(at, message, hint)

    def once(self, at: int, message: str, hint: str = "") -> None:
        """Note an error for the first of the instances that a place stands for: there may be a million."""
        kind = (at, _INSTANCE.sub("", message))
        if kind not in self._told:
            self._told.add(kind)
            self.error(at, message, hint)

    def missing(self, at: int, message: str, hint: str = "") -> None:
        """Note, as ``once``, that nothing describes what is referred to; unless something was left out."""
        if not self.partial:
            self.once(at, message, hint)

    def warn(self, at: int, message: str, hint: str = "") -> None:
        """Note something that is legal and doubtful, for the first of the instances that a place stands for."""
        kind = (at, _INSTANCE.sub("", message))
        if kind not in self._told:
            self._told.add(kind)
            self._findings[_Finding(at, message, hint, True)] = None

    def origin(self, at: int) -> Origin:
        """Name the place that asked for an object."""
        if at not in self._origins:
            document, line, column = unpack(at)
            lines = self.rendered[document].lines
            origin = Origin(*lines.origin(line), column)
            self._origins[at] = origin if lines.origins is None else self._in_template(at, origin)
        return self._origins[at]

    def _in_template(self, at: int, rendered: Origin) -> Origin:
        """The place ``at`` which something ``rendered`` is; what a line gives at one column is from one of its own."""
        if rendered not in self._shared:
            source, line, column = self._located(at)
            self._shared[rendered] = Origin(source.path, line, column)
        return self._shared[rendered]

    def where(self, at: int) -> str:
        """Name a place inside a sentence."""
        return str(self.origin(at))

    def nearest(self, word: str, known: Iterable[str]) -> str:
        """Suggest what was probably meant, as a sentence, or nothing."""
        guess = self.guess(word, known)
        return f"did you mean {guess!r}?" if guess else ""

    def guess(self, word: str, known: Iterable[str]) -> str:
        """What was probably meant, or nothing; among very many nothing is compared."""
        if word not in self._guesses and len(self._guesses) < MOST_GUESSES:
            from difflib import get_close_matches  # noqa: PLC0415  # takes milliseconds to load; only mistakes need it

            found = get_close_matches(word, list(islice(known, MOST_COMPARED)), n=1)
            self._guesses[word] = found[0] if found else ""
        return self._guesses.get(word, "")

    def problems(self) -> tuple[Problem, ...]:
        """Everything found, errors before warnings, in the order of the files."""
        findings = sorted(self._findings, key=lambda found: (found.warning, found.at))
        shown: dict[tuple[object, ...], Problem] = {}
        counts: Counter[tuple[object, ...]] = Counter()
        for problem in dict.fromkeys(map(self._problem, findings[:MOST_LOCATED])):
            # What a loop gives is wrong in the same way each time.
            kind = (problem.file, problem.line, problem.column, _INSTANCE.sub("", problem.message), problem.warning)
            counts[kind] += 1
            shown.setdefault(kind, problem)
        told = [problem.repeated(counts[kind] - 1) for kind, problem in islice(shown.items(), MOST_SHOWN)]
        if more := len(shown) - len(told) + max(0, len(findings) - MOST_LOCATED):
            last = findings[min(len(findings), MOST_LOCATED) - 1]
            told.append(self._problem(last._replace(message=f"and {more} problems more", hint="")))
        return tuple(told)

    def _problem(self, found: _Finding) -> Problem:
        source, line, column = self._located(found.at)
        text, message = shown(self._lines.of(source.text, line), column), _short(found.message)
        return Problem(source.path, line, column, message, found.hint, text, found.warning)

    def _located(self, at: int) -> tuple[Source, int, int]:
        document, line, column = unpack(at)
        rendered = self.rendered[document]
        return rendered.lines.locate(line, column, rendered.text, self._lines)


def _short(message: str) -> str:
    """A sentence without the middle of a value that is too long to be looked at."""
    half = LONGEST_SHOWN // 2
    return message if len(message) <= LONGEST_SHOWN else f"{message[:half]} … {message[-half:]}"
