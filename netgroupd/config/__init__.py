# SPDX-License-Identifier: GPL-2.0-or-later
"""Files -> the desired state, or every problem in them.

read → render → parse → merge → expand → check
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from netgroupd.config.document import parse
from netgroupd.config.expand import expand
from netgroupd.config.facts import Gather
from netgroupd.config.known import Known
from netgroupd.config.merge import merge
from netgroupd.config.render import Limits, Rendered, render, shipped_templates
from netgroupd.config.report import Report
from netgroupd.config.sources import DIRECTORIES, ROOT, Trust, layout, read_sources, refuse_exchanged
from netgroupd.errors import ConfigError, Problem
from netgroupd.model.collector import uncollected
from netgroupd.model.state import State


class Desired(NamedTuple):
    """What the configuration asks for; ``problems`` are only warnings.

    It follows from what is ``rendered`` and from which of the names that were
    ``asked`` for are links that are there without being described.
    """

    state: State
    problems: tuple[Problem, ...]
    rendered: tuple[Rendered, ...]
    asked: Mapping[str, bool] = MappingProxyType({})


Expander: TypeAlias = Callable[[Sequence[Rendered], Known], Desired]


def desired_from(rendered: Sequence[Rendered], known: Known, *, partial: bool = False) -> Desired:
    """Expand what is rendered already; ``partial`` when that is not all there should be.

    Raises:
        ConfigError: Something is wrong; it says everything that is.
    """
    report = Report(rendered)
    report.partial = partial
    with uncollected():
        roots = [parse(one.text, number, report) for number, one in enumerate(rendered)]
        state = expand(merge(roots, report), known, report)
    problems = report.problems()
    if report.failed:
        raise ConfigError(problems)
    return Desired(state, problems, tuple(rendered), known.asked)


def load(
    directories: Sequence[Path] = DIRECTORIES,
    *,
    facts: Gather,
    links: Known = Known(),  # noqa: B008  # never asked itself
    trust: Trust = ROOT,
    limits: Limits = Limits(),  # noqa: B008  # a frozen value
    expanded: Expander = desired_from,
) -> Desired:
    """Read the files of ``directories``, or files themselves; ``links`` exist and need no description.

    ``expanded`` is for who may have expanded the same before.

    Raises:
        ConfigError: Something is wrong; it says everything that is.
    """
    rendered, before = render_files(directories, facts=facts, trust=trust, limits=limits)
    partial = any(not problem.warning for problem in before)
    try:
        desired = desired_from(rendered, links, partial=True) if partial else expanded(rendered, links)
    except ConfigError as error:
        raise ConfigError((*before, *error.problems)) from None
    if partial:
        raise ConfigError((*before, *desired.problems))
    return desired._replace(problems=(*before, *desired.problems))


def render_files(
    directories: Sequence[Path] = DIRECTORIES,
    *,
    facts: Gather,
    trust: Trust = ROOT,
    limits: Limits = Limits(),  # noqa: B008  # a frozen value
) -> tuple[tuple[Rendered, ...], tuple[Problem, ...]]:
    """Read the files and run the templates; what comes out is only text, and may be wrong in every other way."""
    before = layout(directories)
    sources, refused = read_sources(directories, trust=trust)
    places = (*_places(directories), shipped_templates())
    rendered, failed = render(sources, facts=facts, templates=places, limits=limits, trust=trust)
    after = layout(directories)
    exchanged = [refuse_exchanged(place) for place in directories if before.get(place) != after.get(place)]
    return rendered, (*refused, *failed, *exchanged)


def _places(directories: Sequence[Path]) -> Iterator[Path]:
    """Where templates may include from: as with sources, later directories win.  What is not there lends nothing."""
    for place in reversed(directories):
        if os.path.isdir(place):  # noqa: PTH112 - Path's own raises for a name that is too long
            yield place
        elif os.path.isfile(place):  # noqa: PTH113 - as above
            yield place.parent
