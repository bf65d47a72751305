# SPDX-License-Identifier: GPL-2.0-or-later
"""Classes and the filters that lead to them, whichever of the two is there first."""

import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.tc_packet_cases import PLAIN
from tests.waiting import eventually

_OPTIONS = {"htb": "rate 100mbit quantum 2000", "hfsc": "sc rate 100mbit", "drr": "quantum 2000"}
# Filters of a class bind the one that they lead to, also where it comes after them, and so do those of the qdisc
# where that is a class itself: it cannot go then. A refusal lets it go, so that the next request is not refused.
_ROWS = (
    ("htb", "1:", [0]),
    ("htb", "1:1", [2, 0]),
    ("hfsc", "1:", [2, 0]),
    ("hfsc", "1:1", [2, 0]),
    ("drr", "1:", [0]),
)


@pytest.fixture
def sender() -> Iterator[socket.socket]:
    """Frames to d0, a dummy through which nothing else goes."""
    Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    subprocess.run(["ip", "link", "add", "d0", "up", "type", "dummy"], check=True)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as opened:
        opened.bind(("d0", 0))
        yield opened
    subprocess.run(["ip", "link", "del", "d0"], check=True)


def _tc(words: str) -> int:
    return subprocess.run(["tc", *words.split()], capture_output=True, check=False).returncode


def _sent(classid: str) -> int:
    show = ("tc", "-s", "class", "show", "dev", "d0")
    shown = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^class \w+ {classid} .*\n Sent \d+ bytes (\d+) pkt", shown, re.MULTILINE)
    assert found, shown
    return int(found[1])


def _sees(sender: socket.socket, classid: str, count: int = 3) -> None:
    before = _sent(classid)
    for _ in range(count):
        sender.send(PLAIN)
    eventually(lambda: _sent(classid) == before + count)


@pytest.mark.parametrize(("kind", "of", "deleted"), _ROWS)
@pytest.mark.parametrize("filters", [1, 3])
def test_class_is_found_by_a_filter_that_was_before_it(
    sender: socket.socket, kind: str, of: str, deleted: list[int], filters: int
) -> None:
    under = "1:" if kind == "drr" else "1:1"
    assert _tc(f"qdisc add dev d0 root handle 1: {kind}") == 0
    if under != "1:":
        assert _tc(f"class add dev d0 parent 1: classid 1:1 {kind} {_OPTIONS[kind]}") == 0
        if of != "1:":
            assert _tc("filter add dev d0 parent 1: pref 1 matchall classid 1:1") == 0
    for number in range(filters):
        other = f"u32 match ip protocol {number + 99} 0xff"
        assert _tc(f"filter add dev d0 parent {of} pref {number + 1} protocol ip {other} classid 1:1{number}") == 0
    assert _tc(f"filter add dev d0 parent {of} pref 9 matchall classid 1:10") == 0
    for _ in range(2):
        for minor in ("20", "10", "30"):
            assert _tc(f"class add dev d0 parent {under} classid 1:{minor} {kind} {_OPTIONS[kind]}") == 0
        _sees(sender, "1:10")
        assert [_tc("class del dev d0 classid 1:10") for _ in deleted] == deleted
        sender.send(PLAIN)
        assert [_tc(f"class del dev d0 classid 1:{minor}") for minor in ("20", "30")] == [0, 0]
