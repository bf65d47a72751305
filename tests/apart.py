# SPDX-License-Identifier: GPL-2.0-or-later
"""A process of its own for what a test does to its whole process: threads start and end guests beside it."""

import os
import traceback
from collections.abc import Callable


def apart(work: Callable[[], object]) -> None:
    """Have ``work`` done by a child, which has its own limits, environment and descriptors, and no other thread."""
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0, "the child has said why"
        return
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:  # never back into the tests, which go on in the other process
        os._exit(status)
