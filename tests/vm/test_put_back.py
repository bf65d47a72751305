# SPDX-License-Identifier: GPL-2.0-or-later
"""What a refused change leaves: links, addresses and nexthops as they were, also where the kernel took more along."""

import base64
import time
from pathlib import Path

import pytest

from netgroupd.engine.transaction import plan_now
from netgroupd.errors import KernelError
from netgroupd.kernel.netlink.request import Selection
from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import MINE, Stumbling, become, ip, refused_and_back, there_and_back, told
from tests.waiting import eventually

_ANOTHER = "b: {kind: dummy, alias: b}"
_PORT = "a: {kind: dummy, master: br%s}, br: {kind: bridge}"
BEFORE_AND_AFTER = {
    "what_light_ones_were": ("links: {a: {kind: dummy}}", "links: {a: {kind: dummy, lightweight: true}, %s}"),
    "what_those_without_ip_were": ("links: {a: {kind: dummy}}", "links: {a: {kind: dummy, l2only: true}, %s}"),
    "nexthop_to_send_to_instead": (
        "links: {%s}" % (_PORT % ""),
        "links: {%s, %%s}" % (_PORT % ", port: {backup_nhid: 3}"),
    ),
}


@pytest.mark.vm("patched")
@pytest.mark.parametrize("name", BEFORE_AND_AFTER)
def test_comes_back_after_any_refusal(kernel: Stumbling, name: str) -> None:
    before, after = BEFORE_AND_AFTER[name]
    become(kernel, state_of(before))
    there_and_back(kernel, state_of(after % _ANOTHER), refused=True)


_RING = "links: {a: {kind: dummy, mac: '02:00:00:00:00:0%s'}, b: {kind: dummy}, c: %s}"
_FOLLOWING = {
    "mac_of_a_ring": _RING % ("%s", "{kind: hsr, slave1: a, slave2: b}"),
    "mac_of_an_ipvlan": _RING % ("%s", "{kind: ipvlan, link: a}"),
}


@pytest.mark.vm("stock")
@pytest.mark.parametrize("name", _FOLLOWING)
def test_what_is_never_told_follows(kernel: Stumbling, name: str) -> None:
    become(kernel, state_of(_FOLLOWING[name] % 1))
    there_and_back(kernel, state_of(_FOLLOWING[name] % 2))


@pytest.mark.vm("stock")
@pytest.mark.parametrize("port", ["a", "b"])
def test_ring_of_which_a_port_is_made_again_has_both(kernel: Stumbling, port: str) -> None:
    text = "links: {a: {kind: dummy, %s}, b: {kind: dummy, %s}, r: {kind: hsr, slave1: a, slave2: b}}"
    become(kernel, state_of(text % ("", "")))
    queues = "numtxqueues: 2"
    there_and_back(kernel, state_of(text % ((queues, "") if port == "a" else ("", queues))), refused=True)


@pytest.mark.vm("stock")
def test_forwarding_entry_leads_through_a_link_that_is_made_again(kernel: Stumbling) -> None:
    text = """
    links: {a: {kind: %s}, x: {kind: vxlan, id: 7, dstport: 4789}}
    fdb: [{dev: x, mac: '02:00:00:00:00:07', where: self, dst: 192.0.2.9, via: a}]
    """
    become(kernel, state_of(text % "dummy"))
    there_and_back(kernel, state_of(text % "ifb"), refused=True)


@pytest.mark.vm("stock")
def test_what_the_only_port_of_a_bridge_is_told_by_it_is_no_entry_of_its_own(kernel: Stumbling) -> None:
    text = """
    links:
      a: {kind: dummy, up: true}
      b: {kind: bridge, vlan_filtering: true, ports: [p%s], up: true}
      c: {kind: dummy, up: true}
      p: {kind: macvlan, link: a, up: true}
    fdb: [{dev: p, mac: '02:00:00:00:00:77', where: master, state: permanent}%s]
    """
    goal = state_of(text % ("", ""))
    become(kernel, goal)
    assert "02:00:00:00:00:77 self" in told("bridge", "fdb", "show", "dev", "a")
    assert not plan_now(kernel, goal, MINE)[0].steps
    become(kernel, state_of(text % (", c", ", {dev: c, mac: '02:00:00:00:00:78'}")))
    there_and_back(kernel, goal, refused=True)


