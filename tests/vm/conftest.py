# SPDX-License-Identifier: GPL-2.0-or-later
"""What several modules of tests begin with: a kernel that may stumble; the package, and a daemon that runs."""

import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.kernel.links.seen import Seen
from tests.vm.hosts import EngineIn, Hosts
from tests.vm.installed import Fresh, good, install, package_file, reload, run
from tests.vm.stumbling import Stumbling


@pytest.fixture(scope="session")
def libraries() -> Iterator[None]:
    """What netgroupd imports, for Debian's Python, from where this test has it."""
    version = sysconfig.get_python_version()
    local = Path(f"/usr/local/lib/python{version}/dist-packages")
    local.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", sysconfig.get_path("purelib"), str(local)], check=True)
    yield
    subprocess.run(["umount", str(local)], check=True)


@pytest.fixture(scope="session")
def package(libraries: None) -> Fresh:
    """The Debian package, installed; what there was of it then, whichever test is the first to have it."""
    shutil.rmtree("/var/lib/netgroup", ignore_errors=True)
    install(package_file())
    units = ("netgroupd", "netgroup-wait-online")
    return Fresh(
        enabled=run("systemctl", "is-enabled", *units).stdout.split(),
        active=run("systemctl", "is-active", *units).stdout.split(),
        asks_to_be_enabled=Path("/run/netgroup/enable").exists(),
    )


@pytest.fixture
def daemon(package: Fresh) -> Iterator[None]:
    """A daemon that runs, with two bridges."""
    good(2)
    run("systemctl", "reset-failed", "netgroupd")
    assert run("systemctl", "start", "netgroupd").returncode == 0
    assert reload().returncode == 0
    yield
    good(2)


@pytest.fixture
def kernel() -> Iterator[Stumbling]:
    subprocess.run(["ip", "netns", "add", "engine"], check=True)
    try:
        with Stumbling("engine") as kernel:
            kernel.remember(Seen())
            yield kernel
    finally:
        subprocess.run(["ip", "netns", "del", "engine"], check=True)


@pytest.fixture
def engine_in(tmp_path: Path) -> Iterator[EngineIn]:
    """An engine in a namespace that exists only for this test, with a configuration."""
    hosts = Hosts(tmp_path)
    yield hosts.engine
    hosts.close()
