# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests under systemd begin with: the package installed, and a daemon that runs."""

import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.installed import good, install, package_file, reload, run


@pytest.fixture(scope="session")
def package() -> Iterator[None]:
    """The Debian package, installed; its dependencies come from where this test has them."""
    version = sysconfig.get_python_version()
    local = Path(f"/usr/local/lib/python{version}/dist-packages")
    local.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", sysconfig.get_path("purelib"), str(local)], check=True)
    shutil.rmtree("/var/lib/netgroup", ignore_errors=True)
    install(package_file())
    yield
    subprocess.run(["umount", str(local)], check=True)


@pytest.fixture
def daemon(package: None) -> Iterator[None]:
    """A daemon that runs, with two bridges."""
    good(2)
    run("systemctl", "reset-failed", "netgroupd")
    assert run("systemctl", "start", "netgroupd").returncode == 0
    assert reload().returncode == 0
    yield
    good(2)
