# SPDX-License-Identifier: GPL-2.0-or-later
"""Many messages to one system call, one acknowledgement, each refusal matched to its step.

The kernel handles the messages of one send in order and answers only those that
it refuses; a message that does nothing closes the batch and is acknowledged.  A
refusal does not stop the messages behind it in the same batch, but no further
batch is sent.
"""

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from netgroupd.errors import Refusal
from netgroupd.kernel.compound import MOST, MOST_BYTES, compound, failures, kind_of
from netgroupd.kernel.message import HEADER_LEN, SEQUENCE, path_to
from netgroupd.kernel.request import Call, Request
from netgroupd.kernel.socket import Answer, Socket, noop
from netgroupd.plan.step import AnyStep

_MESSAGES = 256
_BYTES = 64 << 10


class Refused(NamedTuple):
    """A step and why the kernel did not take it."""

    step: AnyStep
    refusal: Refusal


class Denied(NamedTuple):
    """What the kernel said about one message of a step, with the message."""

    step: AnyStep
    answer: Answer
    message: bytes

    def path(self, body: int) -> tuple[int, ...]:
        """The attribute numbers down to the one that it did not like; () where it does not say."""
        if self.answer.offset < 0:
            return ()
        return path_to(memoryview(self.message), self.answer.offset, HEADER_LEN + body)


class Batch:
    """Collects the messages of steps and sends them when there are enough."""

    def __init__(
        self, socket: Socket, progress: Callable[[int], None] | None = None, *, compounds: bool = False
    ) -> None:
        """``compounds``: the kernel takes many filters in one message."""
        self._socket = socket
        self._compounds = compounds
        self._kind = 0  # of the messages that have gathered to become one
        self._progress = progress
        self._packet = bytearray()
        self._steps: list[AnyStep] = []
        self._starts: list[int] = []
        self._done = 0
        self._counted = 0
        self.denied: list[Denied] = []

    def add(self, step: AnyStep, requests: Iterable[Request]) -> None:
        """Take the requests of one step; send what has gathered when it is enough."""
        packet = self._packet
        for request in requests:
            if isinstance(request, Call):
                self._call(step, request)
                continue
            if self._compounds and (kind := kind_of(request)) != self._kind:
                self._flush_gathered()
                self._kind = kind
            self._starts.append(len(packet))
            self._steps.append(step)
            packet += request
        self._done += 1
        most, most_bytes = (MOST, MOST_BYTES) if self._kind else (_MESSAGES, _BYTES)
        if len(self._starts) >= most or len(packet) >= most_bytes:
            self.flush()

    def deny(self, step: AnyStep, errno: int, sentence: str) -> None:
        """Note a refusal that did not come by message."""
        self.denied.append(Denied(step, Answer(0, errno, sentence), b""))

    def _call(self, step: AnyStep, call: Call) -> None:
        self.flush()
        if self.denied:
            return
        try:
            call.run()
        except OSError as error:
            self.deny(step, error.errno or 0, error.strerror or str(error))

    def flush(self) -> None:
        """Send what has gathered and read what the kernel refused of it."""
        self._flush_gathered()
        if self._progress and self._done > self._counted:
            self._progress(self._done - self._counted)
        self._counted = self._done

    def _flush_gathered(self) -> None:
        if self._starts and not self.denied:
            if self._kind:
                self._send_compound()
            else:
                self._send()
        self._starts.clear()
        self._steps.clear()
        self._packet.clear()

    def _send_compound(self) -> None:
        starts, packet = self._starts, self._packet
        first = self._socket.next_sequence(2)
        whole = bytearray(compound(packet, starts))
        SEQUENCE.pack_into(whole, 8, first)
        self._socket.send(whole + noop(first + 1))
        for answer in self._socket.answers(first + 1):
            if answer.sequence != first:
                continue
            told = list(failures(answer.entries)) or [(0, answer.errno, answer.sentence)]
            for place, number, sentence in told:
                refused = Answer(first, number, sentence or os.strerror(number))
                end = starts[place + 1] if place + 1 < len(starts) else len(packet)
                self.denied.append(Denied(self._steps[place], refused, bytes(packet[starts[place] : end])))

    def _send(self) -> None:
        starts, packet = self._starts, self._packet
        first = self._socket.next_sequence(len(starts) + 1)
        for sequence, start in enumerate(starts, first):
            SEQUENCE.pack_into(packet, start + 8, sequence)
        last = first + len(starts)
        self._socket.send(packet + noop(last), len(starts))
        for answer in self._socket.answers(last):
            number = answer.sequence - first
            if 0 <= number < len(starts):
                end = starts[number + 1] if number + 1 < len(starts) else len(packet)
                self.denied.append(Denied(self._steps[number], answer, bytes(packet[starts[number] : end])))
