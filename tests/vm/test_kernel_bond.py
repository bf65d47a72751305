# SPDX-License-Identifier: GPL-2.0-or-later
"""Light bonds, whose works share the queue of their namespace: each looks after its ports, and goes while others do."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

import pytest

from tests.vm.kernel_netlink import (
    DELLINK,
    GROUP,
    INFO_DATA,
    LIGHT,
    LINKINFO,
    MASTER,
    NEWLINK,
    Netlink,
    attr,
    parse,
    u32,
)
from tests.waiting import eventually

pytestmark = pytest.mark.vm("patched", cpus=2)
_NO_SYSFS = 32
_CARRIER = 33
_MODE, _ACTIVE, _MIIMON = 1, 2, 3  # attributes of a bond
_ACTIVE_BACKUP, _MODES = 1, 7
_GROUP = 5


@pytest.fixture
def nl() -> Iterator[Netlink]:
    """A socket."""
    with Netlink() as opened:
        yield opened


def make(nl: Netlink, name: str, mode: int, light: int = _NO_SYSFS) -> tuple[int, list[int]]:
    """A bond that looks at its two ports each millisecond, and those; all of a group, and up."""
    weight = attr(LIGHT, light) if light else b""
    data = attr(_MODE, bytes((mode,))) + attr(_MIIMON, 1)
    bond = nl.add_link(name, "bond", attr(GROUP, _GROUP), weight, data=data)
    ports = [nl.add_link(f"{name}p{k}", "dummy", attr(GROUP, _GROUP)) for k in range(2)]
    for port in ports:
        assert nl.link(NEWLINK, attr(MASTER, bond), index=port).error == 0
    assert nl.link(NEWLINK, index=bond, up=True).error == 0
    return bond, ports


def active(nl: Netlink, bond: int) -> int:
    """The port that a bond sends through, 0 if there is none."""
    data = parse(parse(nl.get(bond)[LINKINFO])[INFO_DATA])
    return u32(data[_ACTIVE]) if _ACTIVE in data else 0


def become(nl: Netlink, ports: Mapping[int, int]) -> None:
    """Wait until each bond sends through its port."""
    eventually(lambda: all(active(nl, bond) == port for bond, port in ports.items()))


def threads() -> set[str]:
    """The kernel's threads that wait for there to be no memory."""
    names = (path.read_text().strip() for path in Path("/proc").glob("[0-9]*/comm"))
    return {name for name in names if name.startswith("kworker/R-")}


def test_light_bond_has_no_thread_of_its_own(nl: Netlink) -> None:
    nl.add_link("first", "bond", attr(LIGHT, _NO_SYSFS))
    before = threads()
    for k in range(3):
        nl.add_link(f"light{k}", "bond", attr(LIGHT, _NO_SYSFS))
    nl.add_link("whole", "bond")
    assert threads() - before == {"kworker/R-whole"}


def queues() -> set[str]:
    """The threads of the queues that light bonds share; those of namespaces that end go a little later."""
    names = ((path.parent.name, path.read_text()) for path in Path("/proc").glob("[0-9]*/comm"))
    return {number for number, name in names if name.startswith("kworker/R-bond_")}


def elsewhere() -> subprocess.Popen[bytes]:
    """A process that has made two light bonds in a namespace of its own, and stays there."""
    stays = "import signal; from tests.vm.kernel_netlink import LIGHT, Netlink, attr; nl = Netlink().__enter__(); "
    makes = f"[nl.add_link(f'b{{k}}', 'bond', attr(LIGHT, {_NO_SYSFS})) for k in range(2)]; "
    return subprocess.Popen(
        ("unshare", "--net", sys.executable, "-c", stays + makes + "print(flush=True); signal.pause()"),
        stdout=subprocess.PIPE,
    )


def test_light_bonds_do_not_wait_for_those_of_another_namespace(nl: Netlink) -> None:
    nl.add_link("light", "bond", attr(LIGHT, _NO_SYSFS))
    mine = queues()
    with elsewhere() as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"\n"
            theirs = queues() - mine
            assert len(theirs) == 1
        finally:
            other.kill()
    eventually(lambda: not theirs & queues())


def test_each_light_bond_sees_that_a_port_fails(nl: Netlink) -> None:
    bonds = [make(nl, f"b{k}", _ACTIVE_BACKUP) for k in range(5)]
    become(nl, {bond: first for bond, (first, _) in bonds})
    for _, (first, _) in bonds[1:]:
        assert nl.link(NEWLINK, attr(_CARRIER, b"\0"), index=first).error == 0
    become(nl, {bond: second for bond, (_, second) in bonds[1:]})
    assert active(nl, bonds[0][0]) == bonds[0][1][0]


def test_light_bonds_go_while_their_works_run(nl: Netlink) -> None:
    stays, (first, second) = make(nl, "stays", _ACTIVE_BACKUP)
    for index in (stays, first, second):
        assert nl.link(NEWLINK, attr(GROUP, 0), index=index).error == 0
    for round_ in range(5):
        made = [make(nl, f"b{mode}", mode, light=_NO_SYSFS * (mode != round_)) for mode in range(_MODES)]
        for port in chain.from_iterable(ports for _, ports in made):
            assert nl.link(NEWLINK, attr(_CARRIER, b"\0"), index=port).error == 0
        assert nl.link(DELLINK, attr(GROUP, _GROUP)).error == 0
        assert nl.links(attr(GROUP, _GROUP)) == {}
    become(nl, {stays: first})
    assert nl.link(NEWLINK, attr(_CARRIER, b"\0"), index=first).error == 0
    become(nl, {stays: second})
