# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel settings that are asked for must be there: most that are not are misspelt."""

from netgroupd.engine.observe import Connection
from netgroupd.errors import Problem
from netgroupd.model.state import Object, State, problem_of


def unknown_settings(kernel: Connection, wanted: State, actual: State) -> tuple[Problem, ...]:
    """The settings that neither are there nor will a link have them, each where it is written."""
    unseen = {str(key[0]): one for key, one in wanted.of("sysctl").items() if key not in actual.of("sysctl")}
    unknown = kernel.unknown_settings(unseen)
    problems: dict[object, Problem] = {}
    for path, near in unknown.items():
        # What is said of many links is one mistake.
        problems.setdefault((unseen[path].origin, path.rpartition("/")[2]), _problem(unseen[path], near))
    return tuple(problems.values())


def _problem(setting: Object, near: str) -> Problem:
    told = f"there is no kernel setting {setting.key[0]}"
    return problem_of(setting, told, f"did you mean {near!r}?" if near else "")
