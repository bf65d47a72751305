# SPDX-License-Identifier: GPL-2.0-or-later
"""By which SSH connection somebody came, whatever sudo and tmux make of $SSH_CONNECTION."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from netgroupd.engine.login import Login, believed, is_there, login_of
from netgroupd.engine.session import CONSOLE, Session

HERE, EARLIER = "10.9.0.7 40000 10.0.0.5 22", "10.9.0.7 39999 10.0.0.5 22"
ROW = "   0: {local}:{here:04X} {peer}:{there:04X} {state} 00000000:00000000 00:00000000 00000000     0\n"
ESTABLISHED = ROW.format(local="0500000A", peer="0700090A", here=22, there=40000, state="01")
SHELL, SUDO, SERVER = 300, 200, 100


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """/proc with one connection, and sudo in a shell in a server of terminals."""
    (tmp_path / "net").mkdir()
    (tmp_path / "net/tcp").write_text(f"  sl  local_address rem_address   st\n{ESTABLISHED}")
    for pid, name, parent in ((SUDO, "sudo", SHELL), (SHELL, "odd) S 7 (", SERVER), (SERVER, "tmux: server", 1)):
        (tmp_path / f"{pid}").mkdir()
        (tmp_path / f"{pid}/stat").write_text(f"{pid} ({name}) S {parent} 0 0")
    return tmp_path


def tell(proc: Path, pid: int, connection: str) -> None:
    (proc / f"{pid}/environ").write_bytes(f"HOME=/root\0SSH_CONNECTION={connection}\0X_SSH_CONNECTION=1\0".encode())


@pytest.mark.parametrize(
    ("own", "above", "want"),
    [
        pytest.param("", {}, Login(), id="console"),
        pytest.param(HERE, {}, Login(HERE), id="own"),
        pytest.param("", {SHELL: HERE}, Login(HERE), id="behind_sudo"),
        pytest.param("", {SUDO: HERE}, Login(HERE), id="of_sudo_itself"),
        pytest.param(EARLIER, {}, Login(ended=EARLIER), id="ended"),
        pytest.param("", {SERVER: EARLIER}, Login(ended=EARLIER), id="ended_behind_sudo_in_tmux"),
        pytest.param(EARLIER, {SERVER: HERE}, Login(HERE), id="one_above_is_there"),
        pytest.param("UNKNOWN 65535 UNKNOWN 65535", {SHELL: HERE}, Login(HERE), id="one_that_says_nothing"),
    ],
)
def test_login_is_by_the_nearest_connection_that_is_there(
    proc: Path, own: str, above: dict[int, str], want: Login
) -> None:
    for pid, connection in above.items():
        tell(proc, pid, connection)
    assert login_of({"SSH_CONNECTION": own} if own else {}, SUDO, proc) == want


def test_connection_that_is_being_closed_is_not_there(proc: Path) -> None:
    assert believed(HERE, proc) == Session("10.9.0.7", "10.0.0.5", 40000, 22)
    (proc / "net/tcp").write_text(ESTABLISHED.replace(" 01 ", " 08 "))
    assert believed(HERE, proc) == CONSOLE


@pytest.fixture
def connection() -> Iterator[str]:
    """A connection of this host with itself, as $SSH_CONNECTION would have it."""
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        socket.create_connection(server.getsockname()) as client,
        closing(server.accept()[0]),
    ):
        (peer, peer_port), (local, local_port) = client.getsockname(), client.getpeername()
        yield f"{peer} {peer_port} {local} {local_port}"


def test_connection_is_found_where_the_kernel_tells_of_it(connection: str) -> None:
    session = Session.from_ssh(connection)
    assert is_there(session)
    assert not is_there(session._replace(local_port=session.peer_port))
    assert login_of({"SSH_CONNECTION": connection}, os.getppid()) == Login(connection)


ASKED = "import os; from netgroupd.engine.login import login_of; print(login_of(os.environ, os.getppid()).connection)"


def test_connection_is_found_in_the_process_above_that_has_it(connection: str) -> None:
    # As sudo does; the shell stays, for it has something to do behind it.
    without = ["sh", "-c", 'env -u SSH_CONNECTION "$0" -c "$1"; exit $?', sys.executable, ASKED]
    told = subprocess.run(
        without, env={**os.environ, "SSH_CONNECTION": connection}, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == connection
