# SPDX-License-Identifier: GPL-2.0-or-later
"""IPv4 addresses of one link that come and go: their order, who is promoted, and the routes that stay."""

import errno
import random
import socket
import subprocess
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path

import pytest

from tests.vm.kernel_netlink import (
    CREATE,
    DELADDR,
    DUMP,
    GETADDR,
    IFA_ADDRESS,
    IFA_LOCAL,
    NEWADDR,
    NEWLINK,
    Message,
    Netlink,
    attr,
)
from tests.waiting import eventually

_IFA_BROADCAST = 4
_IFA_F_SECONDARY = 1
_IPV4_IFADDR = 5
_SCOPES = (0, 200, 253)
_LOCALS = tuple(IPv4Address(text) for text in ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.1.1", "10.0.1.2", "10.1.0.1"))
_LENGTHS = (16, 24, 24, 32)
_BROADCASTS = (None, None, IPv4Address("10.0.0.255"), IPv4Address("10.0.0.77"))
_REQUESTS = 120
_ROUTES_READ_EVERY = 10
_HOSTS = range(1, 251)


@dataclass(slots=True, kw_only=True)
class Address:
    """One address as the kernel keeps it."""

    interface: IPv4Interface
    scope: int
    broadcast: IPv4Address | None = None
    secondary: bool = False

    @property
    def network(self) -> IPv4Network:
        """Its subnet."""
        return self.interface.network

    def shown(self) -> tuple[str, bool]:
        """What a dump or a notification has of it."""
        return str(self.interface), self.secondary


Told = list[tuple[int, tuple[str, bool]]]


class Chain:
    """What becomes of the addresses of a link: primary ones by scope, the others behind them as they came."""

    def __init__(self, *, promote: bool) -> None:
        self.addresses: list[Address] = []
        self._promote = promote

    def of(self, network: IPv4Network) -> list[Address]:
        """The addresses of a subnet in their order, its primary one first."""
        return [one for one in self.addresses if one.network == network]

    def _place(self, new: Address) -> None:
        wider = [at for at, one in enumerate(self.addresses) if not one.secondary and one.scope >= new.scope]
        self.addresses.insert(wider[-1] + 1 if wider else 0, new)

    def add(self, new: Address) -> tuple[int, Told]:
        """Add one; return the error, or what is told of it."""
        others = self.of(new.network)
        if any(one.interface == new.interface for one in others):
            return errno.EEXIST, []
        if others and others[0].scope != new.scope:
            return errno.EINVAL, []
        new.secondary = bool(others)
        if new.secondary:
            self.addresses.append(new)
        else:
            self._place(new)
        return 0, [(NEWADDR, new.shown())]

    def delete(self, old: Address) -> Told:
        """Delete one, and with a primary one its secondary ones, or make the first of them primary."""
        self.addresses.remove(old)
        others = [] if old.secondary else self.of(old.network)
        if not others or not self._promote:
            self.addresses = [one for one in self.addresses if one not in others]
            return [(DELADDR, one.shown()) for one in (*others, old)]
        heir = others[0]
        self.addresses.remove(heir)
        heir.secondary = False
        self._place(heir)
        return [(DELADDR, old.shown()), (NEWADDR, heir.shown())]

    def routes(self) -> set[tuple[str, str, str]]:
        """The routes that the kernel makes of them: type, destination, preferred source."""
        found = set()
        for one in self.addresses:
            source = str(self.of(one.network)[0].interface.ip)
            found.add(("local", str(one.interface.ip), source))
            if one.broadcast:
                found.add(("broadcast", str(one.broadcast), source))
            if not one.secondary and one.network.prefixlen < 32:
                found.add(("unicast", str(one.network), source))
                found.add(("broadcast", str(one.network.broadcast_address), source))
        return found


def shown(message: Message) -> tuple[str, bool]:
    """What a message of the kernel says of an address."""
    _, length, flags, _ = message.body[:4]
    local = socket.inet_ntoa(message.attrs(8)[IFA_LOCAL])
    return f"{local}/{length}", bool(flags & _IFA_F_SECONDARY)


def routes_of(link: str) -> set[tuple[str, str, str]]:
    """The IPv4 routes of a link."""
    command = ("ip", "-4", "-o", "-details", "route", "show", "table", "all", "dev", link)
    rows = (line.split() for line in subprocess.check_output(command, text=True).splitlines())
    return {(row[0], row[1], row[row.index("src") + 1]) for row in rows}


class Link:
    """One link of the kernel beside what is expected of it."""

    def __init__(self, nl: Netlink, *, promote: bool) -> None:
        self._nl = nl
        self._index = nl.add_link("d0", "dummy")
        nl.link(NEWLINK, index=self._index, up=True)
        for name in ("all", "d0"):
            Path(f"/proc/sys/net/ipv4/conf/{name}/promote_secondaries").write_text(str(int(promote)), encoding="ascii")
        self.chain = Chain(promote=promote)

    def _ask(self, kind: int, one: Address, *attrs: bytes, flags: int = 0) -> tuple[int, Told]:
        head = bytes((socket.AF_INET, one.network.prefixlen, 0, one.scope)) + self._index.to_bytes(4, "little")
        reply = self._nl.ask(kind, flags, head + attr(IFA_LOCAL, one.interface.packed) + b"".join(attrs))
        return reply.error, [(message.type, shown(message)) for message in reply.messages]

    def add(self, one: Address) -> None:
        """Add an address here and there, and compare what comes of it."""
        broadcast = [attr(_IFA_BROADCAST, one.broadcast.packed)] if one.broadcast else []
        told = self._ask(NEWADDR, one, attr(IFA_ADDRESS, one.interface.packed), *broadcast, flags=CREATE)
        assert told == self.chain.add(one), one

    def delete(self, one: Address, *, by_local: bool) -> None:
        """Delete an address, or the first that is the same whatever its subnet."""
        if by_local:
            told = self._ask(DELADDR, one)
            one = next(other for other in self.chain.addresses if other.interface.ip == one.interface.ip)
        else:
            told = self._ask(DELADDR, one, attr(IFA_ADDRESS, one.interface.packed))
        assert told == (0, self.chain.delete(one)), one

    def compare(self) -> None:
        """Compare the order of the addresses."""
        reply = self._nl.address(GETADDR, socket.AF_INET, 0, flags=DUMP, index=self._index)
        assert [shown(message) for message in reply.messages] == [one.shown() for one in self.chain.addresses]


@pytest.mark.parametrize("promote", [False, True], ids=["go with the primary one", "are promoted"])
def test_secondary_addresses(promote: bool) -> None:
    dice = random.Random(62)
    with Netlink(_IPV4_IFADDR) as nl:
        link = Link(nl, promote=promote)
        for number in range(_REQUESTS):
            held = link.chain.addresses
            if not held or dice.random() < 16 / (16 + len(held)):
                interface = IPv4Interface((dice.choice(_LOCALS), dice.choice(_LENGTHS)))
                link.add(Address(interface=interface, scope=dice.choice(_SCOPES), broadcast=dice.choice(_BROADCASTS)))
            else:
                link.delete(dice.choice(held), by_local=dice.random() < 0.3)
            link.compare()
            if number % _ROUTES_READ_EVERY == 0:
                assert routes_of("d0") == link.chain.routes(), number


@pytest.mark.parametrize("promote", [False, True], ids=["go with the primary one", "are promoted"])
def test_addresses_that_expire_take_others_along(promote: bool) -> None:
    """So many of one subnet that lists of the kernel's hash have several of them."""
    with Netlink() as nl:
        Link(nl, promote=promote)
        lines = (
            f"address add 10.0.0.{n}/24 dev d0 {'valid_lft 3 preferred_lft 2' if n % 2 and n > 1 else ''}"
            for n in _HOSTS
        )
        # The first one last, or it could take those along that are there by then, and others would come after them.
        soon = "address change 10.0.0.1/24 dev d0 valid_lft 3 preferred_lft 2"
        subprocess.run(["ip", "-batch", "-"], input="\n".join((*lines, soon)), text=True, check=True)
        left = [n for n in _HOSTS if n % 2 == 0 and promote]
        eventually(lambda: _hosts_of("d0") == left, told=lambda: _hosts_of("d0"), every_s=0.2)
        assert routes_of("d0") >= {("local", f"10.0.0.{n}", "10.0.0.2") for n in left}


def _hosts_of(link: str) -> list[int]:
    shown = subprocess.check_output(("ip", "-4", "-o", "address", "show", "dev", link), text=True)
    return [int(line.split()[3].split("/")[0].split(".")[-1]) for line in shown.splitlines()]
