# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects on the system bus, through pydbus; the only module that knows pydbus.

A published object is plain Python: a method for each method of its interface,
an attribute for each property, a ``signal()`` for each signal.  A method that
returns a ``Later`` is answered when that is settled.  Errors go out under
their ``dbus_name``.  When the bus is restarted everything is published again.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import pydbus
from gi.repository import Gio, GLib, GObject
from pydbus.generic import signal
from pydbus.registration import ObjectRegistration, ObjectWrapper

from netgroupd.errors import AccessError, NetgroupError
from netgroupd.service.journal import LOG, defect
from netgroupd.service.later import Later
from netgroupd.service.polkit import Right, authorise, identify
from netgroupd.service.work import in_main_loop

__all__ = ["Bus", "Exported", "sayable", "signal"]

NAME = "org.netgroup1"
_RETRY_S = 1
_ROOT = 0


class Exported(Protocol):
    """What the bus needs of an object besides the methods in its interface."""

    INTERFACE: str  # the introspection XML
    caller: int  # the user whose call is performed

    def right(self, method: str, arguments: tuple[object, ...]) -> Right | None:
        """The right that a call needs; None where everybody may make it."""


class _Broadcast(signal):  # type: ignore[misc]
    """What an object has to tell, for the bus; where that has just gone nobody listens, and the next one is asked."""

    def emit(self, *told: object) -> None:
        """Tell it."""
        with suppress(GLib.Error):
            super().emit(*told)


class _Wrapper(ObjectWrapper):  # type: ignore[misc]
    """pydbus's wrapper, with rights, answers that come later, descriptors and named errors."""

    __slots__ = ()
    SignalEmitted = _Broadcast()

    def call_method(
        self,
        connection: Gio.DBusConnection,
        sender: str,
        path: str,
        interface: str,
        method: str,
        parameters: GLib.Variant,
        invocation: Gio.DBusMethodInvocation,
    ) -> None:
        """Answer one call."""
        if interface == "org.freedesktop.DBus.Properties":
            super().call_method(connection, sender, path, interface, method, parameters, invocation)
            _let_go(invocation)
            return

        def known(user: int | None) -> None:
            if user is None:
                _refuse(invocation, AccessError("the caller has left the bus"))
                return

            def act(refusal: NetgroupError | None) -> None:
                if refusal is not None:
                    _refuse(invocation, refusal)
                    return
                self.object.caller = user
                self._perform(f"{interface}.{method}", getattr(self.object, method), parameters, invocation)

            right = self.object.right(method, tuple(parameters))
            if right is None or user == _ROOT:
                act(None)
                return
            flags = invocation.get_message().get_flags()
            interactive = bool(flags & Gio.DBusMessageFlags.ALLOW_INTERACTIVE_AUTHORIZATION)
            authorise(connection, sender, right, interactive, act)

        identify(connection, sender, known)

    def _perform(
        self,
        name: str,
        method: Callable[..., object],
        parameters: GLib.Variant,
        invocation: Gio.DBusMethodInvocation,
    ) -> None:
        out = self.outargs[name]
        try:
            result = method(*parameters)
        except NetgroupError as error:
            _refuse(invocation, error)
        except Exception:  # a defect here must not leave the caller without an answer
            _refuse(invocation, defect())
        else:
            if isinstance(result, Later):
                result.then(lambda value: _answer(invocation, out, value), lambda error: _refuse(invocation, error))
            else:
                _answer(invocation, out, result)


def sayable(text: str) -> str:
    """``text`` as the bus takes it: the kernel's names may be any bytes."""
    return text.encode(errors="backslashreplace").decode()


def _answer(invocation: Gio.DBusMethodInvocation, out: list[str], value: object) -> None:
    if not out:
        invocation.return_value(None)
    elif out == ["h"]:
        handles = Gio.UnixFDList.new_from_array([value])
        invocation.return_value_with_unix_fd_list(GLib.Variant("(h)", (0,)), handles)
    else:
        invocation.return_value(GLib.Variant(f"({''.join(out)})", (value,) if len(out) == 1 else value))
    _let_go(invocation)


