# SPDX-License-Identifier: GPL-2.0-or-later
"""Log records as journal entries with fields of their own, and as lines on stderr.

``LOG.info("applied", extra=fields(generation=7))`` becomes an entry that
``journalctl NETGROUP_GENERATION=7`` finds.
"""

import logging
import struct
import sys
from pathlib import Path

from netgroupd.errors import ConfigError, KernelError, NetgroupError, Problem, notes_of
from netgroupd.service.notify import send_datagram

LOG = logging.getLogger("netgroupd")
_SOCKET = "/run/systemd/journal/socket"
_LONGEST = 64 * 1024  # beyond this a datagram would need a memory file
_PRIORITIES = {logging.CRITICAL: 2, logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6, logging.DEBUG: 7}


def fields(**values: object) -> dict[str, object]:
    """``extra`` for a log call: each value becomes the field NETGROUP_<NAME>."""
    return {"netgroup": {f"NETGROUP_{name.upper()}": str(value) for name, value in values.items()}}


def encode(entry: dict[str, str]) -> bytes:
    """One entry in the journal's native format; values with line breaks carry their length."""
    parts = []
    for name, value in entry.items():
        payload = value[:_LONGEST].encode(errors="surrogateescape")
        if b"\n" in payload:
            parts.append(name.encode() + b"\n" + struct.pack("<Q", len(payload)) + payload + b"\n")
        else:
            parts.append(name.encode() + b"=" + payload + b"\n")
    return b"".join(parts)


class JournalHandler(logging.Handler):
    """Write each record to the journal."""

    def emit(self, record: logging.LogRecord) -> None:
        """Send one entry; a journal that is away loses it rather than stopping the daemon."""
        message = record.getMessage()
        if record.exc_info:
            message += "\n" + logging.Formatter().formatException(record.exc_info)
        entry = {
            "MESSAGE": message,
            "PRIORITY": str(_PRIORITIES.get(record.levelno, 6)),
            "SYSLOG_IDENTIFIER": "netgroupd",
            "CODE_FILE": record.pathname,
            "CODE_LINE": str(record.lineno),
            "CODE_FUNC": record.funcName or "",
            **getattr(record, "netgroup", {}),
        }
        send_datagram(_SOCKET, encode(entry))


def start_logging() -> None:
    """Log to the journal where there is one, and to stderr where there is none or somebody looks at it."""
    journal = Path(_SOCKET).exists()
    if journal:
        LOG.addHandler(JournalHandler())
    if not journal or (sys.stderr is not None and sys.stderr.isatty()):
        LOG.addHandler(logging.StreamHandler(sys.stderr))
    LOG.setLevel(logging.INFO)
    LOG.propagate = False


def log_error(error: NetgroupError, kind: str = "", **context: object) -> None:
    """One entry for each problem or refusal, with the file and line or the object it is about.

    Any other error tells of nothing that it is about: of the ``kind`` of change, then.
    """
    if isinstance(error, ConfigError):
        for problem in error.problems:
            log_problem(problem, **context)
    elif isinstance(error, KernelError):
        for refusal in error.refusals:
            where = {"object": refusal.what, "errno": refusal.errno, "origin": refusal.origin}
            LOG.error("%s", refusal, extra=fields(**context, **where))
        for note in notes_of(error):
            LOG.error("%s", note, extra=fields(**context))
    else:
        LOG.error("%s%s", f"{kind}: " if kind else "", error, extra=fields(**context))


def log_problem(problem: Problem, **context: object) -> None:
    """One entry, with the file and line that it is about."""
    level = logging.WARNING if problem.warning else logging.ERROR
    LOG.log(level, "%s", problem, extra=fields(**context, file=problem.file, line=problem.line))


def defect() -> NetgroupError:
    """Log the trace of what nobody foresaw, while it is handled; the error for who asked."""
    LOG.exception("netgroupd has a defect")
    return NetgroupError("netgroupd has a defect; the journal has its trace")
