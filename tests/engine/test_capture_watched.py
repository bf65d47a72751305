# SPDX-License-Identifier: GPL-2.0-or-later
"""What a capture leaves out: what programs watch over, and what the kernel would not make again."""

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


@pytest.mark.parametrize(
    ("via", "onlink", "left_out"),
    [
        pytest.param("2001:db8:1::9", True, True, id="made_before_the_address"),
        pytest.param("2001:db8:1::9", False, False, id="not_said_to_be_on_the_link"),
        pytest.param("fe80::9", True, False, id="on_each_link"),
    ],
)
def test_route_whose_gateway_is_on_another_link_by_now_is_left_out(via: str, *, onlink: bool, left_out: bool) -> None:
    cards = [Object("link", (name,), {"kind": "", "up": True}) for name in ("v0", "v1")]
    addresses = [Object("address", ("v1", address, None), {}) for address in ("2001:db8:1::1/64", "fe80::1/64")]
    way: Attrs = {"type": "unicast", "via": via, "dev": "v0", "onlink": onlink}
    route = Object("route", ("inet6", 254, "2001:db8:2::/48", 0, 1024), way)
    text = captured(State([*cards, *addresses, route]), {}, {})
    assert ("for their gateway is on another link by now): route 2001:db8:2::/48\n" in text) is left_out
