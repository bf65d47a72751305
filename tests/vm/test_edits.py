# SPDX-License-Identifier: GPL-2.0-or-later
"""What operators edit in the file of a host that runs: afterwards it is as if the file had always said so."""

import json
import subprocess
from collections.abc import Callable

import pytest

from netgroupd.errors import KernelError
from netgroupd.kernel.kernels import Kernels
from netgroupd.plan import present
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

_PORT = """
links: {br0: {kind: bridge, vlan_filtering: true, ports: [%s]}, br1: {kind: bridge, ports: [%s]%s}, t0: {%s}}
"""
_ACCESS = "vlans: [{vid: 10, pvid: true, untagged: true}]"
_TAGGED = "vlans: [{vid: 10, pvid: false, untagged: false}]"
_UNTAGGED = ["PVID", "Egress Untagged"]


def _vlans(name: str) -> dict[int, list[str]]:
    """The VLANs of a port, with their flags."""
    command = ["bridge", "-n", "here", "-j", "vlan", "show", "dev", name]
    shown = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {vlan["vlan"]: vlan.get("flags", []) for port in shown for vlan in port["vlans"]}


@pytest.mark.parametrize(
    ("after", "want"),
    [
        pytest.param(("", "", "", ""), {}, id="it_leaves"),
        pytest.param(("", "t0", "", ""), {1: _UNTAGGED}, id="for_another_bridge"),
        pytest.param(("", "t0", ", vlan_default_pvid: 5", ""), {5: _UNTAGGED}, id="for_one_with_another_default"),
        pytest.param(("", "t0", ", vlan_default_pvid: 5", _TAGGED), {5: _UNTAGGED, 10: []}, id="where_it_is_tagged"),
    ],
)
def test_port_with_a_vlan_of_untagged_packets_leaves_its_bridge(
    engine_in: EngineIn, after: tuple[str, str, str, str], want: dict[int, list[str]]
) -> None:
    engine_in("here", "{}\n")
    here("ip link add t0 type dummy")
    engine_in("here", _PORT % ("t0", "", "", _ACCESS)).apply()
    before = _vlans("t0")
    engine = engine_in("here", _PORT % after)
    engine.apply()
    assert _vlans("t0") == want
    assert not engine.diff().steps
    engine.rollback(1)
    assert _vlans("t0") == before


def test_port_is_shut_with_the_vlans_that_were_made_on_it(engine_in: EngineIn) -> None:
    bridge = "br5: {kind: bridge, up: true, ports: 't[0-1].5'}"
    text = "links: {t0: {kind: dummy, up: %s}, t1: {kind: dummy, up: true}, " + bridge + "}\n"
    for up, want in (("true", {"t0.5", "t1.5"}), ("false", {"t1.5"}), ("true", {"t0.5", "t1.5"})):
        engine = engine_in("here", text % up)
        engine.apply()
        ports = json.loads(here("ip -j link show master br5"))
        assert {port["ifname"] for port in ports if "UP" in port["flags"]} == want
        assert not engine.diff().steps


def test_refused_port_with_a_vlan_of_untagged_packets_is_none_again(engine_in: EngineIn) -> None:
    engine_in("here", "{}\n")
    for name in ("t0", "t1"):
        here(f"ip link add {name} type dummy")
    text = _PORT.replace("}}\n", "}, t1: {up: false}, t1.5: {up: true}}\n") % ("t0", "", "", _ACCESS)
    with pytest.raises(KernelError, match=r"^[^\n]*change link t1.5: Network is down \(up\)\n[^\n]*: warning: "):
        engine_in("here", text).apply()
    assert _vlans("t0") == {}


def test_port_with_a_vlan_of_untagged_packets_is_in_another_default_vlan_too(engine_in: EngineIn) -> None:
    engine_in("here", "{}\n")
    here("ip link add t0 type dummy")
    text = "links: {br0: {kind: bridge, vlan_filtering: true, ports: [t0]%s}, t0: {vlans: [{vid: 10, pvid: true}]}}\n"
    engine_in("here", text % "").apply()
    assert _vlans("t0") == {1: ["Egress Untagged"], 10: ["PVID"]}
    engine = engine_in("here", text % ", vlan_default_pvid: 20")
    engine.apply()
    assert _vlans("t0") == {10: ["PVID"], 20: ["Egress Untagged"]}  # as when it comes to such a bridge
    assert not engine.diff().steps
    engine.rollback(1)
    assert _vlans("t0") == {1: ["Egress Untagged"], 10: ["PVID"]}