@pytest.mark.vm("stock")
def test_bond_gets_another_mac_when_its_last_port_leaves(kernel: Stumbling) -> None:
    text = "links: {d: {kind: dummy, master: %s}, b: {kind: bond, mac: '02:00:00:00:00:0%s'}}"
    become(kernel, state_of(text % ("b", 1)))
    there_and_back(kernel, state_of(text % ("null", 2)), refused=True)


_IPVLANS = "links: {a: {kind: dummy}, b: {%s}, c: {%s}%s}"
_MODE = "kind: ipvlan, link: a, mode: l%d"


@pytest.mark.vm("stock")
@pytest.mark.parametrize("told", [(_MODE % 2, "", ""), ("", "", ", d: {kind: ipvtap, link: a, mode: l2}")])
def test_mode_of_all_ipvlans_of_a_link_is_as_it_was(kernel: Stumbling, told: tuple[str, str, str]) -> None:
    become(kernel, state_of(_IPVLANS % (_MODE % 3, _MODE % 3, "")))
    there_and_back(kernel, state_of(_IPVLANS % told), refused=True)


@pytest.mark.vm("stock")
def test_addresses_of_a_link_that_was_made_again_come_back_in_their_order(kernel: Stumbling) -> None:
    addresses = "addresses: ['fd00::1/64', 'fd00::2/64', 10.0.0.2/24, 10.0.0.1/24]"
    become(kernel, state_of(f"links: {{a: {{kind: dummy, up: true, {addresses}}}}}"))

    def listed() -> list[str]:
        return [line.split()[3] for line in told("ip", "-o", "address", "show", "scope", "global").splitlines()]

    there_and_back(kernel, state_of("links: {a: {kind: ifb, up: true}, b: {kind: dummy}}"), listed, refused=True)


@pytest.mark.vm("stock")
def test_group_whose_only_nexthop_was_to_go_without_it_comes_back(kernel: Stumbling) -> None:
    group = "4: {group: [{id: 3}], fdb: true}"
    become(kernel, state_of(f"nexthops: {{3: {{via: 192.0.2.8, fdb: true}}, {group}}}"))
    goal = state_of(f"nexthops: {{{group}}}")
    refused_and_back(kernel, goal)


_OWN_MACS = {"a": "02:00:00:00:00:01", "b": "02:00:00:00:00:02"}


@pytest.mark.vm("stock")
@pytest.mark.parametrize("kind", ["bond, mode: 802.3ad", "bond, mode: active-backup, primary: a", "team"])
def test_ports_have_their_own_macs_when_they_leave_what_was_to_be_changed(kernel: Stumbling, kind: str) -> None:
    said = [f"{name}: {{kind: dummy, mac: '{mac}'}}" for name, mac in _OWN_MACS.items()]
    become(kernel, state_of(f"links: {{{', '.join(said)}}}"))
    ports = "a: {kind: dummy%s}, b: {kind: dummy%s}"
    within, half, without = (ports % masters for masters in ((", master: m",) * 2, (", master: m", ""), ("", "")))
    become(kernel, state_of(f"links: {{{within}, m: {{kind: {kind}}}}}"))
    there_and_back(kernel, state_of(f"links: {{{half}, m: {{kind: bond, mode: balance-xor}}}}"), refused=True)
    become(kernel, state_of(f"links: {{{without}}}"))
    links = kernel.dump(Selection(links=frozenset(_OWN_MACS))).of("link")
    assert {link.name: link.attrs["mac"] for link in links.values()} == _OWN_MACS


_LENDING = "links: {br: {kind: bridge%s}, a: {kind: dummy, mtu: 1400%s}, c: {kind: dummy, mtu: 1500%s}, d: {kind: %s}}"
_IN, _OUT = ", master: br", ", master: null"


@pytest.mark.vm("stock")
@pytest.mark.parametrize(
    ("alone", "goes"),
    [
        pytest.param("", (_OUT, _IN), id="least_port"),
        pytest.param("", (_OUT, _OUT), id="all_ports"),
        pytest.param(", priority: 5", (_OUT, _IN), id="least_port_and_more_is_told"),
        pytest.param(", priority: 5", (_IN, _IN), id="more_is_told"),
    ],
)
def test_bridge_that_has_its_mtu_of_its_ports_follows_them_again(
    kernel: Stumbling, alone: str, goes: tuple[str, str]
) -> None:
    become(kernel, state_of(_LENDING % ("", _IN, _IN, "dummy")))
    there_and_back(kernel, state_of(_LENDING % (alone, *goes, "ifb")), refused=True)
    ip("link set dev a mtu 1300")
    assert "mtu 1300" in told("ip", "link", "show", "br")


