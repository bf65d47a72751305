# SPDX-License-Identifier: GPL-2.0-or-later
"""What drivers are told, by whole engines: earlier generations, links that went, captures, and refusals with lines."""

import pytest

from netgroupd.errors import KernelError
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.ethtool import FEATURES
from netgroupd.model.state import Object
from netgroupd.plan.step import Op, Step
from tests.vm.ethtool_calls import features, names
from tests.vm.hosts import EngineIn, here

ENGINE = "links:\n  d0:\n    kind: dummy\n%s"
FIRST = "    ethtool:\n      features: {gro: off}\n"


@pytest.mark.parametrize("first", [pytest.param("", id="nothing_said"), pytest.param(FIRST, id="something_said")])
def test_an_earlier_generation_has_what_it_did_not_mention(engine_in: EngineIn, first: str) -> None:
    engine_in("here", ENGINE % first).apply()
    before = features("d0", "here")
    engine = engine_in(
        "here", ENGINE % "    ethtool:\n      features: {gro: on, tso: off, rx-udp-gro-forwarding: on}\n"
    )
    assert engine.apply().plan.steps
    assert not engine.apply().plan.steps
    assert features("d0", "here") != before
    engine.rollback(1)
    assert features("d0", "here") == before


@pytest.mark.parametrize(
    "later",
    [
        pytest.param("links: {d1: {kind: dummy}}", id="gone"),
        pytest.param("links: {d0: {kind: ifb, ethtool: {features: {tso: off}}}}", id="of_another_kind"),
    ],
)
def test_link_that_went_comes_back_with_what_it_was_told(engine_in: EngineIn, later: str) -> None:
    engine_in("here", ENGINE % FIRST).apply()
    before = features("d0", "here")
    engine = engine_in("here", later)
    engine.apply(confirm_s=0.0)
    assert "d0" not in names("here") or features("d0", "here") != before
    engine.expire()
    assert features("d0", "here") == before


def test_capture_has_the_features_of_virtual_links_that_somebody_changed(engine_in: EngineIn) -> None:
    made = (
        "links:\n  d[0-1]: {kind: dummy, ethtool: {features: {tso: off, gro: off}}}\n"
        "  br: {kind: bridge, ports: d0, ethtool: {features: {tx: off}}}\n"
        "  v0: {kind: veth, peer: v1, ethtool: {features: {tx-tcp-segmentation: off, rx-gro: on}}}\n"
        "  i0: {kind: ifb}\n  d0.5: {}\n"
    )
    engine_in("here", made).apply()
    before = {name: features(name, "here") for name in ("d0", "d1", "br", "v0", "v1", "i0", "d0.5")}
    text = engine_in("here", made).capture()
    told_of = [line.strip() for line in text.splitlines() if "ethtool" in line]
    assert sorted(told_of) == [
        "ethtool: {features: {rx-gro: true, tx-tcp-segmentation: false}}",
        "ethtool: {features: {tso: false, rx-gro: false}}",
        "ethtool: {features: {tso: false, rx-gro: false}}",
        "ethtool: {features: {tx: false}}",
    ]
    assert not [step for step in engine_in("here", text).diff().steps if "ethtool" in str(step)]
    engine_in("there", text).apply()
    assert engine_in("there", text).capture() == text
    assert {name: features(name, "there") for name in before} == before


def test_feature_that_cannot_be_on_beside_another_is_refused_at_its_step(engine_in: EngineIn) -> None:
    engine_in("here", ENGINE % "").apply()
    before = features("d0", "here")
    engine = engine_in("here", ENGINE % "    ethtool:\n      features: {tso: on, tx: off}\n")
    with pytest.raises(KernelError, match=r"all\.yaml:5: change ethtool d0 features: 'tso' of d0 stays off"):
        engine.apply()
    assert features("d0", "here") == before


def test_refusal_names_the_line_and_leaves_all_as_it_was(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    here("ip link add d9 type dummy")
    before = features("d9", "here")
    text = "links:\n  d9:\n    ethtool:\n      features:\n        gro: off\n        rx-vlan-filtre: on\n"
    why = r"all\.yaml:5: change ethtool d9 features: this kernel knows no .*; did you mean 'rx-vlan-filter'\?"
    with pytest.raises(KernelError, match=why):
        engine_in("here", text).apply()
    assert features("d9", "here") == before


@pytest.mark.parametrize("own", ["", ", ethtool: {features: {gro: off}}"], ids=["nothing_said", "something_said"])
@pytest.mark.parametrize("many", [0, 30])
def test_what_others_have_told_a_driver_is_back_with_its_link(engine_in: EngineIn, own: str, many: int) -> None:
    others = f"  o[1-{many}]: {{kind: dummy}}\n" * bool(many)
    text = f"links:\n  vx: {{kind: vxlan, id: %s, dstport: 4789{own}}}\n  vx.5: {{}}\n  d: {{kind: dummy}}\n{others}"
    engine_in("here", text % 7).apply()
    with Kernels("here") as kernel:
        kernel.dump(Selection(everything=True))
        for name, told in (("vx", {"tso": False, "rx-gro-list": True}), ("vx.5", {"tx-generic-segmentation": False})):
            by_hand = Object("ethtool", (name, FEATURES), told)
            assert kernel.apply([Step(Op.CHANGE, by_hand, by_hand, told)]) == ()
    before = {name: features(name, "here") for name in ("vx", "vx.5")}
    engine = engine_in("here", text % 8)
    engine.apply(confirm_s=60.0)
    assert features("vx", "here") != before["vx"]
    assert "could not" not in " ".join(engine.rollback().plan.warnings)
    assert {name: features(name, "here") for name in before} == before


def wanted(link: str) -> dict[str, bool]:
    return {name: asked for name, (asked, _) in features(link, "here").items()}


def test_features_are_back_that_depend_on_what_comes_back_too(engine_in: EngineIn) -> None:
    text = "links:\n  p: {kind: dummy}\n  b0: {kind: %s, ports: p}\n  b0.10: {}\n  b0.10.5: {}\n"
    engine_in("here", text % "bond").apply()
    names = ("b0", "b0.10", "b0.10.5")
    before = [wanted(name) for name in names]
    engine = engine_in("here", text % "team")
    engine.apply(confirm_s=60.0)
    assert "could not" not in " ".join(engine.rollback().plan.warnings)
    assert [wanted(name) for name in names] == before
