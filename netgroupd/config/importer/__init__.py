# SPDX-License-Identifier: GPL-2.0-or-later
"""Another tool's files -> a configuration that asks for the same, and a list of what it cannot ask for."""

from typing import NamedTuple

from netgroupd.errors import Problem


class Imported(NamedTuple):
    """A configuration, and every line of the old files that is not in it; errors among them mean it is unusable."""

    text: str
    problems: tuple[Problem, ...]
