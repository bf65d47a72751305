# SPDX-License-Identifier: GPL-2.0-or-later
"""Outside the lab no test reaches the network of the machine that it runs on.

What speaks to a kernel belongs into a guest: there it meets a kernel that is known,
and changes nothing that anybody needs.  A filter of system calls sees to it, for this process
and all that it starts: neither netlink nor a network namespace can be had.
"""

import ctypes
import errno
import os

from netgroupd.config.worker.seccomp import _AUDIT_ARCH, _instruction, _Program

_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_LOAD, _JUMP_EQUAL, _JUMP_ANY, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_SOCKET, _CLONE, _UNSHARE = 41, 56, 272
_AF_NETLINK, _CLONE_NEWNET = 16, 0x40000000
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2


def _refused(call: int, test: int, operand: int, number: int) -> bytes:
    """Answer ``call`` with an error where its first argument passes the test; five instructions, and on to the next."""
    return b"".join(
        (
            _instruction(_LOAD, _NUMBER),
            _instruction(_JUMP_EQUAL, call, jump_false=3),
            _instruction(_LOAD, _FIRST_ARGUMENT),
            _instruction(test, operand, jump_false=1),
            _instruction(_RETURN, _REFUSE | number),
        )
    )


def refuse_network() -> None:
    """Put the filter on this process, on the processors that guests are built for."""
    machine = os.uname().machine
    if machine != "x86_64":
        return
    code = b"".join(
        (
            _instruction(_LOAD, _ARCH),
            _instruction(_JUMP_EQUAL, _AUDIT_ARCH[machine], jump_true=1),
            _instruction(_RETURN, _ALLOW),
            _refused(_SOCKET, _JUMP_EQUAL, _AF_NETLINK, errno.EAFNOSUPPORT),
            _refused(_UNSHARE, _JUMP_ANY, _CLONE_NEWNET, errno.EPERM),
            _refused(_CLONE, _JUMP_ANY, _CLONE_NEWNET, errno.EPERM),
            _instruction(_RETURN, _ALLOW),
        )
    )
    libc = ctypes.CDLL(None, use_errno=True)
    holder = _Program(len(code) // 8, code)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(holder), 0, 0
    ):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
