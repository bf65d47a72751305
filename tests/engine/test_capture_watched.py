# SPDX-License-Identifier: GPL-2.0-or-later
"""What a capture leaves to the programs that have made it and watch over it."""

import pytest

from netgroupd.engine.capture import captured
from netgroupd.model.state import Attrs, Object, State
from netgroupd.plan.compare import UNOWNED
from tests.config.reading import desired

CARD = Object("link", ("v0",), {"kind": "", "up": True})


@pytest.mark.parametrize(("protocol", "left_out"), [(0, False), (4, False), (11, True), (18, True)])
@pytest.mark.parametrize("cls", ["neighbour", "rule"])
def test_what_programs_watch_over_is_left_out_and_told(cls: str, protocol: int, left_out: bool) -> None:
    key = ("v0", "10.0.0.9", False) if cls == "neighbour" else ("inet", 500, (("from", "10.1.0.0/16"),))
    attrs: Attrs = {"lladdr": "02:00:00:00:00:07"} if cls == "neighbour" else {"action": "lookup", "lookup": 7}
    text = captured(State((CARD, Object(cls, key, {**attrs, UNOWNED: protocol}))), {}, {})
    assert ("as routing daemons do" in text) is left_out
    assert bool(desired(text, known=("v0",)).state.of(cls)) is not left_out
