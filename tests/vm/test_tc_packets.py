# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules see real packets: what is sent into a veth pair comes out at a third link only if the rules say so."""

import json
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object, State
from netgroupd.model.tc.filter import RECORDS
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.hooks import ON_QDISCS
from tests.vm.tc_cases import CLSACT, SETUP, action, qdisc, rule
from tests.vm.tc_packet_cases import OUT, PLAIN, ROWS, SECOND_MARK, Row
from tests.vm.tc_samples import Sample, Samples
from tests.vm.tc_wire import ETH_P_ALL, Wire, arp, ip4, other, tcp, udp

_LAST = ip4(udp(4000))


@pytest.fixture
def wire() -> Iterator[Wire]:
    """A veth pair whose near end is v0, and the dummy v2; nothing passes that no test has sent."""
    Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    opened = Wire()
    yield opened
    opened.close()


def _apply(*rules: Object) -> None:
    _put(CLSACT, *rules)


def _put(*objects: Object) -> None:
    with Kernel() as kernel:
        refused = kernel.apply([Step(Op.CREATE, None, obj, obj.attrs) for obj in objects])
        assert not refused, [str(one.refusal) for one in refused]


@pytest.mark.parametrize("group", ROWS)
def test_what_rules_say_happens_to_packets(wire: Wire, group: str) -> None:
    """Each row has a chain of its own, which packets get to by their mark."""
    rows = ROWS[group]
    in_block = Object("qdisc", ("v2", "clsact"), {"kind": "clsact", "hooks": ("ingress",), "ingress_block": 7})
    _put(CLSACT, in_block, *_by_mark(rows))
    came = [_came_out(wire, number, row) for number, row in enumerate(rows, 1)]
    wrong = {
        row.name: [frame.hex() for frame in out] for row, out in zip(rows, came, strict=True) if not row.holds(out)
    }
    assert not wrong


def _by_mark(rows: tuple[Row, ...]) -> Iterator[Object]:
    for number, row in enumerate(rows, 1):
        yield from (one._replace(key=(*one.key[:2], number, *one.key[3:])) for one in row.rules)
        yield rule("fw", {"mark": hex(number)}, pref=1, actions=f"goto chain {number}")
    yield rule("fw", {"mark": hex(SECOND_MARK)}, pref=1, actions=OUT)


def _came_out(wire: Wire, number: int, row: Row) -> list[bytes]:
    wire.send_marked(number, *row.sent)
    wire.send_marked(SECOND_MARK, _LAST)
    return list(iter(wire.came_out, _LAST))


def test_shared_policer_counts_what_all_its_rules_see(wire: Wire) -> None:
    policer = action("police", 7, {"police": {"rate": 10, "burst": 2000, "control": "drop", "conform": "pipe"}})
    _apply(
        policer,
        rule("flower", {"ip_proto": "udp"}, protocol="ip", pref=1, actions=["police 7", OUT]),
        rule("flower", {"ip_proto": "tcp"}, protocol="ip", pref=2, actions=["police 7", OUT]),
        rule("flower", {}, protocol="arp", pref=3, actions=OUT),
    )
    wire.send(*[PLAIN] * 100, ip4(tcp(), 6), arp(1, "10.0.0.1"))  # the first take what the bucket held
    protocols = {frame[23] for frame in iter(wire.came_out, arp(1, "10.0.0.1"))}
    assert protocols == {17}


def test_counters_are_those_of_one_rule_and_begin_at_nothing(wire: Wire) -> None:
    rules = [rule("flower", {"ip_proto": proto}, protocol="ip", actions=OUT) for proto in ("udp", "tcp")]
    for _ in range(2):
        _apply(*rules)
        assert _counted() == [0, 0]
        wire.send(PLAIN, PLAIN, ip4(tcp(), 6))
        for _ in range(3):
            wire.came_out()
        assert _counted() == [2, 1]
        subprocess.run(["tc", "qdisc", "del", "dev", "v0", "clsact"], check=True)


def _counted() -> list[int]:
    """How many packets each rule of the hook has met, in their order."""
    shown = subprocess.run(
        ["tc", "-s", "-j", "filter", "show", "dev", "v0", "ingress"], capture_output=True, check=True
    )
    rules = [one["options"] for one in json.loads(shown.stdout) if "actions" in one.get("options", {})]
    return [one["actions"][0]["stats"]["packets"] for one in sorted(rules, key=lambda one: one["handle"])]


