# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual functions of a simulated card on a real kernel: as ``ip`` tells them, in one message, back after any refusal.

This card keeps what it was told of functions that it has no more; one of hardware does not.
"""

import json
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netgroupd.engine.observe import look
from netgroupd.engine.transaction import plan_for, plan_now
from netgroupd.errors import KernelError
from netgroupd.kernel import vf
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.links import layout as links_layout
from netgroupd.kernel.links import read as links_read
from netgroupd.kernel.monitor import Monitor
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.model.vf import CLASS, USUAL
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, RangeStep, Step
from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.pipeline import Pipeline
from tests.vm.stumbling import MINE, Stumbling, become, ip, to_and_fro, told

CARD = "netdevsim7"
_BUS = Path("/sys/bus/netdevsim")
_NUMBER = _BUS / "devices" / CARD / "sriov_numvfs"
# What a card of Ethernet has no words for.
_OF_INFINIBAND = {"node_guid", "port_guid"}
OTHERS: dict[str, Value] = {
    "mac": "02:00:00:00:00:77",
    "vlan": 100,
    "qos": 5,
    "proto": "802.1ad",
    "min_tx_rate": 10,
    "max_tx_rate": 1000,
    "spoofchk": True,
    "state": "disable",
    "query_rss": True,
    "trust": True,
}
BACK = {**USUAL, "spoofchk": False}


def functions(netns: str = "", name: str = "sim") -> list[dict[str, Any]]:
    """What ``ip`` tells of the functions of a card."""
    command = ["ip", *(["-n", netns] if netns else []), "-j", "-d", "link", "show", "dev", name]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    (link,) = json.loads(shown.stdout)
    found: list[dict[str, Any]] = link.get("vfinfo_list", [])
    return found


def card(body: str, name: str = "sim", more: str = "") -> State:
    return state_of(f"links: {{{name}: {{kind: netdevsim, id: 7, {body}}}{more}}}")


@pytest.fixture(autouse=True)
def unplugged() -> Iterator[None]:
    """No card outlives a test, also where its namespace does not."""
    try:
        yield
    finally:
        if _NUMBER.exists():
            (_BUS / "del_device").write_text("7")


@pytest.fixture
def pipeline(kernel: Stumbling) -> Pipeline:
    become(kernel, card("num_vfs: 4, vfs: {'[0-3]': {}}"))
    return Pipeline(kernel, Selection(classes=frozenset({"link", "vf", "sriov"}), cards=frozenset({"sim"})))


def test_every_attribute_is_tried() -> None:
    assert OTHERS.keys() == CLASS.attrs.keys() - _OF_INFINIBAND
    assert not [name for name, value in OTHERS.items() if BACK[name] == value]


@pytest.mark.vm("patched")
def test_card_is_made_that_is_said_to_be_neither_light_nor_without_ip(kernel: Stumbling) -> None:
    become(kernel, card("lightweight: false, l2only: false, protodown: false"))


@pytest.mark.vm("stock")
def test_functions_of_a_card_that_was_to_go_come_back(engine_in: EngineIn) -> None:
    engine_in("here", "links: {sim: {kind: netdevsim, id: 7, num_vfs: 2, vfs: {1: {vlan: 100}}}}").apply()
    before = functions("here")
    engine = engine_in("here", "links: {sim: {kind: dummy}}")
    engine.apply(confirm_s=0.0)
    engine.expire()
    assert functions("here") == before


@pytest.mark.parametrize("name", OTHERS)
def test_attribute_is_set_and_set_back_and_nothing_else_changes(pipeline: Pipeline, name: str) -> None:
    before = functions("engine")
    told = []
    for value in (OTHERS[name], BACK[name]):
        (step,) = pipeline.reach("vf", Object("vf", ("sim", 2), {name: value}))
        assert (step.op, dict(step.attrs)) == (Op.CHANGE, {name: value})
        told.append(functions("engine"))
    assert told[0] != before or name == "proto"  # which ``ip`` tells only with a VLAN
    assert [one for place, one in enumerate(told[0]) if place != 2] == [before[place] for place in (0, 1, 3)]
    assert told[1] == before


def test_what_goes_together_keeps_what_is_not_said(pipeline: Pipeline) -> None:
    subprocess.run(
        ["ip", "-n", "engine", "link", "set", "dev", "sim", "vf", "1", "vlan", "30", "qos", "4", "proto", "802.1ad"],
        check=True,
    )
    ip("link set dev sim vf 1 min_tx_rate 10 max_tx_rate 50")
    pipeline.look()
    pipeline.reach("vf", Object("vf", ("sim", 1), {"vlan": 31, "max_tx_rate": 60}))
    found = pipeline.actual.of("vf")["sim", 1].attrs
    assert {name: found[name] for name in ("vlan", "qos", "proto", "min_tx_rate", "max_tx_rate")} == {
        "vlan": 31,
        "qos": 4,
        "proto": "802.1ad",
        "min_tx_rate": 10,
        "max_tx_rate": 60,
    }


_MACS = "'[v=0-3]': {mac: '{02:00:00:00:00:10 + v}', trust: true}"
EVERY = ", ".join(f"{name}: {str(OTHERS[name]).lower()}" for name in OTHERS.keys() - {"mac", "trust"})
SOME = f"num_vfs: 4, vfs: {{{_MACS}, '[1-2]': {{{EVERY}}}}}"
FEW = "num_vfs: 4, vfs: {'[0-1]': {vlan: 5, spoofchk: true}, 3: {state: enable}}"
WAYS = [
    pytest.param(card("up: true"), card(f"up: true, {SOME}"), id="functions_come"),
    pytest.param(state_of("links: {}"), card(SOME), id="functions_come_with_their_card"),
    pytest.param(card("num_vfs: 4"), card(SOME), id="functions_are_set"),
    pytest.param(card(SOME), card(FEW), id="functions_change"),
    pytest.param(card(SOME), card("num_vfs: 2, vfs: {'[0-1]': {trust: true, vlan: 7}}"), id="functions_go"),
    pytest.param(card(SOME), card("num_vfs: 0"), id="all_functions_go"),
    pytest.param(card("num_vfs: 2"), card(SOME), id="more_functions_come"),
    pytest.param(card("num_vfs: 2"), card("num_vfs: 3, vfs: {0: {vlan: 5}}"), id="one_comes_of_which_nothing_is_said"),
    pytest.param(card(SOME), card("vfs: {0: {vlan: 9}}"), id="number_is_not_mentioned_any_more"),
    pytest.param(card("up: true"), state_of("links: {}"), id="card_goes"),
    pytest.param(card(SOME), card(FEW, more=", d0: {kind: dummy}"), id="others_come_beside"),
]


def seen() -> object:
    return functions("engine") if here_is_a_card() else None


def here_is_a_card() -> bool:
    return (
        subprocess.run(["ip", "-n", "engine", "link", "show", "sim"], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.parametrize(("before", "after"), WAYS)
def test_functions_are_back_after_any_refusal(kernel: Stumbling, before: State, after: State) -> None:
    to_and_fro(kernel, before, after, seen)


def test_all_functions_of_a_card_are_one_message(kernel: Stumbling) -> None:
    become(kernel, card("num_vfs: 4"))
    goal = card(SOME)
    plan = plan_for(kernel, goal, look(kernel, goal, MINE), MINE)
    assert [type(step) for step in plan.steps] == [RangeStep]
    sent = kernel.counters.messages
    assert not kernel.apply(plan.steps)
    assert kernel.counters.messages - sent <= 2  # with the one that closes the batch
    assert not plan_now(kernel, goal, MINE)[0].steps


def test_refusal_is_of_the_function_that_it_was_about(pipeline: Pipeline) -> None:
    wanted = [
        Object("vf", ("sim", number), {"mac": f"0{2 - number // 2}:00:00:00:00:0{number}"}) for number in range(4)
    ]
    haves = pipeline.actual.of("vf")
    steps = tuple(Step(Op.CHANGE, haves[vf.key], vf, vf.attrs) for vf in wanted)
    (refused,) = pipeline.kernel.apply([RangeStep(Op.CHANGE, steps)])
    assert str(refused.refusal) == "change vf sim 2: Invalid argument (mac)"
    assert refused.step is steps[2]
    assert [vf["address"][-2:] for vf in functions("engine")] == ["00", "01", "00", "00"]


def test_functions_that_no_file_mentions_any_more_stay(kernel: Stumbling) -> None:
    become(kernel, card(SOME))
    before = functions("engine")
    become(kernel, card("vfs: {3: {trust: true}}"))
    become(kernel, card("up: true"))
    assert functions("engine") == before


def test_cards_of_which_no_file_speaks_are_not_asked_for_functions(kernel: Stumbling) -> None:
    become(kernel, card("num_vfs: 4"))
    for body, asked in (("up: true", 0), ("num_vfs: 4", 4), ("vfs: {1: {}}", 4)):
        assert len(look(kernel, card(body), MINE).of("vf")) == asked


def test_functions_are_told_where_their_card_lives(kernel: Stumbling) -> None:
    ip("netns add blue")
    try:
        for vlan in (5, 6):
            goal = card(f"netns: blue, num_vfs: 3, vfs: {{'[0-2]': {{vlan: {vlan}}}}}")
            become(kernel, goal)
            assert not plan_now(kernel, goal, MINE)[0].steps
            assert [vf["vlan_list"][0]["vlan"] for vf in functions("blue")] == [vlan] * 3
        become(kernel, card("netns: blue, num_vfs: 2"))
        assert len(functions("blue")) == 2
        become(kernel, state_of("links: {}"))
    finally:
        ip("netns del blue")


@pytest.mark.parametrize("cls", ["vf", "sriov"])
def test_change_of_a_function_is_told_to_who_listens_for_it(kernel: Stumbling, cls: str) -> None:
    become(kernel, card("up: true, num_vfs: 4"))
    loud = True
    while loud:
        with Monitor((cls,), netns="engine") as monitor:
            loud = bool(select.select([monitor], [], [], 2)[0])
    with Monitor((cls,), netns="engine") as monitor:
        ip("link set sim vf 0 trust on")
        assert select.select([monitor], [], [], 0)[0]


HARDWARE = "links:\n  sim:\n    %s\n"


@pytest.fixture
def desk(engine_in: EngineIn) -> EngineIn:
    engine_in("here", "{}")
    return engine_in


@pytest.fixture
def plugged(desk: EngineIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """A card that somebody else has plugged in, in a namespace."""
    monkeypatch.setattr(links_read, "_learnt", links_read._Learnt())
    monkeypatch.setattr(links_layout, "_SIMULATED", "none of these")  # so that it looks as a card does
    (_BUS / "new_device").write_text("7 1")
    names = subprocess.run(["ip", "-j", "link", "show"], capture_output=True, text=True, check=True).stdout
    (name,) = [
        link["ifname"] for link in json.loads(names) if link.get("parentdev") == CARD or link["ifname"] == "eth0"
    ]
    subprocess.run(["ip", "link", "set", name, "name", "sim", "netns", "here"], check=True)


@pytest.mark.usefixtures("plugged")
class TestHardware:
    """A card that was there before, and stays."""

    def test_functions_are_set_and_an_earlier_generation_has_its_own(self, desk: EngineIn) -> None:
        first = "num_vfs: 2\n    vfs: {'[0-1]': {vlan: 5}}"
        more = "vfs: {1: {vlan: 6, trust: true, mac: '02:00:00:00:00:07'}}"
        desk("here", HARDWARE % first).apply()
        before = functions("here")
        later = desk("here", HARDWARE % more)
        assert later.apply().plan.steps
        assert not later.apply().plan.steps
        assert functions("here") != before
        desk("here", HARDWARE % more).rollback(1)
        assert functions("here") == before

    def test_what_an_earlier_generation_does_not_mention_is_what_it_was_then(self, desk: EngineIn) -> None:
        _NUMBER.write_text("2")
        here("ip link set sim vf 1 vlan 9")
        desk("here", HARDWARE % "vfs: {0: {vlan: 5}}").apply()
        before = functions("here")
        desk("here", HARDWARE % "num_vfs: 3\n    vfs: {0: {vlan: 6}, 1: {vlan: 7}, 2: {trust: true}}").apply()
        assert len(functions("here")) == 3
        desk("here", HARDWARE % "vfs: {0: {vlan: 5}}").rollback(1)
        assert functions("here") == before

    def test_functions_that_an_earlier_generation_had_not_hinder_nothing_else(self, desk: EngineIn) -> None:
        here("ip link set sim mtu 1500")
        desk("here", HARDWARE % "num_vfs: 0").apply()
        desk("here", HARDWARE % "num_vfs: 2\n    mtu: 1400").apply()
        desk("here", HARDWARE % "vfs: {1: {vlan: 6}}").apply()
        done = desk("here", HARDWARE % "").rollback(1)
        assert not [each for each in done.plan.warnings if "could not be given back" in each]
        assert json.loads(here("ip -j link show sim"))[0]["mtu"] == 1500

    def test_plan_says_that_all_functions_go_on_the_way(self, desk: EngineIn) -> None:
        desk("here", HARDWARE % "num_vfs: 2").apply()
        plan = desk("here", HARDWARE % "num_vfs: 3\n    vfs: {'[0-2]': {vlan: 5}}").diff()
        found = [(step.op, step.object.cls, step.why) for step in singles(plan.steps) if step.object.cls != "link"]
        assert found == [
            (Op.DELETE, "sriov", "from 2 to 3 it goes by way of 0, and all functions go"),
            (Op.CREATE, "sriov", "from 2 to 3 it goes by way of 0, and all functions go"),
            *[(Op.CREATE, "vf", "all functions of sim are made anew")] * 3,
        ]

    def test_refusal_names_the_line_and_leaves_all_as_it_was(self, desk: EngineIn) -> None:
        here("ip link set sim up")
        _NUMBER.write_text("2")
        here("ip link set sim vf 1 vlan 9")
        before = functions("here")
        for body, why in (
            ("num_vfs: 9", r"all\.yaml:3: create sriov sim: Cannot allocate memory"),
            ("vfs: {1: {vlan: 10}, 7: {vlan: 5}}", r"all\.yaml:3: create vf sim 7: Invalid argument"),
        ):
            with pytest.raises(KernelError, match=why):
                desk("here", HARDWARE % body).apply()
            assert functions("here") == before
        with pytest.raises(KernelError, match="lo: it is no network card"):
            desk("here", "links: {lo: {num_vfs: 2}}").apply()

    def test_refusal_of_sysfs_that_cannot_be_written_says_so(self, desk: EngineIn) -> None:
        subprocess.run(["mount", "-o", "remount,ro", "/sys"], check=True)
        try:
            with pytest.raises(KernelError, match="sim: /sys is read-only for netgroupd"):
                desk("here", HARDWARE % "num_vfs: 2").apply()
        finally:
            subprocess.run(["mount", "-o", "remount,rw", "/sys"], check=True)

    def test_capture_has_the_functions(self, desk: EngineIn) -> None:
        _NUMBER.write_text("4")
        for command in (
            "vf 0 mac 02:00:00:00:00:01",
            "vf 1 vlan 5 spoofchk on",
            "vf 2 vlan 5 spoofchk on",
            "vf 3 trust on",
        ):
            here(f"ip link set sim {command}")
        before = functions("here")
        text = desk("here", "{}").capture()
        assert "    num_vfs: 4\n" in text
        assert (
            '    vfs: {0: {spoofchk: false, mac: "02:00:00:00:00:01"}, "[1-2]": {vlan: 5, spoofchk: true}, '
            "3: {spoofchk: false, trust: true}}\n"
        ) in text
        desk("here", text).apply()
        assert functions("here") == before
        assert desk("here", text).capture() == text


def test_capture_of_a_card_without_functions_says_nothing_of_them(desk: EngineIn, plugged: None) -> None:
    assert "vfs" not in desk("here", "{}").capture()


@pytest.mark.parametrize("group", ["", ", group: cards"])
def test_card_goes_with_many_links_that_go_in_one_message(kernel: Stumbling, group: str) -> None:
    more = f", 'd[1-6]': {{kind: dummy{group}}}, sim.5: {{}}"
    text = f"groups: {{cards: {{}}}}\nlinks: {{sim: {{kind: netdevsim, id: 7{group}}}{more}}}"
    become(kernel, state_of(text))
    become(kernel, State())
    assert told("ip", "-br", "link").count("\n") == 1


def test_link_is_known_as_a_function_of_a_card(
    kernel: Stumbling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become(kernel, card("up: true", more=", other: {kind: netdevsim, id: 9}"))
    assert kernel.card_of("other") == ""
    devices = tmp_path / "netdevsim/devices"  # for no simulated card has links of its functions
    (devices / "netdevsim9").mkdir(parents=True)
    (devices / "netdevsim9/physfn").symlink_to(f"../{CARD}")
    monkeypatch.setattr(vf, "_DEVICES", tmp_path)
    assert [kernel.card_of(name) for name in ("other", "sim", "lo")] == ["sim", "", ""]
    become(kernel, state_of("links: {}"))


def test_what_is_no_card_has_no_functions_nor_is_one() -> None:
    with Kernel() as kernel:
        assert [kernel.card_of(name) for name in ("lo", "gone")] == ["", ""]
        wanted = Selection(classes=frozenset({"sriov", "vf"}), cards=frozenset({"lo", "gone"}))
        assert not [*kernel.dump(wanted)]
        step = Step(Op.CREATE, None, Object("sriov", ("gone",), {"num_vfs": 1}), {"num_vfs": 1})
        (refused,) = kernel.apply([step])
        assert "there is no link 'gone'" in str(refused.refusal)
