# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs of a bridge's ports: those that the way goes by stay, and others may go."""

import pytest

from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from tests.engine.desk import Desk
from tests.engine.test_guard import LOCAL, refused
from tests.engine.test_guard_links import link


def vlan(port: str, vid: int, *, own: bool = False) -> Object:
    return Object("bridge_vlan", (port, vid), {"pvid": own, "untagged": own})


def there(*vlans: Object, **bridge: Value) -> list[Object]:
    return [
        link("br0", "bridge", group=GROUP_BASE, vlan_filtering=True, **bridge),
        link("br0.5", "vlan", link="br0", id=5, protocol="802.1q"),
        link("eth1", master="br0"),
        *vlans,
    ]


TRUNK = [vlan(name, vid) for name in ("br0", "eth1") for vid in (5, 10)]
ACCESS = [vlan("br0", 5), vlan("br0", 10), vlan("eth1", 5, own=True), vlan("eth1", 10)]
OWN = "{vid: %s, pvid: true, untagged: true}"
TEXT = "links: {br0: {kind: bridge, vlan_filtering: true, ports: eth1, vlans: [%s]}, eth1: {vlans: [%s]}}"


@pytest.mark.parametrize(
    ("vlans", "said", "cut"),
    [
        pytest.param(TRUNK, ("5, 10", "5"), "", id="another_leaves_the_port"),
        pytest.param(TRUNK, ("5", "5, 10"), "", id="another_leaves_the_bridge"),
        pytest.param(TRUNK, ("5, 10", "10"), "eth1", id="it_leaves_the_port"),
        pytest.param(TRUNK, ("10", "5, 10"), "br0", id="it_leaves_the_bridge"),
        pytest.param(TRUNK, ("5, 10", f"5, {OWN % 10}"), "", id="what_has_no_tag_is_in_another"),
        pytest.param([*TRUNK, vlan("eth1", 1, own=True)], ("5, 10", f"5, 1, {OWN % 10}"), "", id="without_a_tag"),
        pytest.param(ACCESS, ("5, 10", f"5, {OWN % 10}"), "eth1", id="it_has_no_tag_any_more"),
        pytest.param(ACCESS, ("5, 10", OWN % 5), "", id="another_leaves_an_access_port"),
    ],
)
def test_way_in_a_vlan_of_a_bridge(desk: Desk, vlans: list[Object], said: tuple[str, str], cut: str) -> None:
    told = refused(desk, there(*vlans), Route("br0.5", LOCAL, 254, 16), TEXT % said)
    assert (f"--allow {cut} says" in told) if cut else not told, told


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        pytest.param((OWN % 1 + ", 5", OWN % 1), "", id="tagged_one_leaves_the_port"),
        pytest.param((OWN % 1, OWN % 1 + ", 5"), "", id="tagged_one_leaves_the_bridge"),
        pytest.param((OWN % 1 + ", 5", "{vid: 1, member: false}, 5"), "eth1", id="own_leaves_the_port"),
        pytest.param(("1, " + OWN % 5, OWN % 1 + ", 5"), "br0", id="another_is_the_bridges_own"),
    ],
)
@pytest.mark.parametrize("by", ["br0", "red"])
def test_way_without_a_tag(desk: Desk, by: str, said: tuple[str, str], cut: str) -> None:
    vlans = [vlan(name, vid, own=vid == 1) for name in ("br0", "eth1") for vid in (1, 5)]
    red = [link("red", "vrf", table=77)] if by == "red" else []
    bridge: dict[str, Value] = {"master": "red"} if red else {}
    told = refused(desk, [*there(*vlans, **bridge), *red], Route(by, LOCAL, 254, 16), TEXT % said)
    assert (f"--allow {cut} says" in told) if cut else not told, told


def test_what_is_tagged_by_another_protocol_has_no_tag_to_the_bridge(desk: Desk) -> None:
    told = refused(desk, there(*TRUNK, vlan_protocol="802.1ad"), Route("br0.5", LOCAL, 254, 16), TEXT % ("5, 10", "5"))
    assert "--allow eth1 says" in told
