# SPDX-License-Identifier: GPL-2.0-or-later
"""What drivers are told, on a real kernel: as they tell by ioctl, kept where not spoken of, back after a refusal."""

import select
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import look
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.transaction import plan_for, plan_now
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.links import layout as links_layout
from netgroupd.kernel.links import read as links_read
from netgroupd.kernel.monitor import Monitor
from netgroupd.kernel.netlink.request import Selection
from netgroupd.kernel.netns import entered
from netgroupd.kernel.settings import ethtool, ethtool_features
from netgroupd.model.ethtool import PARTS
from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import Value
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Step
from tests.engine.universe import state_of
from tests.vm.ethtool_calls import features, names, told
from tests.vm.pipeline import Pipeline
from tests.vm.stumbling import MINE, Stumbling, become, ip, there_and_back

NUMBER = 12
"""Of the simulated card; one number serves all namespaces, and other tests have others."""

_COALESCE = PARTS["coalesce"].attrs
OTHERS: dict[str, dict[str, tuple[Value, Value]]] = {
    "rings": {"rx": (128, 64), "rx_mini": (16, 0), "rx_jumbo": (32, 4096), "tx": (4096, 1)},
    "channels": {"combined": (2, 4)},
    "coalesce": {name: (True, False) for name in _COALESCE if "adaptive" in name},
    "pause": {"rx": (True, False), "tx": (True, False)},
    "fec": {"auto": (True, False), "modes": (("rs",), ("baser", "rs"))},
}
OTHERS["coalesce"] |= {name: (7, 3) for name in _COALESCE if "usecs" in name and "aggr" not in name}
PLACES = {
    "rings": {"rx": 4, "rx_mini": 5, "rx_jumbo": 6, "tx": 7},
    "channels": {"combined": 7},
    "pause": {"rx": 1, "tx": 2},
    "coalesce": {
        "rx_usecs": 0, "rx_usecs_irq": 2, "tx_usecs": 4, "tx_usecs_irq": 6, "stats_block_usecs": 8,
        "adaptive_rx": 9, "adaptive_tx": 10, "rx_usecs_low": 12, "tx_usecs_low": 14, "rx_usecs_high": 17,
        "tx_usecs_high": 19,
    },
}  # fmt: skip
"""Where the structures of the ioctl have them."""


_BUS = Path("/sys/bus/netdevsim")


def _plug(netns: str | None) -> None:
    """Plug in a simulated card with four queues, and call it n0."""
    where = () if netns is None else ("-n", netns)
    before = names(netns)
    with entered(netns):
        (_BUS / "new_device").write_text(f"{NUMBER} 1 4")
    (card,) = names(netns) - before
    subprocess.run(["ip", *where, "link", "set", card, "name", "n0"], check=True)


@pytest.fixture
def pipeline() -> Iterator[Pipeline]:
    _plug(None)
    subprocess.run(["ip", "link", "add", "d0", "type", "dummy"], check=True)
    try:
        with Kernel() as kernel:
            asked: dict[Key, frozenset[str]] = {("n0", part): frozenset(PARTS[part].attrs) for part in OTHERS}
            asked["d0", "features"] = frozenset({"tso", "rx-gro", "tx-checksum-ip-generic", "tx-lockless"})
            yield Pipeline(kernel, Selection(frozenset({"ethtool"}), ethtool=asked))
    finally:
        (_BUS / "del_device").write_text(str(NUMBER))


@pytest.fixture
def card(kernel: Stumbling, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stumbling]:
    """A kernel with a simulated card, n0, that looks as hardware does."""
    monkeypatch.setattr(links_read, "_learnt", links_read._Learnt())
    monkeypatch.setattr(links_layout, "_SIMULATED", "none of these")
    _plug("engine")
    try:
        yield kernel
    finally:
        (_BUS / "del_device").write_text(str(NUMBER))


def by_ioctl(*links: str, netns: str = "engine") -> object:
    """All that the ioctl tells of links that are there."""
    there = [link for link in links if link in names(netns)]
    return {link: ({part: told(link, part, netns) for part in OTHERS}, features(link, netns)) for link in there}


def seen() -> object:
    return by_ioctl("n0", "d0", "v0", "br")


CASES = [(part, name) for part, attrs in OTHERS.items() for name in attrs]


@pytest.mark.parametrize(("part", "name"), CASES)
def test_value_is_set_and_changed_and_nothing_else(pipeline: Pipeline, part: str, name: str) -> None:
    key = ("n0", part)
    if part == "fec":  # which cannot be as it is at first again
        pipeline.reach("ethtool", Object("ethtool", key, {"modes": ("off",)}))
    for value in OTHERS[part][name]:
        before = dict(pipeline.actual.of("ethtool")[key].attrs)
        (step,) = pipeline.reach("ethtool", Object("ethtool", key, {name: value}))
        assert (step.op, dict(step.attrs)) == (Op.CHANGE, {name: value})
        assert pipeline.actual.of("ethtool")[key].attrs == {**before, name: value}
        if name in PLACES.get(part, ()):
            assert told("n0", part)[PLACES[part][name]] == value


