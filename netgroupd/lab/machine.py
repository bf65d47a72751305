# SPDX-License-Identifier: GPL-2.0-or-later
"""A running guest: boot it, run commands in it, move files in and out, end it.

Whatever happens to the guest or to the caller, what runs it ends with the
``with`` block, and a fault that the kernel reports is raised as an error.
"""

import compileall
import itertools
import os
import queue
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from netgroupd.errors import LabError
from netgroupd.lab import qemu, user_mode
from netgroupd.lab.boot import Guest, Image, Way
from netgroupd.lab.channel import Command, Decoder, Frame, Kind, encode, pack_command
from netgroupd.lab.console import excerpt, faults

_CHUNK = 1 << 18
_BOOT_LIMIT_S = 300.0
_KILL_LIMIT_S = 10.0
_CONSOLE, _COMPLAINTS = "console", "complaints"
_bound: Counter[int] = Counter()  # how many of this program's guests each processor runs
_binding = threading.Lock()
# How many bytes may be on their way to the agent.  A serial line of user mode Linux whose
# buffer of 4 KiB was full once is never read again.
_WINDOW = 1 << 20
_WINDOWS = {Way.USER_MODE: 3 << 10}
_ENVIRONMENT = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "TERM": os.environ.get("TERM", "dumb"),
    "PYTHONDONTWRITEBYTECODE": "1",
}


@contextmanager
def _a_processor() -> Iterator[int]:
    """One with the fewest guests; any of those, so that several programs at once do not all begin with the same one."""
    with _binding:
        processor = min(os.sched_getaffinity(0), key=lambda number: (_bound[number], random.random()))
        _bound[processor] += 1
    try:
        yield processor
    finally:
        with _binding:
            _bound[processor] -= 1


def _let_keep_files(kernel: int) -> None:
    """Let a kernel that is a process hold each file open that the guest has read; a shell allows 1,024 at first."""
    most = int(Path("/proc/sys/fs/nr_open").read_text())
    for limit in (most, resource.getrlimit(resource.RLIMIT_NOFILE)[1]):
        with suppress(PermissionError):
            resource.prlimit(kernel, resource.RLIMIT_NOFILE, (limit, limit))
            break


class Result(NamedTuple):
    """How a command in the guest ended."""

    status: int
    stdout: str
    stderr: str


class Process:
    """One command running in the guest."""

    def __init__(self, machine: "Machine", number: int) -> None:
        self._machine = machine
        self._number = number
        self._frames: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self.status: int | None = None

    def deliver(self, frame: Frame | None) -> None:
        """Take one frame from the guest; None when there will be no more."""
        self._frames.put(frame)

    def next_output(self, timeout_s: float) -> Frame | None:
        """Return what the process prints next; None when it has exited.

        Raises:
            LabError: The time is up, or the guest died.
        """
        try:
            frame = self._frames.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            raise LabError("the time is up") from None
        if frame is None:
            raise LabError(self._machine.why_it_died())
        if frame.kind is not Kind.EXIT:
            return frame
        self.status = int(frame.payload)
        return None

    def output(self, timeout_s: float) -> Iterator[Frame]:
        """Yield what the process prints until it exits.

        Raises:
            LabError: The time is up, or the guest died.
        """
        deadline = time.monotonic() + timeout_s
        while frame := self.next_output(deadline - time.monotonic()):
            yield frame

    def type(self, keys: bytes) -> None:
        """Send keys to the terminal of the process."""
        self._machine.send(Frame(self._number, Kind.INPUT, keys))

    def kill(self) -> None:
        """End the process and everything in its process group."""
        self._machine.send(Frame(self._number, Kind.KILL))


