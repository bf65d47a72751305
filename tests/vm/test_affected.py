# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of others that become as small as what is below them, or have the mode of a new one: told, and given back."""

import re

import pytest

from tests.vm.hosts import EngineIn, here

ABOVE = (
    "link add d0.5 link d0 type vlan id 5",
    "link add d0.6 link d0 type vlan id 6",
    "link add m0 link d0 type macvlan",
    "link add br9 type bridge",
    "link add d0.7 link d0 type vlan id 7",
    "link set d0.7 master br9",
    "link add br9.8 link br9 type vlan id 8",
    "link add c0 mtu 9000 type veth peer c1 mtu 9000",
    "link set c0 master br9",
)
D0 = "links: {{d0: {{kind: dummy, up: true, mtu: {}}}}}\n"


def sizes() -> dict[str, str]:
    return dict(re.findall(r"^\d+: ([^:@]+)\S* .* mtu (\d+)", here("ip link"), re.MULTILINE))


def test_links_of_others_that_become_smaller_are_told_and_given_back(engine_in: EngineIn) -> None:
    engine_in("here", D0.format(9000)).apply()
    for command in ABOVE:
        here(f"ip {command}")
    before = sizes()
    engine = engine_in("here", D0.format(1400))
    (said,) = engine.diff().warnings
    assert said == (
        "links become as small as what is below, which no file says of them: "
        "d0.[5-7] mtu 9000 -> 1400, m0 mtu 9000 -> 1400, br9.8 mtu 9000 -> 1400"
    )
    engine.apply(confirm_s=60.0)
    assert sizes() == {**before, **dict.fromkeys(("d0", "d0.5", "d0.6", "d0.7", "m0", "br9", "br9.8"), "1400")}
    engine.rollback()
    assert sizes() == before
    assert engine.apply().plan.warnings == (said,)
    engine.rollback(1)
    assert sizes() == before


@pytest.mark.parametrize(
    ("mode", "told"), [("l3s", "i[0-1] mode l2 -> l3s"), ("", "i[0-1] mode l2 -> l3"), ("l2", "")], ids=str
)
def test_ipvlans_of_others_that_have_another_mode_are_told_and_given_back(
    engine_in: EngineIn, mode: str, told: str
) -> None:
    engine_in("here", D0.format(1500)).apply()
    for name in ("i0", "i1"):
        here(f"ip link add {name} link d0 type ipvlan mode l2")
    before = [here(f"ip -d link show {name}") for name in ("i0", "i1")]
    new = f"  i2: {{kind: ipvlan, link: d0{', mode: ' + mode if mode else ''}}}\n"
    engine = engine_in("here", "links:\n  d0: {kind: dummy, up: true}\n" + new)
    said = f"links are as the last ipvlan on the same link, which no file says of them: {told}"
    assert engine.diff().warnings == ((said,) if told else ())
    engine.apply(confirm_s=60.0)
    engine.rollback()
    assert [here(f"ip -d link show {name}") for name in ("i0", "i1")] == before


def test_port_that_is_made_anew_on_a_link_of_the_same_mtu_makes_nothing_smaller(engine_in: EngineIn) -> None:
    text = (
        "links:\n  b0: {{kind: bond, mtu: {}}}\n  b0.10: {{kind: vlan, link: b0, id: {}}}\n"
        "  br: {{kind: bridge, ports: b0.10}}\n  br.20: {{}}\n  m: {{kind: macvlan, link: br.20}}\n"
    )
    engine_in("here", text.format(1500, 10)).apply()
    assert not engine_in("here", text.format(1500, 11)).diff().warnings
    smaller = engine_in("here", text.format(1400, 11)).diff().warnings
    assert "br.20 mtu 1500 -> 1400, m mtu 1500 -> 1400" in " ".join(smaller)


def test_port_of_which_nobody_can_tell_the_mtu_makes_others_smaller_by_some(engine_in: EngineIn) -> None:
    text = "links:\n  br: {kind: bridge, mac: '02:00:00:00:00:01'}\n  br.20: {}\n"
    engine_in("here", text).apply()
    engine = engine_in("here", f"{text}  vx: {{kind: vxlan, id: 7, dstport: 4789, remote: 192.0.2.1, master: br}}\n")
    assert "br.20 mtu 1500 -> less" in " ".join(engine.diff().warnings)


def test_links_of_others_above_one_that_moves_are_told(engine_in: EngineIn) -> None:
    engine_in("blue", "{}")
    engine_in("here", D0.format(1500)).apply()
    for what in ("d0.5 link d0 type vlan id 5", "s0 link d0 type macsec", "v0 type vxlan id 5 dstport 4789 dev d0"):
        here(f"ip link add {what}")
    engine = engine_in("here", "links: {d0: {kind: dummy, up: true, netns: blue}}\n")
    warnings = engine.diff().warnings
    engine.apply()
    names = re.findall(r"^(?!lo)[^@\s]+", here("ip -br link"), re.MULTILINE)
    assert names == ["d0.5"]
    assert sorted(warnings) == [
        "d0.5, which no file mentions, stays without a carrier above d0",
        "s0, which is not netgroupd's, goes with d0",
        "v0, which is not netgroupd's, goes with d0",
    ]
