# SPDX-License-Identifier: GPL-2.0-or-later
"""BPF programs of filters and actions as attributes, and back: bytecode, or one that is pinned at a path.

The kernel takes a pinned one by a file descriptor, and keeps the name that comes
with it: the path.  A path has one descriptor as long as this process runs, so that
messages laid out before it was opened again mean what is pinned there now.
"""

import ctypes
import os
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from netgroupd.kernel.netlink.message import attr, text, u16, u32
from netgroupd.model.tc.bpf import CURRENT
from netgroupd.model.value import Value

_INSTRUCTION = struct.Struct("=HBBI")  # code, jumps if true and false, operand
# bpf(2), which neither Python nor the C library has.
_BPF = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "ppc64le": 361, "s390x": 351}
_OBJ_GET = 7
_OBJ_GET_ATTR = struct.Struct("=QIIi4x")  # path, descriptor, flags, descriptor of the folder

Found = Mapping[int, memoryview]


class Numbers(NamedTuple):
    """The attributes of a program, which filters and actions have under other numbers."""

    length: int
    code: int
    descriptor: int
    name: int
    identity: int


_descriptors: dict[str, int] = {}


def _open(path: str) -> int:
    number = _BPF.get(os.uname().machine)
    if number is None:
        raise OSError(38, os.strerror(38), path)
    name = ctypes.create_string_buffer(path.encode())
    asked = _OBJ_GET_ATTR.pack(ctypes.addressof(name), 0, 0, 0)
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.syscall(number, _OBJ_GET, asked, len(asked))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    return int(descriptor)


def pinned(path: str) -> int:
    """The descriptor of the program that is pinned at ``path`` now; raises OSError."""
    opened = _open(path)
    if path not in _descriptors:
        _descriptors[path] = opened
        os.set_inheritable(opened, False)
        return opened
    os.dup2(opened, _descriptors[path], inheritable=False)
    os.close(opened)
    return _descriptors[path]


def _identity(path: str) -> int | None:
    """The number of the program that is pinned at ``path`` now; None where there is none."""
    with suppress(OSError):
        opened = _open(path)
        try:
            lines = Path(f"/proc/self/fdinfo/{opened}").read_text(encoding="ascii").splitlines()
            return int(dict(line.split(":", 1) for line in lines)["prog_id"])
        finally:
            os.close(opened)
    return None


def pack(said: Mapping[str, Value], numbers: Numbers) -> bytes:
    """The attributes of a program; raises OSError where it is pinned nowhere."""
    if "pinned" in said:
        path = str(said["pinned"])
        return u32(numbers.descriptor, pinned(path)) + text(numbers.name, path)
    _, *lines = str(said["bytecode"]).split(",")
    code = [_INSTRUCTION.pack(*(int(number) for number in line.split())) for line in lines]
    return u16(numbers.length, len(code)) + attr(numbers.code, b"".join(code))


def unpack(found: Found, numbers: Numbers) -> dict[str, Value]:
    """What a program is known by."""
    if numbers.code in found:
        lines = [" ".join(map(str, line)) for line in _INSTRUCTION.iter_unpack(found[numbers.code])]
        return {"bytecode": ",".join((str(len(lines)), *lines))}
    if numbers.name in found:
        return {"pinned": bytes(found[numbers.name]).rstrip(b"\0").decode(errors="surrogateescape")}
    return {}


def current(said: Mapping[str, Value], found: Found, numbers: Numbers) -> dict[str, Value]:
    """Whether a pinned program is the one that is there now; with none there, the old one is as good."""
    if "pinned" not in said or numbers.identity not in found:
        return {}
    now = _identity(str(said["pinned"]))
    return {CURRENT: now in (None, int.from_bytes(found[numbers.identity], "little"))}
