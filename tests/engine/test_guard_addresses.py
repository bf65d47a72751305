# SPDX-License-Identifier: GPL-2.0-or-later
"""The address that packets leave with: who takes it away is refused, unless another does as well."""

import pytest

from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.state import Object
from tests.engine.desk import Desk
from tests.engine.test_guard import LOCAL, refused

_GATEWAY = "10.0.0.1"
_OFFICE = Route("eth1", LOCAL, 254, 16, gateway=_GATEWAY)
_ELSEWHERE = "192.0.2.1"
_ANYWHERE = Route("eth1", _ELSEWHERE, 254, 0, gateway="192.0.2.9")


def address(link: str, text: str) -> Object:
    return Object("address", (link, text, None), {})


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        pytest.param(f"{LOCAL}/16", False, id="in_another_subnet"),
        pytest.param(f"{LOCAL}/32", True, id="in_a_subnet_without_the_gateway"),
        pytest.param("10.0.0.6/24", True, id="another_one"),
        pytest.param("", True, id="none"),
    ],
)
def test_address_of_a_session_stays(desk: Desk, said: str, cut: bool) -> None:
    text = f"links: {{eth1: {{addresses: [{said}]}}}}"
    told = refused(desk, [address("eth1", f"{LOCAL}/24")], _OFFICE, text)
    assert ("would cut the way of your session" in told) == cut


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        pytest.param("192.0.2.7/24", False, id="another_one_of_the_subnet"),
        pytest.param("192.0.2.7/25", False, id="another_one_of_half_of_it"),
        pytest.param("192.0.2.7/30", True, id="another_one_without_the_gateway"),
        pytest.param("198.51.100.7/24", True, id="another_one_elsewhere"),
        pytest.param("'2001:db8::1/64'", True, id="another_one_of_ipv6"),
        pytest.param("", True, id="none"),
    ],
)
def test_default_route_needs_some_address_of_its_subnet(desk: Desk, said: str, cut: bool) -> None:
    there = [address("eth1", f"{_ELSEWHERE}/24"), address("eth2", f"{LOCAL}/24")]
    text = f"links: {{eth1: {{addresses: [{said}]}}, eth2: {{addresses: [{LOCAL}/24]}}}}"
    way = Route("eth2", LOCAL, 254, 24)
    told = refused(desk, there, way, text, {"192.0.2.1": _ANYWHERE, "198.51.100.1": _ANYWHERE})
    assert ("would cut the way of the default route" in told) == cut


DUMMY = Object("link", ("d0",), {"kind": "dummy", "up": True, "group": 0x4E470000})


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        pytest.param("links: {eth1: {}}", True, id="goes"),
        pytest.param(f"links: {{eth1: {{addresses: [{LOCAL}/32]}}}}", False, id="goes_when_another_has_it"),
        pytest.param(f"links: {{d0: {{kind: dummy, up: false, addresses: [{LOCAL}/32]}}}}", False, id="is_down"),
        pytest.param(
            f"links: {{d0: {{kind: dummy, master: red, addresses: [{LOCAL}/32]}}, red: {{kind: vrf, table: 7}}}}",
            True,
            id="enters_a_vrf",
        ),
    ],
)
def test_link_with_the_address_of_a_session_stays(desk: Desk, said: str, cut: bool) -> None:
    told = refused(desk, [DUMMY, address("d0", f"{LOCAL}/32")], _OFFICE, said)
    assert ("--allow d0 says" in told) == cut


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        pytest.param("links: {eth2: {addresses: [192.0.2.7/24]}}", "", id="address"),
        pytest.param("routes: [{to: 192.0.2.0/24, type: blackhole}]", "", id="route"),
        pytest.param("rules: [{pref: 5, to: 192.0.2.0/24, action: blackhole}]", "", id="rule"),
        pytest.param(
            "rules: [{pref: 5, lookup: 7}]\nroutes: [{to: 192.0.2.0/24, dev: eth2, table: 7}]", "", id="table"
        ),
        pytest.param("routes: [{to: 128.0.0.0/1, dev: eth2}]", "eth1", id="half_of_all"),
    ],
)
def test_default_route_is_not_the_way_to_where_it_is_looked_at(desk: Desk, said: str, cut: str) -> None:
    ways = dict.fromkeys(("192.0.2.1", "198.51.100.1"), _ANYWHERE._replace(source="10.0.0.9", gateway="10.0.0.1"))
    told = refused(desk, [], Route("eth2", LOCAL, 254, 24), said, ways)
    assert ("--allow eth1 says" in told) if cut else not told, told


def test_tunnel_of_a_session_needs_its_own_address(desk: Desk) -> None:
    tunnel = Object("link", ("t0",), {"kind": "gre", "up": True, "local": _ELSEWHERE, "remote": "198.51.100.9"})
    below = {"198.51.100.9": Route("eth1", _ELSEWHERE, 254, 24, gateway="192.0.2.9")}
    there = [tunnel, address("t0", f"{LOCAL}/8"), address("eth1", f"{_ELSEWHERE}/24")]
    text = f"links: {{t0: {{addresses: [{LOCAL}/8]}}, eth1: {{addresses: [192.0.2.7/24]}}}}"
    told = refused(desk, there, Route("t0", LOCAL, 254, 8), text, below)
    assert "to delete address eth1 192.0.2.1/24 would cut the way of your session" in told
