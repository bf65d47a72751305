# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel lacks is left out and said."""

from netgroupd.model.state import Object, State
from netgroupd.plan.lacking import without

ROWS = frozenset({"lightweight", "l2only"})
PLAIN = Object("link", ("a",), {"kind": "dummy", "mtu": 1400})
LIGHT = Object("link", ("b",), {"kind": "dummy", "lightweight": True, "l2only": False})
ADDRESS = Object("address", ("b", "192.0.2.1/24", None), {})


def test_state_that_asks_for_nothing_lacking_is_the_same_state() -> None:
    wanted = State((PLAIN, ADDRESS))
    assert without(wanted, ROWS) == (wanted, ())


def test_lacking_row_is_left_out_of_links_that_have_it_and_counted() -> None:
    attainable, warnings = without(State((PLAIN, LIGHT, ADDRESS)), ROWS)
    assert list(attainable) == [PLAIN, LIGHT._replace(attrs={"kind": "dummy"}), ADDRESS]
    assert warnings == ("this kernel has no 'lightweight': 1 links are made without",)


def test_order_of_links_is_kept() -> None:
    attainable, _ = without(State((LIGHT, PLAIN)), ROWS)
    assert [link.name for link in attainable] == ["b", "a"]