def test_every_part_that_a_simulated_card_has_is_read(pipeline: Pipeline) -> None:
    found = {key[1]: obj.attrs for key, obj in pipeline.actual.of("ethtool").items() if key[0] == "n0"}
    assert found.keys() == OTHERS.keys()
    assert found["rings"] == {**dict.fromkeys(OTHERS["rings"], 0), "tx_push": False, "rx_push": False}
    assert found["channels"] == {"combined": 4}
    assert found["pause"] == {"autoneg": False, "rx": False, "tx": False}


def test_features_are_those_that_somebody_asks_for(pipeline: Pipeline) -> None:
    found = pipeline.actual.of("ethtool")["d0", "features"].attrs
    assert found == {"tso": True, "rx-gro": True, "tx-checksum-ip-generic": True}  # and no tx-lockless: 6.12 has none


@pytest.mark.parametrize(
    ("name", "those"),
    [
        ("rx-gro", ["rx-gro"]),
        ("tso", ["tx-tcp-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp6-segmentation"]),
        ("tx-checksum-ip-generic", ["tx-checksum-ip-generic"]),
    ],
)
def test_feature_is_taken_away_and_given_back(pipeline: Pipeline, name: str, those: list[str]) -> None:
    before = dict(features("d0"))
    for value in (False, True):
        pipeline.reach("ethtool", Object("ethtool", ("d0", "features"), {name: value}))
        after = features("d0")
        assert {each: after[each] for each in those} == dict.fromkeys(those, (value, value))
        wanted = {each: wish for each, (wish, _) in after.items() if each not in those}
        assert wanted == {each: wish for each, (wish, _) in before.items() if each not in those}
    assert features("d0") == before


def test_feature_that_another_keeps_off_is_told_as_ethtool_tells_it(pipeline: Pipeline) -> None:
    tx = ("d0", "features")
    pipeline.reach("ethtool", Object("ethtool", tx, {"tx-checksum-ip-generic": False}))
    assert pipeline.actual.of("ethtool")[tx].attrs["tso"] == "off [requested on]"
    pipeline.reach("ethtool", Object("ethtool", tx, {"tso": False}))
    assert pipeline.actual.of("ethtool")[tx].attrs["tso"] is False
    pipeline.reach("ethtool", Object("ethtool", tx, {"tso": "off [requested on]"}))
    pipeline.reach("ethtool", Object("ethtool", tx, {"tx-checksum-ip-generic": True}))
    assert pipeline.actual.of("ethtool")[tx].attrs["tso"] is True


def test_one_of_several_features_is_told_and_can_be_wanted_alone(pipeline: Pipeline) -> None:
    key = ("d0", "features")
    pipeline.reach("ethtool", Object("ethtool", key, {"tso": "tx-tcp6-segmentation"}))
    assert features("d0")["tx-tcp6-segmentation"] == (True, True)
    assert features("d0")["tx-tcp-segmentation"] == (False, False)
    assert pipeline.actual.of("ethtool")[key].attrs["tso"] == "tx-tcp6-segmentation"


REFUSED = [
    pytest.param("d0", "features", {"rx-groo": True}, "this kernel knows no feature 'rx-groo'; did you mean 'rx-gro'?"),
    pytest.param(
        "d0", "features", {"rx-vlan-filter": True}, "'rx-vlan-filter' of d0 cannot be changed: it is fixed off"
    ),
    pytest.param("n0", "rings", {"rx": 9999}, "requested ring size exceeds maximum; rx is at most 4096"),
    pytest.param("n0", "channels", {"combined": 5}, "requested channel count exceeds maximum; combined is at most 4"),
    pytest.param(
        "n0",
        "channels",
        {"combined": 0},
        "requested channel counts would result in no RX or TX channel being configured",
    ),
    pytest.param("d0", "rings", {"rx": 1}, "the driver of d0 has no rings that can be set"),
    pytest.param("d0", "coalesce", {"rx_usecs": 1}, "the driver of d0 has no coalescing of interrupts that can be set"),
    pytest.param("d0", "wol", {"modes": ("magic",)}, "the driver of d0 has no wake-on-LAN that can be set"),
    pytest.param("d0", "private_flags", {"legacy-rx": True}, "the driver of d0 has no private flags that can be set"),
    pytest.param("d0", "link_modes", {"speed": 1000}, "the driver of d0 has no link modes that can be set"),
    pytest.param("n0", "pause", {"autoneg": True}, "Invalid argument"),
]


