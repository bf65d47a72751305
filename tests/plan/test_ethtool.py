# SPDX-License-Identifier: GPL-2.0-or-later
"""What drivers are told in a plan: behind their links and before these are up, lower ones first, and never deleted."""

from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan import present
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan
from tests.engine.universe import state_of
from tests.plan.reading_back import read_back

OURS: dict[str, Value] = {"group": 0x4E47_0000}
DUMMY = "d0: {kind: dummy, ethtool: {%s}}"


def have(kind: str = "dummy", **parts: dict[str, Value]) -> State:
    """A link and what its driver tells."""
    link = Object("link", ("d0",), {"kind": kind, "up": False, **OURS})
    return State((link, *(Object("ethtool", ("d0", part), attrs) for part, attrs in parts.items())))


def planned(want: str, actual: State) -> Plan:
    return assemble(state_of(f"links: {{{want}}}"), actual, Owned(frozenset({0x4E47_0000})))


def lines(plan: Plan) -> list[str]:
    return [" ".join(line.split()) for line in present.text(plan).splitlines()]


def about_drivers(plan: Plan) -> list[tuple[Op, tuple[Value, ...], dict[str, Value]]]:
    steps = (step for step in singles(plan.steps) if step.object.cls == "ethtool")
    return [(step.op, step.object.key, dict(step.attrs)) for step in steps]


def test_new_links_are_told_before_they_come_up_lower_ones_first() -> None:
    want = (
        "d0.5: {up: true, ethtool: {features: {tso: off}}},"
        " d0: {kind: dummy, up: true, ethtool: {features: {tso: off, gro: on}, rings: {rx: 64}}}"
    )
    plan = planned(want, State())
    told = [f"{step.op} {step.object.cls} {step.object.name}" for step in singles(plan.steps)]
    assert told == [
        "create link d0",
        "create link d0.5",
        "create ethtool d0",
        "create ethtool d0",
        "create ethtool d0.5",
        "change link d0",
        "change link d0.5",
    ]
    assert "+ ethtool d0 features tso off rx-gro on" in lines(plan)
    assert "+ ethtool d0 rings rx 64" in lines(plan)


def test_only_what_differs_is_said() -> None:
    actual = have(rings={"rx": 64, "tx": 8}, pause={"rx": True, "tx": True})
    plan = planned(DUMMY % "rings: {rx: 128, tx: 8}, pause: {rx: on}", actual)
    assert about_drivers(plan) == [(Op.CHANGE, ("d0", "rings"), {"rx": 128})]
    assert lines(plan) == ["~ ethtool d0 rings rx 64 -> 128", "1 to change; 1 message"]


def test_what_nobody_mentions_any_more_stays() -> None:
    assert planned(DUMMY % "rings: {}", have(rings={"rx": 64}, features={"rx-gro": False})).steps == ()


def test_link_that_is_made_anew_is_told_all_again() -> None:
    actual = have(features={"rx-gro": False, "tso": True})
    plan = planned((DUMMY % "features: {gro: off, tso: on}").replace("dummy", "ifb"), actual)
    assert about_drivers(plan) == [(Op.CHANGE, ("d0", "features"), {"rx-gro": False, "tso": True})]


def test_wish_that_is_not_fulfilled_differs_from_both() -> None:
    actual = have(features={"tso": "off [requested on]"})
    for wanted in ("on", "off"):
        plan = planned(DUMMY % f"features: {{tso: {wanted}}}", actual)
        assert lines(plan)[0] == f"~ ethtool d0 features tso off [requested on] -> {wanted}"


def test_speed_that_is_not_told_without_a_carrier_is_as_wanted() -> None:
    modes = "link_modes: {speed: 1000, duplex: full, autoneg: off}"
    assert planned(DUMMY % modes, have(link_modes={"autoneg": False})).steps == ()
    plan = planned(DUMMY % modes, have(link_modes={"autoneg": True}))
    assert about_drivers(plan) == [(Op.CHANGE, ("d0", "link_modes"), {"autoneg": False})]


def test_many_links_told_alike_are_one_line() -> None:
    plan = planned("'d[0-9]': {kind: dummy, ethtool: {features: {gro: off}}}", State())
    assert "+ ethtool d[0-9] features rx-gro off (10)" in lines(plan)


def test_plan_goes_through_json() -> None:
    plan = planned(DUMMY % "features: {gro: off}, fec: {modes: [rs, baser]}", have(features={"rx-gro": True}))
    assert read_back(plan) == plan.steps
