# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of which no two may be alike, that take over what others give up."""

import pytest

from netgroupd.model.state import Object
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Step
from netgroupd.plan.unique import in_turn
from tests.engine.desk import Desk
from tests.instructions import is_linear

KINDS = {
    "gre": "local: 192.0.2.1, remote: 10.0.0.{}",
    "ip6tnl": "local: '2001:db8::1', remote: '2001:db8::f:{}'",
    "xfrm": "if_id: {}",
    "wireguard": "listen_port: 5182{}",
}


def links(kind: str, values: tuple[int, ...]) -> str:
    told = [f"t{n}: {{kind: {kind}, {KINDS[kind].format(value)}}}" for n, value in enumerate(values)]
    return "links: {" + ", ".join(told) + "}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("second", "told"),
    [
        pytest.param((2, 3, 4), ["t2", "t1", "t0"], id="shifted_up"),
        pytest.param((4, 1, 2), ["t0", "t1", "t2"], id="shifted_down"),
        pytest.param((2, 1, 3), ["t0", "t1", "t0"], id="exchanged"),
        pytest.param((2, 3, 1), ["t0", "t2", "t1", "t0"], id="in_a_circle"),
        pytest.param((4, 5, 6), ["t0", "t1", "t2"], id="all_to_what_is_free"),
    ],
)
def test_link_takes_over_what_another_gave_up_before(
    desk: Desk, kind: str, second: tuple[int, ...], told: list[str]
) -> None:
    desk.wants(links(kind, (1, 2, 3)))
    desk.engine.apply()
    desk.wants(links(kind, second))
    steps = [step for step in singles(desk.engine.diff().steps) if step.attrs.keys() != {"mtu"}]  # which tunnels keep
    assert [step.object.name for step in steps] == told
    desk.engine.apply()
    assert not desk.engine.diff().steps


def test_id_in_a_circle_is_one_that_no_link_has(desk: Desk) -> None:
    desk.wants(links("xfrm", (1, 2, 0xFFFFFFFF)))
    desk.engine.apply()
    desk.wants(links("xfrm", (2, 1, 0xFFFFFFFF)))
    first = desk.engine.diff().steps[0]
    assert isinstance(first, Step)
    assert first.attrs == {"if_id": 0xFFFFFFFE}


def test_two_circles_do_not_meet(desk: Desk) -> None:
    tunnel = "%s: {kind: gre, local: 192.0.2.%d, remote: 10.0.0.1}"
    four = "links: {" + ", ".join([tunnel] * 4) + "}"
    desk.wants(four % ("a", 1, "b", 2, "c", 3, "d", 4))
    desk.engine.apply()
    desk.wants(four % ("a", 2, "b", 1, "c", 4, "d", 3))
    desk.engine.apply()
    assert not desk.engine.diff().steps


def test_turns_of_very_many_links_are_found_in_linear_time() -> None:
    def turn(count: int) -> None:
        links = [Object("link", (f"x{n}",), {"kind": "xfrm", "if_id": n}) for n in range(1, count + 1)]
        steps = [Step(Op.CHANGE, link, link, {"if_id": n % count + 1}) for n, link in enumerate(links, 1)]
        turns, others = in_turn(steps, {link.key: link for link in links})
        assert (len(turns), others) == (count + 1, [])

    assert is_linear(turn, 200)
