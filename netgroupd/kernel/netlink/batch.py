# SPDX-License-Identifier: GPL-2.0-or-later
"""Many messages to one system call, one acknowledgement, each refusal matched to its step.

The kernel handles the messages of one send in order and answers only those that
it refuses; a message that does nothing closes the batch and is acknowledged.  The
next batch is laid out while the kernel works, and sent when it has answered.  A
refusal does not stop the messages behind it in the same batch, nor those that
are on their way side by side with it, but no further batch is sent, unless the
step is one that the rest can do without.  What must not run behind a refusal, or
beside what is before it, is therefore added after a flush.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from netgroupd.errors import Refusal
from netgroupd.kernel.netlink.compound import MOST, MOST_ALONE, MOST_BYTES, entry, kind_of
from netgroupd.kernel.netlink.delivery import Denied, Lanes, Packet, deliver
from netgroupd.kernel.netlink.request import Call, Form, Request
from netgroupd.kernel.netlink.socket import Answer, Socket
from netgroupd.plan.step import AnyStep
from netgroupd.plan.tc.optional import is_optional

_MESSAGES = 256
_AT_FIRST = 32  # so that the kernel begins at once; it works while the next, larger packet is laid out
_BYTES = 64 << 10
_FIRST = 1024  # of the first compound message: the kernel begins on it while the next, larger one is laid out
_ABREAST = 512  # more of them to a packet save nothing, fewer keep no CPU busy


class Refused(NamedTuple):
    """A step and why the kernel did not take it."""

    step: AnyStep
    refusal: Refusal


def ends(refused: Iterable[Refused | Denied]) -> bool:
    """Whether nothing more is to be sent after these refusals."""
    return not all(is_optional(each.step) for each in refused)


class Batch:
    """Collects the messages of steps and sends them when there are enough."""

    def __init__(
        self, socket: Socket, lanes: Lanes, progress: Callable[[int], None] | None = None, *, compounds: bool = False
    ) -> None:
        """``lanes`` are for messages in any order; ``compounds``: the kernel takes many filters in one message."""
        self._socket = socket
        self._lanes = lanes
        self._compounds = compounds
        self._together = MOST_ALONE if lanes.alone else MOST
        self._kind = 0  # of the messages that have gathered to become one
        self._progress = progress
        self._steps: list[AnyStep] = []  # that have gathered, each with its message
        self._messages: list[bytes] = []
        self._bytes = 0
        self._done = 0
        self._counted = 0
        self._next = _FIRST
        self._most = _AT_FIRST
        self._ahead = False  # whether a packet is on its way that what follows must not overtake
        self.denied: list[Denied] = []
        self.ended = False
        """Whether something was refused without which the rest is not wanted."""

    @property
    def run(self) -> tuple[int, Form]:
        """How many messages in any order are best sent at once, and in which form."""
        return (self._next, entry) if self._compounds else (_ABREAST, _as_it_is)

    def add(self, step: AnyStep, requests: Iterable[Request]) -> None:
        """Take the requests of one step; send what has gathered when it is enough."""
        for request in requests:
            if isinstance(request, Call):
                self._call(step, request)
                continue
            if self._compounds and (kind := kind_of(request)) != self._kind:
                self._flush_gathered()
                self._kind = kind
            self._steps.append(step)
            self._messages.append(request)
            self._bytes += len(request)
        self._done += 1
        most, most_bytes = (self._together, MOST_BYTES) if self._kind else (self._most, _BYTES)
        if len(self._steps) >= most or self._bytes >= most_bytes:
            self._send_gathered()
            self._most = min(2 * self._most, _MESSAGES)
            self._report()

    def abreast(self, steps: Sequence[AnyStep], messages: bytes) -> None:
        """Take a message each of ``steps``, made as ``run`` says; what was refused is known at the flush."""
        if self._steps or self._ahead:
            self._flush_gathered()
        if not self.ended:
            self._lanes.send(Packet(steps, messages, self._compounds))
            self._next = min(2 * self._next, self._together)
            self._done += len(steps)
            self._report()
            self._note(self._lanes.refused())

    def deny(self, step: AnyStep, errno: int, sentence: str) -> None:
        """Note a refusal that did not come by message."""
        self._note([Denied(step, Answer(0, errno, sentence), b"")])

    def _note(self, denied: list[Denied]) -> None:
        self.denied += denied
        self.ended |= ends(denied)

    def _call(self, step: AnyStep, call: Call) -> None:
        self.flush()
        if self.ended:
            return
        try:
            call.run()
        except OSError as error:
            self.deny(step, error.errno or 0, error.strerror or str(error))

    def flush(self) -> None:
        """Send what has gathered and read what the kernel refused of it."""
        self._flush_gathered()
        self._report()

    def _report(self) -> None:
        if self._progress and self._done > self._counted:
            self._progress(self._done - self._counted)
        self._counted = self._done

    def _flush_gathered(self) -> None:
        packet = self._taken()
        self._note(self._lanes.arrived())
        if packet.steps and not self.ended:
            self._note(deliver(self._socket, packet))
        self._ahead = False

    def _send_gathered(self) -> None:
        """Bring what has gathered on its way when the kernel is done with what was sent before."""
        packet = self._taken()
        self._note(self._lanes.arrived())
        if not self.ended:
            self._lanes.send(packet)
        self._ahead = True

    def _taken(self) -> Packet:
        """What has gathered, laid out; from here on the next gathers."""
        messages = map(entry, self._messages) if self._kind else self._messages
        packet = Packet(self._steps, b"".join(messages), bool(self._kind))
        self._steps, self._messages, self._bytes = [], [], 0
        return packet


def _as_it_is(message: bytes) -> bytes:
    return message
