# SPDX-License-Identifier: GPL-2.0-or-later
"""No file, no TCP port and no signal beyond this process, by Landlock where the kernel has it.

A second lock behind seccomp's: the same door, another bolt.
"""

import ctypes
import os
import struct

# linux/landlock.h; the numbers of the calls are the same on every machine type.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION = 1
_FILE_RIGHTS = ((1, 13), (2, 14), (3, 15), (5, 16))  # since version: so many rights on files
_ALL_NETWORK = 0b11  # bind and connect, since version 4
_ALL_SCOPES = 0b11  # abstract sockets and signals, since version 6


def ruleset(version: int) -> bytes:
    """Lay out a rule set that handles every right of this version, to grant none."""
    rights = max(count for since, count in _FILE_RIGHTS if since <= version)
    files = (1 << rights) - 1
    if version < 4:
        return struct.pack("=Q", files)
    if version < 6:
        return struct.pack("=QQ", files, _ALL_NETWORK)
    return struct.pack("=QQQ", files, _ALL_NETWORK, _ALL_SCOPES)


def restrict(libc: ctypes.CDLL) -> bool:
    """Give up every file, port and foreign process; say whether the kernel could.

    Raises:
        OSError: The kernel has Landlock and refused.
    """
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:  # not built in, or not switched on at boot
        return False
    rules = ruleset(version)
    descriptor = libc.syscall(_CREATE_RULESET, rules, len(rules), 0)
    if descriptor < 0 or libc.syscall(_RESTRICT_SELF, descriptor, 0):
        raise OSError(ctypes.get_errno(), "Landlock: " + os.strerror(ctypes.get_errno()))
    os.close(descriptor)
    return True
