# SPDX-License-Identifier: GPL-2.0-or-later
"""Multicast groups of bridge ports on a real kernel: gone and back with what they are on, and whose they are."""

import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial

import pytest

from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import look
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.transaction import plan_for, plan_now
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.message import NLM_F_CREATE, NLM_F_EXCL, attr, nest, request
from netgroupd.kernel.netlink.request import EVERYTHING, Selection
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.model.state import Key, Object, State
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.step import Op, Step
from tests.engine.universe import state_of
from tests.vm.pipeline import Pipeline
from tests.vm.stumbling import MINE, Stumbling, become, ip, to_and_fro, told
from tests.vm.tc_wire import ETH_P_ALL, MARK, eth, ip4, udp
from tests.waiting import PATIENCE_S, eventually

_ALL = Selection(classes=frozenset({"mdb"}), links=frozenset({"b0"}))
SETUP = """
link add b0 type bridge mcast_igmp_version 3
link add p1 type dummy
link add p2 type dummy
link set p1 up master b0
link set p2 up master b0
link set b0 up
"""
BARE = {
    "ipv4": ("b0", "p1", "239.1.1.1", 0, None),
    "ipv4-sender": ("b0", "p1", "239.1.1.1", 0, "192.0.2.7"),
    "ipv4-vlan": ("b0", "p1", "239.1.1.1", 7, None),
    "ipv6": ("b0", "p1", "ff05::5", 0, None),
    "ipv6-sender": ("b0", "p1", "ff05::5", 0, "2001:db8::7"),
    "layer2": ("b0", "p1", "01:00:00:00:00:05", 0, None),
    "layer2-vlan": ("b0", "p1", "01:00:00:00:00:05", 7, None),
    "bridge": ("b0", "b0", "01:00:00:00:00:05", 0, None),
}

BRIDGE = "br: {kind: bridge, up: true, mac: '02:00:00:00:00:01', mcast_igmp_version: 3, %s}"
PORTS = "p1: {kind: dummy, up: true, master: br}, p2: {kind: dummy, up: true, master: br}"
GROUPS = """
mdb:
- {dev: br, port: "p[1-2]", group: "239.1.1.[1-3]"}
- {dev: br, port: p1, group: 239.1.2.1, source_list: [192.0.2.8, 192.0.2.7]}
- {dev: br, port: p1, group: 239.1.2.2, source_list: [192.0.2.8, 192.0.2.7], filter_mode: include}
- {dev: br, port: p2, group: 239.1.2.3, src: 192.0.2.7}
- {dev: br, port: br, group: "01:00:00:00:00:05"}
- {dev: br, port: p2, group: "01:00:00:00:00:05"}
"""
OF_P2 = """
mdb:
- {dev: br, port: p2, group: "239.1.1.[1-3]"}
- {dev: br, port: p2, group: 239.1.2.3, src: 192.0.2.7}
- {dev: br, port: br, group: "01:00:00:00:00:05"}
"""
OTHER_LISTS = """
mdb:
- {dev: br, port: p1, group: 239.1.2.1, source_list: [192.0.2.9, 192.0.2.7], filter_mode: include}
- {dev: br, port: p1, group: 239.1.2.2, source_list: null, filter_mode: exclude}
"""

OF_VLANS = """
mdb:
- {{dev: br, port: p1, group: 239.1.1.1, vid: {}, source_list: [192.0.2.7]}}
- {{dev: br, port: p2, group: 239.1.1.1, vid: {}}}
"""
SNOOPED = "vlan_filtering: true, mcast_vlan_snooping: true, vlans: ['[7-8]']"


def said(groups: str = GROUPS, ports: str = PORTS, more: str = "", bridge: str = BRIDGE) -> State:
    said_of_bridge = f"{bridge % more}, " if bridge else ""
    return state_of(f"links: {{{said_of_bridge}{ports}}}\n{groups}")


WAYS = [
    pytest.param(said(), said(groups=""), id="groups_go"),
    pytest.param(said(), said(OF_P2), id="some_groups_go"),
    pytest.param(said(), said(OTHER_LISTS), id="lists_change"),
    pytest.param(said(), said(OF_P2, PORTS.replace("master: br", "master: null", 1)), id="port_leaves"),
    pytest.param(said(), said(OF_P2, "p2: {kind: dummy, up: true, master: br}"), id="port_goes"),
    pytest.param(said(), said("", PORTS.replace(", master: br", ""), bridge=""), id="bridge_goes"),
    pytest.param(said(), said(more="mst_enabled: true"), id="ports_leave_and_come_back"),
    pytest.param(said(), said("", bridge=BRIDGE.replace("up: true", "up: false")), id="bridge_goes_down"),
    pytest.param(said(more="mcast_snooping: true"), said("", more="mcast_snooping: false"), id="bridge_ceases_to_look"),
    pytest.param(
        said(more="vlan_filtering: false"), said("", more="vlan_filtering: true"), id="bridge_tells_vlans_apart"
    ),
    pytest.param(said(OF_VLANS.format(1, 7), more=SNOOPED), said(OF_VLANS.format(7, 8), more=SNOOPED), id="vlans"),
]


