# SPDX-License-Identifier: GPL-2.0-or-later
"""What every source file holds to, whatever it does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
TOP_LEVEL = {
    *("netgroupd", "templates", "schemas", "systemd", "tests", "bench", "kernel-patches", "docs"),
    *("pyproject.toml", "README.md", "Makefile", "LICENSE"),
}
LICENCE = re.compile(r"SPDX-License-Identifier: GPL-2\.0-(?:or-later|only)")


def _tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=CHECKOUT, capture_output=True, check=True).stdout
    return [path for name in listed.decode().split("\0") if name and (path := CHECKOUT / name).exists()]


@pytest.mark.parametrize("tool", [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]], ids=" ".join)
def test_tool_finds_nothing(tool: list[str]) -> None:
    got = subprocess.run([sys.executable, "-m", *tool], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert got.returncode == 0, got.stdout + got.stderr


def test_every_source_names_its_licence_first() -> None:
    sources = _tracked("*.py", "*.sh", "Makefile", ".ci/*", "pyproject.toml", "netgroupd/lab/units/*")
    unnamed = [path for path in sources if (text := path.read_text()) and not LICENCE.search(text[:200])]
    assert unnamed == []


def test_no_module_is_longer_than_400_lines() -> None:
    modules = _tracked("netgroupd/*.py", "tests/*.py", "bench/*.py")
    assert [path for path in modules if len(path.read_text().splitlines()) > 400] == []


def test_top_level_holds_only_what_the_design_names() -> None:
    names = {path.relative_to(CHECKOUT).parts[0] for path in _tracked()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL
