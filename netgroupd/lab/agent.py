# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent in the guest: runs what the host asks for, streams back what it prints.

It runs under any Python 3.11 without site packages, because the time it takes
to start is part of every boot.  When the host goes away, the guest ends.
"""

import fcntl
import os
import selectors
import signal
import struct
import subprocess
import termios
import tty
from collections.abc import Callable
from pathlib import Path

from netgroupd.lab.channel import Command, Decoder, Frame, Kind, encode, unpack_command

_CHUNK = 1 << 16
_NOT_FOUND = 127


class Running:
    """One process, and the streams of it that are still open.

    Not a dataclass: importing those takes a tenth of a second under TCG.
    """

    def __init__(self, popen: subprocess.Popen[bytes], terminal: int | None = None) -> None:
        self.popen = popen
        self.terminal = terminal
        self.streams: set[int] = set()


class Agent:
    """Serves one channel; single-threaded, so frames never interleave."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._decoder = Decoder()
        self._selector = selectors.DefaultSelector()
        self._running: dict[int, Running] = {}
        self._answers: dict[Kind, Callable[[Frame], None]] = {
            Kind.RUN: self._run,
            Kind.INPUT: self._input,
            Kind.KILL: self._kill,
        }

    def serve(self) -> None:
        """Answer frames until the host closes the channel."""
        children, wakeup = os.pipe()
        for end in (children, wakeup):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakeup)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._port, selectors.EVENT_READ, None)
        self._selector.register(children, selectors.EVENT_READ, None)
        self._send(Frame(0, Kind.HELLO))
        while True:
            for key, _ in self._selector.select():
                if key.data is not None:
                    self._forward(key.fd, *key.data)
                elif key.fd == children:
                    os.read(children, _CHUNK)
                elif not self._receive():
                    return
            self._report_exits()

    def _send(self, frame: Frame) -> None:
        rest = memoryview(encode(frame))
        while rest:
            rest = rest[os.write(self._port, rest) :]

    def _receive(self) -> bool:
        received = os.read(self._port, _CHUNK)
        if received:
            self._send(Frame(0, Kind.TAKEN, str(len(received)).encode()))
        for frame in self._decoder.feed(received):
            self._answers[frame.kind](frame)
        return bool(received)

    def _run(self, frame: Frame) -> None:
        command, stdin = unpack_command(frame.payload)
        start = _start_on_terminal if command.terminal else _start_on_pipes
        try:
            running, streams = start(command, stdin)
        except OSError as error:
            self._send(Frame(frame.process, Kind.STDERR, f"{command.argv[0]}: {error.strerror}\n".encode()))
            self._send(Frame(frame.process, Kind.EXIT, str(_NOT_FOUND).encode()))
            return
        for descriptor, kind in streams:
            running.streams.add(descriptor)
            self._selector.register(descriptor, selectors.EVENT_READ, (frame.process, kind))
        self._running[frame.process] = running

    def _input(self, frame: Frame) -> None:
        running = self._running.get(frame.process)
        if running and running.terminal is not None:
            os.write(running.terminal, frame.payload)

    def _kill(self, frame: Frame) -> None:
        running = self._running.get(frame.process)
        if running and running.popen.returncode is None:
            os.killpg(running.popen.pid, signal.SIGKILL)

    def _forward(self, descriptor: int, process: int, kind: Kind) -> None:
        try:
            output = os.read(descriptor, _CHUNK)
        except OSError:  # EIO: the last user of the terminal closed it
            output = b""
        if output:
            self._send(Frame(process, kind, output))
            return
        self._selector.unregister(descriptor)
        os.close(descriptor)
        self._running[process].streams.discard(descriptor)

    def _report_exits(self) -> None:
        for process, running in list(self._running.items()):
            if running.popen.poll() is None:
                continue
            # A daemon that the process left behind may hold its output open
            # for ever: send what is there already, and wait for no more.
            for descriptor in list(running.streams):
                self._drain(descriptor)
            del self._running[process]
            self._send(Frame(process, Kind.EXIT, str(running.popen.returncode).encode()))

    def _drain(self, descriptor: int) -> None:
        process, kind = self._selector.get_key(descriptor).data
        os.set_blocking(descriptor, False)
        streams = self._running[process].streams
        while descriptor in streams:
            try:
                self._forward(descriptor, process, kind)
            except BlockingIOError:
                break
        if descriptor in streams:
            self._selector.unregister(descriptor)
            os.close(descriptor)
            streams.discard(descriptor)


def _start_on_pipes(command: Command, stdin: bytes) -> tuple[Running, list[tuple[int, Kind]]]:
    """Start a process whose output comes back on two streams."""
    with os.fdopen(os.memfd_create("stdin"), "w+b") as source:
        source.write(stdin)
        source.seek(0)
        popen = subprocess.Popen(
            command.argv,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=command.cwd,
            env=dict(command.env),
            start_new_session=True,
        )
    assert popen.stdout
    assert popen.stderr
    streams = [(os.dup(popen.stdout.fileno()), Kind.STDOUT), (os.dup(popen.stderr.fileno()), Kind.STDERR)]
    popen.stdout.close()
    popen.stderr.close()
    return Running(popen), streams


def _start_on_terminal(command: Command, _: bytes) -> tuple[Running, list[tuple[int, Kind]]]:
    """Start a process that has a terminal of the host's size."""
    assert command.terminal
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *command.terminal, 0, 0))
    # Not made a leader first: setsid would fork, and its parent end at once.
    popen = subprocess.Popen(
        ["setsid", "--ctty", *command.argv],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=command.cwd,
        env=dict(command.env),
    )
    os.close(theirs)
    return Running(popen, terminal=ours), [(os.dup(ours), Kind.STDOUT)]


def open_port() -> int:
    """Open the channel: the only such port of a virtual machine, or the only serial line of user mode Linux."""
    ports = Path("/dev").glob("vport*")  # without sysfs the kernel has no name for it
    path = next(ports, None) or "/dev/ttyS0"
    port = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    if os.isatty(port):
        tty.setraw(port)
    return port


def main() -> None:
    """Serve the host until it goes away."""
    os.chdir("/")
    Agent(open_port()).serve()


if __name__ == "__main__":
    main()
