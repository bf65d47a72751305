# SPDX-License-Identifier: GPL-2.0-or-later
"""How each tool of the peers' bench is made ready in a guest, and which command does which phase."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from bench import peer_files
from bench.fetched import compile_modules, unpack, why_missing
from bench.peer_files import Size
from netgroupd.lab.kernel import CHECKOUT

PLACE = Path("/run/peer")
_NETWORKD = "/lib/systemd/systemd-networkd"


class Phase(StrEnum):
    """What a tool is asked for, in this order."""

    CREATE = "from nothing"
    NOTHING = "nothing to do"
    ADD = "one VLAN added"
    REMOVE = "remove all"


PHASES = tuple(Phase)


class Job(NamedTuple):
    """A command for one phase; ``note`` where a tool has none."""

    argv: tuple[str, ...] = ()
    environment: Mapping[str, str] = os.environ
    daemon: bool = False
    note: str = ""


class Tool(NamedTuple):
    """One tool: why it is missing, how it is made ready, and its job for a phase with the files for that written."""

    name: str
    missing: Callable[[], str]
    prepare: Callable[[], None]
    job: Callable[[Phase, Size], Job]


def goal_of(phase: Phase, size: Size) -> Size:
    """The stack that the files should say."""
    return size._replace(vlans=0) if phase is Phase.REMOVE else size


def own_namespaces(*sysfs_options: str) -> None:
    """Mount what belongs to the new network namespace, and an empty /run."""
    subprocess.run(("mount", "-t", "sysfs", *sysfs_options, "sysfs", "/sys"), check=True)
    subprocess.run(("mount", "-t", "tmpfs", "tmpfs", "/run"), check=True)
    for directory in (PLACE, Path("/run/network"), Path("/run/systemd")):
        directory.mkdir(parents=True)
    for name in ("all", "default"):
        # Link-local addresses and their detection are noise here.
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")


def nowhere() -> str:
    """Nothing is missing."""
    return ""


def netgroupd_ready() -> None:
    """Compiled, as installed packages are, and with no earlier generation."""
    own_namespaces()
    compile_modules(CHECKOUT / "netgroupd")
    shutil.rmtree("/var/lib/netgroup", ignore_errors=True)


def netgroupd_job(phase: Phase, size: Size) -> Job:
    """The command, without the daemon: start, read, compare, apply and verify."""
    peer_files.netgroupd(goal_of(phase, size), PLACE)
    return Job((sys.executable, "-m", "netgroupd.cli.main", "apply", "--config", str(PLACE / "stack.yaml")))


def ip_job(phase: Phase, size: Size) -> Job:
    """It does what it is told, a message and its answer at a time."""
    file = PLACE / "batch"
    match phase:
        case Phase.CREATE:
            file.write_text(peer_files.ip_lines(size))
        case Phase.NOTHING:
            return Job(note="cannot tell")
        case Phase.ADD:
            file.write_text(peer_files.ip_lines(size, size.vlans))
        case Phase.REMOVE:
            file.write_text(peer_files.ip_removal(size))
    return Job(("ip", "-batch", str(file)))


def ifupdown2_ready() -> None:
    """Put its files where it looks for them."""
    own_namespaces()
    place = unpack("ifupdown2")
    shutil.copytree(place / "etc/network", "/etc/network", dirs_exist_ok=True)
    Path("/usr/share/ifupdown2").unlink(missing_ok=True)
    Path("/usr/share/ifupdown2").symlink_to(place / "usr/share/ifupdown2")
    for directory in ("/etc/network/interfaces.d", "/var/tmp/network"):
        shutil.rmtree(directory, ignore_errors=True)
        Path(directory).mkdir(parents=True)


def ifupdown2_job(phase: Phase, size: Size) -> Job:
    """Its reload does every phase."""
    peer_files.ifupdown2(goal_of(phase, size), Path("/etc/network"))
    return Job((sys.executable, "/opt/peers/ifupdown2/sbin/ifreload", "-a"))


def ifstate_ready() -> None:
    """Unpack its wheels."""
    own_namespaces()
    unpack("ifstate")


def ifstate_job(phase: Phase, size: Size) -> Job:
    """Its apply does every phase."""
    peer_files.ifstate(goal_of(phase, size), PLACE)
    start = "from ifstate.ifstate import main; main()"
    argv = (sys.executable, "-c", start, "-c", str(PLACE / "ifstate.yaml"), "apply")
    return Job(argv, {**os.environ, "PYTHONPATH": "/opt/peers/ifstate"})


def nmstate_job(phase: Phase, size: Size) -> Job:
    """Without NetworkManager: its kernel mode."""
    if phase is Phase.REMOVE:
        peer_files.nmstate_absent(size, PLACE)
    else:
        peer_files.nmstate(size, PLACE)
    return Job((str(unpack("nmstate") / "bin/nmstatectl"), "apply", "-k", str(PLACE / "nmstate.yml")))


def networkd_ready() -> None:
    """It takes a read-only /sys to mean that no udev has to come first."""
    own_namespaces("-o", "ro")
    Path("/run/systemd/network").mkdir()


def _daemon(argv: tuple[str, ...], phase: Phase, **environment: str) -> Job:
    if phase is Phase.REMOVE:
        return Job(note="removes no links")
    shutil.rmtree("/run/systemd/netif", ignore_errors=True)
    return Job(argv, {**os.environ, "SYSTEMD_LOG_LEVEL": "err", **environment}, daemon=True)


def networkd_job(phase: Phase, size: Size) -> Job:
    """The daemon, started anew each time, until it says of every link that it is configured."""
    peer_files.networkd(size, Path("/run/systemd/network"))
    return _daemon((_NETWORKD,), phase)


def netplan_ready() -> None:
    """Unpack its generator."""
    networkd_ready()
    unpack("netplan")
    Path("/etc/netplan").mkdir(exist_ok=True)


def netplan_job(phase: Phase, size: Size) -> Job:
    """The generator, then networkd on what it wrote."""
    peer_files.netplan(size, Path("/etc/netplan"))
    start = f"/opt/peers/netplan/usr/libexec/netplan/generate && exec {_NETWORKD}"
    return _daemon(("sh", "-c", start), phase, LD_LIBRARY_PATH="/opt/peers/netplan/usr/lib/x86_64-linux-gnu")


def networkd_missing() -> str:
    """It is part of systemd."""
    return "" if Path(_NETWORKD).exists() else "not on this machine"


TOOLS = (
    Tool("netgroupd", nowhere, netgroupd_ready, netgroupd_job),
    Tool("`ip -batch`", nowhere, own_namespaces, ip_job),
    Tool("nmstatectl", lambda: why_missing("nmstate"), own_namespaces, nmstate_job),
    Tool("systemd-networkd", networkd_missing, networkd_ready, networkd_job),
    Tool("netplan + networkd", lambda: why_missing("netplan") or networkd_missing(), netplan_ready, netplan_job),
    Tool("ifupdown2", lambda: why_missing("ifupdown2"), ifupdown2_ready, ifupdown2_job),
    Tool("ifstate", lambda: why_missing("ifstate"), ifstate_ready, ifstate_job),
)
