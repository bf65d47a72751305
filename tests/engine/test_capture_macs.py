# SPDX-License-Identifier: GPL-2.0-or-later
"""A capture has the MACs that somebody has chosen, and none that follow from others."""

import pytest

from netgroupd.engine.capture.host import captured
from netgroupd.model.state import Attrs, Object, State
from netgroupd.model.value import NO_MAC


@pytest.mark.parametrize("attrs", [{"kind": "wireguard"}, {"kind": "netkit", "mac": NO_MAC}], ids=["none", "zeros"])
def test_links_without_a_mac_are_not_counted_by_it(attrs: Attrs) -> None:
    links = [Object("link", (f"l{number}",), attrs) for number in range(4)]
    assert "mac" not in captured(State(links), {}, {})


@pytest.mark.parametrize(("mac", "counted"), [("00:09", False), ("01:{:02}", True)], ids=["of_a_port", "counted_up"])
def test_bridges_are_told_their_macs_where_these_are_not_of_their_ports(mac: str, *, counted: bool) -> None:
    links = [Object("link", ("card",), {"mac": "02:00:00:00:00:09"})]
    for number in range(4):
        of_port: Attrs = {"kind": "vlan", "id": number, "link": "card", "mac": "02:00:00:00:00:09"}
        links.append(Object("link", (f"card.{number}",), {**of_port, "master": f"br{number}"}))
        links.append(Object("link", (f"br{number}",), {"kind": "bridge", "mac": f"02:00:00:00:{mac.format(number)}"}))
    assert ("mac: " in captured(State(links), {}, {})) is counted
