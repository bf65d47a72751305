# SPDX-License-Identifier: GPL-2.0-or-later
"""The requests that the patches add or whose work they change, for runs in which memory fails.

Each generator makes what its cases need before it yields them: take a case from it when the one before is through.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from socket import AF_BRIDGE, AF_INET6, if_nametoindex
from typing import NamedTuple

from bench.kernel_scale import batch, flower, links
from tests.vm.kernel_netlink import (
    ADDRESS,
    AF_SPEC,
    BATCHTFILTER,
    BULK,
    CREATE,
    DELADDR,
    DELLINK,
    DUMP,
    EXCL,
    GETTFILTER,
    GROUP,
    GROUP_ADDRESS,
    GROUP_MASK,
    IFA_GROUP,
    IFA_INCR,
    IFA_LOCAL,
    IFF_UP,
    IFNAME,
    INFO_DATA,
    INFO_KIND,
    LIGHT,
    LINK,
    LINKINFO,
    MASTER,
    MTU,
    NEW_GROUP,
    NEWADDR,
    NEWLINK,
    NEWQDISC,
    NODAD,
    SETLINK,
    Netlink,
    attr,
    nest,
)

NEWROUTE, DELROUTE, GETROUTE, NEWRULE = 24, 25, 26, 32
_RTA_DST, _RTA_OIF, _RTA_TABLE = 1, 4, 15
_FRA_PRIORITY = 6
_GETVLAN, _BRIDGE_VLAN_INFO, _BRIDGE_VLAN_FILTERING = 114, 2, 7
_MEMBERS = 2  # one that is done when the other one fails
_LIGHT = {"light": 0b10011, "layer 2": 0b11111, "no sysfs": 0b111111}


class Case(NamedTuple):
    """A request, what shows how much of it was done, and how to take it back.

    A request for a group that ``stops`` at the member that refuses, and names it, may be half done: there are two
    states for the others.
    """

    name: str
    request: tuple[int, int, bytes]
    state: Callable[[Netlink], object]
    undo: Callable[[Netlink], object]
    stops: bool = False


def head(index: int = 0, flags: int = 0, change: int = 0) -> bytes:
    """The fixed part of a request about links."""
    return struct.pack("BxHiII", 0, 0, index, flags, change)


def by_group(*attrs: bytes, kind: int = NEWLINK, flags: int = 0, up: bool | None = None) -> tuple[int, int, bytes]:
    """A request to the members."""
    state = head() if up is None else head(flags=IFF_UP * up, change=IFF_UP)
    return kind, flags, state + attr(GROUP, 5) + b"".join(attrs)


def values(nl: Netlink, kind: int) -> object:
    """One attribute of all members."""
    return [one.get(kind) for one in nl.links().values() if one[IFNAME].startswith(b"d")]


def add_members(nl: Netlink) -> None:
    """Make the group; again, where a case has deleted it."""
    have = {one[IFNAME].rstrip(b"\0").decode() for one in nl.links().values()}
    for number, message in enumerate(links(_MEMBERS, "d", attr(GROUP, 5))):
        if f"d{number}" not in have:
            assert nl.ask(*message).error == 0


def delete(nl: Netlink, name: str) -> None:
    """Delete a link if it is there."""
    nl.link(DELLINK, attr(IFNAME, name))


def count_of(family: int, nl: Netlink) -> int:
    """How many addresses there are."""
    return len(nl.addresses(family))


def ask(request: tuple[int, int, bytes], nl: Netlink) -> object:
    """Send what takes a case back."""
    return nl.ask(*request)


def address_cases(nl: Netlink) -> Iterator[Case]:
    """Addresses for a group."""
    for family, size, plen in ((2, 4, 24), (10, 16, 64)):
        base = bytes([10 if family == 2 else 0xFD]) + bytes(size - 2) + b"\1"
        body = attr(IFA_LOCAL, base) + attr(IFA_GROUP, 5) + attr(IFA_INCR, bytes(size - 1) + b"\1")
        body += attr(8, 2)  # no DAD
        fixed = struct.pack("BBBBI", family, plen, 0, 0, 0)
        add, remove = (NEWADDR, 0, fixed + body), (DELADDR, 0, fixed + body)
        for name, request, back in (("add", add, remove), ("delete", remove, add)):
            yield Case(f"{name} addresses, family {family}", request, partial(count_of, family), partial(ask, back))
        nl.ask(*remove)


def listed_addresses(_: Netlink) -> int:
    """How many IPv6 addresses are in the kernel's hash."""
    return len(Path("/proc/net/if_inet6").read_text(encoding="ascii").splitlines())


