# SPDX-License-Identifier: GPL-2.0-or-later
"""The VLAN of untagged packets that links get from the bridge they belong to, whatever else is their master."""

import pytest

from netgroupd.model.bridge_vlan import default_vid
from netgroupd.model.state import Object, State
from netgroupd.model.value import Value

LINKS: dict[str, dict[str, Value]] = {
    "red": {"kind": "vrf"},
    "br": {"kind": "bridge", "vlan_default_pvid": 5, "master": "red"},
    "usual": {"kind": "bridge"},
    "p1": {"kind": "dummy", "master": "br"},
    "p2": {"kind": "dummy", "master": "usual"},
    "p3": {"kind": "dummy", "master": "one that is not there"},
}
STATE = State(Object("link", (name,), attrs) for name, attrs in LINKS.items())


@pytest.mark.parametrize(("name", "vid"), [("br", 5), ("usual", 1), ("p1", 5), ("p2", 1), ("p3", 1)])
def test_default_is_that_of_the_bridge(name: str, vid: int) -> None:
    link = STATE.link(name)
    assert link
    assert default_vid(link, STATE) == vid
