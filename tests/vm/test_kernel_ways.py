# SPDX-License-Identifier: GPL-2.0-or-later
"""The only route of a link to where many links lead is found at the link; all are asked where one has a nexthop object.

What is found must be the same both ways.
"""

import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

_LINKS = tuple(f"d{number}" for number in range(16))
_IN_VRF = _LINKS[10:]
_TO = ("fe80::99", "fe80:1::5", "ff02::1", "ff05::7", "ff0e::7", "2001:db8::9")
_DESTINATIONS = ("fe80::/64", "fe80::/64", "fe80::/10", "fe80::99", "ff00::/8", "ff00::/8", "ff02::/16", "default")
_TABLES = ("main", "local", "7", "9")
_LAST = "metric 4294967295"


def batch(lines: Iterator[str]) -> str:
    """What ip says of them, whatever it is refused."""
    command = ("ip", "-6", "-force", "-batch", "-")
    return subprocess.run(command, input="\n".join(lines), check=False, capture_output=True, text=True).stdout


def setup() -> Iterator[str]:
    yield "link add name red up type vrf table 7"
    yield "link add name far up type dummy"
    for number, link in enumerate(_LINKS):
        yield f"link add name {link} index {number + 100} up type dummy"
        yield f"address add fe80::{number + 1:x}/64 dev {link} nodad"
    yield from (f"link set {link} master red" for link in _IN_VRF)


def edit(draw: random.Random) -> str:
    """A change of some route, or of what has routes."""
    number = draw.randrange(len(_LINKS))
    link, other = _LINKS[number], draw.choice(_LINKS)
    to, table = draw.choice(_DESTINATIONS), draw.choice((*["7" if link in _IN_VRF else "main"] * 4, "local", "9"))
    metric = draw.choice((10, 256, 256, 300))
    place = f"{to} dev {link} metric {metric} table {table}"
    edits: tuple[Callable[[], str], ...] = (
        lambda: f"link set {link} {draw.choice(('down', 'up', 'up'))}",
        lambda: f"route {draw.choice(('add', 'append', 'replace', 'append multicast', 'append local'))} {place}",
        lambda: f"route append {place} pref {draw.choice(('low', 'high'))}",
        lambda: f"route append {draw.choice(('unreachable', 'prohibit', 'blackhole'))} {place}",
        lambda: f"route append {place} via fe80::{number:x}",
        lambda: f"route add {to} metric {metric} table {table} nexthop dev {link} nexthop dev {other}",
        lambda: f"route delete {to} dev {link} table {table}",
        lambda: f"route delete {draw.choice(('unreachable', 'prohibit', 'blackhole'))} {to} table {table}",
        lambda: f"rule {draw.choice(('add', 'delete'))} pref {draw.randrange(1, 4)} oif {link} lookup 9",
    )
    return draw.choice(edits)()


def ask_all() -> Iterator[str]:
    """Have all routes to these be asked from now on: the node of each has had one with a nexthop object."""
    yield "nexthop add id 1 dev far"
    for to in sorted(set(_DESTINATIONS)):
        for table in _TABLES:
            yield from (f"route {verb} {to} nhid 1 {_LAST} table {table}" for verb in ("add", "delete"))


def questions() -> Iterator[str]:
    for to in _TO:
        for link in (*_LINKS, "red", "lo"):
            yield f"route get {to} oif {link}"
            yield f"route get {to} from fe80::99 iif {link}"
            yield f"route get fibmatch {to} oif {link}"


@pytest.mark.vm("patched")
@pytest.mark.parametrize("seed", range(6))
def test_the_way_found_at_a_link_is_the_one_among_all(seed: int) -> None:
    draw = random.Random(seed)
    Path("/proc/sys/net/ipv6/conf/default/accept_dad").write_text("0", encoding="ascii")
    batch(setup())
    batch(edit(draw) for _ in range(60))
    found = batch(questions())
    batch(ask_all())
    assert batch(questions()) == found
    assert len(set(found.splitlines())) > 60
