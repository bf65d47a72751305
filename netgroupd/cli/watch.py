# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl watch``: each change and each drift as it happens."""

import itertools
import json
import re
import time
from argparse import Namespace
from typing import Any

from netgroupd.cli.command import CommandLineError
from netgroupd.cli.target import is_local
from netgroupd.cli.terminal import Terminal, counted
from netgroupd.service.client import Remote


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print a line for each signal, until interrupted."""
    if is_local(arguments):
        raise CommandLineError("watch shows what the daemon sees; it cannot be offline")

    def tell(path: str, changed: dict[str, Any]) -> None:
        now = time.strftime("%H:%M:%S")
        if terminal.as_json:
            terminal.write(json.dumps({"time": now, "object": path, "changed": changed}))
        else:
            what = path.removeprefix("/org/netgroup1").lstrip("/") or "netgroupd"
            values = "  ".join(itertools.starmap(told, changed.items()))
            terminal.say(f"{terminal.paint(now, 'grey')}  {terminal.paint(what, 'bold')}  {values}")
        terminal.flush()

    Remote().follow(tell)
    return 0


def told(name: str, value: Any) -> str:
    """A property of the bus as people say it."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return f"{words} {_text(name, value)}"


def _text(name: str, value: Any) -> str:
    if name in ("Started", "ConfirmBy"):
        return time.strftime("%H:%M:%S", time.localtime(value / 1e6)) if value else "none"
    if name == "Result" and str(value).startswith("{"):
        answer = json.loads(value)
        made = f", generation {answer['generation']}" if answer["generation"] else ""
        return f"{answer['summary']}{made}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(counted(count, cls) for cls, count in value.items() if count) or "none"
    if isinstance(value, list):
        return f"{len(value)}" if len(value) > 4 else ", ".join(map(str, value)) or "none"
    return str(value) or "none"
