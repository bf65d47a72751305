# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may call what: everybody may read, administrators may change.

Root may do everything and is never asked.  Anybody else is put to polkit,
which may ask for a password when the caller allows it.  Where polkit does not
run, only root has these rights.  What needs no right is open to everybody.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from gi.repository import Gio, GLib

from netgroupd.errors import AccessError

_PATIENCE_MS = 120_000  # somebody may be typing a password


class Right(StrEnum):
    """The actions of polkit's policy file."""

    RENDER = "org.netgroup1.render"
    CHANGE = "org.netgroup1.change"


_Answered: TypeAlias = Callable[["GLib.Variant | None", "GLib.Error | None"], None]


def _ask(
    connection: Gio.DBusConnection,
    target: tuple[str, str, str, str],
    arguments: GLib.Variant,
    reply: str,
    answered: _Answered,
) -> None:
    def finish(source: Gio.DBusConnection, result: Gio.AsyncResult) -> None:
        try:
            answer = source.call_finish(result)
        except GLib.Error as error:
            answered(None, error)
        else:
            answered(answer, None)

    connection.call(*target, arguments, GLib.VariantType(reply), Gio.DBusCallFlags.NONE, _PATIENCE_MS, None, finish)


def identify(connection: Gio.DBusConnection, sender: str, then: Callable[[int | None], None]) -> None:
    """Call ``then`` with the user that ``sender`` is, or None where it has left the bus."""

    def finish(answer: GLib.Variant | None, _: GLib.Error | None) -> None:
        then(None if answer is None else answer.unpack()[0])

    bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetConnectionUnixUser")
    _ask(connection, bus, GLib.Variant("(s)", (sender,)), "(u)", finish)


def authorise(
    connection: Gio.DBusConnection,
    sender: str,
    right: Right,
    interactive: bool,
    verdict: Callable[[AccessError | None], None],
) -> None:
    """Find out whether ``sender``, who is not root, has ``right`` and give ``verdict`` None, or the refusal."""

    def polkit_said(answer: GLib.Variant | None, error: GLib.Error | None) -> None:
        if answer is None:
            assert error is not None
            verdict(AccessError(f"only root may do this: polkit did not answer ({error.message})"))
            return
        allowed, challenge, _ = answer.unpack()[0]
        wanted = f"{right} needs an administrator; be root" + (", or authenticate" if challenge else "")
        verdict(None if allowed else AccessError(wanted))

    subject = ("system-bus-name", {"name": GLib.Variant("s", sender)})
    question = GLib.Variant("((sa{sv})sa{ss}us)", (subject, str(right), {}, int(interactive), ""))
    authority = (
        "org.freedesktop.PolicyKit1",
        "/org/freedesktop/PolicyKit1/Authority",
        "org.freedesktop.PolicyKit1.Authority",
        "CheckAuthorization",
    )
    _ask(connection, authority, question, "((bba{ss}))", polkit_said)
