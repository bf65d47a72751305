# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl status``: where things stand."""

import time
from argparse import Namespace

from netgroupd.cli.command import CommandLineError
from netgroupd.cli.target import is_local, keeper
from netgroupd.cli.terminal import Terminal, counted
from netgroupd.errors import NetgroupError
from netgroupd.service.details import Answer

_POLL_S = 0.5
_SHOWN = 10
_ERRORS = NetgroupError.dbus_name.removesuffix("Failed")
_ENDS_IT = "the daemon or the next apply ends it"


def _lines(answer: Answer) -> list[tuple[str, str]]:
    generation, pending = answer["generation"], answer["pending"]
    applied = "none"
    if generation:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(generation["time"]))
        applied = f"{generation['number']}, {generation['result']} {when}"
    owned = ", ".join(counted(count, cls) for cls, count in answer["owned"].items() if count)
    lines = [
        ("namespace", answer["netns"] or "the host's"),
        ("generation", applied),
        ("owned", owned or "nothing"),
        # Before it is confirmed what differs is the change itself.
        ("going back" if pending else "differences", answer["differences"] or "none"),
        ("kernel offers", ", ".join(answer["features"]) or "nothing beyond a stock kernel"),
    ]
    if pending:
        left = f"{pending['seconds_left']:.0f} s left" if pending["seconds_left"] else f"its time is up; {_ENDS_IT}"
        lines.append(("unconfirmed", f"generation {pending['generation']}, {left}"))
    if answer.get("changing"):  # a daemon from before an upgrade does not say
        who = answer.get("changed_by")
        lines.append(("changing", f"a change is being made{f' by {who}' if who else ''}"))
    if answer["interrupted"]:
        lines.append(("interrupted", f"a change was cut off; {_ENDS_IT}"))
    if "daemon" in answer:
        daemon = answer["daemon"]
        came, *more = _last_change(daemon["LastResult"])
        lines.append(("daemon", f"{daemon['State']}, last change: {came}"))
        lines += [("", line) for line in more]
        lines += [("", line) for line in daemon.get("Trouble", "").splitlines()]
        if why := _awaited(daemon):
            lines.append(("not online", why))
    return lines


def _last_change(result: str) -> list[str]:
    """How it ended, in lines: "ok", the name of an error, or a sentence of what was put back and what that leaves."""
    error = result.removeprefix(_ERRORS)
    return [f"failed ({error})"] if error != result else (result or "none").split("; ", 1)


def _awaited(properties: Answer) -> str:
    """What the host is not online for, in words."""
    names = properties.get("Awaited") or ()  # a daemon from before an upgrade does not say
    more = [f"{len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
    return f"it waits for {', '.join([*names[:_SHOWN], *more])}" if names else ""


def _wait_online(seconds: int) -> None:
    from netgroupd.service.client import Remote  # noqa: PLC0415 - loads GLib, which other uses need not wait for

    end = time.monotonic() + seconds
    remote = Remote()
    while not (said := remote.properties())["Online"]:
        if time.monotonic() > end:
            why = _awaited(said) or f"the daemon is {said['State']}"
            raise NetgroupError(f"not online after {seconds} s: {why}")
        time.sleep(_POLL_S)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print the status, or wait until everything is up."""
    if arguments.wait_online is not None:
        if is_local(arguments):
            raise CommandLineError("--wait-online asks the daemon; it cannot be offline")
        _wait_online(arguments.wait_online)
        return 0
    answer = keeper(arguments).status()
    if terminal.as_json:
        terminal.answer(answer)
        return 0
    lines = _lines(answer)
    if "daemon" not in answer and not is_local(arguments):
        lines.append(("daemon", "does not run"))
    for head, text in lines:
        terminal.say(f"{terminal.paint(f'{head:>13}', 'bold')}  {text}")
    return 0
