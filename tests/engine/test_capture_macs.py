# SPDX-License-Identifier: GPL-2.0-or-later
"""A capture has the MACs that somebody has chosen, and none that follow from others."""

import pytest

from netgroupd.engine.capture.host import captured
from netgroupd.model.state import Attrs, Object, State
from netgroupd.model.value import NO_MAC


@pytest.mark.parametrize(
    "attrs",
    [{"kind": "wireguard"}, {"kind": "netkit", "mac": NO_MAC}, {"kind": "gre", "mac": "c6:33:64:01"}],
    ids=["none", "zeros", "of_ip"],
)
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


@pytest.mark.parametrize(
    ("mac", "chosen"),
    [
        pytest.param("44:38:39:22:01:b1", True, id="of_a_maker"),
        pytest.param("02:00:00:00:0a:01", True, id="with_many_zeros"),
        pytest.param("d6:00:00:4b:9e:01", False, id="drawn_by_lot"),
    ],
)
def test_mac_that_no_lot_draws_is_told_also_of_one_link_alone(mac: str, *, chosen: bool) -> None:
    links = [Object("link", ("br0",), {"kind": "bridge", "mac": mac})]
    assert (f'mac: "{mac}"' in captured(State(links), {}, {})) is chosen


BY_ITSELF = [
    pytest.param({"kind": "dummy", "master": "other"}, {"kind": "bond"}, id="of_its_bond"),
    pytest.param({"kind": "macvlan", "link": "other"}, {}, id="of_the_link_below"),
    pytest.param({"kind": "hsr", "slave1": "other", "slave2": "x"}, {}, id="of_a_port_of_a_ring"),
]


@pytest.mark.parametrize(("link", "other"), BY_ITSELF)
def test_mac_that_follows_from_another_link_is_not_told(link: Attrs, other: Attrs) -> None:
    mac = {"mac": "44:38:39:22:01:b1"}
    links = [Object("link", ("l",), {**link, **mac}), Object("link", ("other",), {**other, **mac})]
    assert "mac: " not in captured(State(links), {}, {})
