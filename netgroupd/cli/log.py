# SPDX-License-Identifier: GPL-2.0-or-later
"""The system's log, for what no daemon tells of: changes that a command makes, or ends, itself."""

import syslog


def log(priority: int, text: str) -> None:
    """One entry; where nobody keeps a log there is none."""
    syslog.openlog("netgroupctl", syslog.LOG_PID, syslog.LOG_DAEMON)
    # The kernel's names may be any bytes, and a zero would end the entry.
    syslog.syslog(priority, text.encode(errors="backslashreplace").decode().replace("\0", "\\x00"))
