# SPDX-License-Identifier: GPL-2.0-or-later
"""Render every template of a directory and print what came of it, as JSON.

Run as a program of its own: the tests start it as another user, on a kernel
made to look as if it had no Landlock, or with the worker's manners taken away.
"""

import ctypes
import json
import os
import struct
import sys
from pathlib import Path

from netgroupd.config import process
from netgroupd.config.facts import Facts, Hardware
from netgroupd.config.render import Limits, render
from netgroupd.config.sources import Trust, read_sources

_LIMITS = Limits(cpu_s=1, wall_s=60, memory=256 << 20, output=1 << 20)


def hide_landlock() -> None:
    """Make landlock_create_ruleset() answer ENOSYS, as a kernel without it does."""
    code = struct.pack(
        "=HBBIHBBIHBBIHBBI",
        *(0x20, 0, 0, 0),
        *(0x15, 0, 1, 444),
        *(0x06, 0, 0, 0x00050000 | 38),
        *(0x06, 0, 0, 0x7FFF0000),
    )
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, program, 0, 0) == 0
    assert libc.syscall(444, None, 0, 1) == -1


def forget_manners() -> None:
    """Leave the kernel alone to refuse."""
    start = "import netgroupd.config.worker.manners as m; m.teach = lambda: None; from netgroupd"
    process.BOOT = process.BOOT.replace("from netgroupd", start, 1)


def main() -> None:
    """Render all templates: each by a worker of its own, or together where none does its worker harm."""
    directory, *options = sys.argv[1:]
    if "no-landlock" in options:
        hide_landlock()
    if "no-manners" in options:
        forget_manners()
    owner = Path(directory).stat()
    trust = Trust.of_user(owner.st_uid, owner.st_gid)
    facts = Facts("lab", 1 << 30, (Hardware("eth0", "virtio_net", "02:00:00:00:00:01"),))
    sources, problems = read_sources([Path(directory)], trust=trust)
    results: dict[str, object] = {"problems": [str(problem) for problem in problems], "uid": os.getuid()}
    for run in [sources] if "no-manners" in options else [(source,) for source in sources]:
        rendered, found = render(run, facts=lambda: facts, templates=(), limits=_LIMITS, trust=trust)
        for source in run:
            text = [one.text for one in rendered if one.source == source]
            results[source.name] = {"text": text, "problems": [list(one) for one in found if one.file == source.path]}
    json.dump(results, sys.stdout)


main()