_BARE = "links: {br0: {kind: bridge, vlan_filtering: true, ports: [%s]%s}, %s}\n"


@pytest.mark.parametrize("others", ["d1: {kind: dummy}", "d0: {kind: dummy}, m0: {kind: macvlan, link: d0}"])
def test_bridge_whose_last_port_leaves_has_another_default_vlan(engine_in: EngineIn, others: str) -> None:
    engine_in("here", _BARE % ("d0", "", "d0: {kind: dummy}")).apply()
    engine = engine_in("here", _BARE % ("", ", vlan_default_pvid: 5", others))
    engine.apply()
    assert _vlans("br0") == {5: _UNTAGGED}
    assert not engine.diff().steps
    engine.rollback(1)
    assert _vlans("br0") == _vlans("d0") == {1: _UNTAGGED}


def test_ways_of_which_no_weight_is_said_any_more_are_alike(engine_in: EngineIn) -> None:
    text = """
links: {{d0: {{kind: dummy, up: true, addresses: [192.0.2.1/24, "2001:db8::1/64"]}}}}
nexthops: {{1: {{via: 192.0.2.2, dev: d0}}, 2: {{via: 192.0.2.3, dev: d0}}, 3: {{group: [{{id: 1{0}}}, {{id: 2}}]}}}}
routes:
  - {{to: 203.0.113.0/24, nexthops: [{{via: 192.0.2.4{0}}}, {{via: 192.0.2.5}}]}}
  - {{to: "2001:db8:1::/48", nexthops: [{{via: "2001:db8::4"{0}}}, {{via: "2001:db8::5"}}]}}
"""
    engine_in("here", text.format(", weight: 5")).apply()
    engine = engine_in("here", text.format(""))
    engine.apply()
    assert "group 1/2 proto" in here("ip nexthop show id 3")
    assert "weight 5" not in here("ip route") + here("ip -6 route")
    assert not engine.diff().steps
    engine.rollback(1)
    assert "group 1,5/2 proto" in here("ip nexthop show id 3")
    assert here("ip route").count("weight 5") == here("ip -6 route").count("weight 5") == 1


def test_rules_of_a_block_wait_when_the_link_in_it_gives_way_to_one_that_is_not_there(engine_in: EngineIn) -> None:
    engine_in("here", "{}\n")
    here("ip link add t0 type dummy")
    text = "links: {%s: {}}\ntc: {%s: {ingress_block: 7}, block 7: {filters: {pref: 1, matchall: {}, action: drop}}}\n"
    engine_in("here", text % ("t0", "t0")).apply()
    engine = engine_in("here", text % ("t1", "t1"))
    engine.apply()
    assert not here("tc qdisc show dev t0 clsact")
    here("ip link add t1 type dummy")
    engine.apply()
    assert "action drop" in here("tc filter show block 7")


@pytest.mark.parametrize(
    "prefs", [pytest.param((10, 10), id="of_its_preference"), pytest.param((10, 20), id="of_its_old_preference")]
)
def test_other_rules_are_there_when_all_of_a_preference_have_gone(engine_in: EngineIn, prefs: tuple[int, int]) -> None:
    text = """
links: {{t0: {{kind: dummy}}}}
tc:
  t0:
    ingress:
      - {{pref: {0}, protocol: ip, flower: {{dst_ip: "{2}"}}, action: drop}}
      - {{pref: {1}, protocol: ip, flower: {{dst_ip: "{3}"}}, action: drop}}
"""
    one, other = "10.1.0.[1-4]", "10.2.0.[1-4]"
    engine_in("here", text.format(10, 20, one, "10.3.0.0/16")).apply()
    engine = engine_in("here", text.format(*prefs, "10.3.0.0/16", other))
    engine.apply()
    assert not engine.diff().steps
    shown = here("tc filter show dev t0 ingress")
    assert shown.count("dst_ip 10.2.0.") == 4
    assert shown.count("dst_ip") == 5
    engine.rollback(1)
    assert here("tc filter show dev t0 ingress").count("dst_ip 10.1.0.") == 4


