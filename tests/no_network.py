# SPDX-License-Identifier: GPL-2.0-or-later
"""Outside the lab no test reaches the network of the machine that it runs on.

What speaks to a kernel belongs into a guest: there it meets a kernel that is known,
and changes nothing that anybody needs.  A filter of system calls sees to it, for this process
and all that it starts: neither netlink nor a network namespace can be had.
"""

import ctypes
import errno
import os

from netgroupd.config.worker.confine import _PR_SET_NO_NEW_PRIVS
from netgroupd.config.worker.seccomp import (
    _ALLOW,
    _AUDIT_ARCH,
    _ERRNO,
    _JUMP_EQUAL,
    _LOAD,
    _OFFSET_ARCH,
    _OFFSET_NUMBER,
    _RETURN,
    _instruction,
    install,
)

_JUMP_ANY = 0x45
_FIRST_ARGUMENT = 16
_SOCKET, _CLONE, _UNSHARE = 41, 56, 272
_AF_NETLINK, _CLONE_NEWNET = 16, 0x40000000


def _refused(call: int, test: int, operand: int, number: int) -> bytes:
    """Answer ``call`` with an error where its first argument passes the test; five instructions, and on to the next."""
    return b"".join(
        (
            _instruction(_LOAD, _OFFSET_NUMBER),
            _instruction(_JUMP_EQUAL, call, jump_false=3),
            _instruction(_LOAD, _FIRST_ARGUMENT),
            _instruction(test, operand, jump_false=1),
            _instruction(_RETURN, _ERRNO | number),
        )
    )


def refuse_network() -> None:
    """Put the filter on this process, on the processors that guests are built for."""
    machine = os.uname().machine
    if machine != "x86_64":
        return
    code = b"".join(
        (
            _instruction(_LOAD, _OFFSET_ARCH),
            _instruction(_JUMP_EQUAL, _AUDIT_ARCH[machine], jump_true=1),
            _instruction(_RETURN, _ALLOW),
            _refused(_SOCKET, _JUMP_EQUAL, _AF_NETLINK, errno.EAFNOSUPPORT),
            _refused(_UNSHARE, _JUMP_ANY, _CLONE_NEWNET, errno.EPERM),
            _refused(_CLONE, _JUMP_ANY, _CLONE_NEWNET, errno.EPERM),
            _instruction(_RETURN, _ALLOW),
        )
    )
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # without it only root may put a filter on itself
    install(libc, code)
