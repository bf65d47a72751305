# SPDX-License-Identifier: GPL-2.0-or-later
"""What a capture has of a host on which other programs configure something too: DHCP, NetworkManager, FRR, systemd."""

from tests.vm.hosts import EngineIn, here


def test_what_needs_an_address_that_passes_is_left_out_with_it(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    for words in (
        "link add d0 up type dummy",
        "address add 10.20.0.1/24 dev d0 valid_lft 600 preferred_lft 600",  # as dhclient does, and the routes
        "route add default via 10.20.0.254 dev d0",
        "route add 10.30.0.0/16 dev d0 src 10.20.0.1",
        "nexthop add id 7 via 10.20.0.9 dev d0",
        "route add 10.31.0.0/16 nhid 7",
        "address add 10.21.0.1/24 dev d0",
        "route add 10.40.0.0/16 via 10.21.0.9 dev d0",
    ):
        here(f"ip {words}")
    text = engine_in("here", "{}").capture()
    assert "# left out (they need addresses that are there for a time): nexthop 7, " in text
    assert [line for line in text.splitlines() if "  - {to:" in line] == [
        '  - {to: "10.40.0.0/16", via: "10.21.0.9", dev: d0}'
    ]
    engine_in("there", text).apply()


def test_routes_to_networks_that_somebody_has_made_in_place_of_the_kernel_are_told(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    for words in (
        "link add d0 up type dummy",
        "address add 10.20.0.1/24 dev d0 noprefixroute",  # as NetworkManager does, and the routes
        "route add 10.20.0.0/24 dev d0 proto kernel src 10.20.0.1 metric 425",
        "route add 10.30.0.0/16 via 10.20.0.9 dev d0",
        "address add 2001:db8::1/64 dev d0 noprefixroute nodad",
        "-6 route add 2001:db8::/64 dev d0 proto kernel metric 425",
        "address add 10.21.0.1/24 dev d0 metric 7",  # the kernel's own are with this one, and with the next
        "address add 10.22.0.1/24 dev d0",
        "route add default via 10.22.0.9 dev d0 onlink proto kernel",  # as ifupdown2 does
        "address add 10.23.0.1/24 dev d0 noprefixroute valid_lft 600 preferred_lft 600",
        "route add 10.23.0.0/24 dev d0 proto kernel src 10.23.0.1 metric 425",
        "address add 2001:db8:40::1/64 dev d0 metric 50 nodad",
        "address add 2001:db8:40::2/64 dev d0 noprefixroute nodad",  # beside one that brings the route
        "address add 2001:db8:41::1/64 dev d0 nodad",
        "address add 2001:db8:41::2/64 dev d0 noprefixroute nodad",
        "address add 10.24.0.1/24 dev d0",
        "address add 10.24.0.2/24 dev d0 noprefixroute",
    ):
        here(f"ip {words}")
    text = engine_in("here", "{}").capture()
    assert [line for line in text.splitlines() if "  - {to:" in line] == [
        '  - {to: "0.0.0.0/0", via: "10.22.0.9", dev: d0, onlink: true}',
        '  - {to: "10.20.0.0/24", metric: 425, src: "10.20.0.1", dev: d0}',
        '  - {to: "10.30.0.0/16", via: "10.20.0.9", dev: d0}',
        '  - {to: "2001:db8::/64", metric: 425, dev: d0}',
    ]
    engine_in("here", text).apply()
    assert engine_in("here", text).capture() == text
    engine_in("there", text).apply()
    assert "10.20.0.0/24 dev d0" in here("ip route", "there")


def test_route_that_the_kernel_forgets_with_an_address_is_nobodys_to_tell(engine_in: EngineIn) -> None:
    staying = '"2001:db8::1/64", {address: "2001:db8::2/64", noprefixroute: true}'
    text = "links: {d0: {kind: dummy, up: true, addresses: [%s]}}"
    engine_in("here", text % f'{{address: "2001:db8::3/64", metric: 50}}, {staying}').apply()
    engine_in("here", text % staying).apply()
    assert "metric 50" in here("ip -6 route show 2001:db8::/64")
    assert "routes:" not in engine_in("here", "{}").capture()


def test_tunnel_that_a_control_plane_fills_is_left_to_it(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    for command in (
        "ip link add vx[1-2] type vxlan id 1 dstport 4789 local 192.0.2.1",
        "bridge fdb append 00:00:00:00:00:00 dev vx[1-2] dst 192.0.2.2",
        "bridge fdb add 02:00:00:00:00:09 dev vx1 dst 192.0.2.2 self extern_learn",  # as FRR does with EVPN
    ):
        for number in (1, 2) if "[" in command else (1,):
            here(command.replace("[1-2]", str(number)).replace("id 1", f"id {number}"))
    text = engine_in("here", "{}").capture()
    assert "as routing daemons do): fdb vx1 00:00:00:00:00:00" in text
    assert [line for line in text.splitlines() if "mac:" in line and "dst:" in line] == [
        '  - {dev: vx2, mac: "00:00:00:00:00:00", where: self, state: permanent, dst: "192.0.2.2"}'
    ]
    engine_in("here", text).apply()
    assert "02:00:00:00:00:09 dst 192.0.2.2" in here("bridge fdb show dev vx1")
    assert "00:00:00:00:00:00 dst 192.0.2.2" in here("bridge fdb show dev vx1")


def test_routes_that_the_kernel_would_refuse_by_now_are_left_out(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    for words in (
        "link add blue up type vrf table 1001",
        "link add d0 up type dummy",
        "link add d1 up master blue type dummy",
        "-6 route add 2001:db8:7::/48 via 2001:db8::9 dev blue table 1001 onlink",  # as networkd does for netplan
        "-6 nexthop add id 7 via 2001:db8::9 dev blue onlink",
        "-6 route add 2001:db8:8::/48 via 2001:db8::9 dev d0 onlink",  # whose network is in the VRF alone
        "-6 route add 2001:db8:9::/48 via fe80::9 dev d1 table 1001 onlink",
        "route add 10.7.0.0/16 via 10.1.0.9 dev blue table 1001 onlink",
        "address add 2001:db8::1/64 dev d1 nodad",
        "address add 10.1.0.1/24 dev d1",
        "address add fe80::1/64 dev d0 nodad",
        "-6 route add 2001:db8:6::/48 via 2001:db8::9 dev d1 table 1001 onlink",
    ):
        here(f"ip {words}")
    text = engine_in("here", "{}").capture()
    (left,) = [line for line in text.splitlines() if line.startswith("# left out")]
    assert left.partition("by now): ")[2] == "nexthop 7, route 2001:db8:7::/48 table 1001"
    engine_in("here", text).apply()
    assert not engine_in("here", text).diff().steps
    engine_in("there", text).apply()
    assert here("ip -6 route show table 1001 2001:db8:6::/48", "there")


def told(text: str) -> list[str]:
    """Of which tunnels a capture tells forwarding entries."""
    return [line.split()[2].strip('",') for line in text.splitlines() if "dst:" in line]


def test_tunnels_that_learn_nothing_are_left_to_a_control_plane_that_is_there(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    for number, how in enumerate(("nolearning", "nolearning", "nolearning", "learning"), 1):
        here(f"ip link add vx{number} type vxlan id {number} dstport 4789 local 192.0.2.1 {how}")
        here(f"bridge fdb append 00:00:00:00:00:00 dev vx{number} dst 192.0.2.2")
    here("bridge fdb add 02:00:00:00:00:08 dev vx3 dst 192.0.2.2 self static")  # by hand, and so is where all goes
    assert told(engine_in("here", "{}").capture()) == ["vx[1-4]", "vx3"]
    here("bridge fdb add 02:00:00:00:00:09 dev vx1 dst 192.0.2.2 self extern_learn")
    text = engine_in("here", "{}").capture()
    assert "as routing daemons do): fdb vx1 00:00:00:00:00:00" in text
    assert told(text) == ["vx[3-4]", "vx3"]


def test_address_of_loopback_that_systemd_gives_goes_without_saying(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    here("ip address add ::1/128 dev lo")  # while it is down, so that the kernel does not say that it is its own
    here("ip link set lo up")
    assert engine_in("here", "{}").capture() == "{}\n"