def crowded_case(nl: Netlink) -> Case:
    """An IPv6 address on a link with neighbours, when there are as many as the hash has lists: it grows first."""
    index = nl.add_link("crowd", "veth")
    for name in ("crowd", "veth0"):
        nl.link(NEWLINK, index=if_nametoindex(name), up=True)

    def request(kind: int, number: int) -> tuple[int, int, bytes]:
        address = attr(IFA_LOCAL, b"\xfd\x01" + bytes(12) + number.to_bytes(2)) + NODAD
        return kind, 0, struct.pack("BBBBI", AF_INET6, 64, 0, 0, index) + address

    have = listed_addresses(nl)
    for number in range(max(256, 1 << (have - 1).bit_length()) - have):
        assert nl.ask(*request(NEWADDR, number + 2)).error == 0
    return Case("an IPv6 address among many", request(NEWADDR, 1), listed_addresses, partial(ask, request(DELADDR, 1)))


def link_cases(nl: Netlink) -> Iterator[Case]:
    """Links, one and by group."""
    vrf = make_vrf(nl)
    yield Case(
        "change the MTU of a group",
        by_group(attr(MTU, 1400)),
        lambda nl: values(nl, MTU),
        lambda nl: nl.ask(*by_group(attr(MTU, 1500))),
    )
    yield Case(
        "a group into a VRF",
        by_group(attr(MASTER, vrf)),
        lambda nl: values(nl, MASTER),
        lambda nl: nl.ask(*by_group(attr(MASTER, 0))),
        stops=True,
    )
    yield Case(
        "move a group",
        by_group(attr(NEW_GROUP, 6)),
        lambda nl: values(nl, GROUP),
        lambda nl: nl.link(NEWLINK, attr(GROUP, 6), attr(NEW_GROUP, 5)),
    )
    made = head() + attr(IFNAME, "new") + nest(LINKINFO, attr(INFO_KIND, "vrf"), nest(INFO_DATA, attr(1, 8)))
    yield Case("make a VRF", (NEWLINK, CREATE | EXCL, made), lambda nl: len(nl.links()), lambda nl: delete(nl, "new"))
    count_up = nest(GROUP_ADDRESS, attr(1, bytes.fromhex("020000000001")))
    count_back = nest(GROUP_ADDRESS, attr(1, bytes.fromhex("020000000101")))
    yield Case(
        "addresses that count up",
        by_group(count_up),
        lambda nl: values(nl, ADDRESS),
        lambda nl: nl.ask(*by_group(count_back)),
    )
    yield Case("delete a group", by_group(kind=DELLINK), lambda nl: len(nl.links()), add_members)
    yield Case(
        "delete in bulk",
        by_group(attr(GROUP_MASK, 0xFFFFFFFF), kind=DELLINK, flags=BULK),
        lambda nl: len(nl.links()),
        add_members,
    )
    for name, flags in _LIGHT.items():
        for kind in ("dummy", "ifb", "bridge", "bond"):
            body = head() + attr(IFNAME, "new") + nest(LINKINFO, attr(INFO_KIND, kind)) + attr(LIGHT, flags)
            yield Case(
                f"make a {kind}: {name}",
                (NEWLINK, CREATE | EXCL, body),
                lambda nl: len(nl.links()),
                lambda nl: delete(nl, "new"),
            )


def master_of(port: int, nl: Netlink) -> bytes | None:
    """The master of one link."""
    return nl.get(port).get(MASTER)


def port_cases(nl: Netlink) -> Iterator[Case]:
    """A port and its master, the port in sysfs or not."""
    for kind in ("bridge", "bond"):
        master = nl.add_link(f"m{kind}", kind)
        for name, light in (("", 0), (" without sysfs", 0b100000)):
            port = nl.add_link(f"p{kind}{light}", "dummy", attr(LIGHT, light))
            yield Case(
                f"a port{name} into a {kind}",
                (NEWLINK, 0, head(port) + attr(MASTER, master)),
                partial(master_of, port),
                partial(ask, (NEWLINK, 0, head(port) + attr(MASTER, 0))),
            )


