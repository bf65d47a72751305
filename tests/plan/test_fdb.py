# SPDX-License-Identifier: GPL-2.0-or-later
"""Forwarding entries without a VLAN, with which the kernel takes away those of every VLAN."""

import pytest

from netgroupd.model.state import Object, State
from netgroupd.plan.diff import diff
from netgroupd.plan.named import text_of
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Op

LINKS = [Object("link", ("br",), {"kind": "bridge"}), Object("link", ("p",), {"kind": "dummy", "master": "br"})]


def entry(vlan: int, where: str = "master") -> Object:
    return Object("fdb", ("p", "02:00:00:00:00:07", vlan, where, None, None), {"state": "static"})


@pytest.mark.parametrize(
    ("wants", "haves", "steps"),
    [
        pytest.param([entry(5)], [entry(0), entry(5)], [(Op.DELETE, 0), (Op.CHANGE, 5)], id="goes_with_the_other"),
        pytest.param([entry(0)], [entry(0), entry(5)], [(Op.DELETE, 5)], id="goes_alone"),
        pytest.param([entry(6)], [entry(0)], [(Op.DELETE, 0), (Op.CREATE, 6)], id="is_made"),
        pytest.param(
            [entry(5)], [entry(0, "self"), entry(5)], [(Op.DELETE, 0)], id="is_in_another_table_than_the_other"
        ),
    ],
)
def test_entry_of_a_vlan(wants: list[Object], haves: list[Object], steps: list[tuple[Op, int]]) -> None:
    have = State([*LINKS, *haves])
    found = diff(State([*LINKS, *wants]), have, Owned(frozenset(), named=(text_of(have),))).others
    assert [(step.op, step.object.key[2]) for step in found] == steps
