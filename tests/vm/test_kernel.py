# SPDX-License-Identifier: GPL-2.0-or-later
"""Batches, refusals and dumps on a real kernel, with others changing the same links."""

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.errors import UsageError
from netgroupd.kernel.carrier import running
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.layer3.ways import Route
from netgroupd.kernel.netlink.message import SEQUENCE, request, text
from netgroupd.kernel.netlink.request import EVERYTHING, Selection
from netgroupd.kernel.netlink.socket import Answer, Socket
from netgroupd.kernel.netns import fresh
from netgroupd.model.state import Object, Origin
from netgroupd.plan.step import GroupStep, Op, Step
from tests.vm.meanwhile import repeatedly
from tests.waiting import eventually

GROUP = 77
UP = {"up": True}


def make(name: str, **attrs: object) -> Step:
    link = Object("link", (name,), {"kind": "dummy", "group": GROUP, **attrs})  # type: ignore[dict-item]
    return Step(Op.CREATE, None, link, link.attrs)


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    with Kernel() as opened:
        opened.dump(EVERYTHING)
        yield opened


def names(kernel: Kernel) -> set[str]:
    return {link.name for link in kernel.dump(Selection(groups=frozenset({GROUP}))).of("link").values()}


def test_refusal_is_matched_to_its_step_in_the_middle_of_a_batch(kernel: Kernel) -> None:
    steps = [make(f"d{number}") for number in range(200)]
    steps[100] = make("d100", kind="vxlan", id=1 << 25)
    (refused,) = kernel.apply(steps)
    assert refused.step is steps[100]
    assert str(refused.refusal) == "create link d100: VXLAN ID must be lower than 16777216 (id)"
    assert names(kernel) == {step.object.name for step in steps} - {"d100"}


@pytest.mark.vm("patched")
def test_refusal_for_a_group_is_matched_to_the_member(kernel: Kernel) -> None:
    low, upper = make("low"), make("v", kind="vlan", link="low", id=1)
    other = Object("link", ("low",), {"group": 0})
    assert not kernel.apply([low, upper, Step(Op.CHANGE, low.object, other, {"group": 0})])
    want = upper.object._replace(origin=Origin("a.yaml", 7, 1))
    (refused,) = kernel.apply([GroupStep(Op.CHANGE, GROUP, UP, (Step(Op.CHANGE, upper.object, want, UP),))])
    assert str(refused.refusal) == "a.yaml:7: change link v: Network is down"


@pytest.mark.vm("stock", "patched")
def test_refusal_of_a_group_names_the_member_that_the_kernel_stopped_at(kernel: Kernel) -> None:
    low = Object("link", ("low",), {"group": 0})
    made = [make("low"), make("d1"), make("v", kind="vlan", link="low", id=1), make("d2")]
    assert not kernel.apply([*made, Step(Op.CHANGE, made[0].object, low, {"group": 0})])
    steps = []
    for number, step in enumerate(made[1:]):
        want = step.object._replace(origin=Origin("a.yaml", number, 1))
        steps.append(Step(Op.CHANGE, step.object, want, {"mtu": 9000}))
    (refused,) = kernel.apply([GroupStep(Op.CHANGE, GROUP, {"mtu": 9000}, tuple(steps))])
    assert str(refused.refusal).startswith("a.yaml:1: change link v: Numerical result out of range")


def test_nothing_is_sent_behind_the_batch_with_a_refusal(kernel: Kernel) -> None:
    steps = [make("lo"), *(make(f"d{number}") for number in range(1000))]
    (refused,) = kernel.apply(steps)
    assert refused.step is steps[0]
    assert 0 < len(names(kernel)) < 400


def test_step_that_refers_to_no_link_is_refused_and_those_before_it_are_done(kernel: Kernel) -> None:
    (refused,) = kernel.apply([make("d0"), make("v", kind="vlan", link="gone", id=1), make("d1")])
    assert str(refused.refusal) == "create link v: there is no link 'gone'"
    assert names(kernel) == {"d0"}


