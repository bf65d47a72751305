# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that others have made and that a file describes without their kind: they are let go, and never made anew."""

import json

import pytest

from netgroupd.errors import ConfigError
from netgroupd.plan import present
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

OF_OTHERS = "links: {virbr0: {mtu: 1400, addresses: [192.0.2.1/24]}}\n"
WITH_OURS = """links:
  virbr0: {mtu: 1400, addresses: [192.0.2.1/24]}
  virbr0.7: {kind: vlan, link: virbr0, id: 7}
  dum0: {kind: dummy, master: virbr0}
"""


@pytest.fixture(autouse=True)
def virbr0(engine_in: EngineIn) -> None:
    """A bridge of somebody else's."""
    engine_in("here", "{}")  # makes the namespace
    here("ip link add virbr0 up type bridge")


def _master(name: str) -> str:
    return str(json.loads(here(f"ip -j link show {name}"))[0].get("master", ""))


def _links() -> dict[str, str]:
    return {link["ifname"]: link["group"] for link in json.loads(here("ip -j link")) if link["ifname"] != "lo"}


@pytest.mark.parametrize("text", [OF_OTHERS, WITH_OURS])
def test_link_whose_kind_no_file_says_is_let_go_with_its_line(engine_in: EngineIn, text: str) -> None:
    engine_in("here", text).apply()
    assert _links()["virbr0"] != "default"
    engine = engine_in("here", "{}\n")
    assert "~ bridge virbr0  group netgroupd -> 0" in present.text(engine.diff())
    engine.apply()
    assert _links() == {"virbr0": "default"}
    assert "192.0.2.1" not in here("ip address show dev virbr0")
    assert not engine.drift().steps


def test_link_whose_kind_a_file_says_is_deleted_with_its_line(engine_in: EngineIn) -> None:
    engine_in("here", OF_OTHERS).apply()
    engine_in("here", "links: {virbr0: {kind: bridge, mtu: 1400}}\n").apply()
    engine_in("here", "{}\n").apply()
    assert not _links()


def test_link_whose_kind_no_file_says_is_not_made_anew(engine_in: EngineIn) -> None:
    engine_in("here", OF_OTHERS).apply()
    engine_in("other", "{}")  # makes the namespace
    here("ip link add bond0 type bond")  # which no namespace takes
    engine_in("here", "links: {bond0: {mtu: 1400}, virbr0: {mtu: 1400}}\n").apply()
    with pytest.raises(ConfigError, match=r"bond0.* is a link of kind bond that is not netgroupd's"):
        engine_in("here", "links: {bond0: {mtu: 1400, netns: other}, virbr0: {mtu: 1400}}\n").apply()


def test_link_of_netgroupd_whose_kind_no_file_says_any_more_is_deleted_with_its_line(engine_in: EngineIn) -> None:
    for text in ("links: {d0: {kind: dummy}}\n", "links: {d0: {alias: x}}\n", "links: {d0: {alias: y}}\n", "{}\n"):
        engine_in("here", text).apply()
    assert _links() == {"virbr0": "default"}


def test_port_is_none_any_more_when_its_line_goes_and_its_master_stays(engine_in: EngineIn) -> None:
    for name in ("t0", "t1", "t2", "t3"):
        here(f"ip link add {name} up type dummy")
    links = "links: {br0: {kind: bridge, ports: [%s]}, bond0: {kind: bond, ports: [%s]}}\n"
    text = links + "vrfs: {red: {table: 7, links: [%s]}}\n"
    engine_in("here", text % ("t0", "t1", "t2, t3")).apply()
    assert [_master(name) for name in ("t0", "t1", "t2", "t3")] == ["br0", "bond0", "red", "red"]
    engine = engine_in("here", text % ("", "", "t3"))
    engine.apply()
    assert [_master(name) for name in ("t0", "t1", "t2", "t3")] == ["", "", "", "red"]
    assert {name: group for name, group in _links().items() if name in ("t0", "t1", "t2")} == dict.fromkeys(
        ("t0", "t1", "t2"), "default"
    )
    assert "state UNKNOWN" in here("ip link show t2")  # it is up again
    assert not engine.drift().steps
    engine.rollback(1)
    assert [_master(name) for name in ("t0", "t1", "t2", "t3")] == ["br0", "bond0", "red", "red"]


