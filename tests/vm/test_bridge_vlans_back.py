# SPDX-License-Identifier: GPL-2.0-or-later
"""What only one VLAN of a port can have, and goes from one to another: each way is gone, and back from any step."""

import pytest

from netgroupd.errors import KernelError
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netlink.request import Selection
from netgroupd.plan.step import Op, Step
from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import Stumbling, become, there, there_and_back, told

TEXT = """
links:
  br: {{kind: bridge, vlan_filtering: true, vlan_default_pvid: {default}, up: true, mac: "02:00:00:00:00:01"}}
  d0: {{kind: dummy, master: br, up: true, vlans: {vlans}}}
  vx: {{kind: vxlan, external: true, master: br, up: true, port: {{vlan_tunnel: {tunnels}}}, vlans: {vnis}}}
"""
VLANS, TUNNELS, VNIS = "[]", "true", "[{vid: '[v=10-20]', tunnel_id: '{v+1000}'}]"


OWN = "[{vid: 5, pvid: true, untagged: true}]"
OUT = "[{vid: 1, member: false}, {vid: 5, pvid: true, untagged: true}]"


def said(*, vlans: str = VLANS, tunnels: str = TUNNELS, vnis: str = VNIS, default: int = 1) -> str:
    return TEXT.format(vlans=vlans, tunnels=tunnels, vnis=vnis, default=default)


WAYS = [
    pytest.param(said(), said(vnis="[{vid: 10, tunnel_id: 1011}, {vid: 11, tunnel_id: 1010}]"), id="vnis_exchanged"),
    pytest.param(
        said(vnis="[{vid: '[10-14]', tunnel_id: null}, {vid: '[v=15-20]', tunnel_id: '{v+1000}'}]"),
        said(vnis="[{vid: '[v=10-20]', tunnel_id: '{v+1001}'}]"),
        id="vni_of_the_next",
    ),
    pytest.param(said(), said(tunnels="false", vnis="['[10-20]']"), id="no_tunnels_any_more"),
    pytest.param(said(), said(vlans="[{vid: 300, pvid: true, untagged: true}]"), id="pvid_of_a_new_vlan"),
    pytest.param(
        said(vlans="[{vid: 7, pvid: true}, {vid: 8, pvid: false}]"),
        said(vlans="[{vid: 7, pvid: false}, {vid: 8, pvid: true}]"),
        id="pvid_of_another_vlan",
    ),
    pytest.param(said(vlans="[{vid: 300, pvid: true, untagged: true}]"), said(), id="pvid_of_none"),
    pytest.param(said(), said(default=5), id="another_default"),
    pytest.param(said(default=5), said(default=0), id="no_default_any_more"),
    pytest.param(said(default=0), said(default=5), id="a_default"),
    pytest.param(said(vlans="[7]"), said(default=5, vlans="[1, 7]"), id="default_that_was_is_wanted"),
    pytest.param(said(vlans=OWN), said(default=5), id="own_vlan_becomes_the_default"),
    pytest.param(said(vlans=OWN), said(default=5, vlans=OWN), id="own_vlan_is_the_default_too"),
    pytest.param(said(vlans=OWN), said(default=6), id="own_vlan_goes_for_another_default"),
    pytest.param(said(vlans="[{vid: 1, pvid: false}]"), said(default=5), id="default_without_untagged_packets"),
    pytest.param(said(), said(vlans=OUT), id="out_of_the_default"),
    pytest.param(said(vlans=OUT), said(vlans="[1]"), id="back_into_the_default"),
    pytest.param(said(), said(default=5, vlans="[{vid: 5, member: false}]"), id="out_of_another_default"),
    pytest.param(said(vlans=OUT), said(default=5, vlans="[{vid: 1, member: false}]"), id="out_of_what_was_the_default"),
    pytest.param(
        said() + "  red: {kind: vrf, table: 10}\n" + "  d1: {kind: dummy, master: red}\n",
        said() + "  red: {kind: vrf, table: 10}\n" + "  d1: {kind: dummy, master: br, vlans: [7]}\n",
        id="comes_from_a_vrf",
    ),
    pytest.param(
        said() + "  red: {kind: vrf, table: 10}\n" + "  d1: {kind: dummy, master: red}\n",
        said() + "  red: {kind: vrf, table: 10}\n" + "  d1: {kind: dummy, master: br, vlans: [{vid: 1, pvid: true}]}\n",
        id="comes_from_a_vrf_and_says_the_default",
    ),
    pytest.param(said(vlans=OUT), said(vlans=OUT) + "  d1: {kind: dummy}\n", id="out_while_something_else_changes"),
    pytest.param(said(vlans=OUT), said(), id="no_longer_out"),
    pytest.param(said(vlans=OUT), said(vlans=OWN), id="no_longer_out_beside_its_own"),
    pytest.param(said(vlans=OUT), said().replace("up: true, vlans: []}", "up: true}"), id="lists_none_any_more"),
    pytest.param(said(vlans=OUT), said(default=7, vlans=OWN), id="no_longer_out_of_another_default"),
    pytest.param(
        said(vlans=OUT), said().replace("master: br, up: true, vlans: []", "master: null"), id="out_of_its_bridge"
    ),
]


