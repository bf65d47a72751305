# SPDX-License-Identifier: GPL-2.0-or-later
"""Console text -> the faults that the kernel reported in it.  Pure.

A guest whose kernel warned is a guest whose results mean nothing, so a report
counts as a failure even where every command succeeded.
"""

import re

# The first line of each kind of report, as the kernel prints it.
_FAULT = re.compile(
    r"Kernel panic - not syncing"
    r"|BUG: "
    r"|WARNING: (?!CPU frequency)"
    r"|\bOops: "
    r"|general protection fault"
    r"|INFO: (?:task .* blocked for more than|rcu_\w+ (?:self-)?detected|possible|trying to register)"
    r"|unregister_netdevice: waiting for"
    r"|refcount_t: "
    r"|UBSAN: "
    r"|kmemleak: \d+ new suspected"
    r"|Out of memory: Killed"
)
_CLOCK = re.compile(r"^\[ *\d+\.\d+\]\s?(?:\[[ \w]+\]\s?)?")
_LINES_SHOWN = 40


def faults(console: str) -> tuple[str, ...]:
    """Return the first lines of every fault in ``console``, in order."""
    lines = [_CLOCK.sub("", line.rstrip("\r")) for line in console.split("\n")]
    return tuple(line for line in lines if _FAULT.search(line))


def excerpt(console: str) -> str:
    """Return the part of ``console`` to show: from its first fault, or its end."""
    lines = console.replace("\r", "").strip().split("\n")
    for number, line in enumerate(lines):
        if _FAULT.search(line):
            return "\n".join(lines[number : number + _LINES_SHOWN])
    return "\n".join(lines[-_LINES_SHOWN:])