def test_bond_changes_what_it_changes_only_without_ports_when_the_last_is_let_go(engine_in: EngineIn) -> None:
    here("ip link add t0 type dummy")
    engine_in("here", "links: {bond0: {kind: bond, mode: active-backup, ports: [t0]}}\n").apply()
    engine = engine_in("here", "links: {bond0: {kind: bond, mode: balance-xor, ports: []}}\n")
    engine.apply()
    assert "balance-xor" in here("ip -d link show bond0")
    assert _master("t0") == ""


def test_port_that_others_put_into_their_bridge_stays_there(engine_in: EngineIn) -> None:
    here("ip link add vnet0 up master virbr0 type dummy")
    here("ip link add vnet1 up master virbr0 type dummy")
    engine_in("here", "links: {virbr0: {mtu: 1400}, vnet0: {mtu: 1400}}\n").apply()
    assert _master("vnet0") == "virbr0"
    engine_in("here", "links: {virbr0: {mtu: 1400}}\n").apply()
    assert [_master("vnet0"), _master("vnet1")] == ["virbr0", "virbr0"]
    engine_in("here", "links: {virbr0: {mtu: 1400, ports: [vnet0]}, vnet1: {mtu: 1400}}\n").apply()
    assert [_master("vnet0"), _master("vnet1")] == ["virbr0", "virbr0"]


def test_port_that_others_put_into_a_bridge_of_netgroupds_stays_there(engine_in: EngineIn) -> None:
    """As a guest's tap, of which a file says something else."""
    text = "links:\n  t0: {}\n  br0: {kind: bridge, ports: [t0]}\n"
    here("ip link add t0 type dummy")
    engine_in("here", text).apply()
    here("ip link add vnet0 up master br0 type dummy")
    engine = engine_in("here", text + "  vnet0: {mtu: 1400}\n")
    engine.apply()
    assert [_master("t0"), _master("vnet0")] == ["br0", "br0"]
    engine.rollback(1)
    assert _master("vnet0") == "br0"
    engine = engine_in("here", "links: {vnet0: {mtu: 1400}}\n")
    assert "vnet0, which no file has put there, loses its master br0" in engine.diff().warnings
    engine_in("here", text + "  vnet0: {master: null}\n").apply()
    assert _master("vnet0") == ""


def test_port_leaves_the_bridge_of_others_that_a_file_has_put_it_into(engine_in: EngineIn) -> None:
    here("ip link add t0 type dummy")
    for after in ("links: {t0: {mtu: 1400}}\n", "{}\n"):
        engine_in("here", "links: {t0: {master: virbr0}}\n").apply()
        assert _master("t0") == "virbr0"
        engine = engine_in("here", after)
        engine.apply()
        assert _master("t0") == ""
        assert not engine.drift().steps


def test_port_that_was_one_before_a_file_named_it_is_one_again_when_going_back(engine_in: EngineIn) -> None:
    here("ip link add vnet0 up master virbr0 type dummy")
    engine_in("here", "links: {vnet0: {mtu: 1400}}\n").apply()
    engine = engine_in("here", "links: {vnet0: {mtu: 1400}, virbr0: {kind: bridge, ports: [vnet0]}}\n")
    engine.apply()
    engine.rollback(1)
    assert _master("vnet0") == "virbr0"
    engine_in("here", "links: {vnet0: {mtu: 1400}, virbr0: {kind: bridge, ports: [vnet0]}}\n").apply()
    engine.rollback(0)
    assert _master("vnet0") == "virbr0"


