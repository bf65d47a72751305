# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on qdiscs that are ours: it makes room, and is no obstacle to putting the rest back."""

import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from socket import AF_INET, SOCK_DGRAM, socket
from typing import Any

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import Mine, look
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.transaction import converge, plan_for
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import Selection
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.kernel.netns import entered
from netgroupd.model.state import Object, State
from netgroupd.plan import present
from netgroupd.plan.present import text
from netgroupd.plan.tc.hooks import ON_QDISCS, hooks_of
from tests.vm.hosts import EngineIn, here
from tests.vm.tc_cases import SETUP

_WANTED = Object("qdisc", ("v0", "root"), {"kind": "htb", "handle": "1:", "default": 0x10})
_OTHER = Object("qdisc", ("v2", "root"), {"kind": "prio", "handle": "1:", "bands": 3})
_GOAL = State((_WANTED, _OTHER))
_MINE = Mine(hooks=hooks_of(_GOAL), classes=ON_QDISCS)
_THEIRS = (
    "qdisc add dev v0 root handle 8001: pfifo_head_drop limit 9",
    "qdisc add dev v2 root handle 2: sfq",
)


def _there() -> list[str]:
    shown = subprocess.run(["tc", "qdisc", "show"], capture_output=True, check=True, text=True).stdout
    return [" ".join(line.split()[1:5]) for line in shown.splitlines() if " 0: " not in line]


def test_qdisc_of_another_kind_is_told_of_and_the_others_come_back() -> None:
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    for said in _THEIRS:
        subprocess.run(["tc", *said.split()], check=True)
    with Kernels() as kernel:
        before = look(kernel, _GOAL, _MINE)
        plan = plan_for(kernel, _GOAL, before, _MINE)
        assert "! no rollback brings these back, for they are of kinds that no file can ask for: qdisc v0" in text(plan)
        snapshot = Snapshot.of(plan, before)
        put_back(kernel, snapshot, _MINE)
        assert "pfifo_head_drop 8001: dev v0" in _there()
        converge(kernel, plan, _GOAL, _MINE)
        put_back(kernel, snapshot, _MINE)
    assert _there() == ["sfq 2: dev v2"]


def test_classes_are_asked_for_where_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"link add d{number} type dummy\n" for number in range(30))
    subprocess.run(["ip", "-batch", "-"], input=lines, text=True, check=True)
    lines = "".join(f"qdisc add dev d{number} root handle 1: fq_codel\n" for number in range(30) if number)
    lines += "qdisc add dev d0 root handle 2: htb\nclass add dev d0 parent 2: classid 2:5 htb rate 1mbit\n"
    subprocess.run(["tc", "-batch", "-"], input=lines, text=True, check=True)
    asked: list[object] = []
    dump = Socket.dump

    def counted(*args: Any, **more: Any) -> Any:
        asked.append(args)
        return dump(*args, **more)

    monkeypatch.setattr(Socket, "dump", counted)
    with Kernel() as kernel:
        kernel.read_names()
        asked.clear()
        hooks = frozenset((f"d{number}", "root") for number in range(30))
        found = kernel.dump(Selection(frozenset({"tclass"}), hooks=hooks))
    assert [*found.of("tclass")] == [("d0", "2:5")]
    assert len(asked) == 2  # of all qdiscs, and of the classes of one link


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("ingress: []", ("filter add dev d ingress",)),
        ("qdiscs: {kind: prio, handle: '1:'}", ("filter add dev d parent 1:",)),
        (
            "qdiscs: {kind: htb, handle: '1:'}",
            ("class add dev d parent 1: classid 1:7 htb rate 1mbit", "filter add dev d parent 1:"),
        ),
    ],
    ids=["hook", "qdisc", "classes"],
)
def test_rules_of_others_go_where_none_of_ours_are(engine_in: EngineIn, ours: str, theirs: tuple[str, ...]) -> None:
    text = f"links: {{d: {{kind: dummy, up: true}}}}\ntc: {{d: {{{ours}}}}}\n"
    engine_in("here", text).apply()
    captured = engine_in("here", "{}").capture()
    for said in theirs:
        here(f"tc {said}" + " protocol ip pref 3 flower dst_ip 10.0.0.1 classid 1:7" * said.startswith("filter"))
    assert len(engine_in("here", text).diff().steps) == len(theirs)
    engine_in("here", text).apply()
    assert engine_in("here", "{}").capture() == captured


