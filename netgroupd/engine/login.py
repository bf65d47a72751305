# SPDX-License-Identifier: GPL-2.0-or-later
"""By which SSH connection somebody came, as far as /proc tells.

sudo and su leave $SSH_CONNECTION out of what they run, so it is looked for in the
processes above as well.  In what outlives its login, as tmux and screen do, it tells of
a connection that may have ended long ago: only one that is there is believed.
"""

import sys
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from netgroupd.engine.session import CONSOLE, Session

_PROC = Path("/proc")
_VARIABLE = "SSH_CONNECTION"
_MOST = 100  # processes above one another
_ESTABLISHED = "01"
_IP4_IN_IP6 = bytes(10) + b"\xff\xff"


class Login(NamedTuple):
    """The nearest connection that is there, as $SSH_CONNECTION has it; else the nearest that is told of."""

    connection: str = ""
    ended: str = ""


def login_of(environment: Mapping[str, str], parent: int, proc: Path = _PROC) -> Login:
    """By what the user of a process with such an environment and parent came."""
    ended = ""
    for told in (environment.get(_VARIABLE, ""), *_told_above(parent, proc)):
        if told and is_there(Session.from_ssh(told), proc):
            return Login(told)
        ended = ended or told
    return Login(ended=ended)


def believed(told: str, proc: Path = _PROC) -> Session:
    """The session of which somebody tells, if its connection is there."""
    session = Session.from_ssh(told)
    return session if is_there(session, proc) else CONSOLE


def _packed(text: str) -> bytes:
    """An address as the kernel holds it, but for one with a scope; raises ValueError.

    Apart from the model, which takes longer to load than a daemon takes to answer.
    """
    if "%" in text:
        raise ValueError("expected an address without a scope")
    return ip_address(text).packed


def is_there(session: Session, proc: Path = _PROC) -> bool:
    """Whether the session's connection is one of this network namespace."""
    try:
        ends = [
            (_packed(address), port)
            for address, port in ((session.local, session.local_port), (session.peer, session.peer_port))
        ]
    except ValueError:
        return False
    if len(ends[0][0]) != len(ends[1][0]):
        return False
    if len(ends[0][0]) == len(_IP4_IN_IP6) + 4:
        return _is_in(proc / "net/tcp6", ends)
    # A server of both protocols has IPv4 within IPv6.
    wrapped = [(_IP4_IN_IP6 + address, port) for address, port in ends]
    return _is_in(proc / "net/tcp", ends) or _is_in(proc / "net/tcp6", wrapped)


def _is_in(table: Path, ends: list[tuple[bytes, int]]) -> bool:
    row = f" {' '.join(f'{_words(address)}:{port:04X}' for address, port in ends)} {_ESTABLISHED} "
    try:
        with table.open(encoding="ascii") as lines:
            return any(row in line for line in lines)
    except OSError:  # without IPv6 there is none for it
        return False


def _words(address: bytes) -> str:
    """An address as /proc writes it: each four bytes as this host would read a number."""
    words = (address[start : start + 4] for start in range(0, len(address), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


def _told_above(pid: int, proc: Path) -> Iterator[str]:
    """What the processes from ``pid`` up have in the variable, as far as this user may know."""
    prefix = f"{_VARIABLE}=".encode()
    for _ in range(_MOST):
        if pid <= 1:
            return
        try:
            found = (proc / f"{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            found = []
        yield from (each.removeprefix(prefix).decode(errors="replace") for each in found if each.startswith(prefix))
        try:
            # Behind the name, which may have anything in it: the state and the parent.
            pid = int((proc / f"{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
