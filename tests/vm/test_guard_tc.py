# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic control that the guard refuses does lose the packets of a session, once it is allowed."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.errors import GuardError
from netgroupd.kernel.netns import entered
from tests.engine.guard_tc_cases import DROP_ALL, IFBS, LOCAL, NO_ROOM, OF_SESSION, PEER, SESSION, TREES, hook

_HERE, _THERE = "here", "there"
_SETUP = f"""\
netns add {_HERE}
netns add {_THERE}
-n {_HERE} link add eth1 numtxqueues 4 type veth peer name eth1 netns {_THERE}
-n {_HERE} link add eth2 up type dummy
-n {_HERE} link add ifb0 up type ifb
-n {_HERE} address add {LOCAL}/8 dev eth1
-n {_THERE} address add {PEER}/8 dev eth1
-n {_HERE} link set eth1 up
-n {_THERE} link set eth1 up
"""
_SOON_S, _LONG_S = 0.2, 20  # what comes at all comes at once; a busy host may be late
_ALLOWED = frozenset({"eth1"})
_IN_HARDWARE = "skip_sw"  # which a veth pair has none of
OF_HOOKS = [(name, hook(now), hook(then)) for name, now, then, cut in OF_SESSION if cut and _IN_HARDWARE not in then]
OF_TREES = [(name, hook(""), then) for name, then, cut in TREES if cut]
OF_IFBS = [(name, now, then) for name, now, then, cut in IFBS if cut]


def ip(text: str) -> None:
    # One after the other: a batch cannot be about several namespaces.
    for line in text.splitlines():
        subprocess.run(["ip", *line.split()], check=True)


class Desk:
    """An engine for one end of a veth pair, and sessions that begin at the other."""

    def __init__(self, directory: Path, server: socket.socket) -> None:
        self.file = directory / "all.yaml"
        self.server = server
        self.engine = Engine(
            Paths((self.file,), directory / "state", directory / "group"), netns=_HERE, session=SESSION
        )

    def wants(self, text: str) -> Engine:
        self.file.write_text(text)
        return self.engine

    def reaches(self, within_s: float = _SOON_S) -> bool:
        """Whether a session begins."""
        for space in (_HERE, _THERE):
            ip(f"-n {space} neigh flush dev eth1")
        with entered(_THERE), closing(socket.socket()) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            client.settimeout(within_s)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # the port is free at once
            client.bind((PEER, SESSION.peer_port))
            try:
                client.connect((LOCAL, SESSION.local_port))
            except OSError:
                return False
            self.server.accept()[0].close()
            return True


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    ip(_SETUP)
    with entered(_HERE):
        server = socket.create_server((LOCAL, SESSION.local_port))
    yield Desk(tmp_path, server)
    server.close()
    ip(f"netns del {_HERE}\nnetns del {_THERE}")


@pytest.mark.vm("stock")
@pytest.mark.parametrize("rows", [OF_HOOKS, OF_TREES, OF_IFBS], ids=["hooks", "trees", "ifbs"])
def test_what_is_refused_would_end_the_session(desk: Desk, rows: list[tuple[str, str, str]]) -> None:
    wrong = []
    for name, now, then in rows:
        engine = desk.wants(now)
        engine.apply(allow=_ALLOWED)
        if not desk.reaches(_LONG_S):
            wrong.append(f"{name}: nothing came before")
        desk.wants(then)
        with pytest.raises(GuardError, match="your session"):
            engine.apply()
        engine.apply(allow=_ALLOWED)
        if desk.reaches():
            wrong.append(f"{name}: it goes on")
    assert not wrong


def test_way_on_from_the_host_is_kept_from_a_rule_that_drops_all(desk: Desk) -> None:
    ip(f"-n {_HERE} route add default via 10.0.0.1")
    console = Engine(desk.engine.paths, netns=_HERE)
    drop = hook("{pref: 9, matchall: {}, action: drop}", "egress")
    desk.wants(drop)
    with pytest.raises(GuardError, match="would cut the way of the default route; --allow eth1"):
        console.apply()
    assert console.diff().steps
    console.apply(allow=_ALLOWED)
    assert not console.diff().steps


def tc(text: str) -> None:
    subprocess.run(["tc", "-n", _HERE, *text.split()], check=True)


_REDIRECTED = "filter add dev eth1 ingress pref 1 matchall action mirred egress redirect dev ifb0"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (["qdisc add dev eth1 clsact", _REDIRECTED], f"tc: {{ifb0: {{{NO_ROOM}}}}}"),
        (
            ["qdisc add dev eth1 ingress_block 7 clsact"],
            f"tc: {{block 7: {{filters: [{DROP_ALL}]}}, eth2: {{ingress_block: 7}}}}",
        ),
    ],
    ids=["ifb", "block"],
)
def test_what_another_tool_leads_the_session_to_is_looked_at(desk: Desk, theirs: list[str], ours: str) -> None:
    for command in theirs:
        tc(command)
    assert desk.reaches(_LONG_S)
    engine = desk.wants(ours)
    with pytest.raises(GuardError, match="your session"):
        engine.apply()
    engine.apply(allow=_ALLOWED)
    assert not desk.reaches()