def test_progress_counts_every_step_once(kernel: Kernel) -> None:
    heard: list[int] = []
    kernel.apply([make(f"d{number}") for number in range(600)], heard.append)
    assert sum(heard) == 600
    assert len(heard) > 1


def test_few_system_calls_make_many_links(kernel: Kernel) -> None:
    before = kernel.counters.syscalls
    kernel.apply([make(f"d{number}") for number in range(512)])
    assert kernel.counters.syscalls - before <= 10  # the first packets are small, so that the kernel begins at once


def test_few_links_are_asked_for_one_by_one_and_not_looked_for_among_all(kernel: Kernel) -> None:
    kernel.apply([make(f"d{number}") for number in range(300)])
    before = kernel.counters.received
    found = kernel.dump(Selection(links=frozenset({"d7", "d9", "not-there"}))).of("link")
    assert set(found) == {("d7",), ("d9",)}
    assert kernel.counters.received - before < 8192
    many = frozenset(f"d{number}" for number in range(200))
    assert len(kernel.dump(Selection(links=many)).of("link")) == 200


def test_group_is_deleted_by_one_message(kernel: Kernel) -> None:
    kernel.apply([make(f"d{number}") for number in range(50)])
    before = kernel.counters.messages
    assert kernel.apply([GroupStep(Op.DELETE, GROUP, {}, ())]) == ()
    assert kernel.counters.messages - before == 1
    assert names(kernel) == set()


def test_answers_that_are_lost_do_not_hold_up_the_end() -> None:
    with Socket(buffer=2048) as socket:
        wrong = request(16, 0x600, bytes(16), text(3, "lo"))
        packet = bytearray(wrong * 60)
        for number in range(60):
            SEQUENCE.pack_into(packet, number * len(wrong) + 8, 1000 + number)
        socket.send(packet, count=60)
        answers = list(socket.answers(socket.barrier()))
        assert 0 < len(answers) < 60
        assert socket.ask(wrong)[0].errno


def test_answer_to_a_later_request_is_not_taken_for_an_earlier_one() -> None:
    with Socket() as socket:
        assert socket.ask(request(16, 0x600, bytes(16), text(3, "lo")))[0].errno
        assert socket.ask(request(18, 0, b"\0\0\0\0\1\0\0\0" + bytes(8)))[0] == Answer(3, 0, "")


@pytest.mark.vm(cpus={"patched": 2})
def test_dumps_are_whole_while_another_program_makes_and_removes_links(kernel: Kernel) -> None:
    kernel.apply([make(f"d{number}") for number in range(300)])
    with Kernel() as other:

        def disturb() -> None:
            other.apply([make("flicker", group=1)])
            other.apply([GroupStep(Op.DELETE, 1, {}, ())])

        with repeatedly(disturb):
            seen = [names(kernel) for _ in range(3)]
    assert seen == [{f"d{number}" for number in range(300)}] * 3


def test_links_are_running_that_are_up_with_a_carrier(kernel: Kernel) -> None:
    kernel.apply([make("d0", up=True), make("d1"), make("d2", up=True, carrier=False)])
    kernel.apply([make("v0", kind="veth", peer="v1", up=True), make("v2", kind="veth", peer="v3", up=True)])
    subprocess.run(["ip", "link", "set", "v3", "up"], check=True)
    names = ["d0", "d1", "d2", "v0", "v2", "v3", "not-there"]
    eventually(lambda: running(names, None) == {"d0", "v2", "v3"})  # the kernel looks after carriers at times
    with fresh():
        assert running(names, None) == frozenset()


