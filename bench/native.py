# SPDX-License-Identifier: GPL-2.0-or-later
"""This host's own kernel, without a guest: the whole way from files to verified, beside ``ip`` and bare messages.

A processor that is emulated takes longer for Python, in proportion, than for the
kernel.  Everything happens in a network namespace that is made for it and goes
with it, for which it takes root; the links are of kinds that every kernel has.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.apply import Desk, stack_of
from bench.harness import Table, run
from bench.links import tunnels
from bench.peer_files import Size

SIZES = {Size(100, 6): 15, Size(500, 6): 5}
"""How often each: nothing keeps other programs away from such a host."""
_INSIDE = "--inside"


def measure(quick: bool) -> Iterator[Table]:
    """One table for each size."""
    for size, runs in ({Size(10, 6): 2} if quick else SIZES).items():
        with TemporaryDirectory() as directory:
            place = Path(directory)
            for table in stack_of(Desk(place), tunnels(size), place, runs):
                yield table._replace(name=f"native-{size.links}", title=f"{table.title}, without a guest")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(_INSIDE, action="store_true", help=argparse.SUPPRESS)
    known, rest = parser.parse_known_args()
    if not known.inside:
        again = (sys.executable, "-m", "bench.native", _INSIDE, *rest)
        sys.exit(subprocess.run(("unshare", "--net", *again), check=False).returncode)
    run(measure, rest)
