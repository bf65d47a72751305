# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts that somebody has set up by hand: captured, adopted with nothing changed, and the same elsewhere."""

import re
import subprocess

import pytest

from tests.vm.by_hand_cases import HOSTS, Host
from tests.vm.by_hand_stacks import STACKS
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")  # what is read is what any kernel tells


@pytest.mark.parametrize("name", HOSTS | STACKS)
def test_what_was_made_by_hand_is_adopted_and_comes_again(engine_in: EngineIn, name: str) -> None:
    host = (HOSTS | STACKS)[name]
    engine_in("here", "{}")
    for command in filter(None, map(str.strip, host.made.splitlines())):
        here(command)
    adopted(engine_in, host)


def test_rules_that_the_kernel_fails_to_tell_are_told_to_be_left_out(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    here("ip link add d0 type dummy")
    here("tc qdisc add dev d0 root handle 1: prio")
    here("tc filter add dev d0 parent 1: pref 65000 protocol all fw")
    here("tc filter add dev d0 parent 1: pref 65001 protocol ip u32 match ip dst 10.0.0.9 classid 1:1")
    comment, *rest = engine_in("here", "{}").capture().splitlines()
    assert comment.startswith("# left out (there is no fw that says all of this in a configuration")
    assert comment.endswith(": filter d0 1: pref 65000 protocol all kind fw handle 0x0")
    assert "pref: 65001, " in rest[-1]


def test_texts_of_links_are_written_or_told(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    for words in (
        ("add", "d0", "type", "dummy"),
        ("add", "d1", "type", "dummy"),
        ("set", "d0", "alias", 'line 1\n\t"line" {2} \u00e9'),
        ("set", "d1", "alias", "caf\udce9"),
        ("set", "lo", "alias", "a\nb"),
        ("property", "add", "dev", "d0", "altname", "further\udce9"),
        ("property", "add", "dev", "d1", "altname", "alt\u00e9"),
    ):
        subprocess.run(["ip", "-n", "here", "link", *words], check=True)
    said = (
        '  lo:\n    alias: "a\\nb"\n',
        'alias: "line 1\\n\\t\\"line\\" {{2}} \u00e9"\n',
        '  d1:\n    kind: dummy\n    altnames: ["alt\u00e9"]\n',
    )
    adopted(engine_in, Host("", said, ("alias of d1, altnames of d0",)))
    assert subprocess.run(["ip", "-n", "here", "link", "show", "further\udce9"], check=True)


def test_features_that_follow_from_other_links_are_not_told(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    for command in (
        "ip link add d0 type dummy",
        "ip link add bo0 type bond mode 802.3ad",
        "ip link set d0 master bo0",
        "ip link add link bo0 name bo0.5 type vlan id 5",
        "ip link add bo1 type bond",
        "ip link add br0 type bridge",
        "ip link set bo1 master br0",
    ):
        here(command)
    said = (
        '  bo0:\n    kind: bond\n    mode: "802.3ad"\n  bo0.5:\n',
        "  bo1:\n    kind: bond\n    mode: balance-rr\n    master: br0\n",
        "  d0:\n    kind: dummy\n    master: bo0\n",
    )
    adopted(engine_in, Host("", said, ()))


def test_links_of_which_a_part_is_elsewhere_are_taken_as_they_are(engine_in: EngineIn) -> None:
    for netns in ("here", "other"):
        engine_in(netns, "{}")
    for words in (
        "add d0 up type dummy",
        "add v0 type veth peer name v1 netns here",
        "add link d0 name mv0 netns here type macvlan",
        "add vx0 netns here mtu 1400 type vxlan id 5 dstport 4789 dev d0",
    ):
        subprocess.run(["ip", "-n", "other", "link", *words.split()], check=True)
    here("ip link set v1 up")
    here("ip address add 10.0.0.1/24 dev v1")
    text = engine_in("here", "{}").capture()
    comment, _, rest = text.partition("\n")
    assert comment.endswith(": mv0 (macvlan), v1 (veth), vx0 (vxlan)")
    assert rest == 'links:\n  v1:\n    up: true\n    addresses: ["10.0.0.1/24"]\n  vx0:\n    mtu: 1400\n'
    engine_in("here", text).apply()
    assert engine_in("here", text).capture() == text


def test_port_of_a_bridge_that_nobody_can_make_has_its_settings(engine_in: EngineIn) -> None:
    for netns in ("here", "other"):
        engine_in(netns, "{}")
    for command in (
        "ip link add v0 type veth peer name v1 netns other",
        "ip link add br0 type bridge",
        "ip link set v0 master br0",
        "ip link set v0 type bridge_slave isolated on priority 9",
    ):
        here(command)
    text = engine_in("here", "{}").capture()
    assert text.endswith("\n  v0:\n    port: {isolated: true, priority: 9}\n    master: br0\n")
    engine_in("here", text).apply()
    assert engine_in("here", text).capture() == text


def shown_here() -> str:
    """What no adoption changes, as others show it, without what carriers and packets bring meanwhile."""
    ports = "".join(map(here, ("bridge -d vlan", "bridge vlan global", "bridge fdb", "bridge -d mdb", "bridge vni")))
    learned = r"[0-9a-f:]{17} dev \S+ (vlan \d+ )?master \S+ |33:33:ff:.* self permanent"
    heard = r".* grp .* temp.*|router ports.*"
    return re.sub(rf" proto \w+|^({learned}|{heard})\n", "", ports, flags=re.MULTILINE) + here("tc qdisc")


def adopted(engine_in: EngineIn, host: Host) -> None:
    """Capture a host: nothing changes there, and the same text comes from elsewhere."""
    text = engine_in("here", "{}").capture()
    for said in host.said:
        assert said in text
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert [comment.rpartition(": ")[2] for comment in comments] == [*host.comments]
    shown = shown_here()
    engine_in("here", text).apply()
    assert engine_in("here", text).capture() == text
    assert shown_here() == shown
    engine_in("there", text).apply()
    told = [line for line in engine_in("there", text).capture().splitlines() if not line.startswith("#")]
    assert told == [line for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("below", ["type veth peer e1", "type dummy"], ids=["resolves_addresses", "does_not"])
def test_vlan_of_which_nobody_said_anything_has_no_settings(engine_in: EngineIn, below: str) -> None:
    engine_in("here", "{}")
    here(f"ip link add e0 {below}")
    here("ip link add link e0 name e0.10 type vlan id 10")
    assert "sysctl" not in engine_in("here", "{}").capture()