def _refuse(invocation: Gio.DBusMethodInvocation, error: NetgroupError) -> None:
    invocation.return_dbus_error(error.dbus_name, sayable(str(error)) or type(error).__name__)
    _let_go(invocation)


def _let_go(invocation: Gio.DBusMethodInvocation) -> None:
    """Free a call that is answered: GLib leaves a reference to each that is nobody's, and with it kilobytes."""

    def drop() -> None:
        if invocation.__grefcount__ > 1:  # one is Python's own
            super(GObject.Object, invocation).unref()

    in_main_loop(drop)  # GLib has one more until the call has returned


def _connection(address: str) -> Gio.DBusConnection:
    """Connect, but not by way of pydbus, which leaves an attribute on the connection.

    An object that has one needs Python's lock whenever GLib takes a second reference to it.  GLib's thread does that
    under the lock that whoever frees another connection waits for, and Python's garbage collection waits with its own.
    """
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    return Gio.DBusConnection.new_for_address_sync(address, flags, None, None)


class Bus:
    """A connection to the bus at ``address`` that owns the name and outlives the bus."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._objects: dict[str, Exported] = {}
        self._registered: dict[str, tuple[ObjectRegistration, _Wrapper]] = {}
        self._bus: pydbus.bus.Bus | None = None
        self._complained = False
        self._stopped = False

    def connect(self) -> bool:
        """Connect and publish; say whether to try again, as a GLib timer wants it."""
        try:
            bus = pydbus.bus.Bus(_connection(self._address))
            bus.con.set_exit_on_close(False)
            bus.con.connect("closed", self._closed)
            self._bus = bus
            for path in self._objects:
                self._register(path)
            bus.request_name(NAME, allow_replacement=False)
        except (GLib.Error, RuntimeError) as error:
            if not self._complained:
                LOG.warning("not on the bus: %s; trying again", getattr(error, "message", error))
            self._complained = True
            self._forget()
            return not self._stopped
        self._complained = False
        return False

    def start(self) -> None:
        """Connect now, or keep trying."""
        if self.connect():
            GLib.timeout_add_seconds(_RETRY_S, self.connect)

    def stop(self) -> None:
        """Leave the bus for good."""
        self._stopped = True
        self._forget()

    def publish(self, path: str, exported: Exported) -> None:
        """Show ``exported`` at ``path``, now and after every reconnection."""
        self._objects[path] = exported
        if self._bus is not None:
            self._register(path)

    def withdraw(self, path: str) -> None:
        """Take away what is at ``path``."""
        self._objects.pop(path, None)
        self._unregister(path)

    def _register(self, path: str) -> None:
        exported = self._objects[path]
        interfaces = Gio.DBusNodeInfo.new_for_xml(exported.INTERFACE).interfaces
        wrapper = _Wrapper(exported, interfaces)
        self._registered[path] = (ObjectRegistration(self._bus, path, interfaces, wrapper, own_wrapper=True), wrapper)

    def _unregister(self, path: str) -> None:
        if path not in self._registered:
            return
        registration, wrapper = self._registered.pop(path)
        registration.unregister()
        # pydbus keeps every object that ever had a signal: let it go.
        _Wrapper.SignalEmitted.map.pop(wrapper, None)
        type(wrapper.object).PropertiesChanged.map.pop(wrapper.object, None)

    def _forget(self) -> None:
        for path in tuple(self._registered):
            self._unregister(path)
        bus, self._bus = self._bus, None
        if bus is None:
            return
        with suppress(GLib.Error):  # it has gone by itself
            bus.con.close_sync(None)
        with suppress(GLib.Error):  # pydbus keeps the connection, and with it a descriptor
            bus.con.get_stream().close(None)

    def _closed(self, connection: Gio.DBusConnection, *_: object) -> None:
        if self._bus is None or connection is not self._bus.con:
            return
        LOG.warning("the bus went away; connecting again")
        self._forget()
        GLib.timeout_add_seconds(_RETRY_S, self.connect)
