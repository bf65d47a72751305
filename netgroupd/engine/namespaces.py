# SPDX-License-Identifier: GPL-2.0-or-later
"""The network namespaces that links are to live in must be there: netgroupd makes links, not namespaces."""

from netgroupd.engine.spoken import spoken_of
from netgroupd.errors import ConfigError, Problem
from netgroupd.kernel.netns import is_there
from netgroupd.model.state import Object, State, problem_of


def refuse_missing(wanted: State) -> None:
    """Let pass what only names namespaces that are there.

    Raises:
        ConfigError: The others, each with the first link that is to live there.
    """
    first: dict[str, Object] = {}
    for netns, name in sorted(spoken_of(wanted).away):
        first.setdefault(netns, wanted.of("link")[name,])
    if missing := [_problem(netns, link) for netns, link in first.items() if not is_there(netns)]:
        raise ConfigError(missing)


def _problem(netns: str, link: Object) -> Problem:
    told = f"there is no network namespace {netns!r}, for {link.name!r}"
    return problem_of(link, told, f"make it with `ip netns add {netns}`")