def ports_enslaved(ports: Sequence[int], nl: Netlink) -> tuple[int, list[bool]]:
    """How many links there are, and which of these have a master."""
    return len(nl.links()), [MASTER in nl.get(port) for port in ports]


def bridge_vlans(port: int, nl: Netlink) -> list[bytes]:
    """The VLANs of a port."""
    fixed = struct.pack("BxxxI", AF_BRIDGE, port)
    return [one.body for one in nl.ask(_GETVLAN, DUMP, fixed).messages]


def vlan_cases(nl: Netlink) -> Iterator[Case]:
    """A VLAN of a link, one of the port of a bridge, and the end of that bridge with all its ports."""
    ports = [nl.add_link(f"vp{number}", "dummy") for number in range(2)]
    info = nest(LINKINFO, attr(INFO_KIND, "vlan"), nest(INFO_DATA, attr(1, struct.pack("H", 7))))
    yield Case(
        "make a VLAN",
        (NEWLINK, CREATE | EXCL, head() + attr(IFNAME, "new") + attr(LINK, ports[0]) + info),
        lambda nl: len(nl.links()),
        lambda nl: delete(nl, "new"),
    )

    def make_bridge(nl: Netlink) -> None:
        if not any(one[IFNAME] == b"vbr\0" for one in nl.links().values()):
            nl.add_link("vbr", "bridge", data=attr(_BRIDGE_VLAN_FILTERING, b"\1"))
        for port in ports:
            if MASTER not in nl.get(port):
                nl.link(NEWLINK, attr(MASTER, if_nametoindex("vbr")), index=port)

    make_bridge(nl)
    change = struct.pack("BxHiII", AF_BRIDGE, 0, ports[0], 0, 0)
    change += nest(AF_SPEC, attr(_BRIDGE_VLAN_INFO, struct.pack("HH", 0, 7)))
    back = partial(ask, (DELLINK, 0, change))
    yield Case("a VLAN of a port", (SETLINK, 0, change), partial(bridge_vlans, ports[0]), back)
    gone = (DELLINK, 0, head() + attr(IFNAME, "vbr"))
    yield Case("a bridge is deleted", gone, partial(ports_enslaved, ports), make_bridge)


def lower_case(nl: Netlink) -> Case:
    """A VXLAN that is moved to another link below it."""
    below = [nl.add_link(f"low{number}", "dummy") for number in range(2)]
    data = [attr(1, 7) + attr(3, index) for index in below]  # the VNI and the link
    vxlan = nl.add_link("vx7", "vxlan", data=data[0])

    def move(to: int) -> tuple[int, int, bytes]:
        info = nest(LINKINFO, attr(INFO_KIND, "vxlan"), nest(INFO_DATA, data[to]))
        return NEWLINK, 0, head(vxlan) + info

    return Case("a VXLAN onto another link", move(1), lambda nl: nl.get(vxlan)[LINKINFO], partial(ask, move(0)))


def filter_case(nl: Netlink) -> Case:
    """A batch of filters; the entries that fail are told, so that the count says how many should be there."""
    index = nl.add_link("tc0", "dummy")
    qdisc = struct.pack("BxHiIII", 0, 0, index, 0xFFFF0000, 0xFFFFFFF1, 0) + attr(1, "clsact")
    assert nl.ask(NEWQDISC, CREATE, qdisc).error == 0
    fixed = struct.pack("BxHiIII", 0, 0, index, 0, 0xFFFFFFF2, 0)
    serial = struct.pack("BBH", 0, 1, 1) + batch([flower(index, 0x0A000000 + k) for k in range(3)], 1)[4:]
    return Case(
        "a batch of filters",
        (BATCHTFILTER, 0, serial),
        lambda nl: sum(b"flower" in one.body for one in nl.ask(GETTFILTER, DUMP, fixed).messages),
        lambda nl: nl.ask(45, 0, fixed),
        stops=True,
    )


def flags_of_members(nl: Netlink) -> list[int]:
    """Which members are up."""
    return [nl.flags(index) & IFF_UP for index, one in nl.links().items() if one[IFNAME].startswith(b"d")]


def enslaved(nl: Netlink) -> list[bool]:
    """Which members have a master."""
    return [MASTER in one for one in nl.links().values() if one[IFNAME].startswith(b"d")]


