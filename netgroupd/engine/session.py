# SPDX-License-Identifier: GPL-2.0-or-later
"""Who is asking, as far as the network matters: the two ends of an SSH connection."""

import re
from typing import NamedTuple

_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)


class Session(NamedTuple):
    """The addresses that must go on reaching each other, and the ports, 0 where nobody knows them.

    Empty for somebody on the console.
    """

    peer: str = ""
    local: str = ""
    peer_port: int = 0
    local_port: int = 0

    @classmethod
    def from_ssh(cls, connection: str) -> "Session":
        """Read $SSH_CONNECTION: the client's address and port, then the server's."""
        words = connection.split()
        if len(words) != 4:
            return cls()
        peer, local = (word.partition("%")[0].removeprefix("::ffff:") for word in (words[0], words[2]))
        peer_port, local_port = (int(word) if _PORT.fullmatch(word) else 0 for word in (words[1], words[3]))
        return cls(peer, local, peer_port, local_port)


CONSOLE = Session()
