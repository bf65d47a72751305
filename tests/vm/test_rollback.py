# SPDX-License-Identifier: GPL-2.0-or-later
"""Going back on a real kernel: links of others, hardware, settings and what is on links are as they were."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths

# What passes by itself, is random, or depends on what a link can do.
PASSING = {"hello_timer", "tcn_timer", "topology_change_timer", "gc_timer", "bridge_id", "root_id", "operstate"}
PASSING |= {"ifindex", "tso_max_size", "valid_life_time", "preferred_life_time"}
SETTINGS = ("ipv4/conf/e0/rp_filter", "ipv6/conf/e0/disable_ipv6", "ipv6/conf/br0/accept_ra", "ipv4/conf/all/rp_filter")
MADE_BY_OTHERS = (
    "link add e0 mtu 1400 txqueuelen 500 up type veth peer e1",
    "link set e1 up",
    "link add theirs type bridge",
    "link set e0 master theirs",
    "address add 10.0.0.5/24 dev e1",
)
DONE_BY_OTHERS = ("link set br0 up address 02:00:00:00:00:09", "link set br0 type bridge forward_delay 400")
BEFORE = """
links:
  e0: {alias: uplink, master: theirs}
  e1: {}
  e1.5: {kind: vlan, link: e1, id: 5}
  e1.5.6: {kind: vlan, link: e1.5, id: 6}
  br0: {kind: bridge}
  d0: {kind: dummy, mac: "02:00:00:00:00:01"}
routes: [{to: 10.9.0.0/16, via: 10.0.0.9, dev: e1}]
tc: {d0: {qdiscs: [{parent: root, kind: fq_codel}]}}
"""
AFTER = """
groups: {slow: {mtu: 1300, txqueuelen: 7}}
links:
  e0: {alias: another, group: slow, up: false, master: br0, sysctl: {ipv4.rp_filter: 1, ipv6.disable_ipv6: 1}}
  e1: {group: slow, mac: "02:00:00:00:00:07", promisc: true}
  e1.5: {kind: vlan, link: e1, id: 5}
  e1.5.6: {kind: vlan, link: e1.5, id: 6}
  br0: {kind: bridge, up: false, stp: true, forward_delay: 500, sysctl: {ipv6.accept_ra: 0}}
  d0: {kind: dummy, group: slow, numtxqueues: 2, mac: "02:00:00:00:00:01"}
