# SPDX-License-Identifier: GPL-2.0-or-later
"""What is no program is found beside the package, wherever that was installed."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
STAGE = TOP / ".ci/stage"
_ASK = """
import json
from netgroupd.config.render import shipped_templates
from netgroupd.engine.paths import shipped
from netgroupd.service.interface import JOB, MANAGER, GROUP, interface
for name in (JOB, MANAGER, GROUP):
    interface(name)
print(json.dumps([str(shipped_templates()), str(shipped())]))
"""


@pytest.mark.parametrize("packages", ["lib/python3/dist-packages", "lib64/python3.12/site-packages"])
def test_files_are_found_below_any_prefix(tmp_path: Path, packages: str) -> None:
    subprocess.run([STAGE, tmp_path], check=True)
    prefix = tmp_path / "usr"
    place = prefix / packages
    if not place.exists():
        place.parent.mkdir(parents=True)
        (prefix / "lib/python3/dist-packages").rename(place)
    program = f"import sys; sys.path.insert(0, {str(place)!r}){_ASK}"
    said = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    templates, share = map(Path, json.loads(said.stdout))
    assert templates == share / "templates" == prefix / "share/netgroup/templates"
    assert (share / "kernel-patches/series").is_file()


def test_what_puts_a_change_back_is_allowed_what_made_it() -> None:
    sandboxes = [
        (TOP / "systemd" / unit).read_text().partition("CapabilityBoundingSet=")[2].partition("[Install]")[0].strip()
        for unit in ("netgroupd.service", "netgroup-deadline.service")
    ]
    assert sandboxes[0] == sandboxes[1] != ""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout that its owner alone may read."""
    checkout = tmp_path_factory.mktemp("private") / "checkout"
    shutil.copytree(
        TOP, checkout, ignore=shutil.ignore_patterns("__pycache__", "build", "bench", "tests", ".git", ".*_cache")
    )
    subprocess.run(["chmod", "-R", "go=", checkout], check=True)
    return checkout


@pytest.fixture(scope="module")
def package(checkout: Path) -> Path:
    """What is in the package that was made of it."""
    environment = {**os.environ, "PYTHON": sys.executable}
    subprocess.run([checkout / ".ci/deb"], check=True, umask=0o077, env=environment, stdout=subprocess.DEVNULL)
    return checkout / "build/deb"


def test_bytecode_that_is_being_written_meanwhile_is_left_out(checkout: Path, tmp_path: Path) -> None:
    compiled = checkout / "netgroupd/__pycache__"
    compiled.mkdir()
    for name in ("errors.cpython-311.pyc", "errors.cpython-311.pyc.140230770475952"):
        (compiled / name).touch()
    subprocess.run([checkout / ".ci/stage", tmp_path], check=True)
    assert [path.name for path in tmp_path.rglob("*.pyc*")] == ["errors.cpython-311.pyc"]


def test_everybody_may_read_what_was_made_of_a_private_checkout(package: Path) -> None:
    assert [path for path in package.rglob("*") if path.stat().st_mode & 0o044 != 0o044] == []


def test_links_of_the_pages_lead_to_what_is_installed_with_them(package: Path) -> None:
    pages = package / "usr/share/doc/netgroupd"
    links = [
        page.parent / link
        for page in pages.rglob("*.md")
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    ]
    assert len(links) > 10
    assert [link for link in links if not link.exists()] == []
