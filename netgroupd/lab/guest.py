# SPDX-License-Identifier: GPL-2.0-or-later
"""The first process of the guest: read-only root in, writable root and an agent out.

The kernel mounts the host's root read-only over 9p and starts this file.  It
puts a tmpfs overlay on top, so that the guest may write anywhere and nothing
reaches the host, then stays as process 1 to reap, or becomes systemd.

Python and not a shell, because under TCG each ``mount`` that a shell starts
costs more than all the system calls here together.
"""

import ctypes
import os
import sys
from pathlib import Path

_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_MOVE = 2, 4, 4096, 8192
_LIBC = ctypes.CDLL(None, use_errno=True)
_POWER_OFF = 0x4321FEDC
_LAYERS = Path("/run/lab")

# What the host has enabled is the host's business.  Of all that its targets
# pull in, the guest starts only this.
_TARGETS = ("sysinit", "basic", "sockets", "timers", "paths", "local-fs")
_KEPT = ("dbus.socket", "sys-kernel-debug.mount", "systemd-tmpfiles-setup.service", "systemd-journald")


def mount(source: str, target: str | Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount, as mount(2) does.

    Raises:
        OSError: The kernel refused.
    """
    if _LIBC.mount(source.encode(), str(target).encode(), kind.encode(), flags, options.encode()):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(target))


def make_root_writable() -> None:
    """Put a tmpfs overlay over the root and make it the root."""
    mount("tmpfs", "/run", "tmpfs")
    for layer in ("lower", "upper", "root"):
        (_LAYERS / layer).mkdir(parents=True)
    # A bind mount of / leaves out what is mounted below it: /run and /dev.
    mount("/", _LAYERS / "lower", flags=_MS_BIND)
    mount("tmpfs", _LAYERS / "upper", "tmpfs", options="size=100%")
    for layer in ("files", "work"):
        (_LAYERS / "upper" / layer).mkdir()
    layers = f"lowerdir={_LAYERS}/lower,upperdir={_LAYERS}/upper/files,workdir={_LAYERS}/upper/work"
    mount("overlay", _LAYERS / "root", "overlay", options=layers)
    mount("/dev", _LAYERS / "root/dev", flags=_MS_MOVE)
    os.chdir(_LAYERS / "root")
    mount(".", "/", flags=_MS_MOVE)
    os.chroot(".")
    os.chdir("/")


def mount_what_systemd_would() -> None:
    """Mount the kernel's own file systems and the scratch ones."""
    restricted = _MS_NOSUID | _MS_NODEV
    mount("proc", "/proc", "proc", restricted)
    if "\tsysfs\n" in Path("/proc/filesystems").read_text():
        mount("sysfs", "/sys", "sysfs", restricted)
    else:
        mount("tmpfs", "/sys", "tmpfs", restricted)  # what the host has there says nothing of this kernel
        for directory in ("fs/cgroup", "kernel/debug"):
            Path("/sys", directory).mkdir(parents=True, exist_ok=True)
    mount("cgroup2", "/sys/fs/cgroup", "cgroup2", restricted)
    mount("debugfs", "/sys/kernel/debug", "debugfs", restricted)
    mount("tmpfs", "/run", "tmpfs", restricted, "mode=755")
    for directory, mode in (("/dev/pts", 0o755), ("/dev/shm", 0o1777), ("/run/lock", 0o1777)):
        Path(directory).mkdir(mode=mode, exist_ok=True)
    mount("devpts", "/dev/pts", "devpts", _MS_NOSUID, "mode=620,ptmxmode=666")
    mount("tmpfs", "/dev/shm", "tmpfs", restricted)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1")):
        if not Path("/dev", name).exists():
            Path("/dev", name).symlink_to(target)


def _pulled_in_by_the_host() -> set[str]:
    """Return the units that the host's targets would start here, but for those kept."""
    return {
        link.name
        for directory in ("/lib/systemd/system", "/etc/systemd/system")
        for target in _TARGETS
        for link in Path(directory).glob(f"{target}.target.wants/*")
        if not link.name.startswith(_KEPT) and not link.name.endswith(".target")
    }


def become_systemd(python_path: str, environment: str) -> None:
    """Hand process 1 to systemd, with the agent as a unit of it; both paths stay where they are."""
    # The host's /tmp may hold millions of files, which systemd-tmpfiles would
    # visit one by one over 9p.
    mount("tmpfs", "/run", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755")
    kept = {Path("/run/lab/checkout"): python_path, Path("/run/lab/environment"): environment}
    for place, path in kept.items():
        place.mkdir(parents=True)
        mount(path, place, flags=_MS_BIND)
    for scratch in ("/tmp", "/var/tmp"):
        mount("tmpfs", scratch, "tmpfs", options="mode=1777")
    for place, path in kept.items():
        if not Path(path).exists():  # it is in one of them
            Path(path).mkdir(parents=True)
            mount(str(place), path, flags=_MS_BIND)
    units = Path("/run/systemd/system")
    units.mkdir(parents=True)
    source = Path(__file__).parent / "units"
    for unit in source.glob("*.*"):
        (units / unit.name).write_text(unit.read_text().replace("@PYTHONPATH@", python_path))
    for unit_name in _pulled_in_by_the_host():
        (units / unit_name).symlink_to("/dev/null")
    # A machine id of its own, or systemd takes this for the host's first boot.
    Path("/etc/machine-id").write_text(f"{b'netgroupd-lab'.hex():0<32}\n")
    Path("/etc/fstab").write_text("")
    # Where the host is a container the guest is not.
    Path("/.dockerenv").unlink(missing_ok=True)
    os.execv("/lib/systemd/systemd", ["/lib/systemd/systemd", "--unit=lab.target"])


def reap_until_agent_ends(agent: int) -> None:
    """Collect orphans; end the machine when the agent, and so the host, is gone."""
    while os.wait()[0] != agent:
        pass
    _LIBC.reboot(_POWER_OFF)


def main() -> None:
    """Be process 1 of the guest."""
    python_path = os.environ["PYTHONPATH"]
    make_root_writable()
    if sys.argv[1:]:
        become_systemd(python_path, sys.argv[2])
    mount_what_systemd_would()
    agent = os.fork()
    if agent:
        reap_until_agent_ends(agent)
    os.execv(sys.executable, [sys.executable, "-S", "-m", "netgroupd.lab.agent"])


if __name__ == "__main__":
    main()