@pytest.mark.parametrize("promoting", ["0", "1"])
@pytest.mark.parametrize("address", ["192.0.2.1/25", "198.51.100.1/24", "192.0.2.5/24"])
def test_another_address_takes_no_route_of_others_along(engine_in: EngineIn, address: str, promoting: str) -> None:
    engine_in("here", f"sysctl: {{net.ipv4.conf.default.promote_secondaries: {promoting}}}\n").apply()
    here("ip link add t0 up type dummy")
    text = "links: {t0: {addresses: [%s]}}\nroutes: [{to: 10.0.0.0/8, dev: t0}]\n"
    engine_in("here", text % "192.0.2.1/24").apply()
    here("ip route add 10.9.0.0/16 dev t0 proto bird")
    here("ip neighbour add 192.0.2.9 lladdr 02:00:00:00:00:09 dev t0")
    engine = engine_in("here", text % address)
    assert [step.object.cls for step in singles(engine.diff().steps)] == ["address", "address"]
    engine.apply()
    assert "10.9.0.0/16 dev t0 proto bird" in here("ip route")
    assert "192.0.2.9" in here("ip neighbour")
    assert f"inet {address} scope global t0" in here("ip addr show t0")
    assert not engine.diff().steps
    engine.rollback(2)
    assert "inet 192.0.2.1/24 scope global t0" in here("ip addr show t0")
    assert "10.9.0.0/16 dev t0 proto bird" in here("ip route")


@pytest.mark.parametrize("others", ["", "ip address add 192.0.2.8/24 dev t0"])
def test_another_address_of_a_subnet_takes_no_way_along_that_leads_through_it(engine_in: EngineIn, others: str) -> None:
    engine_in("here", "sysctl: {net.ipv4.conf.default.promote_secondaries: 0}\n").apply()
    text = "links: {t0: {kind: dummy, up: true, addresses: [%s]}}\n"
    engine_in("here", text % "192.0.2.1/24, 192.0.2.2/24").apply()
    if others:
        here(others)
    here("ip route add 10.9.0.0/16 via 192.0.2.9 proto bird")
    engine = engine_in("here", text % "192.0.2.5/24, 192.0.2.6/24, 198.51.100.1/24")
    engine.apply()
    assert "10.9.0.0/16 via 192.0.2.9 dev t0 proto bird" in here("ip route")
    assert not engine.diff().steps
    engine.rollback(2)
    assert "10.9.0.0/16 via 192.0.2.9 dev t0 proto bird" in here("ip route")
    assert not engine_in("here", text % "192.0.2.1/24, 192.0.2.2/24").diff().steps


@pytest.mark.parametrize("promoting", ["0", "1"])
def test_address_before_the_others_of_its_subnet_takes_no_way_along(engine_in: EngineIn, promoting: str) -> None:
    engine_in("here", f"sysctl: {{net.ipv4.conf.default.promote_secondaries: {promoting}}}\n").apply()
    text = "links: {t0: {kind: dummy, up: true, addresses: [%s]}}\nroutes: [{to: default, via: 192.0.2.9}]\n"
    engine_in("here", text % "192.0.2.2/24, 192.0.2.3/24").apply()
    here("ip route add 10.9.0.0/16 via 192.0.2.9 proto bird")
    engine = engine_in("here", text % "192.0.2.1/24, 192.0.2.2/24, 192.0.2.3/24")
    engine.apply()
    assert "10.9.0.0/16 via 192.0.2.9 dev t0 proto bird" in here("ip route")
    assert "default via 192.0.2.9 dev t0" in here("ip route")
    first, *others = (line for line in here("ip -o address show t0 scope global").splitlines() if "inet " in line)
    assert "192.0.2.1/24" in first
    assert all("secondary" in other for other in others)
    assert not engine.diff().steps
    engine.rollback(2, allow=frozenset({"t0"}))
    assert "10.9.0.0/16 via 192.0.2.9 dev t0 proto bird" in here("ip route")
    assert not engine_in("here", text % "192.0.2.2/24, 192.0.2.3/24").diff().steps