@pytest.mark.vm("stock")  # the messages are the same on both
@pytest.mark.parametrize(("before", "after"), WAYS)
def test_what_one_vlan_has_of_another_is_back_after_any_refusal(kernel: Stumbling, before: str, after: str) -> None:
    become(kernel, state_of(before))
    there_and_back(kernel, state_of(after), refused=True)


@pytest.mark.parametrize(
    "vlans", [pytest.param("[]", id="their_vlan_goes"), pytest.param("[{vid: 300, pvid: false}]", id="it_is_tagged")]
)
def test_packets_without_a_tag_belong_to_the_default_again(kernel: Stumbling, vlans: str) -> None:
    goal = state_of(said(vlans=vlans))
    become(kernel, goal)
    was = there(kernel, goal), told("bridge", "vlan", "show", "dev", "d0")
    become(kernel, state_of(said(vlans="[{vid: 300, pvid: true}]")))
    become(kernel, goal)
    assert (there(kernel, goal), told("bridge", "vlan", "show", "dev", "d0")) == was


@pytest.mark.parametrize("vlans", ["[]", "[5]", "[{vid: 1, pvid: false}]", OWN, "[{vid: 300, pvid: true}]"])
def test_packets_without_a_tag_belong_to_another_default(kernel: Stumbling, vlans: str) -> None:
    become(kernel, state_of(said(vlans=vlans)))
    become(kernel, state_of(said(default=5)))
    listed = told("bridge", "vlan", "show", "dev", "d0")
    assert [line.split() for line in listed.splitlines()[1:]] == [["d0", "5", "PVID", "Egress", "Untagged"]]


@pytest.mark.vm("stock")
def test_port_is_out_of_the_default_vlan_whenever_it_comes(engine_in: EngineIn) -> None:
    text = said(vlans=OUT)
    engine_in("here", text).apply()
    for command in (
        "",
        "ip link set d0 nomaster",
        "bridge vlan add dev d0 vid 1 untagged",
        "ip link del dev d0",
        "ip link del dev br",
    ):
        if command:
            here(command)
            assert engine_in("here", text).diff().steps
            engine_in("here", text).apply()
        assert not engine_in("here", text).diff().steps
        listed = here("bridge vlan show dev d0")
        assert [line.split() for line in listed.splitlines()[1:]] == [["d0", "5", "PVID", "Egress", "Untagged"]]


@pytest.mark.parametrize(
    "vlans", ["[]", OWN, "[7]", "[{vid: 1, pvid: false}]", "[{vid: 5, pvid: false, untagged: false}]"]
)
def test_port_that_is_said_to_be_out_no_more_is_what_a_new_one_is(kernel: Stumbling, vlans: str) -> None:
    goal = state_of(said(vlans=vlans))
    become(kernel, goal)
    new = there(kernel, goal), told("bridge", "vlan", "show", "dev", "d0")
    become(kernel, state_of(said(vlans=OUT)))
    become(kernel, goal)
    assert (there(kernel, goal), told("bridge", "vlan", "show", "dev", "d0")) == new


def test_port_that_others_took_out_is_out_again_after_a_refusal(kernel: Stumbling) -> None:
    become(kernel, state_of(said()))
    told("bridge", "vlan", "del", "dev", "d0", "vid", "1")
    trees = said(vlans="[300]").replace("kind: bridge,", "kind: bridge, mst_enabled: true,")
    there_and_back(kernel, state_of(trees), lambda: told("bridge", "vlan", "show", "dev", "d0"), refused=True)


@pytest.mark.vm("stock")
def test_port_that_others_took_elsewhere_is_put_into_no_vlan(engine_in: EngineIn) -> None:
    engine_in("here", said(vlans=OUT)).apply()
    here("ip link add dev red type vrf table 10")
    here("ip link set dev d0 master red")
    engine_in("here", said().replace("dummy, master: br, up: true, vlans: []", "dummy, up: true")).apply()
    assert "d0" not in here("bridge vlan show")


@pytest.mark.vm("stock")
@pytest.mark.parametrize("vlans", ["[10]", "[10, {vid: 1, member: false}]", "[11, {vid: 1, member: false}]"])
def test_what_others_listed_is_there_before_a_file_does(engine_in: EngineIn, vlans: str) -> None:
    engine_in("here", "{}")
    for command in (
        "ip link add dev br type bridge vlan_filtering 1",
        "ip link add dev d0 master br type dummy",
        "bridge vlan del dev d0 vid 1",
        "bridge vlan add dev d0 vid 10",
    ):
        here(command)
    listed = here("bridge vlan show dev d0")
    engine_in("here", "links: {d0: {mtu: 1400}}").apply()
    engine_in("here", f"links: {{d0: {{mtu: 1400, vlans: {vlans}}}}}").apply()
    engine_in("here", "{}").rollback()
    assert here("bridge vlan show dev d0") == listed