@pytest.mark.parametrize(("link", "part", "attrs", "why"), REFUSED)
def test_refusal_says_why_and_what_there_is(
    pipeline: Pipeline, link: str, part: str, attrs: dict[str, Value], why: str
) -> None:
    before = features("d0")
    wanted = Object("ethtool", (link, part), attrs)
    (refused,) = pipeline.kernel.apply([Step(Op.CREATE, None, wanted, attrs)])
    assert str(refused.refusal) == f"create ethtool {link} {part}: {why}"
    assert features("d0") == before


def test_feature_that_stays_off_is_refused_and_the_wish_is_taken_back(pipeline: Pipeline) -> None:
    key = ("d0", "features")
    pipeline.reach("ethtool", Object("ethtool", key, {"tso": False, "tx-checksum-ip-generic": False}))
    before = features("d0")
    wanted = Object("ethtool", key, {"tso": True})
    (refused,) = pipeline.kernel.apply([Step(Op.CHANGE, pipeline.actual.of("ethtool")[key], wanted, wanted.attrs)])
    assert refused.refusal.sentence == "'tso' of d0 stays off: it depends on other features of it"
    assert features("d0") == before


@pytest.mark.parametrize(("part", "attrs"), [("rings", {"rx": 5}), ("features", {"rx-gro": False})])
def test_part_that_the_kernel_has_no_message_for_is_told_plainly(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, part: str, attrs: dict[str, Value]
) -> None:
    monkeypatch.setitem(PARTS, part, PARTS[part]._replace(get=201, set=202))
    wanted = Object("ethtool", ("n0", part), attrs)
    assert ("n0", part) not in pipeline.look().of("ethtool")
    (refused,) = pipeline.kernel.apply([Step(Op.CREATE, None, wanted, wanted.attrs)])
    assert refused.refusal.sentence == f"this kernel cannot set {part} by netlink"


def test_kernel_without_ethtool_by_netlink_says_so(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ethtool, ethtool_features):
        monkeypatch.setattr(module, "FAMILY", "ethtoool")
    assert not pipeline.look().of("ethtool")
    for part, attrs in (("rings", {"rx": 5}), ("features", {"rx-gro": False})):
        wanted = Object("ethtool", ("n0", part), attrs)
        (refused,) = pipeline.kernel.apply([Step(Op.CREATE, None, wanted, attrs)])
        assert refused.refusal.sentence == "this kernel has no ethtoool"


def test_each_link_is_asked_and_all_in_one_dump_where_they_are_many() -> None:
    subprocess.run(["ip", "-batch", "-"], input="link add d0 type dummy\n" * 1, text=True, check=True)
    links = "".join(f"link add m{number} type dummy\n" for number in range(100))
    subprocess.run(["ip", "-batch", "-"], input=links, text=True, check=True)
    with Kernel() as kernel:
        kernel.read_names()
        for count, most in ((0, 0), (3, 5), (100, 3)):
            asked: dict[Key, frozenset[str]] = {
                (f"m{number}", "features"): frozenset({"tso"}) for number in range(count)
            }
            before = kernel.counters.messages
            found = kernel.dump(Selection(frozenset({"ethtool"}), ethtool=asked)).of("ethtool")
            assert found.keys() == asked.keys()
            assert kernel.counters.messages - before <= most


def test_news_of_drivers_are_told_to_who_listens_for_them(pipeline: Pipeline) -> None:
    for part, attrs in (("rings", {"rx": 99}), ("coalesce", {"rx_usecs": 99})):
        with Monitor(("link", "ethtool")) as monitor, Monitor(("link",)) as deaf:
            assert not select.select([monitor], [], [], 0)[0]
            pipeline.reach("ethtool", Object("ethtool", ("n0", part), attrs))
            assert select.select([monitor], [], [], 0)[0]
            assert not select.select([deaf], [], [], 0)[0]
    with Monitor(("ethtool",)) as monitor:
        pipeline.reach("ethtool", Object("ethtool", ("d0", "features"), {"rx-gro": False}))
        assert select.select([monitor], [], [], 0)[0]


CARD = "n0: {ethtool: {%s}}"
DUMMY = "d0: {kind: dummy, up: true, ethtool: {features: {%s}}}"
ALL = "rings: {rx: 64, tx: 32}, channels: {combined: 2}, coalesce: {rx_usecs: 9, adaptive_rx: on}, pause: {rx: on}"
FEC = "fec: {modes: [rs], auto: off}"
LESS = "rings: {rx: 128}, pause: {rx: off, tx: on}"


def said(card: str, dummy: str = "", more: str = "") -> State:
    own = DUMMY % dummy if dummy else "d0: {kind: dummy, up: true}"
    return state_of(f"links: {{{', '.join(filter(None, (CARD % card if card else '', own, more)))}}}")


