# SPDX-License-Identifier: GPL-2.0-or-later
"""The system calls a template may cause, as a filter that the kernel runs.

An allow-list: what is not in it fails with EACCES, which Python raises where
the template stands.  Reading and writing work on descriptors that are already
open, and the worker holds only its two pipes; there is no call in the list
that opens, creates, connects, starts or signals anything.
"""

import ctypes
import errno
import os
import struct

# linux/seccomp.h, linux/filter.h, linux/audit.h
_MODE_FILTER = 2
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_KILL = 0x80000000
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _RETURN = 0x20, 0x15, 0x35, 0x06
_OFFSET_NUMBER, _OFFSET_ARCH = 0, 4
_PR_SET_SECCOMP = 22
_X32 = 0x40000000

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}

# Memory, time, signals' return, own identity, the two pipes, and the end.
_CALLS_X86_64 = {
    "read": 0, "write": 1, "close": 3, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
    "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "readv": 19, "writev": 20, "sched_yield": 24,
    "mremap": 25, "madvise": 28, "nanosleep": 35, "getpid": 39, "exit": 60, "gettimeofday": 96, "getrusage": 98,
    "times": 100, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "sigaltstack": 131,
    "gettid": 186, "futex": 202, "time": 201, "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229,
    "clock_nanosleep": 230, "exit_group": 231, "getrandom": 318, "membarrier": 324, "rseq": 334,
}  # fmt: skip
_CALLS_GENERIC = {
    "close": 57, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66, "exit": 93, "exit_group": 94,
    "futex": 98, "nanosleep": 101, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115,
    "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135,
    "rt_sigreturn": 139, "times": 153, "getrusage": 165, "gettimeofday": 169, "getpid": 172, "getppid": 173,
    "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178, "brk": 214, "munmap": 215,
    "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233, "getrandom": 278, "membarrier": 283, "rseq": 293,
}  # fmt: skip
_CALLS = {"x86_64": _CALLS_X86_64, "aarch64": _CALLS_GENERIC, "riscv64": _CALLS_GENERIC}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _instruction(code: int, operand: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jump_true, jump_false, operand)


def program(machine: str) -> bytes:
    """Compile the allow-list of one machine type to classic BPF.

    Raises:
        OSError: Its system call numbers are not known here.
    """
    if machine not in _CALLS:
        raise OSError(errno.ENOSYS, f"the system calls of {machine} are not known")
    calls = sorted(_CALLS[machine].values())
    # The comparisons jump over the rest of the list and the refusal behind it.
    matches = [_instruction(_JUMP_EQUAL, call, jump_true=len(calls) - place) for place, call in enumerate(calls)]
    return b"".join(
        (
            _instruction(_LOAD, _OFFSET_ARCH),
            _instruction(_JUMP_EQUAL, _AUDIT_ARCH[machine], jump_true=1),
            _instruction(_RETURN, _KILL),
            _instruction(_LOAD, _OFFSET_NUMBER),
            # x32 calls carry the same audit architecture and other numbers: never let one through.
            _instruction(_JUMP_GREATER_EQUAL, _X32, jump_true=len(calls)),
            *matches,
            _instruction(_RETURN, _ERRNO | errno.EACCES),
            _instruction(_RETURN, _ALLOW),
        )
    )


def restrict(libc: ctypes.CDLL) -> None:
    """Put the allow-list on this process and all it will ever be; no_new_privs must be set.

    Raises:
        OSError: The kernel has no seccomp, or this machine type is not known.
    """
    install(libc, program(os.uname().machine))


def install(libc: ctypes.CDLL, code: bytes) -> None:
    """Put a compiled filter on this process and all it will ever be; no_new_privs must be set.

    Raises:
        OSError: The kernel has no seccomp.
    """
    holder = _Program(len(code) // 8, code)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(holder), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp: " + os.strerror(ctypes.get_errno()))