@pytest.mark.parametrize("promoting", ["0", "1"])
@pytest.mark.parametrize("more", ["", ", 198.51.100.1/24"], ids=["alone", "beside_another_subnet"])
def test_address_in_place_of_the_first_of_its_subnet_is_the_first(
    engine_in: EngineIn, promoting: str, more: str
) -> None:
    engine_in("here", f"sysctl: {{net.ipv4.conf.default.promote_secondaries: {promoting}}}\n").apply()
    text = "links: {t0: {kind: dummy, up: true, addresses: [192.0.2.%s/24, 192.0.2.2/24%s]}}\n"
    engine_in("here", text % (1, more)).apply()
    engine = engine_in("here", text % (5, more))
    engine.apply()
    assert "src 192.0.2.5" in here("ip route get 192.0.2.9")
    engine.rollback()
    assert "src 192.0.2.1" in here("ip route get 192.0.2.9")


def test_address_of_another_scope_comes_to_a_subnet(engine_in: EngineIn) -> None:
    text = "links: {t0: {kind: dummy, up: true, addresses: [{address: 192.0.2.%s/24, scope: %s}]}}\n"
    for said in ((1, "host"), (2, "global"), (3, "link")):
        engine = engine_in("here", text % said)
        engine.apply()
        assert not engine.diff().steps
    engine.rollback(1)
    assert "192.0.2.1/24 scope host" in here("ip address show t0")


@pytest.mark.parametrize("promoting", ["0", "1"])
def test_other_addresses_of_many_links_take_no_routes_of_others_along(engine_in: EngineIn, promoting: str) -> None:
    engine_in("here", f"sysctl: {{net.ipv4.conf.default.promote_secondaries: {promoting}}}\n").apply()
    text = "links: {'d[n=1-20]': {kind: dummy, up: true, addresses: '10.0.{n}.%d/24'}}\n"
    engine_in("here", text % 1).apply()
    for number in range(1, 21):
        here(f"ip route add 10.9.{number}.0/24 via 10.0.{number}.9 proto bird")
    engine = engine_in("here", text % 5)
    engine.apply()
    assert here("ip route").count("proto bird") == 20
    assert not engine.diff().steps


def test_that_links_keep_other_addresses_meanwhile_takes_no_calls_of_its_own(engine_in: EngineIn) -> None:
    text = "links: {'%s[n=1-60]': {kind: dummy, up: true, addresses: '10.0.{n}.%d/24'}}\n"
    opened: list[Kernels] = []

    def connect(netns: str | None) -> Kernels:
        opened.append(Kernels(netns))
        return opened[-1]

    calls = []
    for name, promoting in (("d", 1), ("e", 0)):
        setting = f"sysctl: {{net.ipv4.conf.default.promote_secondaries: {promoting}}}\n"
        engine_in("here", setting).apply()
        engine_in("here", setting + text % (name, 1)).apply()
        opened.clear()
        engine_in("here", setting + text % (name, 2), connect).apply()
        calls.append(sum(kernel.counters.syscalls for kernel in opened))
        assert here("ip -4 address").count(".2/24") == 60
    assert calls[1] <= calls[0] + 10, calls


@pytest.mark.parametrize("more", ["", ", ttl: 9", ", mtu: 1300", ", mtu: 1200"])
def test_tunnel_keeps_its_mtu_when_its_other_end_is_another(engine_in: EngineIn, more: str) -> None:
    text = """
links:
  d0: {kind: dummy, up: true, addresses: [192.0.2.1/24]}
  g0: {kind: geneve, id: 7, remote: 192.0.2.%s}
"""
    engine_in("here", text % 2).apply()
    here("ip link set g0 mtu 1300")
    engine = engine_in("here", text % f"3{more}")
    assert "1300 -> 1300" not in present.text(engine.diff())
    engine.apply()
    assert f"mtu {1200 if '1200' in more else 1300} " in here("ip link show g0")
    assert not engine.diff().steps
    engine.rollback(1)
    assert "mtu 1300 " in here("ip link show g0")


_V4, _V6 = "local: 192.0.2.1, remote: 192.0.2.2", "local: 'fd00::1', remote: 'fd00::2'"
_BY_ANOTHER_WAY = {
    **dict.fromkeys(("gre", "gretap", "ipip", "sit"), (_V4, "fwmark: 5")),
    **dict.fromkeys(("ip6gre", "ip6tnl", "vti6"), (_V6, "dev: d1")),
    "ip6gretap": (f"{_V6}, ikey: 7", "encaplimit: 2"),
    "erspan": (f"{_V4}, ikey: 9, okey: 9", "dev: d1"),
}