def listed() -> list[str]:
    """All entries for good, as ``bridge`` tells them."""
    found = told("bridge", "-d", "mdb", "show").splitlines()
    return sorted(" ".join(line.split()) for line in found if "permanent" in line)


@pytest.mark.vm("stock")  # the messages are the same on both
@pytest.mark.parametrize(("before", "after"), WAYS)
def test_groups_are_back_after_any_refusal(kernel: Stumbling, before: State, after: State) -> None:
    become(kernel, before)
    assert len(listed()) > len(before.of("mdb"))  # with what the kernel makes of lists
    to_and_fro(kernel, before, after, listed)


@pytest.fixture
def pipeline() -> Iterator[Pipeline]:
    subprocess.run(["ip", "-batch", "-"], input=SETUP, text=True, check=True)
    with Kernel() as kernel:
        yield Pipeline(kernel, _ALL)


@pytest.mark.parametrize("key", BARE.values(), ids=BARE)
def test_entry_without_attributes_is_made_and_taken_away(pipeline: Pipeline, key: Key) -> None:
    entry = Object("mdb", key, {})
    assert [step.op for step in pipeline.reach("mdb", entry)] == [Op.CREATE]
    assert [step.op for step in pipeline.reach("mdb")] == [Op.DELETE]
    assert not pipeline.actual.of("mdb")


def bridge(command: str) -> None:
    ip(f"netns exec engine bridge {command}")


def become_here(kernel: Stumbling, goal: State) -> Snapshot:
    """Bring ``goal`` about; what was there before."""
    actual = look(kernel, goal, MINE)
    snapshot = Snapshot.of(plan_for(kernel, goal, actual, kernel.keep(goal)), actual)
    become(kernel, goal)
    return snapshot


def test_what_others_have_put_there_stays_theirs(kernel: Stumbling) -> None:
    become(kernel, said(groups=""))
    bridge("mdb add dev br port p1 grp 239.7.7.7 permanent")
    bridge("mdb add dev br port p1 grp 239.1.1.1 permanent")
    before = listed()
    assert not plan_now(kernel, said(groups=""), MINE)[0].steps
    snapshot = become_here(kernel, said())
    assert not plan_now(kernel, said(), MINE)[0].steps
    assert sum("239.7.7.7" in line and "proto static" in line for line in listed()) == 1
    assert sum("grp 239.1.1.1 " in line and "proto static" in line for line in listed()) == 0
    put_back(kernel, snapshot, MINE)
    assert listed() == before


def test_what_is_learnt_is_never_looked_at(kernel: Stumbling) -> None:
    cable = "p1: {kind: veth, peer: q1, up: true, master: br}, q1: {up: true, addresses: [192.0.2.1/24]}, p2: {}"
    empty = said("", cable + ", p3: {kind: dummy, master: br}", more="mcast_querier: true")
    become(kernel, empty)
    ip("address add 239.1.1.1/32 dev q1 autojoin")
    eventually(lambda: "239.1.1.1" in told("bridge", "mdb", "show"))
    found = kernel.dump(EVERYTHING._replace(classes=frozenset({"mdb"}))).of("mdb")
    assert not found
    assert not plan_now(kernel, empty, MINE)[0].steps
    wanted = said('mdb: [{dev: br, port: p1, group: "239.1.1.1"}]', cable, more="mcast_querier: true")
    become(kernel, wanted)
    assert any("239.1.1.1" in line for line in listed())


@pytest.mark.parametrize("how", ["down", "type bridge mcast_snooping 0"])
def test_groups_go_from_a_bridge_that_was_shut_meanwhile(kernel: Stumbling, how: str) -> None:
    become(kernel, said(more="mcast_snooping: true"))
    ip(f"link set dev br {how}")
    become(kernel, said(groups="", more="mcast_snooping: true"))
    assert not listed()


def test_host_in_a_group_is_no_business_of_other_bridges(pipeline: Pipeline) -> None:
    subprocess.run(["ip", "link", "add", "b9", "up", "type", "bridge"], check=True)
    subprocess.run(
        ["bridge", "mdb", "add", "dev", "b9", "port", "b9", "grp", "01:00:00:00:00:06", "permanent"], check=True
    )
    assert not pipeline.look().of("mdb")
    whole = pipeline.kernel.dump(EVERYTHING._replace(classes=frozenset({"mdb"}))).of("mdb")
    assert [*whole] == [("b9", "b9", "01:00:00:00:00:06", 0, None)]


def test_entry_of_others_is_marked_as_theirs(pipeline: Pipeline) -> None:
    subprocess.run(["bridge", "mdb", "add", "dev", "b0", "port", "p1", "grp", "239.7.7.7", "permanent"], check=True)
    (found,) = pipeline.kernel.dump(EVERYTHING._replace(classes=frozenset({"mdb"}))).of("mdb").values()
    assert found.attrs[UNOWNED] == 4  # static