def test_policer_of_packets_counts_them(wire: Wire) -> None:
    few = {"police": {"pkts_rate": 10, "pkts_burst": 1, "control": "drop", "conform": "pipe"}}
    _apply(rule("flower", {}, protocol="ip", pref=1, actions=[few, OUT]), rule("matchall", {}, pref=2, actions=OUT))
    end = arp(1, "10.0.0.1")

    def come_out_of(count: int) -> int:
        wire.send(*[PLAIN] * count, end)
        return sum(1 for _ in iter(wire.came_out, end))

    while not come_out_of(1):  # it begins with nothing that may pass, and gets a packet's worth in 100 ms
        pass
    assert come_out_of(50) < 50


def test_samples_come_to_who_listens(wire: Wire) -> None:
    with closing(Samples()) as samples:
        _apply(rule("matchall", {}, actions={"sample": {"rate": 1, "group": 5, "trunc": 40}}))
        wire.send(PLAIN)
        assert samples.next() == Sample(5, 1, PLAIN[:40])


def test_queue_is_chosen_by_an_action(wire: Wire) -> None:
    lossy = qdisc("netem", {"loss": 100}, parent="1:3", handle="3:")

    def into(queue: int, proto: str, pref: int) -> Object:  # where no rule chooses, any queue may be it
        chosen = {"skbedit": {"queue_mapping": queue, "control": "pass"}}
        return rule("flower", {"ip_proto": proto}, pref=pref, protocol="ip", parent="egress", actions=chosen)

    _put(CLSACT, qdisc("mq", {}), lossy, into(2, "udp", 1), into(1, "tcp", 2))
    fits = ip4(tcp(), 6)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as near:
        near.bind(("v0", 0))
        wire.out.bind(("v1", ETH_P_ALL))
        for frame in (PLAIN, fits):
            near.send(frame)
    assert wire.came_out() == fits


def test_rule_sees_that_a_bridge_did_not_know_where_to(wire: Wire) -> None:
    known, unknown = bytes.fromhex("020000000077"), bytes.fromhex("020000000088")
    lines = (
        "link add br0 type bridge",
        "link set v0 master br0",
        "link set v2 master br0",
        "link set br0 up",
    )
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)
    subprocess.run(["bridge", "fdb", "add", known.hex(":"), "dev", "v2", "master", "static"], check=True)
    there = Object("qdisc", ("v2", "clsact"), {"kind": "clsact", "hooks": ("egress",)})
    missed = rule("flower", {"l2_miss": True}, parent="egress", actions="drop")
    _put(there, missed._replace(key=("v2", *missed.key[1:])))
    wire.send(other(udp(), dst=unknown), other(udp(), dst=known))
    assert wire.came_out() == other(udp(), dst=known)


def test_flow_maps_marks_to_classes(wire: Wire) -> None:
    lossy = qdisc("netem", {"loss": 100}, parent="1:2", handle="2:")
    tree = (qdisc("prio", {"bands": 2, "priomap": [0] * 16}), lossy)
    flow = rule("flow", {"keys": ["mark"], "mode": "map", "baseclass": "1:1"}, parent="1:")
    _put(*tree, flow)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as near:
        near.bind(("v0", 0))
        wire.out.bind(("v1", ETH_P_ALL))
        for mark in (1, 0):  # into the second class, and into the first
            near.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
            near.send(ip4(udp(mark)))
    assert wire.came_out() == ip4(udp(0))


def test_block_is_for_all_links_that_share_it(wire: Wire) -> None:
    shared = CLSACT._replace(attrs={**CLSACT.attrs, "ingress_block": 7})
    of_block = rule("flower", {"ip_proto": "tcp"}, protocol="ip", actions=OUT)
    _put(shared, of_block._replace(key=("block 7", "", *of_block.key[2:])))
    fits = ip4(tcp(), 6)
    wire.send(ip4(udp()), fits)
    assert wire.came_out() == fits


def test_chain_with_a_template_refuses_what_does_not_fit(wire: Wire) -> None:
    template = {"protocol": "ip", "flower": RECORDS["flower"].parse({"dst_ip": "0.0.0.0/24"})}
    _apply(
        Object("chain", ("v0", "ingress", 7), template),
        rule("matchall", {}, actions="goto chain 7"),
        rule("flower", {"dst_ip": "10.0.7.0/24"}, protocol="ip", chain=7, actions=OUT),
    )
    fits = ip4(udp(), dst="10.0.7.9")
    wire.send(ip4(udp()), fits)
    assert wire.came_out() == fits
    other_mask = rule("flower", {"dst_ip": "10.0.7.9"}, protocol="ip", chain=7, actions=OUT)
    with Kernel() as kernel:
        (refused,) = kernel.apply([Step(Op.CREATE, None, other_mask, other_mask.attrs)])
    assert refused.refusal.sentence == "cls_flower: Mask does not fit the template"