@pytest.mark.parametrize("text", ["{}\n", OF_OTHERS.replace("1400", "1300"), "links: {virbr1: {mtu: 1400}}\n"])
def test_link_of_others_is_not_deleted_under_another_name(engine_in: EngineIn, text: str) -> None:
    engine = engine_in("here", OF_OTHERS)
    engine.apply()
    here("ip link set virbr0 down name virbr1")
    assert "~ bridge virbr1  group netgroupd -> 0" in present.text(engine.drift())
    engine_in("here", text).apply()
    assert "virbr1" in _links()
    engine_in("here", "{}\n").apply()
    assert _links() == {"virbr1": "default"}


def test_link_of_netgroupd_under_another_name_is_deleted(engine_in: EngineIn) -> None:
    text = "links: {virbr0: {mtu: 1400}, d0: {kind: dummy}}\n"
    engine = engine_in("here", text)
    engine.apply()
    here("ip link set d0 name d1")
    assert "- dummy d1" in present.text(engine.drift())


def test_link_of_others_is_theirs_again_when_going_back_to_where_no_file_says_its_kind(engine_in: EngineIn) -> None:
    engine_in("here", OF_OTHERS).apply()
    engine = engine_in("here", "links: {virbr0: {kind: bridge, mtu: 1400}}\n")
    engine.apply()
    engine.rollback(1)
    engine_in("here", "{}\n").apply()
    assert _links() == {"virbr0": "default"}


def test_links_of_others_in_a_group_that_a_file_comes_to_name_are_let_go(engine_in: EngineIn) -> None:
    here("ip link set virbr0 group 7")
    here("ip link add vnet0 master virbr0 type dummy")
    text = "groups: {lab: {id: 7, mtu: 1400}}\nlinks: {d0: {kind: dummy, group: lab}}\n"
    engine = engine_in("here", text)
    assert "~ bridge virbr0  group lab -> 0" in present.text(engine.diff())
    engine.apply()
    assert _links() == {"virbr0": "default", "vnet0": "default", "d0": "7"}
    assert _master("vnet0") == "virbr0"
    assert not engine.drift().steps
    engine.rollback(0)
    assert _links() == {"virbr0": "7", "vnet0": "default"}


def test_link_of_another_group_whose_kind_a_file_said_is_there_again_when_going_back(engine_in: EngineIn) -> None:
    here("ip link set virbr0 group 7")
    engine = engine_in("here", "links: {virbr0: {kind: bridge, mtu: 1400}}\n")
    engine.apply()
    engine.rollback(0)
    assert _links() == {"virbr0": "7"}


def test_link_that_a_file_calls_by_a_further_name_of_it_is_told(engine_in: EngineIn) -> None:
    here("ip link property add dev virbr0 altname uplink")
    engine = engine_in("here", "links: {uplink: {mtu: 1400}}\n")
    assert "uplink is another name of virbr0, and no file can name a link by that" in engine.diff().warnings


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("links: {v5: {kind: vlan, link: uplink, id: 5}}\n", id="below_a_link"),
        pytest.param("links: {vrf5: {kind: vrf, table: 5, links: [uplink]}}\n", id="port"),
        pytest.param("links: {br5: {kind: bridge, ports: uplink.5}}\n", id="lower_link_of_a_port"),
        pytest.param("routes: [{to: 10.5.0.0/16, dev: uplink}]\n", id="of_a_route"),
        pytest.param("tc: {uplink: {ingress: [{pref: 1, matchall: {}, action: drop}]}}\n", id="with_rules"),
    ],
)
def test_file_that_refers_to_a_link_by_a_further_name_of_it_is_told_the_right_one(
    engine_in: EngineIn, text: str
) -> None:
    here("ip link property add dev virbr0 altname uplink")
    with pytest.raises(ConfigError, match="'uplink' is another name of 'virbr0'"):
        engine_in("here", text).diff()
