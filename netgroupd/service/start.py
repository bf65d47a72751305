# SPDX-License-Identifier: GPL-2.0-or-later
"""Start the daemon, or say what is missing for it: pip cannot install GLib's bindings, and nothing says so before."""

import sys


def main() -> int:
    """Run the daemon; what ``netgroupd`` starts where pip installed it."""
    try:
        from netgroupd.service.daemon import main as run  # noqa: PLC0415 - it is what may fail
    except ModuleNotFoundError as error:
        if error.name != "gi":
            raise
        print("netgroupd: GLib for Python is missing (Debian: python3-gi, for /usr/bin/python3)", file=sys.stderr)
        return 1
    return run()
