# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes of links that are closed, moved and deleted together, and routes of many links to one destination."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.vm.kernel_netlink import ADDRESS, DELLINK, GROUP, MASTER, NEWLINK, Netlink, attr
from tests.waiting import eventually

_GROUP = 5
_FAMILIES = ("-4", "-6")
_TO = "2001:db8::/32"
# What is done, and the routes to _TO that there are then: through which gateway and link, and their metric.  They are
# ordered by that, then by age, and one like another is not added.
_ORDER = {
    """
route add 2001:db8::/32 dev d0 metric 100
route append 2001:db8::/32 dev d1 metric 100
route append 2001:db8::/32 dev d2 metric 50
route append 2001:db8::/32 dev d3 metric 200
addr add 2001:db8::1/32 dev d3 nodad
addr add 2001:db8::2/32 dev d2 nodad
addr add 2001:db8::3/32 dev d2 nodad
""": "d2 50, d0 100, d1 100, d3 200, d3 256, d2 256",
    """
addr add 2001:db8::4/32 dev d1 nodad metric 150
addr add 2001:db8::5/32 dev d0 nodad metric 300
""": "d2 50, d0 100, d1 100, d1 150, d3 200, d3 256, d2 256, d0 300",
    """
route del 2001:db8::/32 dev d2 metric 50
route del 2001:db8::/32 dev d3 metric 200
addr del 2001:db8::5/32 dev d0
""": "d1 100, d1 150, d3 256, d2 256, d0 300",
    """
route append 2001:db8::/32 dev d1 metric 256
addr add 2001:db8::6/32 dev d0 nodad
""": "d1 100, d1 150, d3 256, d2 256, d1 256, d0 256, d0 300",
    """
route append 2001:db8::/32 via fe80::1 dev d0 metric 256
route append 2001:db8::/32 via fe80::2 dev d1 metric 256
addr add 2001:db8::7/32 dev d1 nodad
""": "d1 100, d1 150, d3 256, d2 256, d1 256, d0 256, 256 fe80::1 d0 fe80::2 d1, d0 300",
    """
route replace 2001:db8::/32 via fe80::3 dev d2 metric 256
route replace 2001:db8::/32 dev d3 metric 100
addr del 2001:db8::2/32 dev d2
""": "d3 100, d1 150, d3 256, d2 256, d1 256, d0 256, fe80::3 d2 256, d0 300",
    """
addr del 2001:db8::3/32 dev d2
addr add 2001:db8::8/32 dev d2 nodad valid_lft 1000 preferred_lft 1000
addr add 2001:db8::9/32 dev d2 nodad
""": "d3 100, d1 150, d3 256, d1 256, d0 256, fe80::3 d2 256, d2 256, d0 300",
    "link set d1 down\n": "d3 100, d3 256, d0 256, fe80::3 d2 256, d2 256, d0 300",
    "link del d2\n": "d3 100, d3 256, d0 256, d0 300",
}
_GATEWAYS = """
link add v0 type veth peer name v1
link set v0 addrgenmode none
link set v1 up
link set v0 up
link add d0 type dummy
link set d0 addrgenmode none
link set d0 up
addr add 2001:db8:1::1/64 dev v0 nodad
addr add 2001:db8:2::1/64 dev d0 nodad
route add 2001:db8:a::/48 via 2001:db8:1::9
route add 2001:db8:b::/48 nexthop via 2001:db8:1::9 nexthop via 2001:db8:2::9
route add 2001:db8:c::/48 via 2001:db8:2::9
"""
# What is done, and the links of the routes through one gateway, both and the other then, each with its state.
_STATES = (
    ("link set v1 down\n", ("v0 linkdown", "v0 linkdown, d0", "d0")),
    ("link set v1 up\n", ("v0", "v0, d0", "d0")),
    ("link set v0 down\n", ("", "v0 dead linkdown, d0", "d0")),
    ("link set v0 up\n", ("", "v0, d0", "d0")),
    ("link set d0 down\n", ("", "v0, d0 dead linkdown", "")),
    ("link set v0 down\n", ("", "", "")),
)
_SETUP = """
addr add 10.0.{k}.1/24 dev d{k}
addr add 10.0.{k}.2/24 dev d{k}
addr add 10.8.0.{k}/32 dev d{k}
addr add 2001:db8:{k}::1/64 dev d{k} nodad
link set d{k} up
route add 10.1.0.0/16 via 10.0.{k}.9 metric {k}1
route add 10.{k}.0.0/16 dev d{k} table 77
route add 2001:db8:1{k}::/48 via 2001:db8:{k}::9
"""
_SHARED = """
addr add 10.9.0.1/24 dev d3
addr add 2001:db8:3::1/64 dev d3 nodad
link set d3 up
route add 10.7.0.0/16 nexthop dev d0 nexthop dev d3
route add 2001:db8:77::/48 nexthop via 2001:db8:0::9 nexthop via 2001:db8:3::9
route add blackhole 10.6.0.0/16
"""


