# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls on the bus that Ctrl-C can end: where GLib waits for an answer by itself, Python hears of no signal."""

from collections.abc import Iterator
from contextlib import contextmanager

from gi.repository import Gio, GLib

from netgroupd.engine.uninterrupted import interrupted_after

NAME = "org.netgroup1"
_FOREVER = 0x7FFFFFFF
_HEAR_MS = 100


@contextmanager
def own_loop() -> Iterator[GLib.MainLoop]:
    """A loop that nobody else runs: what comes back for the block cannot come before the block runs it.

    It ends now and then, to be run again by who still waits.
    """
    context = GLib.MainContext.new()
    loop = GLib.MainLoop(context)

    def pause(*_: object) -> bool:
        loop.quit()
        return True

    # Python acts on a signal when it runs the next time, and the signal itself wakes the default context alone;
    # one that comes when the loop does not run yet is acted on when it ends.
    tick = GLib.timeout_source_new(_HEAR_MS)
    tick.set_callback(pause)
    tick.attach(context)
    context.push_thread_default()
    try:
        yield loop
    finally:
        context.pop_thread_default()
        tick.destroy()


def call(
    loop: GLib.MainLoop,
    connection: Gio.DBusConnection,
    path: str,
    interface: str,
    method: str,
    arguments: GLib.Variant | None = None,
) -> tuple[GLib.Variant, Gio.UnixFDList | None]:
    """Run ``loop`` until the daemon has answered; return what it said, and the descriptors that came with it.

    Raises:
        GLib.Error: It refused, or cannot be reached.
    """
    ended: list[tuple[GLib.Variant, Gio.UnixFDList | None]] = []
    failed: list[GLib.Error] = []

    def done(source: Gio.DBusConnection, result: Gio.AsyncResult) -> None:
        try:
            ended.append(source.call_with_unix_fd_list_finish(result))
        except GLib.Error as error:
            failed.append(error)
        loop.quit()

    flags = Gio.DBusCallFlags.ALLOW_INTERACTIVE_AUTHORIZATION
    connection.call_with_unix_fd_list(NAME, path, interface, method, arguments, None, flags, _FOREVER, None, None, done)
    while not (ended or failed):
        with interrupted_after():  # GLib writes what its callbacks raise, and goes on
            loop.run()
    if failed:
        raise failed[0]
    return ended[0]