def test_kernel_of_another_namespace_leaves_the_caller_where_it_is() -> None:
    here = Path("/proc/thread-self/ns/net").stat().st_ino
    subprocess.run(["ip", "netns", "add", "there"], check=True)
    try:
        with Kernel("there") as there, Kernel() as home:
            assert there.apply([make("over-there")]) == ()
            assert there.dump(EVERYTHING).link("over-there")
            assert not home.dump(EVERYTHING).link("over-there")
    finally:
        subprocess.run(["ip", "netns", "del", "there"], check=True)
    assert Path("/proc/thread-self/ns/net").stat().st_ino == here


def test_namespace_that_is_not_there_is_the_users_mistake() -> None:
    with pytest.raises(UsageError, match="no network namespace 'nowhere'"):
        Kernel("nowhere")


WAYS = """
link add name d0 up type dummy
address add 192.0.2.2/24 dev d0
address add 2001:db8::2/64 dev d0 nodad
nexthop add id 7 via 192.0.2.1 dev d0
nexthop add id 8 via 2001:db8::1 dev d0
route add default nhid 7 metric 50
route add 198.51.100.0/24 via 192.0.2.9
route add 2001:db8:8::/48 nhid 8 metric 60
"""


ROUTER = """
link add name d0 up type veth peer name d1
link set d1 up addrgenmode none
address add fe80::2/64 dev d1 nodad
"""
ADVERTISEMENT = bytes((134, 0, 0, 0, 64, 0, 0x07, 0x08)) + bytes(8)  # a router for half an hour


def told(*words: str) -> str:
    """What ``ip`` tells of IPv6."""
    return subprocess.run(["ip", "-6", *words], capture_output=True, text=True, check=True).stdout


def test_default_route_out_of_an_advertisement_is_told_as_such_and_goes_with_forwarding(kernel: Kernel) -> None:
    subprocess.run(["ip", "-batch", "-"], input=ROUTER, text=True, check=True)
    # The kernel looks after carriers at times, and with them IPv6 begins: who sends has a way then, and who hears its
    # address.
    eventually(lambda: "ff00::/8" in told("route", "show", "table", "local", "dev", "d1"))
    eventually(lambda: "fe80::" in told("address", "show", "dev", "d0"))
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as router:
        router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        router.sendto(ADVERTISEMENT, ("ff02::1", 0, 0, socket.if_nametoindex("d1")))
    eventually(lambda: kernel.way_to("2001:db8:9::1"))
    found = kernel.way_to("2001:db8:9::1")
    assert found is not None
    assert (found.link, found.length, found.learned) == ("d0", 0, True)
    subprocess.run(["sysctl", "-qw", "net.ipv6.conf.d1.forwarding=1"], check=True)
    assert kernel.way_to("2001:db8:9::1") is None


def test_way_to_an_address_is_told_with_its_route_and_its_nexthop(kernel: Kernel) -> None:
    subprocess.run(["ip", "-batch", "-"], input=WAYS, text=True, check=True)
    assert kernel.way_to("203.0.113.1") == Route("d0", "192.0.2.2", 254, 0, 50, 7, gateway="192.0.2.1")
    assert kernel.way_to("198.51.100.1") == Route("d0", "192.0.2.2", 254, 24, 0, 0, gateway="192.0.2.9")
    assert kernel.way_to("2001:db8:8::1") == Route("d0", "2001:db8::2", 254, 48, 60, 8, gateway="2001:db8::1")
    assert kernel.way_to("2001:db8:9::1") is None


SOURCES = """
link add name d0 up type dummy
link add name d1 up type dummy
address add 192.0.2.2/24 dev d0
address add 198.51.100.2/24 dev d1
address add 2001:db8::2/64 dev d0 nodad
address add 2001:db8:1::2/64 dev d1 nodad
route add default via 192.0.2.1
route add default via 2001:db8::1
route add 203.0.113.0/24 via 198.51.100.1 table 77
route add 2001:db8:9::/48 via 2001:db8:1::1 table 77
rule add from 198.51.100.2 lookup 77
"""


