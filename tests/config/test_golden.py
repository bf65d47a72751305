# SPDX-License-Identifier: GPL-2.0-or-later
"""Each directory of tests/golden: files in, the desired state or the problems out.

``desired.txt`` has what each line of the files gives, the first and last object of
each class; ``problems.txt`` has the problems with their carets.  ``hardware`` names links
that are there without being described.
"""

import json
from pathlib import Path

import pytest

from netgroupd.config import load
from netgroupd.config.facts import Facts
from netgroupd.config.known import Known
from netgroupd.errors import ConfigError
from netgroupd.model.state import Object, State

CASES = sorted(path for path in (Path(__file__).parents[1] / "golden").iterdir() if path.is_dir())


def outcome(case: Path) -> tuple[str, str]:
    """The name of the file that the outcome belongs in, and what it says."""
    hardware = case / "hardware"
    known = Known(hardware.read_text().split() if hardware.exists() else ())
    try:
        found = load([case], facts=Facts, links=known)
    except ConfigError as error:
        lines = "\n".join(problem.pointed() for problem in error.problems)
        return "problems.txt", lines.replace(f"{case}/", "") + "\n"
    return "desired.txt", described(found.state, case)


def described(state: State, case: Path) -> str:
    """What each line of the files asks for: how many objects of a class, the first and the last of them."""
    by_line: dict[tuple[str, str], list[Object]] = {}
    for obj in state:
        by_line.setdefault((str(obj.origin).replace(f"{case}/", ""), obj.cls), []).append(obj)
    lines = [f"group {group.name} {group.id:#x} {shown(group.attrs)}" for group in state.groups.values()]
    for (place, cls), objects in by_line.items():
        lines.append(f"{place} {cls} × {len(objects)}")
        ends = objects if len(objects) == 1 else (objects[0], objects[-1])
        lines += [f"    {shown(obj.key)} {shown(obj.attrs)}" for obj in ends]
    return "\n".join(lines) + "\n"


def shown(value: object) -> str:
    """A key or attributes on one line."""
    return json.dumps(value, default=dict, sort_keys=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_files_give(case: Path) -> None:
    name, got = outcome(case)
    assert got == (case / name).read_text()
