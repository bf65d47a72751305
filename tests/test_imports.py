# SPDX-License-Identifier: GPL-2.0-or-later
"""Data goes one way: a folder imports only what this table allows it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "netgroupd"
GUARDED = {"pyroute2", "pydbus", "gi", "mako", "yaml", "subprocess", "socket"}
# Conversions that open nothing, and are many times faster than ipaddress.
PURE = {"socket.AF_INET", "socket.AF_INET6", "socket.inet_ntop", "socket.inet_pton"}
# What the command line may see of the daemon: its bus client, and the answers that come back.
CLIENT = {"answers", "client", "details", "file_answers"}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "model": {"errors"},
    "config": {"errors", "model", "mako", "yaml"},
    "plan": {"errors", "model"},
    "kernel": {"errors", "model", "plan", "pyroute2", "socket"},
    "engine": {"config", "errors", "kernel", "model", "plan"},
    "service": {"engine", "errors", "model", "plan", "pydbus", "gi"},
    "cli": {"engine", "errors", "lab", "model", "plan", "service"},
    "lab": {"errors", "subprocess"},
}


def _sources(part: str) -> list[Path]:
    single = PACKAGE / f"{part}.py"
    return [single] if single.exists() else sorted((PACKAGE / part).rglob("*.py"))


def _imported(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}:{node.lineno}: write imports in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _names(part: str) -> set[str]:
    return {name for source in _sources(part) for name in _imported(source)}


def imports_of(part: str) -> set[str]:
    """Return the parts of netgroupd and the guarded libraries that a part imports."""
    found = set()
    for name in _names(part) - PURE:
        top, _, rest = name.partition(".")
        if top == "netgroupd":
            found.add(rest.partition(".")[0])
        elif top in GUARDED:
            found.add(top)
    return found - {part, "__version__"}


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_part_imports_only_what_the_table_allows(part: str) -> None:
    assert imports_of(part) <= ALLOWED[part]


def test_command_line_sees_only_the_client_of_the_service() -> None:
    seen = {name.split(".")[2] for name in _names("cli") if name.startswith("netgroupd.service.")}
    assert seen <= CLIENT


def test_table_names_every_part() -> None:
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - {"__init__", "__pycache__"} == set(ALLOWED)
