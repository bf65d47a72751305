# SPDX-License-Identifier: GPL-2.0-or-later
"""Who is asking, as far as the network matters: the two ends of an SSH connection."""

from typing import NamedTuple


class Session(NamedTuple):
    """The addresses that must go on reaching each other; empty for somebody on the console."""

    peer: str = ""
    local: str = ""

    @classmethod
    def from_ssh(cls, connection: str) -> "Session":
        """Read $SSH_CONNECTION: the client's address and port, then the server's."""
        words = connection.split()
        if len(words) != 4:
            return cls()
        return cls(*(word.partition("%")[0].removeprefix("::ffff:") for word in (words[0], words[2])))


CONSOLE = Session()
