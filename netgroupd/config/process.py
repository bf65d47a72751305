# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker process as its parent sees it: started, spoken to with a deadline, ended.

A fresh interpreter rather than a fork: it is started in the same 0.1 s, has none
of the daemon's memory, locks or descriptors, and limits on its address space
mean something.
"""

import contextlib
import importlib.util
import os
import select
import signal
import sys
import time
from pathlib import Path

from netgroupd.config.worker import wire

# Three things would double the worker's time to start, for nothing: the rest of
# this package, what Mako looks for plug-ins with, and Pygments, which it loads to
# colour HTML tracebacks.
BOOT = """
import sys, types
package = types.ModuleType("netgroupd.config")
package.__path__ = [sys.argv[1] + "/netgroupd/config"]
plugins = types.ModuleType("importlib.metadata")
sys.modules.update({"netgroupd.config": package, "importlib.metadata": plugins, "pygments": None})
sys.path += sys.argv[1:]
from netgroupd.config.worker.main import main
main()
"""
_LIBRARIES = ("mako", "markupsafe", "yaml")
_INPUT, _OUTPUT = 3, 4
_CHUNK = 1 << 20
_START_S = 120  # a host that boots, or an emulated one, may be this slow to load Python; it is no template's fault
_LATE_S = 2  # how long after its own alarm the worker may still explain itself


class WorkerError(Exception):
    """The worker is gone; the sentence says of what."""


class Worker:
    """One worker; ``idle`` when it waits for a template and can be used again."""

    def __init__(self, output: int) -> None:
        self._deadline = time.monotonic() + _START_S
        self._payload_limit = wire.payload_limit(output)
        self.idle = True
        self._pid: int | None = None
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        try:
            self._pid = _spawn(to_read, to_write)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(to_read)
            os.close(to_write)
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)

    def allow(self, wall_s: float) -> None:
        """Give the templates this much time from now on."""
        self._deadline = time.monotonic() + wall_s + _LATE_S

    def send(self, header: wire.Header, payload: bytes = b"") -> None:
        """Send one message.

        Raises:
            WorkerError: It cannot take it any more.
        """
        self.idle = False
        rest = memoryview(wire.pack(header, payload))
        while rest:
            self._wait(self._to, select.POLLOUT)
            try:
                rest = rest[os.write(self._to, rest[:_CHUNK]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise WorkerError(self._cause()) from None

    def receive(self) -> tuple[wire.Header, bytes]:
        """Read one message.

        Raises:
            WorkerError: It ended, or had to be ended.
            GarbledError: It sent something else.
        """
        return wire.read(self._exactly, self._payload_limit)

    def _exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            self._wait(self._from, select.POLLIN)
            try:
                part = os.read(self._from, min(size - len(received), _CHUNK))
            except BlockingIOError:
                continue
            if not part:
                raise WorkerError(self._cause())
            received += part
        return bytes(received)

    def _wait(self, descriptor: int, event: int) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        if not poll.poll(max(self._deadline - time.monotonic(), 0) * 1000):
            raise WorkerError("the template takes more time than it is given")

    def _cause(self) -> str:
        """Wait for the end of a process that closed its pipes, and word its cause."""
        status = self._reap(os.WNOHANG)
        for _ in range(100):
            if status is not None:
                break
            time.sleep(0.01)
            status = self._reap(os.WNOHANG)
        if status is None or not os.WIFSIGNALED(status):
            return "the template ended its worker"
        number = os.WTERMSIG(status)
        if number in (signal.SIGXCPU, signal.SIGKILL):
            return "the template takes more processor time or memory than it is given"
        return f"the template crashed its worker ({signal.strsignal(number)})"

    def _reap(self, options: int) -> int | None:
        if self._pid is None:
            return None
        try:
            pid, status = os.waitpid(self._pid, options)
        except ChildProcessError:  # somebody waits for all children, or ignores them
            self._pid = None
            return 0
        if pid:
            self._pid = None
            return status
        return None

    def close(self) -> None:
        """End the process, if it has not ended."""
        os.close(self._to)
        os.close(self._from)
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._reap(0)


def _spawn(to_read: int, to_write: int) -> int:
    places = dict.fromkeys([str(Path(__file__).parents[2]), *map(_place_of, _LIBRARIES)])
    # The pipes' numbers may be 3 and 4 themselves: move them out of the way first.
    spare = max(to_read, to_write, _OUTPUT) + 1
    actions = [
        (os.POSIX_SPAWN_DUP2, to_read, spare),
        (os.POSIX_SPAWN_DUP2, to_write, spare + 1),
        (os.POSIX_SPAWN_DUP2, spare, _INPUT),
        (os.POSIX_SPAWN_DUP2, spare + 1, _OUTPUT),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", BOOT, *places],
        {"PATH": "/usr/bin:/bin"},
        file_actions=actions,
        setpgroup=0,
        setsigmask=(),
        setsigdef=(signal.SIGPIPE, signal.SIGINT, signal.SIGTERM),
    )


def _place_of(module: str) -> str:
    found = importlib.util.find_spec(module)
    if not found or not found.origin:
        raise WorkerError(f"templates need the Python library {module}, which is not installed")
    return str(Path(found.origin).parents[1])