def test_way_from_an_address_is_the_one_that_its_rules_lead_to(kernel: Kernel) -> None:
    subprocess.run(["ip", "-batch", "-"], input=SOURCES, text=True, check=True)
    subprocess.run(["ip", "-6", "rule", "add", "from", "2001:db8:1::2", "lookup", "77"], check=True)
    assert kernel.way_to("203.0.113.1") == Route("d0", "192.0.2.2", 254, gateway="192.0.2.1")
    assert kernel.way_to("203.0.113.1", "198.51.100.2") == Route("d1", "198.51.100.2", 77, 24, gateway="198.51.100.1")
    want = Route("d0", "192.0.2.2", 254, gateway="192.0.2.1")
    assert kernel.way_to("203.0.113.1", "192.0.2.77") == want  # not this host's
    want = Route("d1", "2001:db8:1::2", 77, 48, 1024, gateway="2001:db8:1::1")
    assert kernel.way_to("2001:db8:9::1", "2001:db8:1::2") == want
    assert kernel.way_to("203.0.113.1", "2001:db8::2") == Route("d0", "192.0.2.2", 254, gateway="192.0.2.1")


MARKED = """
link add name d0 up type dummy
link add name d1 up type dummy
address add 192.0.2.2/24 dev d0
address add 198.51.100.2/24 dev d1
neighbour add 192.0.2.1 lladdr 02:00:00:00:00:01 dev d0
route add default via 192.0.2.1
route add default via 198.51.100.1 dev d1 table 77
route add default via 198.51.100.9 dev d1 metric 9
rule add fwmark 7 lookup 77
"""


def test_way_of_what_a_tunnel_sends_is_the_one_of_its_mark_and_link(kernel: Kernel) -> None:
    subprocess.run(["ip", "-batch", "-"], input=MARKED, text=True, check=True)
    found = kernel.way_to("203.0.113.1")
    assert found is not None
    assert (found.link, found.gateway, found.lladdr) == ("d0", "192.0.2.1", "02:00:00:00:00:01")
    marked = Route("d1", "198.51.100.2", 77, gateway="198.51.100.1")
    assert kernel.way_to("203.0.113.1", mark=7) == marked
    bound = Route("d1", "198.51.100.2", 254, metric=9, gateway="198.51.100.9")
    assert kernel.way_to("203.0.113.1", "", "d1") == bound


IN_A_VRF = """
link add name red up type vrf table 77
link add name d0 up type dummy
link add name d1 up master red type dummy
address add 192.0.2.2/24 dev d0
address add 192.0.2.2/24 dev d1 valid_lft 600 preferred_lft 600
address add 198.51.100.2/32 peer 198.51.100.9 dev d1
address add 2001:db8:1::2/64 dev d1 nodad
route add default via 192.0.2.1 dev d0
route add 203.0.113.0/24 via 192.0.2.9 vrf red metric 5
route add 2001:db8:9::/48 via 2001:db8:1::1 vrf red
"""


def test_way_in_a_vrf_is_the_one_of_its_table(kernel: Kernel) -> None:
    subprocess.run(["ip", "-batch", "-"], input=IN_A_VRF, text=True, check=True)
    assert kernel.way_to("203.0.113.1", "192.0.2.2") == Route("d0", "192.0.2.2", 254, gateway="192.0.2.1")
    assert kernel.way_to("203.0.113.1", "192.0.2.2", "red") == Route("d1", "192.0.2.2", 77, 24, 5, gateway="192.0.2.9")
    want = Route("d1", "2001:db8:1::2", 77, 48, 1024, gateway="2001:db8:1::1")
    assert kernel.way_to("2001:db8:9::1", "2001:db8:1::2", "red") == want
    assert kernel.way_to("203.0.113.1", "192.0.2.2", "blue") is None
    assert kernel.links_with("192.0.2.2") == {"d0", "d1"}
    assert kernel.links_with("198.51.100.2") == kernel.links_with("2001:db8:1::2") == {"d1"}
    assert kernel.links_with("198.51.100.9") == frozenset()
