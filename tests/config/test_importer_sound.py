# SPDX-License-Identifier: GPL-2.0-or-later
"""What no link can have is not in the imported configuration, and is told with the line of the old file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.config.importing import import_at


@pytest.fixture
def place(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path / "interfaces"


LEFT_OUT = [
    pytest.param("ttl 64", "ttl 64: a link that says no kind has no ttl", {"up": True}, id="of_another_kind"),
    pytest.param("bond-mode 1\n  bond-lacp-rate 1",
                 "bond-lacp-rate 1: a bond has lacp_rate in mode 802.3ad, and this one is active-backup",
                 {"kind": "bond", "up": True, "mode": "active-backup"}, id="of_another_mode"),
    pytest.param("mtu 99999999999", "mtu 99999999999: expected a whole number from 0 to 2147483647", {"up": True},
                 id="beyond"),
    pytest.param("vrf", "vrf: expected the name of a link", {"up": True}, id="nothing"),
    pytest.param("bridge-ports none\n  bridge-ageing -3",
                 "bridge-ageing -3: expected a whole number from 0 to 214748364, in hundredths of a second",
                 {"kind": "bridge", "up": True},
                 id="below"),
    pytest.param("link-type fancy", "unknown kind 'fancy'", {"up": True}, id="kind"),
    pytest.param("bridge-learning off", "bridge-learning off: it is a port of none of the bridges here", {"up": True},
                 id="no_port"),
    pytest.param("bridge-ports none\n  vlan-raw-device y", "vlan-raw-device y: a bridge stands on none",
                 {"kind": "bridge", "up": True}, id="on_none"),
    pytest.param("vrf a/b", "vrf a/b: 'a/b' cannot name a link; names have no blanks and none of / : % [ ] { }",
                 {"up": True}, id="no_name"),
    pytest.param("address 10.0.0.1/24\n  scope somewhere",
                 "scope somewhere of 10.0.0.1/24: expected one of global, site, link, host, nowhere", {"up": True},
                 id="scope"),
    pytest.param("address 10.0.0.1/24\n  preferred-lifetime 0",
                 "preferred_lft 0 of 10.0.0.1/24: IPv4 knows no such end without valid_lft", {"up": True}, id="end"),
    pytest.param("address 2001:db8::1/64\n  broadcast 10.0.0.255",
                 "broadcast 10.0.0.255 of 2001:db8::1/64: IPv6 has none", {"up": True}, id="broadcast"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message", "want"), LEFT_OUT)
def test_what_cannot_be_is_left_out_and_listed(place: Path, options: str, message: str, want: dict[str, Any]) -> None:
    place.write_text(f"auto x\niface x\n  {options}\n")
    got = import_at(place)
    [problem] = got.problems
    assert problem.message == f"x: {message}"
    assert problem.text.strip() in options
    assert yaml.safe_load(got.text) == {"links": {"x": want}}


@pytest.mark.parametrize(
    ("options", "message"),
    [("vxlan-local-tunnelip 10.0.0.1", "x: it has no vxlan-id"),
     ("vlan-id 5", "x: it has no vlan-raw-device, and none in its name"),
     ("link-type veth", "x: it has no veth-peer-name"), ("vlan-raw-device y", "x: it has no vlan-id, and none in its")],
)  # fmt: skip
def test_link_that_lacks_what_its_kind_needs_is_left_out(place: Path, options: str, message: str) -> None:
    place.write_text(f"auto x\niface x\n  {options}\n")
    got = import_at(place)
    [problem] = got.problems
    assert (problem.line, problem.hint) == (2, "it is left out")
    assert problem.message.startswith(message)
    assert "links" not in (yaml.safe_load(got.text) or {})


ADDRESSES = [
    pytest.param("10.0.0.1/26\n pointopoint 10.0.0.9", {"address": "10.0.0.1/32", "peer": "10.0.0.9"}, id="peer"),
    pytest.param("10.0.0.1\n netmask 255.255.255.0\n pointopoint 10.0.0.9/30",
                 {"address": "10.0.0.1/30", "peer": "10.0.0.9"}, id="peer_with_its_length"),
    pytest.param("10.0.0.1/24\n broadcast +", {"address": "10.0.0.1/24", "broadcast": "10.0.0.255"}, id="broadcast"),
    pytest.param("10.0.0.1/24\n scope universe", "10.0.0.1/24", id="scope_that_all_have"),
    pytest.param("fe80::1/64\n scope link", "fe80::1/64", id="scope_that_is_known"),
    pytest.param("2001:db8::1/64\n preferred-lifetime 0", {"address": "2001:db8::1/64", "preferred_lft": 0}, id="end"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), ADDRESSES)
def test_address_is_as_the_kernel_was_told(place: Path, text: str, want: object) -> None:
    place.write_text(f"auto x\niface x\n address {text}\n")
    got = import_at(place)
    assert got.problems == ()
    assert yaml.safe_load(got.text)["links"]["x"]["addresses"] == [want]


@pytest.mark.parametrize(
    "text",
    ["auto x y v\niface x\n address 10.0.0.1/26\niface y\n vrf v\n address 10.0.0.1/26\niface v\n vrf-table 1001\n",
     "auto x y\niface x\n address fe80::1/64\niface y\n address fe80::1/64\n",
     "auto x y\niface x\n address 10.0.0.1/32\niface y\n address 10.0.0.1/32\n"],
    ids=["in_another_domain", "of_each_link", "in_one_domain"],
)  # fmt: skip
def test_address_may_be_on_two_links(place: Path, text: str) -> None:
    place.write_text(text)
    got = import_at(place)
    assert got.problems == ()
    links = yaml.safe_load(got.text)["links"]
    assert links["x"]["addresses"] == links["y"]["addresses"]


def test_address_of_links_to_several_hosts_is_on_each(place: Path) -> None:
    ends = (f"iface t{n}\n address 10.0.0.1\n pointopoint 10.0.1.{n}\n" for n in (1, 2))
    place.write_text(f"auto t1 t2\n{''.join(ends)}")
    got = import_at(place)
    assert got.problems == ()
    found = yaml.safe_load(got.text)["links"]["t[v=1-2]"]["addresses"]
    assert found == [{"address": "10.0.0.1/32", "peer": "10.0.1.{v}"}]


def test_port_that_cannot_be_a_link_is_told(place: Path) -> None:
    place.write_text("auto br\niface br\n bridge-ports x fe80::1\n")
    got = import_at(place)
    [problem] = got.problems
    assert (problem.line, problem.message) == (3, "br: 'fe80::1' cannot name a link")
    assert yaml.safe_load(got.text)["links"]["br"]["ports"] == "x"


def test_second_value_of_a_setting_is_told(place: Path) -> None:
    place.write_text("auto x\niface x\n rp-filter 1\n up sysctl -w net.ipv4.conf.x.rp_filter=2\n")
    [problem] = import_at(place).problems
    assert (problem.line, problem.message, problem.hint) == (4, "x: ipv4.rp_filter is 1 already", "2 is left out")
