# SPDX-License-Identifier: GPL-2.0-or-later
"""What a capture leaves to the programs that have made it and watch over it."""

import pytest

from netgroupd.engine.capture.host import captured
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.plan.compare import UNOWNED
from tests.config.reading import desired

CARD = Object("link", ("v0",), {"kind": "", "up": True})

_WATCHED: dict[str, tuple[Key, Attrs]] = {
    "address": (("v0", "10.0.0.9/24", None), {}),
    "neighbour": (("v0", "10.0.0.9", False), {"lladdr": "02:00:00:00:00:07"}),
    "rule": (("inet", 500, (("from", "10.1.0.0/16"),)), {"action": "lookup", "lookup": 7}),
}


@pytest.mark.parametrize(("protocol", "left_out"), [(0, False), (4, False), (11, True), (18, True)])
@pytest.mark.parametrize("cls", _WATCHED)
def test_what_programs_watch_over_is_left_out_and_told(cls: str, protocol: int, left_out: bool) -> None:
    key, attrs = _WATCHED[cls]
    text = captured(State((CARD, Object(cls, key, {**attrs, UNOWNED: protocol}))), {}, {})
    assert ("as routing daemons do" in text) is left_out
    assert bool(desired(text, known=("v0",)).state.of(cls)) is not left_out


def test_age_that_bridges_do_not_tell_for_now_is_told_of() -> None:
    ages = {"br1": None, "br2": None, "br3": 60000}
    bridges = [Object("link", (name,), {"kind": "bridge", "ageing_time": age}) for name, age in ages.items()]
    [told] = [line for line in captured(State(bridges), {}, {}).splitlines() if "ageing_time of" in line]
    assert told.endswith("in a minute they do): ageing_time of br[1-2]")
