# SPDX-License-Identifier: GPL-2.0-or-later
"""Another tool's files -> a configuration, as a text to be looked at and put in place."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from netgroupd.config.facts import gather
from netgroupd.config.importer import Imported, ifupdown2
from netgroupd.config.sources import Trust
from netgroupd.errors import ConfigError

_FORMATS: Mapping[str, Callable[..., Imported]] = {
    "ifupdown2": partial(ifupdown2.import_files, policies=ifupdown2.POLICIES),
}


def trust_of(uid: int, gid: int) -> Trust:
    """Trust root and the user who asks: the text is only looked at."""
    return Trust.of_user(uid, gid)


def convert(tool: str, paths: Sequence[Path], trust: Trust) -> Imported:
    """Import what ``tool`` would read.

    Raises:
        ConfigError: The files themselves are wrong.
    """
    imported = _FORMATS[tool](paths, facts=gather, trust=trust)
    if any(not problem.warning for problem in imported.problems):
        raise ConfigError(imported.problems)
    return imported