def ip(batch: str) -> None:
    """Run ip commands."""
    subprocess.run(("ip", "-batch", "-"), input=batch, text=True, check=True)


def routes() -> list[str]:
    """Every route of every table."""
    shown = (
        subprocess.check_output(("ip", family, "route", "show", "table", "all"), text=True) for family in _FAMILIES
    )
    return sorted("".join(shown).replace("\n\t", " ").splitlines())


def course(nl: Netlink, *, together: bool) -> dict[str, list[str]]:
    """Three links with addresses and routes go down, up, from one master to the next, and away: routes after each."""
    made = [
        nl.add_link(f"d{k}", "dummy", attr(ADDRESS, bytes((2, 0, 0, 0, 0, k))), attr(GROUP, _GROUP if k < 3 else 6))
        for k in range(4)
    ]
    ip("".join(_SETUP.format(k=k) for k in range(3)) + _SHARED)
    vrf = nl.add_link("vrf9", "vrf", data=attr(1, 9))
    bridge = nl.add_link("br9", "bridge", attr(ADDRESS, bytes((2, 0, 0, 0, 1, 0))))
    ip("link set vrf9 up")

    def do(kind: int, *attrs: bytes, up: bool | None = None) -> None:
        targets = [(0, attr(GROUP, _GROUP))] if together else [(index, b"") for index in made[:3]]
        for index, group in targets:
            reply = nl.link(kind, group, *attrs, index=index, up=up)
            assert reply.error == 0, reply

    actions: dict[str, Callable[[], object]] = {
        "down": lambda: do(NEWLINK, up=False),
        "up": lambda: do(NEWLINK, up=True),
        "in a VRF": lambda: do(NEWLINK, attr(MASTER, vrf)),
        "in a bridge": lambda: do(NEWLINK, attr(MASTER, bridge)),
        "in a VRF again": lambda: do(NEWLINK, attr(MASTER, vrf)),
        "without the VRF": lambda: nl.link(DELLINK, index=vrf),
        "deleted": lambda: do(DELLINK),
    }
    found = {"at first": routes()}
    for name, action in actions.items():
        action()
        found[name] = routes()
    for index in (made[3], bridge):
        assert nl.link(DELLINK, index=index).error == 0
    ip("route flush table all proto boot\n")
    return found


@pytest.mark.vm("patched")
def test_routes_fare_with_a_group_as_with_its_members() -> None:
    Path("/proc/sys/net/ipv6/conf/all/keep_addr_on_down").write_text("1", encoding="ascii")
    with Netlink() as nl:
        want = course(nl, together=False)
        got = course(nl, together=True)
    assert got == want
    through = {name: [row for row in rows if "dev d1 " in row + " "] for name, rows in got.items()}
    assert through["deleted"] == []
    assert all(row.startswith("local 10.") for row in through["down"])
    assert any("table 9" in row for row in through["in a VRF"])
    assert not any("table 9" in row for row in through["without the VRF"])
    assert any(row.startswith("10.0.1.0/24 dev d1") for row in through["without the VRF"])
    assert any("10.9.0.0/24 dev d3" in row for row in got["deleted"])
    assert any(row.startswith("blackhole 10.6.0.0/16") for row in got["deleted"])


def routes_to(destination: str, table: str = "main") -> tuple[str, ...]:
    """Routes to one destination, in the kernel's order."""
    shown = subprocess.check_output(("ip", "-6", "route", "show", destination, "table", table), text=True)
    rows = shown.replace("\n\t", " ").splitlines()
    return tuple(" ".join(re.findall(r"(?:via|dev|metric) (\S+)", row)) for row in rows)


def add_plain_links(count: int) -> None:
    """Links that are up, without addresses of their own."""
    ip("".join(f"link add d{k} type dummy\nlink set d{k} addrgenmode none\nlink set d{k} up\n" for k in range(count)))


