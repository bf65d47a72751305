# SPDX-License-Identifier: GPL-2.0-or-later
"""Sentences for what a template tries and may not: raised before the kernel has to refuse.

Not what protects the host (``confine`` does): a call like os.system() hides the
kernel's refusal in a return value, and the operator should hear of it.
"""

import sys

from netgroupd.config.worker.vocabulary import MODULES

_FILES = "templates cannot touch files; use <%include> for templates and variables('name.yaml') for data"
_COMMANDS = "templates cannot start programs or other processes"
_NETWORK = "templates have no network"
_SIGNALS = "templates cannot send signals"
_NATIVE = "templates cannot call native code"

# Audit events by the beginning of their name; the longest that fits decides.
_REFUSED = {
    "open": _FILES,
    "os.": _FILES,
    "glob.": _FILES,
    "shutil.": _FILES,
    "tempfile.": _FILES,
    "pathlib.": _FILES,
    "mmap.": _FILES,
    "sqlite3.": _FILES,
    "os.exec": _COMMANDS,
    "os.fork": _COMMANDS,
    "os.forkpty": _COMMANDS,
    "os.posix_spawn": _COMMANDS,
    "os.spawn": _COMMANDS,
    "os.startfile": _COMMANDS,
    "os.system": _COMMANDS,
    "subprocess.": _COMMANDS,
    "pty.": _COMMANDS,
    "os.kill": _SIGNALS,
    "os.killpg": _SIGNALS,
    "signal.": _SIGNALS,
    "socket.": _NETWORK,
    "urllib.": _NETWORK,
    "http.": _NETWORK,
    "ctypes.": _NATIVE,
    "os.putenv": "",
    "os.unsetenv": "",
}


class ForbiddenError(Exception):
    """A template tried something that templates do not do."""


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event == "import":
        raise ForbiddenError(f"templates cannot import {arguments[0]}; they have {', '.join(MODULES)}")
    fitting = [start for start in _REFUSED if event.startswith(start)]
    sentence = _REFUSED[max(fitting, key=len)] if fitting else ""
    if sentence:
        about = f" ({event} {arguments[0]!r})" if arguments else f" ({event})"
        raise ForbiddenError(sentence + about)


def teach() -> None:
    """Refuse from here on, for good: an audit hook cannot be taken off."""
    sys.addaudithook(_refuse)