class Machine:
    """A guest, booted on entry and gone on exit."""

    def __init__(self, guest: Guest, image: Image, *, lifetime_s: float = 3600.0) -> None:
        self._guest = guest
        self._image = image
        self._lifetime_s = lifetime_s
        self._processes: dict[int, Process] = {0: Process(self, 0)}
        self._running: subprocess.Popen[bytes] | None = None
        self._held = ExitStack()
        self._numbers = itertools.count(1)
        self._sending = threading.Lock()
        self._window = _WINDOWS.get(image.way, _WINDOW)
        self._taken = threading.Condition()
        self._on_the_way = 0
        self._ended = False
        self._seen_faults = 0

    def __enter__(self) -> Self:
        # Guests write no bytecode: each start of a command in one would compile all of netgroupd again.
        compileall.compile_dir(self._guest.python_path / "netgroupd", quiet=2)
        self._directory = Path(tempfile.mkdtemp(prefix="netgroupd-lab-"))
        self._started = time.monotonic()
        try:
            self._start()
            self._await_hello()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self.boot_s = time.monotonic() - self._started
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._running:
            self._timer.cancel()
            self.kill()
            self._running.wait()
            self._reader.join()
            assert self._running.stdin
            assert self._running.stdout
            self._running.stdin.close()
            self._running.stdout.close()
        self._held.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def pid(self) -> int:
        """Return the number of the process that runs the guest."""
        assert self._running
        return self._running.pid

    def kill(self) -> None:
        """End the guest at once; whoever waits for it gets a LabError."""
        if self._running and self._running.returncode is None:
            # A kernel that is a process has one for each of its own.
            with suppress(ProcessLookupError):
                os.killpg(self._running.pid, signal.SIGKILL)

    def _command(self) -> tuple[tuple[str, ...], str]:
        """Return what runs the guest, and the file for its complaints."""
        if self._image.way is Way.USER_MODE:
            processor = self._held.enter_context(_a_processor())
            return user_mode.command_line(self._guest, self._image, processor, self._directory), _CONSOLE
        if not shutil.which(qemu.PROGRAM):
            raise LabError(f"{qemu.PROGRAM} is not installed (Debian: apt-get install qemu-system-x86)")
        return qemu.command_line(self._guest, self._image, self._directory / _CONSOLE), _COMPLAINTS

    def _start(self) -> None:
        command, messages = self._command()
        with (self._directory / messages).open("ab") as errors:
            self._running = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        _let_keep_files(self._running.pid)
        self._timer = threading.Timer(self._lifetime_s, self.kill)
        self._timer.daemon = True
        self._timer.start()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _await_hello(self) -> None:
        hello = self._processes[0].next_output(_BOOT_LIMIT_S)
        assert hello
        assert hello.kind is Kind.HELLO

    def _read(self) -> None:
        """Hand every frame to its process, until the guest ends."""
        assert self._running
        assert self._running.stdout
        decoder = Decoder()
        while received := os.read(self._running.stdout.fileno(), _CHUNK):
            for frame in decoder.feed(received):
                if frame.kind is Kind.TAKEN:
                    with self._taken:
                        self._on_the_way -= int(frame.payload)
                        self._taken.notify()
                    continue
                last = frame.kind is Kind.EXIT
                process = self._processes.pop(frame.process) if last else self._processes[frame.process]
                process.deliver(frame)
        with self._taken:
            self._ended = True
            self._taken.notify()
        for process in list(self._processes.values()):
            process.deliver(None)

    def send(self, frame: Frame) -> None:
        """Send one frame to the guest.

        Raises:
            LabError: The guest died.
        """
        assert self._running
        assert self._running.stdin
        rest = memoryview(encode(frame))
        with self._sending:
            try:
                while rest:
                    room = self._room(len(rest))
                    piece, rest = rest[:room], rest[room:]
                    while piece:
                        piece = piece[os.write(self._running.stdin.fileno(), piece) :]
            except BrokenPipeError as error:
                raise LabError(self.why_it_died()) from error

    def _room(self, wanted: int) -> int:
        """Wait until the guest can take something; return how much of what is wanted, which is then on its way."""
        with self._taken:
            self._taken.wait_for(lambda: self._ended or self._on_the_way < self._window)
            if self._ended:
                raise BrokenPipeError
            room = min(wanted, self._window - self._on_the_way)
            self._on_the_way += room
            return room

    def start(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        cwd: str | Path = "/",
        env: Mapping[str, str] | None = None,
        terminal: tuple[int, int] | None = None,
    ) -> Process:
        """Start a command in the guest and return without waiting."""
        number = next(self._numbers)
        process = self._processes[number] = Process(self, number)
        command = Command(tuple(argv), str(cwd), {**_ENVIRONMENT, **(env or {})}, terminal)
        self.send(Frame(number, Kind.RUN, pack_command(command, stdin)))
        return process

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        stdin: bytes = b"",
        cwd: str | Path = "/",
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run a command in the guest to its end.

        Raises:
            LabError: The time is up, the guest died, or its kernel reported a fault.
        """
        status, stdout, stderr = self._collect(self.start(argv, stdin=stdin, cwd=cwd, env=env), argv, timeout_s)
        return Result(status, stdout.decode(errors="replace"), stderr.decode(errors="replace"))

    def put(self, path: str | Path, content: bytes) -> None:
        """Write a file in the guest.

        Raises:
            LabError: It cannot be written.
        """
        got = self.run(["tee", "--", str(path)], stdin=content, timeout_s=_BOOT_LIMIT_S)
        if got.status:
            raise LabError(got.stderr.strip())

    def get(self, path: str | Path) -> bytes:
        """Return the content of a file in the guest.

        Raises:
            LabError: It cannot be read.
        """
        argv = ["cat", "--", str(path)]
        status, content, complaint = self._collect(self.start(argv), argv, _BOOT_LIMIT_S)
        if status:
            raise LabError(complaint.decode().strip())
        return content

    def _collect(self, process: Process, argv: Sequence[str], timeout_s: float) -> tuple[int, bytes, bytes]:
        output: dict[Kind, list[bytes]] = {Kind.STDOUT: [], Kind.STDERR: []}
        try:
            for frame in process.output(timeout_s):
                output[frame.kind].append(frame.payload)
        except LabError as error:
            self._stop(process, output)
            printed = b"".join(output[Kind.STDOUT] + output[Kind.STDERR]).decode(errors="replace")
            raise LabError(f"{' '.join(argv)}: {error}\n{printed}".rstrip()) from error
        self.check()
        assert process.status is not None
        return process.status, b"".join(output[Kind.STDOUT]), b"".join(output[Kind.STDERR])

    def _stop(self, process: Process, output: Mapping[Kind, list[bytes]]) -> None:
        """End a process that took too long, with all that it has printed; the whole guest where that does not help."""
        try:
            process.kill()
            for frame in process.output(_KILL_LIMIT_S):
                output[frame.kind].append(frame.payload)
        except LabError:
            self.kill()

    def console(self) -> str:
        """Return everything the kernel has printed."""
        return self._printed(_CONSOLE)

    def _printed(self, name: str) -> str:
        try:
            return (self._directory / name).read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def check(self) -> None:
        """Say so when the kernel has reported a fault since the last check.

        Raises:
            LabError: It has; the message shows the console from there.
        """
        console = self.console()
        found = faults(console)
        new, self._seen_faults = found[self._seen_faults :], len(found)
        if new:
            raise LabError(f"the guest's kernel reports: {new[0]}\n{excerpt(console[console.index(new[0]) :])}")

    def why_it_died(self) -> str:
        """Return the reason why the guest is gone, as far as anybody knows."""
        lived_s = time.monotonic() - self._started
        console = self.console()
        if lived_s >= self._lifetime_s:
            ended = f"the guest was ended after its {self._lifetime_s:.0f} s"
            return f"{ended}\n{excerpt(console)}" if faults(console) else ended
        complaint = self._printed(_COMPLAINTS).strip()
        return "\n".join(filter(None, (f"the guest ended after {lived_s:.1f} s", complaint, excerpt(console))))
