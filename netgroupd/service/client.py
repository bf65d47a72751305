# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon as its callers see it: the answers of ``answers``, from over the bus.

Speaks through Gio alone: pydbus takes longer to load than a command may take
to start.
"""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gi.repository import Gio, GLib

from netgroupd.errors import ConfigError, KernelError, NetgroupError, Problem, Refusal
from netgroupd.service.call import NAME, call, own_loop
from netgroupd.service.details import BY_LINE, Answer, Options, Progress, checked
from netgroupd.service.interface import JOB, MANAGER, ROOT

_QUICK_MS = 30_000
_PROPERTIES = "org.freedesktop.DBus.Properties"
_STOPPED = "the daemon does not run; `systemctl start netgroupd` starts it"
_BUS_ERROR = "org.freedesktop.DBus.Error."
# What comes instead of the daemon's answer, by the beginning of the error's name.  Where the bus has systemd start the
# daemon, the refusals of systemd come back: what is not enabled has no alias, and that of what is masked is in the way.
_NOT_THERE = {
    f"{_BUS_ERROR}NoReply": "the daemon has ended; when it starts again it finishes or puts back what it was doing",
    f"{_BUS_ERROR}TimedOut": "the daemon does not come in time; `systemctl status netgroupd` says why",
    f"{_BUS_ERROR}AccessDenied": "the policy of the system bus does not let this user ask the daemon",
    f"{_BUS_ERROR}Spawn.": _STOPPED,
    f"{_BUS_ERROR}ServiceUnknown": _STOPPED,
    f"{_BUS_ERROR}NameHasNoOwner": _STOPPED,
    f"{_BUS_ERROR}FileExists": _STOPPED,
    "org.freedesktop.systemd1.": _STOPPED,
}
_BUS_GONE = "the system bus has gone, and the answer with it; a change that runs goes on"
_GOES_ON = "a change that runs goes on; `netgroupctl watch` shows it"
_PROBLEM = re.compile(r"(.*?):(\d+):(\d+): (warning: )?(.*?)(?:; (.*))?")
_TYPES = {"confirm": "u", "generation": "u", "allow": "as", "session": "s", "format": "s", "origins": "b"}


@contextmanager
def _going_on() -> Iterator[None]:
    """Say of an interrupt that it ends no change: the daemon may have begun it before it answers."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(_GOES_ON)
        raise


class RemoteError(NetgroupError):
    """An error that came over the bus; ``dbus_name`` is its own."""

    def __init__(self, error: GLib.Error) -> None:
        self.dbus_name = Gio.DBusError.get_remote_error(error) or NetgroupError.dbus_name
        answered = error.message.removeprefix(f"GDBus.Error:{self.dbus_name}: ")
        instead = (sentence for name, sentence in _NOT_THERE.items() if self.dbus_name.startswith(name))
        gone = error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CLOSED)
        super().__init__(_BUS_GONE if gone else next(instead, answered))


def _told(error: GLib.Error) -> NetgroupError:
    """The daemon's error as it would be here: problems of files again as problems, each with its line."""
    remote = RemoteError(error)
    if remote.dbus_name != ConfigError.dbus_name:
        return remote
    problems = [_problem(line) for line in str(remote).splitlines()]
    return ConfigError(list(filter(None, problems))) if all(problems) else remote


def _problem(line: str) -> Problem | None:
    found = _PROBLEM.fullmatch(line)
    if found is None:
        return None
    file, number, column, warning, message, hint = found.groups(default="")
    return Problem(file, int(number), int(column), message, hint, _line(Path(file), int(number)), bool(warning))


def _line(file: Path, number: int) -> str:
    """A line of a file, as far as this user may read it."""
    try:
        # What was refused may be no file at all: a FIFO must not stop who only tells of it.
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8", errors="replace") as opened:
            lines = opened.read().split("\n")
    except OSError:
        return ""
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _with_lines(answer: Answer) -> Answer:
    """The answer as it would be here, with the lines of files that the daemon does not show to everybody."""
    for name in BY_LINE:
        for told in answer.get(name, ()):
            if isinstance(told, dict):
                told["text"] = _line(Path(told["file"]), told["line"])
    return answer


def running() -> bool:
    """Whether the daemon is on the bus."""
    return bool(_of_bus("NameHasOwner"))


