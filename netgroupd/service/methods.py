# SPDX-License-Identifier: GPL-2.0-or-later
"""The object at /org/netgroup1: each method decodes, calls, and encodes."""

import fcntl
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from netgroupd import __version__
from netgroupd.engine.engine import Engine
from netgroupd.engine.login import believed
from netgroupd.engine.session import CONSOLE, Session
from netgroupd.errors import BusyError, UsageError
from netgroupd.service.answers import Answers, encode
from netgroupd.service.bus import sayable, signal
from netgroupd.service.changes import Changes
from netgroupd.service.details import Answer, Options, checked
from netgroupd.service.interface import MANAGER, interface
from netgroupd.service.later import Later
from netgroupd.service.polkit import Right
from netgroupd.service.work import Worker

T = TypeVar("T")
_ALL = "all"  # who asks, where it is asked once for everybody
_LONGEST = 1_000_000  # bytes that a reply may have
# Whoever gets a file may rely on it as on a reply.
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_CHANGE = {"confirm": int, "allow": list, "session": str}
_OPTIONS: Mapping[str, Mapping[str, type]] = {
    "Check": {},
    "Render": {"origins": bool},
    "Diff": {"format": str, "session": str},
    "Estimate": {},
    "Capture": {},
    "Apply": _CHANGE,
    "Rollback": {**_CHANGE, "generation": int},
}
_CALLED = {int: "a number", list: "an array of strings", str: "a string", bool: "a boolean"}
_READS: Mapping[str, Callable[[Answers, Options], Answer | str]] = MappingProxyType(
    {
        "Check": lambda answers, _: answers.check(),
        "Render": lambda answers, options: answers.render_lines() if options.get("origins") else answers.render(),
        "Diff": lambda answers, options: answers.diff(options),
        "Estimate": lambda answers, _: answers.estimate(),
        "Capture": lambda answers, _: answers.capture(),
    }
)

_RIGHTS: Mapping[str, Right] = MappingProxyType(
    {
        **dict.fromkeys(("Render", "Capture"), Right.RENDER),
        **dict.fromkeys(("Apply", "Reload", "Confirm", "Rollback"), Right.CHANGE),
    }
)


class Manager:
    """Everything that callers can ask of the daemon."""

    INTERFACE = interface(MANAGER)
    PropertiesChanged = signal()
    caller = 0
    JobNew = signal()
    JobEnded = signal()

    def __init__(self, engine: Callable[[Session], Engine], changes: Changes) -> None:
        self._engine = engine
        self._changes = changes
        self._reads = Worker("reads", 16)
        self._awaited: dict[tuple[object, object], Later[Any]] = {}  # what is asked already, by whom, and not begun
        self.Version = __version__
        self.State = "starting"
        self.Generation = 0
        self.ConfirmBy = 0
        self.Drift = 0
        self.Counts: dict[str, int] = {}
        self.Features: list[str] = []
        self.LastResult = ""
        self.Trouble = ""
        self.Online = False
        self.Awaited: list[str] = []
        self.Groups: list[str] = []

    def right(self, method: str, arguments: tuple[object, ...]) -> Right | None:
        """Reading is for everybody, but for texts that may hold keys; changing is not."""
        return _RIGHTS.get(str(arguments[0]) if method == "Open" else method)

    def Check(self, options: Options) -> Later[str]:
        """Read and check the files."""
        return self._read("Check", options)

    def Render(self, options: Options) -> Later[str]:
        """The YAML of the templates."""
        return self._read("Render", options)

    def Diff(self, options: Options) -> Later[str]:
        """What Apply would do."""
        return self._read("Diff", options)

    def Estimate(self, options: Options) -> Later[str]:
        """What the configuration will cost."""
        return self._read("Estimate", options)

    def Capture(self, options: Options) -> Later[str]:
        """A configuration for what is there."""
        return self._read("Capture", options)

    def Open(self, method: str, options: Options) -> Later[int]:
        """A result of any size as a memory file."""
        return self._answer(method, options, _memory_file)

    def Status(self) -> Later[str]:
        """Where things stand."""
        return self._ask(_ALL, "Status", lambda answers: encode(answers.status()))

    def History(self) -> Later[str]:
        """The generations that are kept."""
        return self._ask(_ALL, "History", lambda answers: encode(answers.history()))

    def Apply(self, options: Options) -> str:
        """Start a change."""
        return self._changes.apply(_known("Apply", options)).path

    def Reload(self) -> Later[str]:
        """Apply, and answer when it is done."""
        return self._changes.reload().outcome

    def Confirm(self) -> Later[str]:
        """Keep what waits."""
        return self._changes.confirm()

    def Rollback(self, options: Options) -> str:
        """Start going back."""
        return self._changes.rollback(_known("Rollback", options)).path

    def change(self, **properties: Any) -> None:
        """Set properties and signal those that are new."""
        changed = {name: value for name, value in properties.items() if getattr(self, name) != value}
        for name, value in changed.items():
            setattr(self, name, value)
        if changed:
            self.PropertiesChanged(MANAGER, changed, [])

    def _read(self, method: str, options: Options) -> Later[str]:
        return self._answer(method, options, _bounded)

    def _answer(self, method: str, options: Options, form: Callable[[bytes], T]) -> Later[T]:
        if method not in _READS:
            raise UsageError(f"Open: expected one of {', '.join(_READS)}, not {method!r}")
        _known(method, options)
        session = believed(str(options.get("session", "")))
        asked = (method, *sorted(options.items()))
        read = _READS[method]
        text = self._ask(self.caller, asked, lambda answers: sayable(encode(read(answers, options))).encode(), session)
        return text.formed(form)

    def _ask(
        self, who: object, asked: object, question: Callable[[Answers], T], session: Session = CONSOLE
    ) -> Later[T]:
        """Ask once for all of ``who`` that ask the same before it is begun: however many do at once, all are answered.

        Raises:
            BusyError: Too much else was asked.
        """
        if awaited := self._awaited.get((who, asked)):
            return awaited
        later = self._awaited[who, asked] = Later[T]()
        answers = Answers(self._engine(session))

        def begin() -> T:
            del self._awaited[who, asked]  # who asks from here on may know of something newer
            return question(answers)

        try:
            self._reads.submit(begin, later.settle, later.refuse, who)
        except BusyError:
            del self._awaited[who, asked]
            raise
        return later


def _known(method: str, options: Options) -> Options:
    unknown = sorted(options.keys() - _OPTIONS[method])
    if unknown:
        known = ", ".join(sorted(_OPTIONS[method])) or "none"
        raise UsageError(f"{method}: there is no option {unknown[0]!r}; known: {known}")
    for name, value in options.items():
        kind = _OPTIONS[method][name]
        if not _fits(value, kind):
            raise UsageError(f"{method}: {name} is {_CALLED[kind]}, not {value!r}")
    return checked(options)


def _fits(value: object, kind: type) -> bool:
    if isinstance(value, list):
        return kind is list and all(isinstance(each, str) for each in value)
    return type(value) is kind  # to Python a boolean is a number too


def _bounded(text: bytes) -> str:
    text = text.replace(b"\0", rb"\x00")  # which would end it; a template may give one
    if len(text) > _LONGEST:
        raise UsageError(f"the result has {len(text)} bytes, over the {_LONGEST} of a reply; Open gives it as a file")
    return text.decode()


def _memory_file(text: bytes) -> int:
    with os.fdopen(os.memfd_create("netgroup", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "wb") as file:
        file.write(text)
        file.seek(0)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
        return os.dup(file.fileno())