def test_senders_of_a_list_are_no_entries_of_their_own_even_where_no_list_is_told(pipeline: Pipeline) -> None:
    entry = Object("mdb", BARE["ipv4"], {"source_list": ("192.0.2.7",)})
    pipeline.reach("mdb", entry)
    subprocess.run(["ip", "link", "set", "b0", "type", "bridge", "mcast_igmp_version", "2"], check=True)
    assert {key: dict(obj.attrs) for key, obj in pipeline.look().of("mdb").items()} == {entry.key: {}}


def test_other_ends_of_a_vxlan_for_a_group_are_none_of_a_bridge() -> None:
    subprocess.run(["ip", "link", "add", "vx", "up", "type", "vxlan", "id", "7", "dstport", "4789"], check=True)
    with Kernel() as kernel, Socket() as raw:
        assert kernel.has_link("vx")
        index = kernel.names.index("vx")
        entry = struct.pack("=IBBH4s12x2s2x", index, 1, 0, 0, socket.inet_aton("239.1.1.1"), b"\x08\0")
        other_end = nest(2, attr(5, socket.inet_aton("192.0.2.9")))
        told = request(84, NLM_F_CREATE | NLM_F_EXCL, struct.pack("=BxxxI", 7, index), attr(1, entry), other_end)
        assert not raw.ask(told)[0].errno
        assert "239.1.1.1" in subprocess.run(["bridge", "mdb"], capture_output=True, text=True, check=True).stdout
        assert not kernel.dump(EVERYTHING._replace(classes=frozenset({"mdb"}))).of("mdb")


def test_groups_live_where_their_bridge_does(kernel: Stumbling) -> None:
    links = "links: {br: {kind: bridge, netns: blue, up: true}, p1: {kind: dummy, netns: blue, master: br, up: true}}"
    ip("netns add blue")
    try:
        with_group = state_of(f"{links}\nmdb: [{{dev: br, port: p1, group: 239.1.1.1}}]")
        become(kernel, with_group)
        shown = ["ip", "netns", "exec", "blue", "bridge", "-d", "mdb", "show"]
        there = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
        assert "grp 239.1.1.1 permanent" in there
        assert "proto 79" in there
        become(kernel, state_of(links))
        assert "239.1.1.1" not in subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    finally:
        ip("netns del blue")


def test_too_many_senders_are_refused_by_name(pipeline: Pipeline) -> None:
    entry = Object("mdb", BARE["ipv4"], {"source_list": tuple(f"192.0.2.{last}" for last in range(1, 33))})
    (refused,) = pipeline.kernel.apply([Step(Op.CREATE, None, entry, entry.attrs)])
    assert "Exceeded maximum number of source entries (31)" in str(refused.refusal)


def to_group(payload: bytes) -> bytes:
    """A datagram to a group of IP."""
    return bytes.fromhex("01005e010101") + ip4(payload, dst="239.1.1.1")[6:]


_LINES = """
link add b0 up type bridge mcast_query_response_interval 1
link set b0 type bridge mcast_querier 1
"""
_PORT = """
link add {0}0 up type veth peer name {0}1
link set {0}0 master b0
link set {0}1 up
"""
_LAST = eth(MARK, 0x88B5, dst=b"\xff" * 6)
_EARLY = eth(b"early", 0x88B7, dst=b"\xff" * 6)
_OTHER = eth(MARK, 0x88B6, dst=bytes.fromhex("010000000005"))


def passes_from_to(one: socket.socket, other: socket.socket) -> None:
    """Wait until the bridge passes frames on: a port has its carrier some time after it is up."""

    def passes() -> bool:
        one.send(_EARLY)
        with suppress(TimeoutError):
            while other.recv(2048) != _EARLY:
                pass
            return True
        return False

    other.settimeout(0.1)
    eventually(passes)
    other.settimeout(PATIENCE_S)


@pytest.mark.parametrize(
    ("group", "frame"), [("239.1.1.1", to_group(udp())), ("01:00:00:00:00:05", _OTHER)], ids=["ipv4", "layer2"]
)
def test_frames_of_a_group_go_to_its_port_alone(group: str, frame: bytes) -> None:
    subprocess.run(["ip", "-batch", "-"], input=_LINES + "".join(map(_PORT.format, "xyz")), text=True, check=True)
    with ExitStack() as stack:
        ends = {name: stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW)) for name in "xyz"}
        for name, end in ends.items():
            end.bind((f"{name}1", ETH_P_ALL))
        for name in "yz":
            passes_from_to(ends["x"], ends[name])

        def came_of(*frames: bytes) -> list[list[bytes]]:
            for sent in (*frames, _LAST):
                ends["x"].send(sent)
            return [[got for got in iter(partial(ends[name].recv, 2048), _LAST) if MARK in got] for name in "yz"]

        with Kernel() as kernel:
            entry = Object("mdb", ("b0", "z0", group, 0, None), {})
            assert not kernel.apply([Step(Op.CREATE, None, entry, entry.attrs)])
        # For groups of IP it waits until all could have answered its query.
        eventually(lambda: came_of(frame) != [[frame], [frame]])
        assert came_of(frame) == [[], [frame]]
