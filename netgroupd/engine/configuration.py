# SPDX-License-Identifier: GPL-2.0-or-later
"""Files, or the text of a generation, -> the desired state."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from netgroupd.config import Desired, desired_from, load, render_files
from netgroupd.config.facts import gather
from netgroupd.config.known import Known
from netgroupd.config.linemap import LineMap, Lines, shown
from netgroupd.config.render import Rendered
from netgroupd.config.sources import ROOT, Source, Trust
from netgroupd.engine.record.generations import Content, Files
from netgroupd.engine.spoken import spoken_of
from netgroupd.errors import ConfigError, Problem, UsageError
from netgroupd.model.state import State
from netgroupd.plan.named import text_of
from netgroupd.plan.tc.optional import without

_FOREIGN = "this version of netgroupd does not understand the generation that another has applied"
_WORD = re.compile(r"^[ \t]*(?!---\s*$)[^\s#\ufeff]", re.MULTILINE)


class _Expansions:
    """What was expanded last, for who asks for the same again, as a daemon does that looks for drift."""

    def __init__(self) -> None:
        self._last: Desired | None = None

    def expanded(self, rendered: Sequence[Rendered], known: Known) -> Desired:
        """As ``desired_from``."""
        last = self._last
        if last and last.rendered == tuple(rendered) and known.still(last.asked):
            return last
        self._last = last = None  # while the next comes into being the memory is for that
        self._last = desired = desired_from(rendered, known)
        return desired


_expansions = _Expansions()


def read(places: tuple[Path, ...], links: Known, trust: Trust = ROOT) -> Desired:
    """The desired state of the files in ``places``; ``links`` are there without being described.

    Raises:
        ConfigError: It cannot be used.
    """
    return load(places, facts=gather, links=links, trust=trust, expanded=_expansions.expanded)


def rendered(places: tuple[Path, ...], trust: Trust) -> tuple[Rendered, ...]:
    """What the templates in ``places`` give, whether it makes sense or not.

    Raises:
        ConfigError: A file cannot be read, or a template does not run.
    """
    texts, problems = render_files(places, facts=gather, trust=trust)
    if any(not problem.warning for problem in problems):
        raise ConfigError(problems)
    return texts


@contextmanager
def lines_added(desired: Desired) -> Iterator[None]:
    """What only a look at the host tells to be wrong is told with its line, as what is wrong in the files alone is."""
    try:
        yield
    except ConfigError as error:
        error.problems = with_lines(error.problems, desired)
        raise


def with_lines(problems: Iterable[Problem], desired: Desired) -> tuple[Problem, ...]:
    """The same, each with its line."""
    texts, lines = {source.path: source.text for source in _read_for(desired)}, Lines()
    return tuple(_with_line(problem, texts.get(problem.file, ""), lines) for problem in problems)


def _read_for(desired: Desired) -> Iterator[Source]:
    """The files that were read, some of them more than once."""
    return (source for one in desired.rendered for source in one.lines.files)


def _with_line(problem: Problem, text: str, lines: Lines) -> Problem:
    return problem if problem.text else problem._replace(text=shown(lines.of(text, problem.line), problem.column))


def says_anything(desired: Desired) -> bool:
    """Whether a file has more than comments: of one that was cut off, as on a full disk, nothing else may be left."""
    return any(_WORD.search(one.text) for one in desired.rendered)


def refuse_nothing(places: Iterable[Path], problems: Iterable[Problem]) -> NoReturn:
    """Neither to find no file nor to find all of them empty is a wish to have everything deleted.

    Raises:
        ConfigError: Always.
    """
    where = ", ".join(map(str, places))
    hint = "an empty mapping, {}, in a file says that nothing is wanted"
    raise ConfigError([*problems, Problem(where, 1, 1, "there is no configuration", hint)])


def doubts(desired: Desired, places: Iterable[Path], of_host: Iterable[Problem] = ()) -> tuple[Problem, ...]:
    """What is legal and doubtful, also to who knows the host, and that there is no file for who looks elsewhere."""
    if desired.rendered:
        return *desired.problems, *with_lines(of_host, desired)
    hint = "only names in .mako and .yaml are read"
    return *desired.problems, Problem(", ".join(map(str, places)), 1, 1, "there is no file here", hint, warning=True)


def files_of(desired: Desired) -> Files:
    """The files as they are kept."""
    return tuple((one.source.path, one.source.name, one.text) for one in desired.rendered)


def content_of(desired: Desired) -> Content:
    """What brings this configuration back later; its plan is not told yet."""
    state = desired.state
    described = {str(key[0]) for key, link in state.of("link").items() if link.attrs.get("kind")}
    spoken = spoken_of(state)
    found = {name for name, is_there in desired.asked.items() if is_there}  # also what actions and tunnels send by
    known = (spoken.links | found) - described
    groups = {group.name: group.id for group in state.groups.values()}
    classes, hooks, away = tuple(sorted(spoken.classes)), tuple(sorted(spoken.hooks)), tuple(sorted(spoken.away))
    files, names, sources = files_of(desired), tuple(sorted(known)), sources_of(desired)
    return Content(files, names, "", groups, classes, hooks, away, sources=sources, named=text_of(state))


def sources_of(desired: Desired) -> str:
    """What tells the sources from all others, those included that templates took in."""
    texts = (f"{source.path}\0{source.text}\0" for source in _read_for(desired))
    return hashlib.sha256("".join(texts).encode(errors="surrogateescape")).hexdigest()


def in_effect(content: Content) -> State:
    """What a generation stands for: all that it asks for, but for what the kernel refused of it.

    Raises:
        UsageError: This version of netgroupd does not understand it.
    """
    return without(bring_back(content).state, content.refused)


def bring_back(content: Content) -> Desired:
    """The desired state of a generation.

    Raises:
        UsageError: This version of netgroupd does not understand it.
    """
    rendered = []
    for path, name, text in content.files:
        source = Source(path, name, text)
        rendered.append(Rendered(source, text, LineMap((source,))))
    if not rendered:
        return Desired(State(), (), ())
    try:
        return _expansions.expanded(rendered, Known(frozenset(content.known)))
    except ConfigError as error:  # no file is wrong: what is kept is from another time
        raise UsageError(f"{_FOREIGN}: {error.problems[0].message}; an apply goes on without it") from error
