# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker's own loop: confine oneself, then one template in, one text or its faults out."""

import gc
import operator  # noqa: F401  # for templates: nothing can be imported later
import os
import signal
import string  # noqa: F401
import time
from collections.abc import Sequence
from types import FrameType
from typing import Any

from mako.runtime import Context

from netgroupd.config.worker import failure, manners, wire
from netgroupd.config.worker.confine import Bounds, confine
from netgroupd.config.worker.failure import Expired, Fault, MissingError
from netgroupd.config.worker.template import Fetched, Lookup
from netgroupd.config.worker.trace import Trace, UnprintableError
from netgroupd.config.worker.vocabulary import vocabulary

_INPUT, _OUTPUT = 3, 4
_RESERVE = 4 << 20  # given back when memory runs out, so that saying so succeeds
_PAYLOAD_LIMIT = 1 << 32  # the renderer is trusted


class _Renderer:
    """The process on the other side of the pipes."""

    def receive(self) -> tuple[wire.Header, bytes]:
        """Wait for the next message."""
        return wire.read(self._exactly, _PAYLOAD_LIMIT)

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = os.read(_INPUT, min(size, 1 << 20))
            if not part:
                os._exit(0)  # nobody is waiting any more
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def send(self, header: wire.Header, payload: bytes = b"") -> None:
        """Answer."""
        rest = memoryview(wire.pack(header, payload))
        while rest:
            rest = rest[os.write(_OUTPUT, rest) :]

    def fetch(self, name: str, includer: str) -> Fetched:
        """Ask for a file.

        Raises:
            MissingError: There is none that may be read.
        """
        self.send({"fetch": str(name)[:1000], "from": str(includer)[:1000]})
        header, payload = self.receive()
        if "missing" in header:
            raise MissingError(header["missing"])
        return Fetched(header["file"], header["path"], header["name"], payload.decode())


class _Job:
    """What one template is rendered with."""

    def __init__(self, renderer: _Renderer, setup: wire.Header) -> None:
        self._renderer = renderer
        self._facts: dict[str, Any] = setup["facts"]
        self._output: int = setup["output"]
        self._lookup = Lookup(renderer.fetch)
        self._units = self._lookup.units

    def run(self, fetched: Fetched) -> None:
        """Render one template and send the result, whatever it is."""
        reserve = bytearray(_RESERVE)
        spent = False
        known = vocabulary(self._facts, lambda name: self._renderer.fetch(name, fetched.name))
        try:
            faults = self._render(fetched, known)
        except BaseException as error:  # a template may raise anything
            del reserve
            faults = self._explain(error, fetched, known)
            spent = isinstance(error, Expired)
            error.__traceback__ = None
            gc.collect()
        if faults:
            self._renderer.send({"faults": faults, "spent": spent})

    def _render(self, fetched: Fetched, known: dict[str, object]) -> Sequence[Fault]:
        template = self._lookup.compile(fetched)
        if undefined := failure.undefined_in(self._units[template.module.__name__], known):
            return undefined
        trace = Trace(fetched.file)
        template.render_context(Context(trace, **known))
        try:
            origins = trace.origins()
        except UnprintableError as error:
            return [failure.unprintable(error, self._units)]
        text = trace.getvalue().encode() if trace.size() <= self._output else b""
        if trace.size() > self._output or len(text) + 8 * len(origins) > wire.payload_limit(self._output):
            sentence = f"gives more than {self._output >> 20} MiB of text"
            return [Fault(fetched.file, 1, 1, sentence, "write many objects as a range: br-[v=1-4000]")]
        self._renderer.send({"text": len(text)}, text + origins.tobytes())
        return ()

    def _explain(self, error: BaseException, fetched: Fetched, known: dict[str, object]) -> Sequence[Fault]:
        try:
            return [failure.fault_of(error, fetched.file, self._lookup, known)]
        except MemoryError:
            return [Fault(fetched.file, 1, 1, "the template ran out of memory")]


def _expire(number: int, _frame: FrameType | None) -> None:
    what = "processor time" if number == signal.SIGXCPU else "time"
    raise Expired(f"the template takes more {what} than it is given")


def main() -> None:
    """Serve until the renderer closes its end; started with nothing but the two pipes."""
    renderer = _Renderer()
    setup, _ = renderer.receive()
    signal.signal(signal.SIGXCPU, _expire)
    signal.signal(signal.SIGALRM, _expire)
    started = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, setup["wall_s"])
    try:
        confine(Bounds(setup["cpu_s"], setup["memory"]), (_INPUT, _OUTPUT))
    except OSError as error:
        renderer.send({"broken": f"the template worker cannot be confined: {error}"})
        return
    manners.teach()
    job = _Job(renderer, setup)
    renderer.send({"ready": started})
    while True:
        header, payload = renderer.receive()
        job.run(Fetched(header["file"], header["path"], header["name"], payload.decode()))