@pytest.mark.vm("stock")
def test_vlan_of_a_bridge_is_not_smaller_than_before_after_a_port_was(kernel: Stumbling) -> None:
    text = "links: {br: {kind: bridge}, a: {kind: dummy, mtu: %s, master: br}, br.5: {kind: vlan, link: br, id: 5}}"
    become(kernel, state_of(text % 1500))
    there_and_back(kernel, state_of(text % 1400), lambda: told("ip", "link", "show", "br.5"), refused=True)


@pytest.mark.vm("stock")
def test_mtu_that_a_port_had_lent_a_bridge_is_not_given_back_without_it(engine_in: EngineIn) -> None:
    bridge, port = "links: {br: {kind: bridge%s}, a: {kind: dummy, mtu: 1400%s}}", ", master: br"
    for text in (bridge % ("", ""), bridge % ("", port), bridge % (", mtu: 1300", port)):
        engine_in("here", text).apply()
    engine_in("here", text).rollback(1)
    assert "mtu 1500" in here("ip link show br")


@pytest.mark.vm("stock")
def test_neighbours_that_a_link_loses_with_another_arp_come_back(kernel: Stumbling) -> None:
    text = "links: {a: {kind: dummy, up: true, arp: %s, addresses: [10.0.0.1/24]}, b: {kind: dummy, up: false}}\n"
    text += "neighbours: [{dev: a, ip: 10.0.0.9, lladdr: '02:00:00:00:00:09'}]\nnexthops: {%s}"
    become(kernel, state_of(text % ("true", "")))
    refused_and_back(kernel, state_of(text % ("false", "7: {dev: b}")))


@pytest.mark.vm("stock")
@pytest.mark.parametrize("told", ["arp: false", "mac: '02:00:00:00:00:01'"])
def test_neighbours_that_a_link_forgets_are_said_again_at_once(kernel: Stumbling, told: str) -> None:
    text = "links: {a: {kind: dummy, up: true, %s, addresses: [10.0.0.1/24]}}\n"
    text += "neighbours: [{dev: a, ip: 10.0.0.9, lladdr: '02:00:00:00:00:09'}, {dev: a, ip: 10.0.0.8, proxy: true}]"
    become(kernel, state_of(text % "arp: true"))
    there_and_back(kernel, state_of(text % told), refused=True)


