# SPDX-License-Identifier: GPL-2.0-or-later
"""The small verbs of the tests under systemd: configure, ask, wait, look, install."""

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from netgroupd import __version__
from tests import waiting

BUILD = Path(__file__).parents[2] / "build"
ETC = Path("/etc/netgroup")
MANAGER = ("org.netgroup1", "/org/netgroup1", "org.netgroup1.Manager")
PATIENCE_S = 280
LATER = "99.0"
_BRIDGES = (
    "groups: {{tenants: {{mtu: 9000, drift: repair}}}}\n"
    "links:\n  tbr-[1-{count}]: {{kind: bridge, group: tenants, up: true}}\n"
)


class Fresh(NamedTuple):
    """What has become of both units by the installation alone."""

    enabled: list[str]
    active: list[str]
    asks_to_be_enabled: bool


def run(*argv: str, user: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command, as root or as ``user``."""
    asked = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *argv] if user else [*argv]
    return subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def good(count: int) -> None:
    """Make the configuration one of ``count`` bridges."""
    for path in ETC.iterdir():
        path.unlink()
    (ETC / "10-bridges.yaml").write_text(_BRIDGES.format(count=count))


def bridges() -> int:
    """How many of them there are."""
    return sum(name.startswith("tbr-") for name in os.listdir("/sys/class/net"))  # noqa: PTH208 - names suffice


def prop(name: str) -> str:
    """A property of the daemon, as busctl prints it, without its type."""
    return run("busctl", "get-property", *MANAGER, name).stdout.strip().partition(" ")[2].strip('"')


def reload() -> subprocess.CompletedProcess[str]:
    """Reload by way of the bus; a start of netgroupctl takes seconds here."""
    return run("busctl", "call", "--timeout=280", *MANAGER, "Reload")


def eventually(condition: Callable[[], object]) -> None:
    """Wait until ``condition`` holds, or the journal tells why it did not."""
    said = partial(run, "journalctl", "-u", "netgroupd", "-n", "30", "-o", "cat")
    waiting.eventually(condition, PATIENCE_S, told=lambda: said().stdout, every_s=0.2)


def main_pid() -> int:
    return int(run("systemctl", "show", "-P", "MainPID", "netgroupd").stdout)


def journal(since: str) -> str:
    """What the journal has of the unit since then, what systemd says of it too."""
    run("journalctl", "--sync")
    return run("journalctl", "--unit=netgroupd", f"--since={since}", "--output=cat").stdout


def now() -> str:
    """The time as journalctl takes it."""
    return time.strftime("%Y-%m-%d %H:%M:%S")


def memory_kib(pid: int, which: str) -> int:
    """A figure of /proc/PID/status."""
    found = re.search(rf"^{which}:\s+([0-9]+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def install(package: Path) -> None:
    """Install a package as dpkg does, or upgrade to it."""
    # The trigger of man-db reads every manual page of the machine, which takes minutes here.
    dpkg = ["dpkg", "--no-triggers", "--force-depends"]
    subprocess.run([*dpkg, "--unpack", str(package)], check=True, capture_output=True)
    # To compile them takes most of a minute here, and py3compile leaves alone what is.
    for compiled in (BUILD / "deb").rglob("__pycache__"):
        shutil.copytree(compiled, "/" / compiled.relative_to(BUILD / "deb"))
    subprocess.run([*dpkg, "--configure", "netgroupd"], check=True, capture_output=True)


def later_package(directory: Path) -> Path:
    """The package once more, as a later version."""
    tree, package = directory / "tree", directory / "later.deb"
    subprocess.run(["dpkg-deb", "--raw-extract", str(package_file()), str(tree)], check=True)
    for name in ("DEBIAN/control", "usr/lib/python3/dist-packages/netgroupd/__init__.py"):
        file = tree / name
        file.write_text(file.read_text().replace(__version__, LATER))
    subprocess.run(["dpkg-deb", "-Znone", "--build", str(tree), str(package)], check=True, stdout=subprocess.DEVNULL)
    return package


def package_file() -> Path:
    """The package that was built for this run."""
    (package,) = BUILD.glob("netgroupd_*.deb")
    return package


@contextmanager
def login(*argv: str) -> Iterator[None]:
    """Somebody who logs in and runs a command; in the end all that is left of the login is killed, as logind does."""
    unit = f"login-{time.monotonic_ns()}.scope"
    shell = ["sh", "-c", f"{shlex.join(argv)}; sleep infinity"]
    with subprocess.Popen(["systemd-run", "--quiet", "--scope", "--unit", unit, *shell]):
        try:
            yield
        finally:
            run("systemctl", "kill", "--signal=KILL", unit)
