# SPDX-License-Identifier: GPL-2.0-or-later
"""Making a machine ready: what is missing is named, and nothing is asked for twice."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / ".ci/setup"
LOCK = SETUP.parents[1] / "tests/requirements.lock"
TOOLS = ("cat", "cut", "dirname", "sha256sum", "sh")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return a directory of programs: a dpkg that lacks flex and bison, no apt, and a user who is not root."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for tool in TOOLS:
        (programs / tool).symlink_to(str(shutil.which(tool)))
    _program(programs / "dpkg-query", 'for p; do :; done\n[ "$p" = flex ] || [ "$p" = bison ] || printf installed\n')
    _program(programs / "id", "echo 1000\n")
    return programs


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)


def _setup(machine: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SETUP], env={"PATH": str(machine), **environment}, capture_output=True, text=True, check=False
    )


def test_without_apt_the_packages_are_listed(machine: Path) -> None:
    got = _setup(machine, HOME="/nonexistent")
    assert (got.returncode, got.stdout) == (1, "")
    assert got.stderr == "setup: there is no apt here; by the names of Debian's packages this needs: bison flex\n"


def test_without_root_the_command_to_run_is_said(machine: Path) -> None:
    _program(machine / "apt-get", "echo must not run; exit 9\n")
    got = _setup(machine, HOME="/nonexistent")
    assert (got.returncode, got.stdout) == (1, "")
    assert got.stderr.endswith("as root: apt-get install --no-install-recommends bison flex\n")


def test_root_installs_only_what_is_missing(machine: Path, tmp_path: Path) -> None:
    _program(machine / "id", "echo 0\n")
    _program(machine / "apt-get", f'echo "$@" >>{tmp_path}/asked; [ "$1" != install ]\n')
    assert _setup(machine, HOME="/nonexistent").returncode == 1
    assert (tmp_path / "asked").read_text() == "update -q\ninstall -q -y --no-install-recommends bison flex\n"


def test_warm_cache_needs_neither_network_nor_root(machine: Path, tmp_path: Path) -> None:
    _program(machine / "dpkg-query", "printf installed\n")
    version = subprocess.run(["/usr/bin/python3", "-V"], capture_output=True, check=True).stdout.split()[1]
    key = hashlib.sha256(LOCK.read_bytes() + version + b"\n").hexdigest()[:12]
    environment = tmp_path / f"netgroupd/venv-{key}"
    environment.mkdir(parents=True)
    got = _setup(machine, XDG_CACHE_HOME=str(tmp_path))
    assert (got.returncode, got.stdout, got.stderr) == (0, f"{environment}/bin/python\n", "")
