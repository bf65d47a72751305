# SPDX-License-Identifier: GPL-2.0-or-later
"""Start the daemon, or say what is missing for it."""

import sys

from netgroupd.errors import NO_GLIB


def main() -> int:
    """Run the daemon; what ``netgroupd`` starts where pip installed it."""
    try:
        from netgroupd.service.daemon import main as run  # noqa: PLC0415 - it is what may fail
    except ModuleNotFoundError as error:
        if error.name != "gi":
            raise
        print(f"netgroupd: {NO_GLIB}", file=sys.stderr)
        return 1
    return run()