@pytest.mark.parametrize("said", ["", ", mtu: 1300"])
def test_tunnels_keep_their_mtu_when_their_way_is_another(engine_in: EngineIn, said: str) -> None:
    def text(more: Callable[[str], str]) -> str:
        tunnels = (f"t-{kind}: {{kind: {kind}, {ends}{more(way)}}}" for kind, (ends, way) in _BY_ANOTHER_WAY.items())
        low = "'d[n=0-1]': {kind: dummy, up: true, mtu: 1600, addresses: ['192.0.{n+2}.1/24', 'fd0{n}::1/64']}"
        return "links:\n  " + "\n  ".join((low, *tunnels))

    def is_1300() -> bool:
        return all(" mtu 1300 " in here(f"ip link show t-{kind}") for kind in _BY_ANOTHER_WAY)

    engine_in("here", text(lambda _: "")).apply()
    for kind in _BY_ANOTHER_WAY:
        here(f"ip link set t-{kind} mtu 1300")
    engine = engine_in("here", text(lambda way: f", {way}{said}"))
    assert "1300 -> 1300" not in present.text(engine.diff())
    engine.apply()
    assert is_1300()
    assert not engine.diff().steps
    engine.rollback(1)
    assert is_1300()


def test_address_of_ipv6_stays_when_the_route_of_its_prefix_comes_or_goes(engine_in: EngineIn) -> None:
    text = "links: {d0: {kind: dummy, up: true, addresses: [{address: 'fd00::1/64', nodad: true%s}]}}"
    engine_in("here", text % "").apply()
    here("ip -6 route add fd09::/64 dev d0 src fd00::1")
    for said in (True, False):
        engine = engine_in("here", text % f", noprefixroute: {str(said).lower()}")
        assert {step.op for step in singles(engine.diff().steps)} == {Op.CHANGE}
        engine.apply()
        routes = here("ip -6 route show dev d0")
        assert "fd09::/64" in routes
        assert ("fd00::/64" in routes) is not said
        assert not engine.diff().steps
    engine_in("here", text % ", noprefixroute: true").apply()
    engine.rollback(1)
    assert "fd00::/64" in here("ip -6 route show dev d0")


@pytest.mark.parametrize("lower", ["up: true", "up: false", ""])
@pytest.mark.parametrize(
    "vlans",
    [
        pytest.param("t0.5: {addresses: [192.0.2.1/24]}", id="of_a_name"),
        pytest.param("t0.5.6: {addresses: [192.0.2.1/24]}", id="on_one_of_a_name"),
        pytest.param("v: {kind: vlan, link: t0, id: 5}, br0: {kind: bridge, ports: [v]}", id="in_a_bridge"),
        pytest.param("v: {kind: vlan, link: t0, id: 5, loose_binding: true}", id="that_does_not_follow"),
    ],
)
def test_vlan_of_which_nobody_says_whether_it_is_up_is_as_on_a_new_host(
    engine_in: EngineIn, lower: str, vlans: str
) -> None:
    base = f"links: {{t0: {{kind: dummy, {lower}}}"
    engine_in("here", f"{base}}}").apply()
    engine_in("here", f"{base}, {vlans}}}").apply()
    engine_in("there", f"{base}, {vlans}}}").apply()
    want = {link["ifname"]: "UP" in link["flags"] for link in json.loads(here("ip -j link", "there"))}
    got = {link["ifname"]: "UP" in link["flags"] for link in json.loads(here("ip -j link"))}
    assert got == want
    assert not engine_in("here", f"{base}, {vlans}}}").diff().steps


@pytest.mark.parametrize("there", ["up", "down"])
def test_vlan_that_is_made_anew_is_up_as_it_was(engine_in: EngineIn, there: str) -> None:
    text = "links: {t0: {kind: dummy, up: true}, v: {kind: vlan, link: t0, id: %d}}"
    engine_in("here", text % 5).apply()
    here(f"ip link set v {there}")
    engine_in("here", text % 6).apply()
    assert ("UP" in json.loads(here("ip -j link show v"))[0]["flags"]) is (there == "up")