_RULES = 200
_CHAINS = {"plain": (), "chain": (0,), "chains": (0, 5), "hook": (None,)}
_TTL, _TOS = 22, 15  # in a frame


def _many(pref: int) -> list[Object]:
    return [
        rule("flower", {"dst_ip": f"192.0.2.{number}"}, protocol="ip", pref=pref, actions="drop")
        for number in range(_RULES)
    ]


def _policy(mark: int) -> tuple[Object, ...]:
    """Many rules of which the last lets everything out, with a mark of the policy."""
    return (*_many(mark), rule("matchall", {}, pref=100, actions=[{"pedit": {"munge": {"ip ttl": mark}}}, OUT]))


def _policy_of_chains(mark: int) -> tuple[Object, ...]:
    """One of three chains, of which the first two mark what they let through."""
    ways = (
        rule("matchall", {}, pref=100, actions=[{"pedit": {"munge": {"ip dsfield": mark}}}, "goto chain 5"]),
        rule("matchall", {}, pref=100, chain=5, actions=[{"pedit": {"munge": {"ip ttl": mark}}}, "goto chain 7"]),
        rule("matchall", {}, pref=100, chain=7, actions=OUT),
    )
    return (*_many(mark), *ways)


def _reach(kernel: Kernel, way: str, policy: tuple[Object, ...]) -> None:
    """Have a policy, in chains that are replaced in some way."""
    atomic = [Object("chain", ("v0", "ingress", number), {"atomic": True}) for number in _CHAINS[way]]
    for after in (False, True):
        actual = kernel.dump(Selection(classes=ON_QDISCS, hooks=frozenset({("v0", "ingress")})))
        plan = assemble(State((CLSACT, *atomic, *policy)), actual, Owned())
        refused = kernel.apply(plan.steps)
        assert not refused, [str(one.refusal) for one in refused]
        assert not (after and plan.steps)


def _seen_meanwhile(wire: Wire, ways: Sequence[str], policy: Callable[[int], tuple[Object, ...]]) -> list[bytes]:
    """What comes out of one packet after the other while policies come in some ways; they are marked 5, 6 …"""
    seen: list[bytes] = []
    stop = threading.Event()

    def one_after_the_other() -> None:
        while not stop.is_set():
            wire.send(PLAIN)
            seen.append(wire.came_out())  # what no rule meets does not come out

    with Kernel() as kernel, ThreadPoolExecutor(1) as pool:
        _reach(kernel, ways[0], policy(5))
        wire.send(PLAIN)
        assert wire.came_out()[_TTL] == 5
        sender = pool.submit(one_after_the_other)
        try:
            for mark, way in enumerate(ways[1:], 6):
                _reach(kernel, way, policy(mark))
        finally:
            stop.set()
        sender.result()
        wire.send(PLAIN)
        assert wire.came_out()[_TTL] == 4 + len(ways)
        rules = kernel.dump(Selection(classes=ON_QDISCS, hooks=frozenset({("v0", "ingress")}))).of("filter")
    assert len(rules) == len(policy(5)) + 1
    return seen


@pytest.mark.vm(cpus={"patched": 2})
def test_no_packet_meets_half_of_a_policy_that_is_replaced(wire: Wire) -> None:
    seen = [frame[_TTL] for frame in _seen_meanwhile(wire, ("chain",) * 3, _policy)]
    assert seen == sorted(seen)


@pytest.mark.vm(cpus={"patched": 2})
@pytest.mark.parametrize(
    "ways",
    [("hook",) * 4, ("plain", "hook", "plain", "hook"), ("chains", "hook", "chains", "hook")],
    ids=["as_it_is", "from_plain_and_back", "from_chains_and_back"],
)
def test_no_packet_meets_half_of_a_hook_that_is_replaced(wire: Wire, ways: Sequence[str]) -> None:
    seen = [(frame[_TOS], frame[_TTL]) for frame in _seen_meanwhile(wire, ways, _policy_of_chains)]
    assert seen == sorted(seen)
    assert all(tos == ttl for tos, ttl in seen)