def make_vrf(nl: Netlink) -> int:
    """Make the VRF, where it is not there; return its index."""
    for index, one in nl.links().items():
        if one[IFNAME] == b"vrf9\0":
            return index
    return nl.add_link("vrf9", "vrf", data=attr(1, 9))


def enter_vrf(nl: Netlink) -> None:
    """Put all members into the VRF, and have them up."""
    nl.ask(*by_group(attr(MASTER, make_vrf(nl))))
    nl.ask(*by_group(up=True))


def up_cases(nl: Netlink) -> Iterator[Case]:
    """Members that come up, go down, and change masters while they are up."""
    up, down = by_group(up=True), by_group(up=False)
    into, out = by_group(attr(MASTER, make_vrf(nl))), by_group(attr(MASTER, 0))
    yield Case("a group comes up", up, flags_of_members, partial(ask, down), stops=True)
    nl.ask(*up)
    yield Case("a group goes down", down, flags_of_members, partial(ask, up), stops=True)
    yield Case("a group that is up into a VRF", into, enslaved, partial(ask, out), stops=True)
    enter_vrf(nl)
    yield Case("a group that is up out of a VRF", out, enslaved, enter_vrf, stops=True)
    yield Case("a VRF is deleted", (DELLINK, 0, head() + attr(IFNAME, "vrf9")), enslaved, enter_vrf)
    nl.ask(*out)


def route(kind: int, index: int, family: int, third: int) -> tuple[int, int, bytes]:
    """A route through a link: all of a family share what they know of the link."""
    size, plen = (4, 24) if family == 2 else (16, 64)
    dst = bytes((10 if family == 2 else 0xFD, 77, third)) + bytes(size - 3)
    fixed = struct.pack("BBBBBBBBI", family, plen, 0, 0, 254, 4, 253 if family == 2 else 0, 1, 0)
    return kind, CREATE | EXCL if kind == NEWROUTE else 0, fixed + attr(_RTA_DST, dst) + attr(_RTA_OIF, index)


def routes_of(family: int, nl: Netlink) -> int:
    """How many routes of the tests there are."""
    fixed = struct.pack("BBBBBBBBI", family, 0, 0, 0, 0, 0, 0, 0, 0)
    return sum(one.body[5] == 4 for one in nl.ask(GETROUTE, DUMP, fixed).messages)


def route_cases(nl: Netlink) -> Iterator[Case]:
    """One route more, and the end of all with their link."""
    index = nl.add_link("r0", "dummy")
    bring_up = partial(nl.link, NEWLINK, index=index, up=True)
    bring_up()
    for family in (2, 10):
        for third in range(3):
            assert nl.ask(*route(NEWROUTE, index, family, third)).error == 0

        def again(nl: Netlink, family: int = family) -> None:
            bring_up()
            for third in range(3):
                nl.ask(*route(NEWROUTE, index, family, third))

        count = partial(routes_of, family)
        back = partial(ask, route(DELROUTE, index, family, 3))
        yield Case(f"a route, family {family}", route(NEWROUTE, index, family, 3), count, back)
        yield Case(f"routes go with their link, family {family}", (NEWLINK, 0, head(index, 0, IFF_UP)), count, again)


def local_routes(nl: Netlink) -> int:
    """How many routes to own addresses there are."""
    fixed = struct.pack("BBBBBBBBI", 2, 0, 0, 0, 0, 0, 0, 0, 0)
    return len(nl.ask(GETROUTE, DUMP, fixed + attr(_RTA_TABLE, 255)).messages)


def rule() -> tuple[int, int, bytes]:
    """A rule: the first one of a namespace parts the table of local addresses from the main one."""
    return NEWRULE, CREATE | EXCL, struct.pack("BBBBBBBBI", 2, 0, 0, 0, 254, 0, 0, 1, 0) + attr(_FRA_PRIORITY, 99)


def all_cases(nl: Netlink) -> Iterator[Case]:
    """Every case, one after the other."""
    add_members(nl)
    yield from address_cases(nl)
    yield from link_cases(nl)
    yield from up_cases(nl)
    yield from route_cases(nl)
    yield from port_cases(nl)
    yield from vlan_cases(nl)
    yield lower_case(nl)
    yield filter_case(nl)
    yield crowded_case(nl)
