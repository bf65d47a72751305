# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections of IPv6, which a host that runs the tests need not have, are found too."""

import socket
import subprocess
from contextlib import closing

import pytest

from netgroupd.engine.login import is_there
from netgroupd.engine.session import Session


@pytest.mark.vm("stock", cpus=1)
def test_connection_of_ipv6_is_there_until_it_ends() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "replace", "2001:db8::77/128", "dev", "lo"], check=True)
    with (
        closing(socket.create_server(("2001:db8::77", 0), family=socket.AF_INET6)) as server,
        socket.create_connection(server.getsockname()[:2]) as client,
        closing(server.accept()[0]),
    ):
        (peer, peer_port, *_), (local, local_port, *_) = client.getsockname(), client.getpeername()
        session = Session.from_ssh(f"{peer} {peer_port} {local} {local_port}")
        assert is_there(session)
    assert not is_there(session)
