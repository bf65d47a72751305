# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command costs that no noise disturbs: system calls, netlink messages, bytes read, processes."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

# What is received is only counted; what is sent has to be written out, or
# strace shows none of the messages in a packet.
STRACE = ("strace", "-f", "-qq", "-s", "0", "-e", "abbrev=!sendmsg,sendto,sendmmsg")
_CALL = re.compile(r"^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed>)")
_RESULT = re.compile(r"\) += (-?\d+)[^=]*$")
_SENT = re.compile(r"nlmsg_len=\d+")


class Costs(NamedTuple):
    """The counts of one run."""

    messages: int
    syscalls: int
    received: int
    reads: int
    processes: int


def costs(argv: Sequence[str]) -> Costs:
    """Run ``argv`` under strace and count."""
    with TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        subprocess.run((*STRACE, "-o", log, *argv), check=True, stdout=subprocess.DEVNULL)
        return tally(log.read_text(errors="replace").splitlines())


def tally(lines: Sequence[str]) -> Costs:
    """Count what an strace log tells."""
    messages = syscalls = received = reads = processes = 0
    for line in lines:
        if not (call := _CALL.match(line)):
            continue
        name = call[1]
        # What is sent is told when a call begins, what is received when it ends.
        if name in ("sendmsg", "sendto", "sendmmsg"):
            messages += len(_SENT.findall(line))
        if "<unfinished ...>" in line:
            continue
        syscalls += 1
        found = _RESULT.search(line)
        result = int(found[1]) if found else 0
        if name in ("recvmsg", "recvfrom") and result > 0:
            reads += 1
            received += 0 if "MSG_PEEK" in line else result
        elif name == "execve" and found and result == 0:
            processes += 1
    return Costs(messages, syscalls, received, reads, processes)