sysctl: {net.ipv4.conf.all.rp_filter: 2}
routes: [{to: 10.9.0.0/16, via: 10.0.0.9, dev: e1, mtu: 1200, advmss: 1000}]
tc: {d0: {qdiscs: [{parent: root, kind: fq_codel, limit: 100, ecn: false}]}}
"""


def told(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def lasting(found: Any, name: str = "") -> Any:
    """What is there without what passes."""
    if name == "flags":
        return "UP" in found
    if name == "addr_info":
        return [lasting(each) for each in found if each["scope"] != "link"]
    if isinstance(found, dict):
        return {name: lasting(value, name) for name, value in found.items() if name not in PASSING}
    return found


def there() -> dict[str, Any]:
    """Everything, as ``ip`` and ``tc`` have it."""
    links = {link["ifname"]: lasting(link) for link in json.loads(told("ip", "-d", "-j", "address"))}
    paths = [path for path in map(Path("/proc/sys/net").joinpath, SETTINGS) if path.exists()]
    settings = {path: path.read_text() for path in paths}
    qdiscs = sorted(told("tc", "qdisc").splitlines())  # which are told in the order in which links were made
    return {"links": links, "routes": told("ip", "route"), "qdiscs": qdiscs, "settings": settings}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for command in MADE_BY_OTHERS:
        told("ip", *command.split())
    (tmp_path / "config").mkdir()
    return tmp_path


def applied(directory: Path, text: str) -> Engine:
    """Apply a configuration; the engine that did it."""
    (directory / "config" / "all.yaml").write_text(text)
    engine = Engine(Paths((directory / "config",), directory / "state", directory / "group"))
    engine.apply()
    assert not engine.diff().steps
    return engine


def test_all_that_was_there_is_there_again(directory: Path) -> None:
    nothing = there()
    applied(directory, BEFORE)
    for command in DONE_BY_OTHERS:
        told("ip", *command.split())
    before = there()
    engine = applied(directory, AFTER)
    between = there()["links"]
    assert (between["e0"]["master"], between["e1.5.6"]["mtu"]) == ("br0", 1300)
    engine.rollback()
    assert there() == before
    assert engine.status().differences == ""
    engine.rollback(2)
    engine.rollback(0)
    assert there() == nothing


def test_bond_looks_after_its_ports_as_it_did_before_another_mode(directory: Path) -> None:
    bond = "links: {d0: {kind: dummy}, b0: {kind: bond, ports: d0, mode: %s}}"
    applied(directory, bond % "active-backup")
    told("ip", "link", "set", "dev", "b0", "type", "bond", "arp_interval", "300", "arp_ip_target", "10.0.0.1")
    told("ip", "link", "set", "dev", "b0", "type", "bond", "arp_validate", "active")
    before = there()
    assert before["links"]["b0"]["linkinfo"]["info_data"]["arp_interval"] == 300
    engine = applied(directory, bond % "802.3ad")
    assert there()["links"]["b0"]["linkinfo"]["info_data"]["miimon"] == 100
    engine.rollback()
    assert there() == before


def test_link_that_a_bond_has_brought_up_is_down_when_it_is_no_port_any_more(directory: Path) -> None:
    links = "links: {d0: {kind: dummy%s}, b0: {kind: bond, mac: '02:00:00:00:00:01'}}"
    applied(directory, links % "")
    engine = applied(directory, links % ", master: b0")
    assert there()["links"]["d0"]["flags"], "it is up"
    engine.rollback()
    assert not there()["links"]["d0"]["flags"]


@pytest.mark.vm("stock")
def test_what_no_file_says_of_a_link_comes_back_when_another_one_was_in_its_place(directory: Path) -> None:
    text = "links: {b0: {kind: bridge}, x0: {mac: '02:00:00:00:00:01', %s}}"
    vxlan = "kind: vxlan, id: 7, dstport: 4789, master: b0"
    applied(directory, text % f"{vxlan}, mtu: 1300, learning: false")
    applied(directory, text % vxlan)
    before = there()["links"]["x0"]
    applied(directory, text % "kind: macvlan, link: b0")
    engine = applied(directory, text % "kind: macvlan, link: b0, mtu: 1400")
    engine.rollback(2)
    assert there()["links"]["x0"] == before


@pytest.mark.vm("stock")
def test_size_that_another_one_has_set_is_not_given_back_to_a_link_that_had_neither(directory: Path) -> None:
    text = "links: {d0: {mac: '02:00:00:00:00:01', %s}}"
    before = applied(directory, text % "kind: dummy").actual().link("d0")
    applied(directory, text % "kind: dummy, gso_max_size: 30000")
    engine = applied(directory, text % "kind: ifb")
    engine.rollback(1)
    assert engine.actual().link("d0") == before


@pytest.mark.vm("stock")
def test_what_no_file_says_of_a_neighbour_comes_back_when_it_was_gone_and_made_otherwise(directory: Path) -> None:
    text = "links: {d0: {kind: dummy, up: true}}\nneighbours: [%s]"
    it = "{dev: d0, ip: 'fd00::7', lladdr: '02:00:00:00:00:07'%s}"
    applied(directory, text % it % "")
    before = told("ip", "neighbour", "show", "fd00::7", "dev", "d0")
    applied(directory, text % "")
    engine = applied(directory, text % it % ", extern_learn: true")
    assert told("ip", "neighbour", "show", "fd00::7", "dev", "d0") != before
    engine.rollback(1)
    assert told("ip", "neighbour", "show", "fd00::7", "dev", "d0") == before


_ROUTE = """
links: {d0: {kind: dummy, up: true, addresses: [10.0.0.1/24]}}
nexthops: {1: {via: 10.0.0.4, dev: d0}}
routes: [{to: 10.9.0.0/16, %s}]
"""
_SEVERAL = "nexthops: [{via: 10.0.0.2}, {via: 10.0.0.3}]"


@pytest.mark.vm("stock")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("dev: d0", "dev: d0, via: 10.0.0.2"),
        ("dev: d0", "nhid: 1"),
        (_SEVERAL, "dev: d0"),
        ("nhid: 1", "via: 10.0.0.2, dev: d0"),
    ],
)
def test_route_leads_again_where_it_led(directory: Path, before: str, after: str) -> None:
    applied(directory, _ROUTE % before)
    was = there()["routes"]
    engine = applied(directory, _ROUTE % after)
    assert there()["routes"] != was
    engine.rollback()
    assert there()["routes"] == was


def macs() -> dict[str, str]:
    return {name: link["address"] for name, link in there()["links"].items()}


def test_links_that_are_made_again_have_the_macs_of_before(directory: Path) -> None:
    applied(
        directory,
        """
        links:
          v0: {kind: veth, peer: v1}
          d0: {kind: dummy, up: true}
          d0.5: {kind: vlan, link: d0, id: 5}
          m0: {kind: macvlan, link: d0}
          br0: {kind: bridge, up: true, ports: x0}
          br1: {kind: bridge, up: true}
          x0: {kind: vxlan, id: 7, dstport: 4789, up: true}
          t0: {kind: ipip, local: 10.0.0.5}
          b0: {kind: bond, ports: v1}
        vrfs: {r: {table: 7, up: true}}
        """,
    )
    before = macs()
    applied(directory, "links: {e1: {}}").rollback()
    assert macs() == before
    told("ip", "link", "set", "x0", "nomaster")
    assert macs()["br0"] != before["br0"]  # it still goes by its ports