VETH = "v0: {kind: veth, peer: v1, ethtool: {features: {gro: %s}}}"
BRIDGE = "br: {kind: bridge, ports: [d0], ethtool: {features: {tx: %s}}}"
WAYS = [
    pytest.param(said(""), said(ALL, "tso: off, gro: off"), id="all_comes"),
    pytest.param(said(ALL, "tso: off, gro: off"), said(LESS, "tso: on, rx-udp-gro-forwarding: on"), id="some_changes"),
    pytest.param(said(ALL, "tso: off"), said("", ""), id="nothing_is_said_any_more"),
    pytest.param(
        said("", "tso: off"),
        state_of("links: {d0: {kind: ifb, ethtool: {features: {tso: off, gro: off}}}}"),
        id="another_kind",
    ),
    pytest.param(said("", "tx: off"), said("", "tx: off, tso: off"), id="wish_that_is_not_fulfilled"),
    pytest.param(said("", "tx: off, tso: off"), said("", "tx: on"), id="one_that_others_depend_on"),
    pytest.param(said("", "", VETH % "on"), said("", "", f"{VETH % 'off'}, {BRIDGE % 'off'}"), id="other_kinds"),
    pytest.param(
        said("", "", "t0: {kind: tun, mode: tap, ethtool: {link_modes: {speed: 1000, duplex: full}}}"),
        said("", "", "t0: {kind: tun, mode: tap, ethtool: {link_modes: {speed: 100, duplex: half}}}"),
        id="speed",
    ),
    pytest.param(said(FEC), said("fec: {modes: [baser, rs], auto: on}"), id="error_correction"),
]


@pytest.mark.parametrize(("before", "after"), WAYS)
def test_all_is_back_after_any_refusal(card: Stumbling, before: State, after: State) -> None:
    become(card, before)
    there_and_back(card, after, seen, refused=True)
    become(card, after)
    become(card, before)
    assert not plan_now(card, before, MINE)[0].steps


def test_error_correction_of_no_kind_cannot_be_told_and_all_else_comes_back(card: Stumbling) -> None:
    goal, before = said(f"fec: {{auto: on}}, {ALL}"), told("n0", "rings", "engine")
    actual = look(card, goal, MINE)
    snapshot = Snapshot.of(plan_for(card, goal, actual, MINE), actual)
    become(card, goal)
    assert told("n0", "rings", "engine") != before
    put_back(card, snapshot, MINE)
    assert told("n0", "rings", "engine") == before


def test_what_nobody_mentions_stays(card: Stumbling) -> None:
    become(card, said(ALL, "tso: off, gro: off"))
    before = seen()
    become(card, said("", ""))
    assert seen() == before
    become(card, said("rings: {rx: 65}", "gro: on"))
    (now,) = [told("n0", "rings", "engine")]
    assert (now[4], now[7]) == (65, 32)
    assert features("d0", "engine")["tx-tcp-segmentation"] == (False, False)


def test_link_that_is_made_again_is_told_again(card: Stumbling) -> None:
    become(card, said("", "tso: off"))
    ip("link del d0")
    become(card, said("", "tso: off"))
    assert features("d0", "engine")["tx-tcp-segmentation"] == (False, False)
    goal = state_of(f"links: {{{(DUMMY % 'tso: off').replace('dummy', 'ifb')}}}")
    plan = plan_for(card, goal, look(card, goal, MINE), MINE)
    assert [step.op for step in singles(plan.steps) if step.object.cls == "ethtool"] == [Op.CHANGE]
    become(card, goal)
    assert features("d0", "engine")["tx-tcp-segmentation"] == (False, False)


def test_parts_live_where_their_link_does(kernel: Stumbling) -> None:
    ip("netns add blue")
    try:
        for value in ("off", "on"):
            goal = state_of(f"links: {{d0: {{kind: dummy, netns: blue, ethtool: {{features: {{gro: {value}}}}}}}}}")
            become(kernel, goal)
            assert features("d0", "blue")["rx-gro"] == (value == "on", value == "on")
            assert not plan_now(kernel, goal, MINE)[0].steps
    finally:
        ip("netns del blue")


def test_card_that_goes_elsewhere_comes_back_as_it_was_told(card: Stumbling) -> None:
    ip("netns add blue")
    try:
        become(card, state_of("links: {n0: {ethtool: {rings: {rx: 64}}}}"))
        before, goal = told("n0", "rings", "engine"), state_of("links: {n0: {netns: blue, ethtool: {rings: {rx: 64}}}}")
        mine = card.keep(goal)._replace(away=frozenset({("blue", "n0")}))
        snapshot = Snapshot.of(*plan_now(card, goal, mine))
        become(card, goal)
        put_back(card, snapshot, mine)
        assert told("n0", "rings", "engine") == before
    finally:
        ip("netns del blue")
