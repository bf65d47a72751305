# SPDX-License-Identifier: GPL-2.0-or-later
"""Give up, for good, every right that rendering text does not need.

The order matters: descriptors and limits first, then the identity (which needs
root), then capabilities, and the two filters that make it final.
"""

import contextlib
import ctypes
import errno
import math
import os
import resource
import signal
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from netgroupd.config.worker import landlock, seccomp

NOBODY = 65534
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 1, 4, 24, 38, 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
_GRACE_S = 1  # between the signal that raises in the template and the one that ends the process


class Bounds(NamedTuple):
    """What one worker may use."""

    cpu_s: int
    memory: int  # bytes of address space


def confine(bounds: Bounds, keep: Collection[int]) -> None:
    """Leave this process nothing but memory, time and the descriptors in ``keep``.

    Raises:
        OSError: Some right could not be given up; nothing may be rendered then.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _offer_to_be_killed_first()
    _close_all_but(keep)
    _limit(bounds)
    _drop_bounding_set(libc)
    _become_nobody()
    _drop_capabilities(libc)
    # A change of identity forgets both of these, so they come after it.
    _must(libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    _must(libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))
    _must(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    landlock.restrict(libc)
    seccomp.restrict(libc)


def _must(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _offer_to_be_killed_first() -> None:
    """Let the kernel, when memory runs out, take this process and not the daemon."""
    with contextlib.suppress(OSError):  # no /proc, or not ours to write
        Path("/proc/self/oom_score_adj").write_text("1000")


def _close_all_but(keep: Collection[int]) -> None:
    silence = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    highest = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    first = 3
    for descriptor in sorted(keep):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, min(highest, 1 << 20))


def _limit(bounds: Bounds) -> None:
    # What starting took on a slow machine is not the template's.
    cpu_s = math.ceil(time.process_time()) + bounds.cpu_s
    for what, soft, hard in (
        (resource.RLIMIT_CPU, cpu_s, cpu_s + _GRACE_S),
        (resource.RLIMIT_AS, bounds.memory, bounds.memory),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NPROC, 0, 0),
    ):
        ceiling = resource.getrlimit(what)[1]
        allowed = hard if ceiling == resource.RLIM_INFINITY else min(hard, ceiling)
        resource.setrlimit(what, (min(soft, allowed), allowed))


def _become_nobody() -> None:
    if os.geteuid() != 0:
        return
    with contextlib.suppress(PermissionError):  # a user namespace may forbid it, and has no groups to lose
        os.setgroups([])
    try:
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError as error:
        # A user namespace that maps only its own root has no nobody; without
        # capabilities, which go next, that root is an ordinary user.
        if error.errno != errno.EINVAL:
            raise


def _drop_bounding_set(libc: ctypes.CDLL) -> None:
    for capability in range(_LAST_CAPABILITY + 1):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # refused without CAP_SETPCAP: then there is none to bound


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _must(libc.capset(header, nothing))
