# SPDX-License-Identifier: GPL-2.0-or-later
"""Every exception netgroupd raises on purpose.

NetgroupError
├── ConfigError     the operator edits a file; carries every problem found
├── KernelError     the kernel refused steps; carries every refusal
├── VerifyError     every step was accepted, the result is not what was asked
├── RejectedError   the files ask for what was rolled back; nothing of them was applied
├── GuardError      the plan would cut off the operator; nothing was done
├── JournalError    what is on disk cannot be written or trusted
├── BusyError       another change is running or waits to be confirmed
├── AccessError     the caller lacks a right or a privilege
├── UsageError      the request itself makes no sense
└── LabError        the lab cannot be built or booted, or its kernel reported a fault

One class per person who has to act, not one per module that raises.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Problem(NamedTuple):
    """One thing that is wrong in a file, at a line that the operator wrote."""

    file: str
    line: int
    column: int
    message: str
    hint: str = ""
    text: str = ""
    warning: bool = False

    def __str__(self) -> str:
        kind = "warning: " if self.warning else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.file}:{self.line}:{self.column}: {kind}{self.message}{hint}"

    def repeated(self, more: int) -> "Problem":
        """The problem, where ``more`` like it are of the same line."""
        return self._replace(message=f"{self.message} (and {more:,} more of this line)") if more else self

    def pointed(self, paint: Callable[[str], str] = str) -> str:
        """The problem in its ``paint``, its line below, and a caret below that."""
        if not self.text.strip():
            return paint(str(self))
        # The caret moves as far as the terminal moves for what is before it.
        before = "".join("\t" if letter == "\t" else " " for letter in self.text[: self.column - 1])
        return f"{paint(str(self))}\n    {self.text}\n    {before}^"


def notes_of(error: BaseException) -> tuple[str, ...]:
    """What has been noted about ``error`` since: that it could not be made good, for instance."""
    return tuple(getattr(error, "__notes__", ()))


class NetgroupError(Exception):
    """The root: shown to the operator as one sentence, never as a traceback; each note is a line below it."""

    exit_code = 1
    dbus_name = "org.netgroup1.Error.Failed"

    def __str__(self) -> str:
        return "\n".join((super().__str__(), *notes_of(self)))


class ConfigError(NetgroupError):
    """The configuration cannot be used; ``problems`` says everything that is wrong."""

    dbus_name = "org.netgroup1.Error.Config"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class Refusal(NamedTuple):
    """The kernel's answer to one message: which step, which errno, its own sentence."""

    what: str
    errno: int
    sentence: str
    origin: str = ""

    def __str__(self) -> str:
        where = f"{self.origin}: " if self.origin else ""
        return f"{where}{self.what}: {self.sentence}"


class KernelError(NetgroupError):
    """The kernel refused at least one step."""

    dbus_name = "org.netgroup1.Error.Kernel"

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        self.refusals = tuple(refusals)
        super().__init__("\n".join(map(str, self.refusals)))


class VerifyError(NetgroupError):
    """Every step was accepted and the kernel still differs from what was asked."""

    dbus_name = "org.netgroup1.Error.Verify"


class RejectedError(NetgroupError):
    """The files ask for what an operator has decided against; at boot they are not applied."""

    dbus_name = "org.netgroup1.Error.Rejected"


class GuardError(NetgroupError):
    """The plan would cut the path of the default route or of the session asking."""

    dbus_name = "org.netgroup1.Error.Guard"


class JournalError(NetgroupError):
    """The journal or a generation cannot be written, read or trusted."""

    dbus_name = "org.netgroup1.Error.Journal"


class BusyError(NetgroupError):
    """Another change is running, or one waits for its confirmation."""

    dbus_name = "org.netgroup1.Error.Busy"


class AccessError(NetgroupError):
    """The caller lacks a right or a privilege."""

    dbus_name = "org.netgroup1.Error.AccessDenied"


class UsageError(NetgroupError):
    """The request itself makes no sense: an unknown generation, a bad option."""

    dbus_name = "org.netgroup1.Error.Usage"


class LabError(NetgroupError):
    """The lab cannot be built or booted, or the kernel in it reported a fault."""

    dbus_name = "org.netgroup1.Error.Lab"


# pip cannot install it, and nothing says so before.
NO_GLIB = "GLib for Python is missing (Debian: python3-gi, for /usr/bin/python3)"


def short_of(error: OSError | MemoryError) -> NetgroupError:
    """What the system itself lacks, a descriptor or memory, as a sentence with what has been noted about it."""
    if isinstance(error, MemoryError):
        short = NetgroupError("there is not enough memory")
    else:
        about = f" ({error.filename})" if error.filename else ""
        short = NetgroupError(f"the system lacks what this needs: {error.strerror or error}{about}")
    for note in notes_of(error):
        short.add_note(note)
    return short
