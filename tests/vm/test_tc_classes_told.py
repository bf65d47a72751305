# SPDX-License-Identifier: GPL-2.0-or-later
"""Classes of qdiscs in classes of others: the list of a link ends at a netem, and they are there all the same."""

import pytest

from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

_DUMMY = "links: {d0: {kind: dummy, up: true}%s}\n"
_TREE = """
tc:
  d0:
    qdiscs:
      - {kind: drr, handle: "1:"}
      - {kind: htb, handle: "12:", parent: "1:1"}
      - {kind: netem, handle: "[v=13-18]:", parent: "1:{v-11}", corrupt: 10}
    classes:
      - {classid: "1:[1-7]", parent: "1:", quantum: 500}
      - {classid: "12:[1-40]", parent: "12:", rate: 1mbit}
"""


def _classes() -> int:
    return here("tc class show dev d0 parent 12:").count("class htb")


@pytest.mark.parametrize("others", [0, 20])
def test_classes_beside_a_netem_are_known(engine_in: EngineIn, others: int) -> None:
    links = "".join(f", d{number}: {{kind: dummy}}" for number in range(1, others))
    text = _DUMMY % links + _TREE
    engine_in("here", text).apply()
    assert not engine_in("here", text).diff().steps
    assert _classes() == 40
    engine = engine_in("here", text.replace("12:[1-40]", "12:[1-39]"))
    engine.apply()
    assert _classes() == 39
    engine.rollback(1)
    assert _classes() == 40
