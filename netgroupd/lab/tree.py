# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel source tree with its objects: unpack, copy, configure, compile.

A tree exists whole or not at all, and one whose compilation was killed is
thrown away, because make cannot tell half an object from a whole one.
"""

import os
import re
import resource
import shutil
import subprocess
import time
from pathlib import Path

from netgroupd.errors import LabError

# Nothing here is compiled for the lab, and it is two thirds of the source.
_LEFT_OUT = (
    *(f"drivers/{name}" for name in ("gpu/drm", "media", "staging", "infiniband", "scsi", "iio", "usb", "pinctrl")),
    *(f"drivers/{name}" for name in ("net/ethernet", "net/wireless", "clk", "accel", "sound")),
    *("sound", "tools/perf"),
    *(f"arch/{name}" for name in ("arm", "arm64", "mips", "powerpc", "s390", "sparc", "riscv", "sh", "m68k", "parisc")),
)
_SOURCES = ("c", "h", "S", "dts", "dtsi")
_FIXED = ("KBUILD_BUILD_TIMESTAMP=2026-01-01", "KBUILD_BUILD_USER=netgroupd", "KBUILD_BUILD_HOST=lab")
_EXPECTED_STEPS = 2500
_STEP = re.compile(r"^  [A-Z]\w* +\S")
_ERROR = re.compile(r"\b(?:error|undefined reference|Error \d+)\b")
_WANTED = re.compile(r"^(?P<name>CONFIG_\w+)=(?P<value>.+)$", re.MULTILINE)


class Tree:
    """One directory of source and objects."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._busy = path / ".being-compiled"
        self._fragment = path / ".fragment"

    def complete(self) -> bool:
        """Tell whether there is a tree here that can be built on."""
        return self.path.exists() and not self._busy.exists()

    def configured_as(self, config: bytes) -> bool:
        """Tell whether the objects here come from this configuration."""
        return self._fragment.exists() and self._fragment.read_bytes() == config

    def unpack(self, tarball: Path) -> None:
        """Become what is in the tarball, without what the lab never compiles."""
        print(f"kernel: unpacking {tarball} (about 15 s)", flush=True)
        scratch = self._scratch()
        scratch.mkdir()
        left_out = (f"--exclude=*/{directory}/*.{kind}" for directory in _LEFT_OUT for kind in _SOURCES)
        subprocess.run(("tar", "-x", "-f", tarball, "-C", scratch, "--strip-components=1", *left_out), check=True)
        scratch.rename(self.path)

    def copy(self, source: "Tree") -> None:
        """Become a copy of another tree, objects and time stamps included."""
        scratch = self._scratch()
        subprocess.run(("cp", "--archive", "--reflink=auto", source.path, scratch), check=True)
        scratch.rename(self.path)

    def _scratch(self) -> Path:
        """Return where to build up a new tree, after removing what is in the way."""
        scratch = self.path.with_name(f"{self.path.name}.new")
        for old in (scratch, self.path):
            if old.exists():
                shutil.rmtree(old)
        return scratch

    def make(self, arch: str, config: bytes, version: str) -> float:
        """Compile the kernel and return the CPU seconds that took.

        Raises:
            LabError: It does not compile, or the configuration cannot be had.
        """
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not self.configured_as(config):
            self._configure(arch, config)
        self._busy.touch()
        try:
            self._compile(arch, version)
        finally:
            # Reached once make has ended, and it removes what it left half done;
            # when this process is killed the mark stays.
            self._busy.unlink()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def _configure(self, arch: str, config: bytes) -> None:
        self._quietly(f"ARCH={arch}", "tinyconfig")
        with (self.path / ".config").open("ab") as file:
            file.write(config)
        self._quietly(f"ARCH={arch}", "olddefconfig")
        got = dict(_WANTED.findall((self.path / ".config").read_text()))
        want = dict(_WANTED.findall(config.decode()))
        if lost := sorted(name for name in want if got.get(name, "n") != want[name]):
            raise LabError(f"kernel configuration: these cannot be had as asked: {', '.join(lost)}")
        self._fragment.write_bytes(config)

    def _quietly(self, *words: str) -> None:
        command = ("make", "--silent", *words)
        got = subprocess.run(command, cwd=self.path, capture_output=True, text=True, check=False)
        if got.returncode:
            raise LabError(f"{' '.join(command)} failed in {self.path}:\n{got.stderr.strip()}")

    def _compile(self, arch: str, version: str) -> None:
        """Run make, with a line of progress now and then."""
        cpus = os.cpu_count() or 1
        # make must end, and clean up, when this process is killed.
        guard = ("setpriv", "--pdeathsig", "TERM", "--", "nice")
        target = "bzImage" if arch == "x86" else "vmlinux"
        command = (*guard, "make", f"-j{cpus + 1}", f"ARCH={arch}", f"LOCALVERSION={version}", *_FIXED, target)
        started = time.monotonic()
        tail: list[str] = []
        steps = 0
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=self.path, stdout=pipe, stderr=subprocess.STDOUT, text=True) as make:
            try:
                assert make.stdout
                for line in make.stdout:
                    tail = [*tail[-400:], line.rstrip()]
                    steps += bool(_STEP.match(line))
                    if steps % 200 == 1 and _STEP.match(line):
                        _show_progress(steps, time.monotonic() - started, cpus)
            except BaseException:
                make.terminate()
                raise
        if make.returncode:
            errors = [line for line in tail if _ERROR.search(line)] or tail
            raise LabError(f"the kernel does not compile in {self.path}:\n" + "\n".join(errors[:20]))


def _show_progress(steps: int, elapsed_s: float, cpus: int) -> None:
    full = f"a full build is about {_EXPECTED_STEPS} steps and {14 / cpus:.0f} minutes"
    print(f"kernel: compiling, step {steps} after {elapsed_s:.0f} s ({full})", flush=True)