_MANY = "10.0.[0-1].[1-250]"
_ONE = "10.0.1.44"
_SAID = "classid 1:5 skip_hw"
_BY_HAND = {
    "action": f"change {{one}} {_SAID} action pass action drop",
    "cookie": f"change {{one}} {_SAID} action continue action drop cookie a1b2",
    "order_of_actions": f"change {{one}} {_SAID} action drop action continue",
    "one_action": f"change {{one}} {_SAID} action continue",
    "no_action": f"change {{one}} {_SAID}",
    "flag": "change {one} classid 1:5 action continue action drop",
    "class": "change {one} classid 1:7 skip_hw action continue action drop",
    "match": f"change {{there}} flower dst_ip 10.0.3.9 {_SAID} action continue action drop",
    "deleted": "delete {there} flower",
    "another": f"add dev d egress pref 3 protocol ip flower dst_ip 10.0.3.1 {_SAID} action continue action drop",
    "another_preference": f"add dev d egress pref 4 protocol ip flower dst_ip {_ONE} {_SAID} action drop",
    "another_chain": f"add dev d egress chain 7 pref 3 protocol ip flower dst_ip {_ONE} {_SAID} action drop",
}


def _many(engine_in: EngineIn) -> Engine:
    does = "action: [continue, drop], classid: '1:5', skip_hw: true"
    rule = f"{{pref: 3, protocol: ip, flower: {{dst_ip: '{_MANY}'}}, {does}}}"
    link = "{kind: dummy, up: true, addresses: [10.0.9.1/16]}"
    return engine_in("here", f"links: {{d: {link}, e: {{kind: dummy}}}}\ntc: {{d: {{egress: [{rule}]}}}}\n")


def test_change_by_hand_of_one_rule_among_many_is_a_difference(engine_in: EngineIn) -> None:
    _many(engine_in).apply()
    unseen, left = [], []
    for name, said in _BY_HAND.items():
        shown = here("tc filter show dev d egress").partition(f"dst_ip {_ONE}\n")[0]
        handle = shown.rpartition("handle ")[2].split()[0]
        there = f"dev d egress pref 3 handle {handle} protocol ip"
        here(f"tc filter {said.format(there=there, one=f'{there} flower dst_ip {_ONE}')}")
        unseen += [] if _many(engine_in).diff().steps else [name]
        _many(engine_in).apply()
        left += [name] if _many(engine_in).diff().steps else []
    assert (unseen, left) == ([], [])


def test_what_rules_count_is_no_difference(engine_in: EngineIn) -> None:
    _many(engine_in).apply()
    with entered("here"), socket(AF_INET, SOCK_DGRAM) as sender:
        for number in range(1, 9):
            with suppress(OSError):  # it is dropped, which the sender may be told
                sender.sendto(b"x", (f"10.0.1.{number}", 9))
    assert "Sent 0 bytes 0 pkt" in here("tc -s filter show dev d egress")
    assert re.search("Sent [1-9][0-9]* bytes", here("tc -s filter show dev d egress"))
    assert _many(engine_in).diff().steps == ()


def test_link_that_no_dump_has_brought_is_asked_for_in_the_middle_of_one(engine_in: EngineIn) -> None:
    _many(engine_in).apply()
    here("tc filter add dev d egress pref 2 protocol ip flower dst_ip 10.0.1.9 action mirred egress redirect dev e")
    with Kernel("here") as kernel:
        rules = kernel.dump(Selection(frozenset({"filter"}), hooks=frozenset({("d", "egress")}))).of("filter").values()
    (led,) = (rule.attrs["actions"] for rule in rules if rule.key[3] == 2)
    assert isinstance(led, tuple)
    assert isinstance(led[0], Mapping)
    assert led[0]["dev"] == "e"
    assert len(rules) == 501


def test_template_that_others_add_at_a_hook_makes_room_for_rules_that_do_not_fit_it(engine_in: EngineIn) -> None:
    text = "links: {d0: {kind: dummy}}\ntc: {d0: {ingress: [%s]}}\n"
    rule = "{pref: 1, chain: 5, protocol: ip, flower: {dst_ip: 10.0.0.1}, action: drop}"
    engine_in("here", text % "").apply()
    here("tc chain add dev d0 ingress chain 5 protocol ip flower dst_ip 0.0.0.0/24")
    before = here("tc chain show dev d0 ingress")
    engine = engine_in("here", text % rule)
    assert "- chain d0  ingress  5" in present.text(engine.diff())
    engine.apply(confirm_s=60.0)
    assert "dst_ip 10.0.0.1" in here("tc filter show dev d0 ingress")
    engine.rollback()
    assert here("tc chain show dev d0 ingress") == before
    assert len(engine_in("here", text % "").apply().plan.steps) == 1
    assert "flower" not in here("tc chain show dev d0 ingress")