def main_process() -> int:
    """The number of the daemon's process; 0 if it does not run."""
    return int(_of_bus("GetConnectionUnixProcessID"))


def _of_bus(method: str) -> int:
    """What the bus itself says of the daemon; 0 if there is neither."""
    try:
        connection = Gio.bus_get_sync(Gio.BusType.SYSTEM, None)
        connection.set_exit_on_close(False)  # who asks goes on when the bus does not
        answer = connection.call_sync(
            "org.freedesktop.DBus",
            "/org/freedesktop/DBus",
            "org.freedesktop.DBus",
            method,
            GLib.Variant("(s)", (NAME,)),
            None,
            Gio.DBusCallFlags.NONE,
            _QUICK_MS,
            None,
        )
    except GLib.Error:
        return 0
    return int(answer.unpack()[0])


class Remote:
    """Answers from the daemon; the methods are those of ``Answers``.

    Every method raises what the daemon answered: a ConfigError, or a RemoteError.
    """

    keeps_deadlines = True

    def __init__(self, connection: Gio.DBusConnection | None = None) -> None:
        try:
            self._connection = connection or Gio.bus_get_sync(Gio.BusType.SYSTEM, None)
        except GLib.Error as error:
            raise NetgroupError(f"the system bus, and by it the daemon, cannot be had: {error.message}") from None
        self._connection.set_exit_on_close(False)  # whoever asked is told in a sentence
        self.reloaded = ""  # the job of a reload that has failed: how, the daemon's journal says

    def check(self) -> Answer:
        """Of how many files a configuration is that can be used, and its warnings."""
        return self._open("Check", {})

    def render(self) -> str:
        """The configuration as YAML."""
        return self._read("Render", {})

    def render_lines(self) -> Answer:
        """The configuration as lines of YAML, each with the template's line that it is from."""
        return self._open("Render", {"origins": True})

    def capture(self) -> str:
        """A configuration for what is there."""
        return self._read("Capture", {})

    def diff(self, options: Options) -> Answer:
        """What apply would do."""
        return self._open("Diff", options)

    def estimate(self) -> Answer:
        """What the configuration will cost."""
        return self._open("Estimate", {})

    def status(self) -> Answer:
        """Where things stand, as the daemon sees it."""
        answer: Answer = json.loads(self._call("Status", "()", ())[0])
        return answer | {"daemon": self.properties()}

    def history(self) -> Answer:
        """The generations that are kept."""
        answer: Answer = json.loads(self._call("History", "()", ())[0])
        return answer

    def apply(self, options: Options, progress: Progress | None = None) -> Answer:
        """Apply the configuration."""
        return self._job("Apply", options, progress)

    def rollback(self, options: Options, progress: Progress | None = None) -> Answer:
        """Apply an earlier generation."""
        return self._job("Rollback", options, progress)

    @_going_on()
    def reload(self) -> Answer:
        """Apply the configuration as ``systemctl reload`` does."""

        failed: dict[tuple[str, str], str] = {}

        def changed(*arguments: Any) -> None:
            properties = arguments[5].unpack()[1]
            if "Error" in properties:
                failed[properties["Error"], properties["Result"]] = arguments[2]

        with own_loop() as loop:
            watch = self._subscribe(_PROPERTIES, "PropertiesChanged", None, changed)
            try:
                return self._outcome(loop, ROOT, MANAGER, "Reload")
            except NetgroupError as error:  # of its job, or of none: the daemon may have gone
                self.reloaded = failed.get((error.dbus_name, str(error)), "")
                raise self._whole(error, self.reloaded) from None
            finally:
                self._connection.signal_unsubscribe(watch)

    def confirm(self) -> Answer:
        """Keep the change that waits."""
        self._call("Confirm", "()", ())
        return {"generation": self.properties()["Generation"]}

    def properties(self) -> dict[str, Any]:
        """The properties of the Manager."""
        answer = self._send(ROOT, _PROPERTIES, "GetAll", GLib.Variant("(s)", (MANAGER,)))
        properties: dict[str, Any] = answer.unpack()[0]
        return properties

    def follow(self, tell: Callable[[str, dict[str, Any]], None]) -> None:
        """Call ``tell`` with the Manager and its properties, then with each object that changes, until interrupted."""

        loop = GLib.MainLoop()
        failed: list[Exception] = []

        def gone(*_: object) -> None:
            failed.append(NetgroupError(_BUS_GONE))
            loop.quit()

        def changed(*arguments: Any) -> None:
            try:
                tell(arguments[2], arguments[5].unpack()[1])
            except Exception as error:
                failed.append(error)
                loop.quit()

        self._subscribe(_PROPERTIES, "PropertiesChanged", None, changed)
        self._connection.connect("closed", gone)
        tell(ROOT, self.properties())  # now that nothing can be missed in between
        GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGINT, loop.quit)
        loop.run()
        if failed:
            raise failed[0]

    def _subscribe(self, interface: str, signal_name: str, path: str | None, tell: Callable[..., None]) -> int:
        """Have ``tell`` called with every such signal of the daemon.

        Raises:
            NetgroupError: The bus has gone; GLib would only write so.
        """
        if self._connection.is_closed():
            raise NetgroupError(_BUS_GONE)
        none = Gio.DBusSignalFlags.NONE
        return int(self._connection.signal_subscribe(NAME, interface, signal_name, path, None, none, tell))

    def _call(self, method: str, signature: str, arguments: tuple[object, ...]) -> tuple[Any, ...]:
        answer: tuple[Any, ...] = self._send(ROOT, MANAGER, method, GLib.Variant(signature, arguments)).unpack()
        return answer

    def _send(self, path: str, interface: str, method: str, arguments: GLib.Variant) -> GLib.Variant:
        try:
            with own_loop() as loop:
                return call(loop, self._connection, path, interface, method, arguments)[0]
        except GLib.Error as error:
            raise _told(error) from None

    def _open(self, method: str, options: Options) -> Answer:
        return _with_lines(json.loads(self._read(method, options)))

    def _read(self, method: str, options: Options) -> str:
        arguments = GLib.Variant("(sa{sv})", (method, _variants(options)))
        try:
            with own_loop() as loop:
                answer, handles = call(loop, self._connection, ROOT, MANAGER, "Open", arguments)
        except GLib.Error as error:
            raise _told(error) from None
        assert handles is not None
        with os.fdopen(handles.get(answer.unpack()[0]), encoding="utf-8") as file:
            return file.read()

    @_going_on()
    def _job(self, method: str, options: Options, progress: Progress | None) -> Answer:
        path = ""

        def changed(*arguments: Any) -> None:
            properties = arguments[5].unpack()[1]
            if progress is not None and arguments[2] == path and "Total" in properties and "Done" in properties:
                progress(properties["Done"], properties["Total"])

        with own_loop() as loop:
            # Of every object, and before there is the job: nothing that it tells is missed, and GLib has nothing to
            # write of a bus that goes when it has begun.
            watch = self._subscribe(_PROPERTIES, "PropertiesChanged", None, changed)
            try:
                (path,) = self._call(method, "(a{sv})", (_variants(checked(options)),))
                return self._outcome(loop, path, JOB, "Wait")
            except RemoteError as error:
                raise self._whole(error, path) from None
            finally:
                self._connection.signal_unsubscribe(watch)

    def _outcome(self, loop: GLib.MainLoop, path: str, interface: str, method: str) -> Answer:
        """What a change comes to; nobody knows how long it takes."""
        try:
            outcome = call(loop, self._connection, path, interface, method)[0]
        except GLib.Error as error:
            raise _told(error) from None
        return _with_lines(json.loads(outcome.unpack()[0]))

    def _whole(self, error: NetgroupError, job: str) -> NetgroupError:
        """The error of ``job`` as it would be here: each refusal of the kernel with its number."""
        if error.dbus_name != KernelError.dbus_name or not job:
            return error
        try:
            told = self._send(job, _PROPERTIES, "Get", GLib.Variant("(ss)", (JOB, "Refusals"))).unpack()[0]
        except RemoteError:  # a daemon that is older than this
            return error
        whole = KernelError([Refusal(*refusal) for refusal in told])
        for note in str(error).removeprefix(str(whole)).splitlines()[1:]:
            whole.add_note(note)
        return whole


def _variants(options: Options) -> dict[str, GLib.Variant]:
    return {name: GLib.Variant(_TYPES[name], value) for name, value in options.items() if value is not None}