@pytest.mark.vm("stock")
def test_link_without_a_private_key_has_none_again(kernel: Stumbling, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(base64.b64encode(bytes([7] * 32)))
    become(kernel, state_of("links: {w: {kind: wireguard}}"))
    keyed = f"w: {{kind: wireguard, private_key_file: '{key}'}}"
    there_and_back(kernel, state_of(f"links: {{{keyed}, {_ANOTHER}}}"), refused=True)


@pytest.mark.vm("stock")
def test_team_that_has_no_mode_has_none_again(kernel: Stumbling) -> None:
    become(kernel, state_of("links: {t: {kind: team, up: true}}"))
    there_and_back(kernel, state_of("links: {t: {kind: team, mode: activebackup}, a: {kind: dummy}}"), refused=True)


@pytest.mark.vm("stock")
def test_team_that_had_no_mode_has_none_after_a_rollback(engine_in: EngineIn) -> None:
    text = "links: {t: {kind: team%s}}"
    engine_in("here", text % "").apply()
    before = engine_in("here", "{}").capture()
    engine_in("here", text % ", mode: activebackup").apply()
    engine_in("here", text % "").rollback(1)
    assert engine_in("here", "{}").capture() == before


_ON_A_BRIDGE = "links: {br: {kind: bridge}, br.5: {%s}, p: {kind: dummy, master: br}, a: {kind: dummy, mtu: 1400%s}%s}"
_SMALLER = {
    "joins": (", master: br", ""),
    "is_made": ("", ", b: {kind: dummy, mtu: 1400, master: br}"),
    "is_a_tunnel": ("", ", b: {kind: vxlan, id: 7, dstport: 4789, dev: p, master: br}"),
}


@pytest.mark.vm("stock")
@pytest.mark.parametrize("name", _SMALLER)
def test_what_is_on_a_bridge_is_as_large_as_before_when_a_smaller_port_has_left(
    kernel: Stumbling, engine_in: EngineIn, name: str
) -> None:
    text, smaller = _ON_A_BRIDGE % ("", "", ""), _ON_A_BRIDGE % ("", *_SMALLER[name])
    become(kernel, state_of(text))
    there_and_back(kernel, state_of(smaller), refused=True)
    engine_in("here", text).apply()
    before = engine_in("here", "{}").capture()
    engine_in("here", smaller).apply()
    assert engine_in("here", "{}").capture() != before
    engine_in("here", text).rollback(1)
    assert engine_in("here", "{}").capture() == before


@pytest.mark.vm("stock")
@pytest.mark.parametrize("kind", ["vlan, link: br.5, id: 6", "vxlan, id: 7, dstport: 4789, dev: br"])
def test_what_is_on_a_bridge_grows_with_it(kernel: Stumbling, kind: str) -> None:
    upper = f", u: {{kind: {kind}, mtu: %d}}"
    become(kernel, state_of(_ON_A_BRIDGE % ("", ", master: br", upper % 1350)))
    there_and_back(kernel, state_of(_ON_A_BRIDGE % ("mtu: 1500", ", master: null", upper % 1450)), refused=True)


@pytest.mark.vm("stock")
def test_tunnel_comes_to_a_bridge_when_that_has_grown(kernel: Stumbling) -> None:
    upper = ", u: {kind: vxlan, id: 7, dstport: 4789, dev: %s}"
    become(kernel, state_of(_ON_A_BRIDGE % ("", "", upper % "br")))
    there_and_back(kernel, state_of(_ON_A_BRIDGE % ("", ", master: br", upper % "p")), refused=True)


def test_bridge_whose_topology_changed_is_put_back_when_that_has_ended(engine_in: EngineIn) -> None:
    text = """
    links:
      d0: {kind: dummy, up: true}
      br0: {kind: bridge, up: true, mtu: %d, stp: true, forward_delay: 200, max_age: 600, ports: d0}
    """

    def changes(topology: int) -> None:
        # It listens and learns for two seconds each, and then for eight it is changing.
        eventually(lambda: f"topology_change {topology}" in here("ip -details link show br0"))

    engine_in("here", text % 1500).apply()
    changes(1)
    engine = engine_in("here", text % 1400)
    engine.apply(confirm_s=0.0)
    changes(0)
    assert "is rolled back to generation 1" in str(engine.expire())
    assert "mtu 1500" in here("ip link show br0")


@pytest.mark.vm("stock")
def test_what_somebody_has_made_impossible_keeps_nothing_else_from_coming_back(engine_in: EngineIn) -> None:
    alone = "m: {kind: macvlan, link: d, mode: passthru}"
    text = "links: {d: {kind: dummy}, %s}"
    before = text % f"{alone}, z: {{kind: dummy, up: true, addresses: 192.0.2.1/24, sysctl: {{ipv4.rp_filter: 2}}}}"
    engine_in("here", before).apply()
    engine = engine_in("here", text % "y: {kind: dummy}")
    engine.apply(confirm_s=0.0)
    here("ip link add w link d type macvlan")
    with pytest.raises(KernelError, match=r"create link m: .*\nall the rest is back"):
        engine.expire()
    assert here("ip netns exec here cat /proc/sys/net/ipv4/conf/z/rp_filter") == "2\n"
    assert "192.0.2.1" in here("ip address show dev z up")
    assert "y:" not in here("ip link")
    here("ip link delete w")
    assert "is rolled back to generation 1" in str(engine.expire())
    assert "passthru" in here("ip -details link show m")


@pytest.mark.vm("stock")
def test_mac_that_a_link_received_for_one_elsewhere_meanwhile_is_not_kept(kernel: Stumbling) -> None:
    ip("netns add blue")
    try:
        text = "links: {a: {kind: dummy, up: true}, b: {kind: macvlan, link: a, netns: blue, up: true, mac: '%s'}%s}"
        become(kernel, state_of(text % ("02:00:00:00:00:01", "")))
        before = told("bridge", "fdb", "show", "dev", "a")
        assert "02:00:00:00:00:01" in before
        there_and_back(
            kernel,
            state_of(text % ("02:00:00:00:00:02", ", c: {kind: dummy}")),
            lambda: sorted(told("bridge", "fdb", "show", "dev", "a").splitlines()),
            refused=True,
        )
    finally:
        ip("netns del blue")


_HELD = "links: {a: {kind: dummy, up: true%s}, b: {kind: macvlan, link: a, up: true%s}}%s"


@pytest.mark.vm("stock")
@pytest.mark.parametrize(
    "said",
    [
        pytest.param(("", ", protodown: true", ""), id="by_a_protocol"),
        pytest.param(("", ", group: g", "\ngroups: {g: {protodown: true}}"), id="by_a_protocol_with_their_group"),
        pytest.param((", carrier: false", "", ""), id="without_a_carrier"),
    ],
)
def test_links_that_were_held_down_come_up_again(
    kernel: Stumbling, engine_in: EngineIn, said: tuple[str, str, str]
) -> None:
    def held(kernel: Stumbling) -> list[str]:
        links = kernel.dump(Selection(links=frozenset({"a", "b"}))).of("link").values()
        return [link.name for link in links if link.attrs.get("protodown") or not link.attrs["carrier"]]

    before, after = _HELD % ("", "", ""), _HELD % said
    become(kernel, state_of(before))
    there_and_back(kernel, state_of(after), lambda: held(kernel), refused=True)
    engine_in("here", before).apply()
    engine = engine_in("here", after)
    engine.apply()
    with Stumbling("here") as other:
        assert held(other)
        engine.rollback()
        assert not held(other)


@pytest.mark.vm("stock")
def test_addresses_of_a_link_that_was_up_for_a_moment_are_in_their_order(engine_in: EngineIn) -> None:
    text = "links: {a: {kind: dummy, addresses: ['fd00::[1-3]/64']%s}, v: {kind: vlan, link: a, id: 5, up: false}}"
    engine_in("here", text % "").apply()
    before = here("ip -br address show dev a")
    engine = engine_in("here", text % ", up: true")
    engine.apply(confirm_s=600)
    engine.rollback()
    assert here("ip -br address show dev a") == before


@pytest.mark.vm("stock")
@pytest.mark.parametrize("more", ["", "nexthops: {1: {blackhole: true, family: inet}}"])
def test_neighbour_that_comes_to_a_bridge_whose_last_port_leaves_is_there(kernel: Stumbling, more: str) -> None:
    bridge = "br: {kind: bridge, up: true, addresses: [192.0.2.1/24]%s}"
    text = f"links: {{lo: {{up: true}}, {bridge}, p: {{kind: dummy, up: true%s}}}}\n{more}"
    become(kernel, state_of(text % ("", ", master: br")))
    eventually(lambda: "state UP" in told("ip", "link", "show", "br"))  # a carrier that comes is told later
    lasting = ", neighbours: [{ip: 192.0.2.9, lladdr: '02:00:00:00:00:09', state: noarp}]"
    become(kernel, state_of(text % (lasting, ", master: null")), at_once=False)
    time.sleep(1.1)
    assert "192.0.2.9" in told("ip", "neighbour", "show", "nud", "noarp")


@pytest.mark.vm("stock")
def test_link_has_its_ipv6_again_though_new_ones_have_none(engine_in: EngineIn) -> None:
    text = "links: {%s: {kind: dummy, up: true, addresses: ['fd00::1/64']}}"
    engine_in("here", text % "a").apply()
    ip("netns exec here sysctl -qw net.ipv6.conf.default.disable_ipv6=1")
    before = here("ip -br address")
    with pytest.raises(KernelError, match="IPv6 is disabled") as refused:
        engine_in("here", text % "b").apply(allow=frozenset({"a"}))
    assert "put back" not in str(refused.value)
    assert here("ip -br address") == before


@pytest.mark.vm("stock")
def test_port_that_another_was_to_back_up_is_none_again(kernel: Stumbling) -> None:
    text = "links: {br: {kind: bridge, up: true}, a: {kind: dummy, master: br}, b: {kind: dummy%s}}"
    become(kernel, state_of(text % ""))
    there_and_back(kernel, state_of(text % ", master: br, port: {backup_port: a}"), refused=True)
