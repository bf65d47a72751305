# SPDX-License-Identifier: GPL-2.0-or-later
"""What a refusal tells of a message for many: which links it was about, and who asked for the first of them."""

import errno

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.delivery import Denied
from netgroupd.kernel.netlink.socket import Answer
from netgroupd.kernel.refused import refused
from netgroupd.model.route import key
from netgroupd.model.state import Attrs, Object, Origin
from netgroupd.plan.step import GroupStep, Op, Step
from netgroupd.plan.tc.beside import Said

MTU: Attrs = {"mtu": 9000}


def change(name: str, line: int) -> Step:
    link = Object("link", (name,), MTU, Origin("10-all.yaml", line))
    return Step(Op.CHANGE, link, link, MTU)


@pytest.mark.parametrize(
    ("sentence", "want"),
    [
        pytest.param(
            "Invalid argument", "10-all.yaml:3: change links d[1-2]: Invalid argument (mtu 9000)", id="nobody"
        ),
        pytest.param("d2: mtu greater than device maximum", "10-all.yaml:4: change link d2: mtu greater", id="one"),
    ],
)
def test_refused_message_for_a_group_is_told_with_links_and_a_line(sentence: str, want: str) -> None:
    step = GroupStep(Op.CHANGE, 7, MTU, (change("d1", 3), change("d2", 4)))
    refusal = refused(step, Denied(step, Answer(1, errno.EINVAL, sentence), b""), Said(())).refusal
    assert str(refusal).startswith(want)


@pytest.mark.vm("stock")
def test_route_with_more_ways_than_fit_into_an_attribute_is_refused() -> None:
    ways = tuple({"via": f"10.0.{number >> 8}.{number & 255}", "dev": "lo"} for number in range(5000))
    route = Object("route", key("10.9.0.0/16"), {"nexthops": ways}, Origin("10-all.yaml", 3))
    with Kernel() as kernel:
        (refused,) = kernel.apply([Step(Op.CREATE, None, route, route.attrs)])
    assert refused.refusal.errno == errno.EMSGSIZE
    assert "it takes 80000 bytes where an attribute holds 65531" in str(refused.refusal)