@pytest.mark.vm("stock")
def test_default_vlan_is_back_where_a_change_is_undone(engine_in: EngineIn) -> None:
    engine_in("here", said()).apply()
    listed = here("bridge vlan show dev d0")
    engine_in("here", said(vlans=OUT)).apply()
    assert here("bridge vlan show dev d0") != listed
    engine_in("here", said(vlans=OUT)).rollback()
    assert here("bridge vlan show dev d0") == listed


@pytest.mark.vm("stock")
@pytest.mark.parametrize("left", [pytest.param("br", id="last_port_leaves"), pytest.param("null", id="it_has_left")])
def test_bridge_that_has_no_mac_without_ports_takes_vlans(kernel: Stumbling, left: str) -> None:
    text = "links: {br: {kind: bridge, vlan_filtering: true, vlans: %s}, d0: {kind: dummy, master: %s}}"
    for master in ("br", left):
        become(kernel, state_of(text % ("[7]", master)))
    there_and_back(kernel, state_of(text % ("['[8-9]', {vid: 20, pvid: true}]", "null")), refused=True)


@pytest.mark.vm("stock")
@pytest.mark.parametrize("master", [pytest.param("br", id="with_a_port"), pytest.param("null", id="without")])
def test_bridge_that_has_no_mac_takes_another_default(kernel: Stumbling, master: str) -> None:
    text = "links: {br: {kind: bridge, vlan_filtering: true, vlan_default_pvid: %s}, d0: {kind: dummy, master: %s}}"
    for left in ("br", "null"):
        become(kernel, state_of(text % (1, left)))
    there_and_back(kernel, state_of(text % (5, master)), refused=True)


_SUPPRESSED = "{vid: '[102-105]', neigh_suppress: true}, {vid: '[100-101]'}"


def _suppressed() -> list[object]:
    with Kernels("here") as kernel:
        selection = Selection(frozenset({"bridge_vlan"}), links=frozenset({"d0"}), vlans_apart=True)
        return [
            vlan.key[1] for vlan in kernel.dump(selection).of("bridge_vlan").values() if vlan.attrs["neigh_suppress"]
        ]


@pytest.mark.vm("stock")
@pytest.mark.parametrize(
    "after",
    [
        pytest.param(said(vlans=f"[{_SUPPRESSED}]"), id="beside"),
        pytest.param(said(), id="without_the_list"),
        pytest.param(said().replace("master: br, up: true, vlans: []", "master: null"), id="elsewhere"),
    ],
)
def test_what_ranges_of_vlans_do_not_tell_is_as_before_a_refused_change(engine_in: EngineIn, after: str) -> None:
    engine_in("here", said(vlans=f"[{_SUPPRESSED}]")).apply()
    assert _suppressed() == [102, 103, 104, 105]
    refused = after + "  e: {kind: dummy}\n  e.5: {up: true}\n"  # while what it is on is down
    with pytest.raises(KernelError, match="Network is down") as error:
        engine_in("here", refused).apply(allow=frozenset({"d0"}))
    assert "put back" not in str(error.value)
    assert _suppressed() == [102, 103, 104, 105]


_LISTED = said(vlans="['[100-105]']")


@pytest.mark.vm("stock")
@pytest.mark.parametrize(
    "after",
    [
        pytest.param(_LISTED, id="stays"),
        pytest.param(said(vlans="['[100-102]']"), id="in_fewer"),
        pytest.param(said().replace("master: br, up: true, vlans: []", "master: null"), id="elsewhere"),
        pytest.param(said().replace("br:", "br2:").replace("master: br,", "master: br2,"), id="in_another_bridge"),
    ],
)
def test_what_others_told_a_listed_vlan_is_as_before_a_refused_change(engine_in: EngineIn, after: str) -> None:
    engine_in("here", _LISTED).apply()
    with Kernels("here") as kernel:  # `bridge` knows no word for it
        key = ("d0", 103)
        has = kernel.dump(Selection(frozenset({"bridge_vlan"}), links=frozenset({"d0"}))).of("bridge_vlan")[key]
        more = {"neigh_suppress": True}
        assert not kernel.apply([Step(Op.CHANGE, has, has._replace(attrs={**has.attrs, **more}), more)])
    with pytest.raises(KernelError, match="Network is down"):
        engine_in("here", after + "  e: {kind: dummy}\n  e.5: {up: true}\n").apply(allow=frozenset({"d0"}))
    assert _suppressed() == [103]
