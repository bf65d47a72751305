# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames between the host and the agent in the guest: encode, and decode as bytes arrive.

One byte stream carries any number of processes.  A frame is a process number,
a kind and a payload; neither side ever has to guess where one ends.  The agent
says what it has read, so that the host can keep what is on the way short.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

_HEADER = struct.Struct("!IBI")


class Kind(IntEnum):
    """What a frame says; the first three go to the guest, the rest come back."""

    RUN = 1  # a Command, then what the process reads on its standard input
    INPUT = 2  # what was typed; only for a process with a terminal
    KILL = 3  # end the process group of this process
    HELLO = 4  # the guest is ready
    STDOUT = 5
    STDERR = 6
    EXIT = 7  # the exit status, as subprocess.Popen.returncode has it
    TAKEN = 8  # how many bytes the agent has read from the channel since it last said so


class Frame(NamedTuple):
    """One message about one process."""

    process: int
    kind: Kind
    payload: bytes = b""


class Command(NamedTuple):
    """What to start in the guest."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    terminal: tuple[int, int] | None = None  # rows, columns


def encode(frame: Frame) -> bytes:
    """Return the bytes of one frame."""
    return _HEADER.pack(frame.process, frame.kind, len(frame.payload)) + frame.payload


class Decoder:
    """Bytes in pieces of any size go in, whole frames come out."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, received: bytes) -> Iterator[Frame]:
        """Yield every frame that ``received`` completes."""
        self._pending += received
        while len(self._pending) >= _HEADER.size:
            process, kind, length = _HEADER.unpack_from(self._pending)
            end = _HEADER.size + length
            if len(self._pending) < end:
                return
            payload = bytes(self._pending[_HEADER.size : end])
            del self._pending[:end]
            yield Frame(process, Kind(kind), payload)


def pack_command(command: Command, stdin: bytes) -> bytes:
    """Return the payload of a RUN frame."""
    head = json.dumps(command._asdict()).encode()
    return len(head).to_bytes(4, "big") + head + stdin


def unpack_command(payload: bytes) -> tuple[Command, bytes]:
    """Return what ``pack_command`` was given."""
    end = 4 + int.from_bytes(payload[:4], "big")
    head = json.loads(payload[4:end])
    terminal = head["terminal"]
    command = Command(tuple(head["argv"]), head["cwd"], head["env"], tuple(terminal) if terminal else None)
    return command, payload[end:]
