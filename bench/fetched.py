# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of others that benches compare with: fetched into the cache, and unpacked in the guest alone.

Nothing is installed on this machine: packages lie in ``~/.cache/netgroupd/peers``
as they were published, and a guest unpacks them into its own overlay, which goes
with it.  What could not be fetched leaves a file that says why, and the tables quote it.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from netgroupd.lab.kernel import cache_directory

PEERS = cache_directory() / "peers"
_LIMIT_S = 3600.0


class Fetched(NamedTuple):
    """A program of others: the command that brings it into its directory, and what is there afterwards."""

    name: str
    command: tuple[str, ...]
    found: str
    slow: bool = False

    @property
    def directory(self) -> Path:
        """Where it is kept."""
        return PEERS / self.name

    @property
    def reason(self) -> Path:
        """Where it is written why it is missing."""
        return self.directory / "missing"


def _debian(name: str, *packages: str) -> Fetched:
    return Fetched(name, ("apt-get", "download", "-q", *packages), "*.deb")


ALL = (
    _debian("iperf3", "iperf3", "libiperf0", "libsctp1"),
    _debian("ifupdown2", "ifupdown2"),
    _debian("netplan", "netplan.io", "libnetplan0"),
    Fetched(
        "ifstate",
        (sys.executable, "-m", "pip", "download", "-q", "ifstate==2.5.1", "libifstate-rs==0.4.2"),
        "ifstate-*.whl",
    ),
    # Ten minutes on two CPUs; it is nowhere to be had compiled.
    Fetched(
        "nmstate",
        ("cargo", "install", "-q", "--locked", "--root", ".", "nmstatectl", "--version", "2.2.62"),
        "bin/nmstatectl",
        slow=True,
    ),
)
BY_NAME = {program.name: program for program in ALL}


def fetch(names: tuple[str, ...], *, quick: bool) -> Iterator[str]:
    """Fetch what is not in the cache yet; yield what could not be had, which is no reason to stop."""
    for program in (BY_NAME[name] for name in names):
        if any(program.directory.glob(program.found)) or (quick and program.slow):
            continue
        program.directory.mkdir(parents=True, exist_ok=True)
        print(f"bench: fetching {program.name} into {program.directory}", flush=True)
        program.reason.unlink(missing_ok=True)
        try:
            subprocess.run(
                program.command, cwd=program.directory, check=True, capture_output=True, text=True, timeout=_LIMIT_S
            )
        except (OSError, subprocess.SubprocessError) as error:
            told = getattr(error, "stderr", None) or str(error)
            why = told.strip().splitlines()[-1]
            program.reason.write_text(why)
            yield f"{program.name} could not be fetched: {why}"


def why_missing(name: str) -> str:
    """Return why a program is not there, or nothing where it is."""
    program = BY_NAME[name]
    if any(program.directory.glob(program.found)):
        return ""
    return f"not fetched: {program.reason.read_text()}" if program.reason.exists() else "not fetched"


def compile_modules(place: Path) -> None:
    """Compile what is Python there, as a package manager does: else every start of it pays for that."""
    subprocess.run((sys.executable, "-m", "compileall", "-q", place), stdout=subprocess.DEVNULL, check=False)


def unpack(name: str) -> Path:
    """Unpack a program, in a guest, and return where its files are.

    Raises:
        FileNotFoundError: It was not fetched.
    """
    if why := why_missing(name):
        raise FileNotFoundError(why)
    directory = BY_NAME[name].directory
    archives = sorted(directory.glob("*.deb")) + sorted(directory.glob("*.whl"))
    place = Path("/opt/peers", name) if archives else directory
    if place.exists():
        return place
    place.mkdir(parents=True)
    for archive in archives:
        if archive.suffix == ".deb":
            subprocess.run(("dpkg-deb", "-x", archive, place), check=True)
        else:
            shutil.unpack_archive(archive, place, "zip")
    compile_modules(place)
    return place
