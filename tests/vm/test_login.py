# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections that a server of IPv6 takes, of IPv4 too: a host that runs the tests need not have IPv6."""

import socket
import subprocess
from contextlib import closing

import pytest

from netgroupd.engine.login import is_there
from netgroupd.engine.session import Session


@pytest.mark.vm("stock")
@pytest.mark.parametrize("address", ["2001:db8::77", "127.0.0.1"])
def test_connection_to_a_server_of_ipv6_is_there_until_it_ends(address: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "replace", "2001:db8::77/128", "dev", "lo"], check=True)
    with (
        closing(socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)) as server,
        socket.create_connection((address, server.getsockname()[1])) as client,
        closing(server.accept()[0]),
    ):
        (peer, peer_port, *_), (local, local_port, *_) = client.getsockname(), client.getpeername()
        session = Session.from_ssh(f"{peer} {peer_port} {local} {local_port}")
        assert is_there(session)
        assert not is_there(session._replace(local_port=session.peer_port))
    assert not is_there(session)