def test_routes_to_one_destination_keep_their_order() -> None:
    add_plain_links(4)
    for batch, want in _ORDER.items():
        ip(batch)
        assert ", ".join(routes_to(_TO)) == want, batch


def test_route_that_was_deleted_comes_back_with_its_address() -> None:
    address = "2001:db8::1/128"
    add_plain_links(2)
    Path("/proc/sys/net/ipv6/conf/d1/router_solicitation_delay").write_text("0", encoding="ascii")
    ip(f"addr add {address} dev d0 nodad\naddr add {address} dev d1 nodad\n")
    assert routes_to(address, "local") == ("d0 0", "d1 0")
    ip(f"route del local {address} dev d1 table local\naddr del {address} dev d0\nlink set d1 arp on\n")
    eventually(lambda: routes_to(address, "local"))
    assert routes_to(address, "local") == ("d1 0",)
    ip(f"addr del {address} dev d1\n")
    assert routes_to(address, "local") == ()


def states(destination: str) -> str:
    """The links that the routes to a destination leave by, each with its state."""
    shown = subprocess.check_output(("ip", "-6", "route", "show", destination), text=True)
    hops = re.findall(r"dev (\S+)(.*)", shown)
    return ", ".join(" ".join((link, *re.findall("dead|linkdown", rest))) for link, rest in hops)


def test_routes_take_the_state_of_their_link() -> None:
    def become(want: tuple[str, ...]) -> None:
        def got() -> tuple[str, ...]:
            return tuple(states(f"2001:db8:{place}::/48") for place in "abc")

        eventually(lambda: got() == want, told=lambda: f"{got()}, not {want}")

    ip(_GATEWAYS)
    for batch, want in _STATES:
        ip(batch)
        become(want)


def test_routes_of_any_table_expire_when_links_go_down_meanwhile() -> None:
    Path("/proc/sys/net/ipv6/route/gc_interval").write_text("1", encoding="ascii")
    ip("link add d0 up type dummy\nlink add d1 up type dummy\n")
    # The first may be over before anybody has looked; the others are there for longer than the test.
    for prefix, lifetime in (("2001:db8:5::/48", 5), ("2001:db8:6::/48", 5000)):
        ip("".join(f"route add {prefix} dev d0 table {table} expires {lifetime}\n" for table in (254, 177, 178)))
    ip("link set d1 down\n")
    eventually(lambda: not any("2001:db8:5::" in route for route in routes()), told=routes)
    assert sum("2001:db8:6::" in route for route in routes()) == 3


def sizes() -> str:
    """The destinations of the routes that say an MTU, each with that."""
    shown = subprocess.check_output(("ip", "-6", "route", "show", "table", "all"), text=True).replace("\n\t", " ")
    return ", ".join(sorted(" ".join(found) for found in re.findall(r"(?m)^(\S+)::/48 .*?(mtu (?:lock )?\d+)", shown)))


def test_routes_take_the_mtu_of_their_link() -> None:
    add_plain_links(2)
    ip(
        """
addr add 2001:db8::1/64 dev d0 nodad
addr add 2001:db8:1::1/64 dev d1 nodad
route add 2001:db8:a::/48 via 2001:db8::9 mtu 1400
route add 2001:db8:b::/48 via 2001:db8::9 mtu 1400 table 9
route add 2001:db8:c::/48 via 2001:db8::9 mtu lock 1400
route add 2001:db8:d::/48 via 2001:db8:1::9 mtu 1400
route add 2001:db8:e::/48 mtu 1400 nexthop via 2001:db8::9 nexthop via 2001:db8:1::9
link set d0 mtu 1390
"""
    )
    rest = "2001:db8:c mtu lock 1400, 2001:db8:d mtu 1400"
    assert sizes() == f"2001:db8:a mtu 1390, 2001:db8:b mtu 1390, {rest}, 2001:db8:e mtu 1390"
    ip(
        """
nexthop add id 1 via 2001:db8::9 dev d0
route add 2001:db8:f::/48 nhid 1 mtu 1385
link set d0 mtu 1380
"""
    )
    want = f"2001:db8:a mtu 1380, 2001:db8:b mtu 1380, {rest}, 2001:db8:e mtu 1380, 2001:db8:f mtu 1380"
    assert sizes() == want
    ip("route flush 2001:db8:f::/48\nnexthop del id 1\nlink set d0 mtu 1420\n")
    assert sizes() == f"2001:db8:a mtu 1420, 2001:db8:b mtu 1420, {rest}, 2001:db8:e mtu 1420"
