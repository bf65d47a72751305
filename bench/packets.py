# SPDX-License-Identifier: GPL-2.0-or-later
"""What a packet costs from one socket to another, which is what the patches must not make dearer.

The receiver is in the other namespace, so that a packet takes the route lookup, the device's queue, the receive
path and the lookup of the socket: first over a veth pair alone, many at once, then there and back through what
else may lie on the way.  Run it in the lab on both kernels:
``python -m netgroupd.lab run --cpus 1 -- python -m bench.packets``.
"""

import ctypes
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import NamedTuple

from bench.harness import Cell, Table, run
from bench.l3mdev import inside, ip, transactions

_BATCH = 64
_ADDRESSES = {socket.AF_INET: ("192.0.2.1/24", "192.0.2.2"), socket.AF_INET6: ("2001:db8::1/64", "2001:db8::2")}
_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Part(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


class _Message(ctypes.Structure):
    """struct mmsghdr, of a connected socket."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_size", ctypes.c_uint32),
        ("parts", ctypes.POINTER(_Part)),
        ("count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_size", ctypes.c_size_t),
        ("flags", ctypes.c_int),
        ("filling", ctypes.c_int),  # a structure of its own ends here
        ("sent", ctypes.c_uint32),
    )


def prepare() -> None:
    """Make a pair of links with addresses, the second one in a namespace of its own."""
    ip("netns", "add", "peer")
    commands = ["link add v0 type veth peer name v1 netns peer", "link set v0 up", "-n peer link set v1 up"]
    for near, far in _ADDRESSES.values():
        length = near.partition("/")[2]
        nodad = "" if "." in far else " nodad"
        commands += [f"address add {near} dev v0{nodad}", f"-n peer address add {far}/{length} dev v1{nodad}"]
    for command in commands:
        ip(*command.split())


def receiver(family: socket.AddressFamily, port: int) -> socket.socket:
    """A socket in the other namespace, which nobody reads: what is too much is dropped at its very end."""
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open("/run/netns/peer", os.O_RDONLY)
    try:
        assert _LIBC.setns(there, _CLONE_NEWNET) == 0
        opened = socket.socket(family, socket.SOCK_DGRAM)
        opened.bind(("", port))
    finally:
        assert _LIBC.setns(here, _CLONE_NEWNET) == 0
        os.close(here)
        os.close(there)
    return opened


def per_packet(family: socket.AddressFamily, packets: int, runs: int) -> Cell:
    """Microseconds from the system call to the receiving socket, many to a call."""
    port = 9000 + family
    with receiver(family, port), socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.connect((_ADDRESSES[family][1], port))
        payload = ctypes.create_string_buffer(64)
        part = _Part(ctypes.addressof(payload), len(payload))
        messages = (_Message * _BATCH)(*(_Message(parts=ctypes.pointer(part), count=1) for _ in range(_BATCH)))

        def send(count: int) -> float:
            start = time.perf_counter()
            for _ in range(count // _BATCH):
                if (sent := _LIBC.sendmmsg(sender.fileno(), messages, _BATCH, 0)) != _BATCH:
                    raise OSError(ctypes.get_errno(), f"{sent} of {_BATCH} packets sent")
            return (time.perf_counter() - start) / count * 1e6

        send(packets // 10)
        return Cell(tuple(send(packets) for _ in range(runs)), "µs")


class Way(NamedTuple):
    """What lies between the namespaces, as arguments for ``ip``: first once, then for each of the two."""

    once: tuple[str, ...] = ("link add e0 netns one type veth peer name e0 netns two",)
    each: tuple[str, ...] = ()
    device: str = "e0"
    rules: tuple[str, ...] = ()  # for ``tc``, in the one that answers
    addresses: tuple[str, str] = ("10.7.0.1", "fd00:7::1")


_TO_THE_MIDDLE = ("link add p{host} netns middle up type veth peer name e0 netns {end}",)
_BRIDGE = "-n middle link add br0 up type bridge"
_BRIDGE_PORT = (*_TO_THE_MIDDLE, "-n middle link set p{host} master br0")
_ROUTED = (
    *_TO_THE_MIDDLE,
    "-n middle address add 10.8.{host}.9/24 dev p{host}",
    "-n middle address add fd00:8:{host}::9/64 dev p{host} nodad",
    "-n {end} address add 10.8.{host}.{host}/24 dev e0",
    "-n {end} address add fd00:8:{host}::{host}/64 dev e0 nodad",
    "-n {end} link set e0 up",
    "-n {end} route add default via 10.8.{host}.9",
    "-n {end} route add default via fd00:8:{host}::9",
)
_RULES = (
    "qdisc add dev e0 clsact",
    *(
        f"filter add dev e0 ingress pref 1 protocol ip flower dst_ip 10.2.{number >> 8}.{number & 255} action drop"
        for number in range(1_000)
    ),
    "filter add dev e0 ingress pref 2 protocol ip flower src_ip 10.7.0.0/24 action pass",
)
WAYS = {
    "nothing else": Way(),
    "VLANs": Way(each=("-n {end} link add link e0 name e1 type vlan id 7",), device="e1"),
    "macvlans": Way(each=("-n {end} link add link e0 name e1 type macvlan mode bridge",), device="e1"),
    "bonds": Way(each=("-n {end} link add e1 type bond", "-n {end} link set e0 master e1"), device="e1"),
    "VXLANs": Way(
        each=(
            "-n {end} address add 10.9.0.{host}/24 dev e0",
            "-n {end} link add e1 type vxlan id 9 dstport 4789 local 10.9.0.{host} remote 10.9.0.{other}",
        ),
        device="e1",
    ),
    "a bridge": Way((_BRIDGE,), _BRIDGE_PORT),
    "a bridge with VLAN filtering": Way((f"{_BRIDGE} vlan_filtering 1",), _BRIDGE_PORT),
    "a router": Way((), _ROUTED, addresses=("10.8.1.1", "fd00:8:1::1")),
    "1,001 rules for IPv4": Way(rules=_RULES),
}
_ENDS = ("one", "two")


def lay(way: Way) -> None:
    """Make the namespaces anew, with addresses where the way ends."""
    commands = [*way.once]
    for host, end in enumerate(_ENDS, 1):
        addresses = (f"10.7.0.{host}/24", f"fd00:7::{host}/64 nodad")
        up = (f"-n {end} link set {device} up" for device in dict.fromkeys(("e0", way.device)))
        commands += [each.format(end=end, host=host, other=3 - host) for each in way.each]
        commands += [*up, *(f"-n {end} address add {address} dev {way.device}" for address in addresses)]
    for name in (*_ENDS, "middle"):
        subprocess.run(("ip", "netns", "delete", name), check=False, stderr=subprocess.DEVNULL)
        ip("netns", "add", name)
    for path in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
        setting = inside("middle", "tee", f"/proc/sys/net/{path}")
        subprocess.run(setting, input=b"1", stdout=subprocess.DEVNULL, check=True)
    for command in commands:
        ip(*command.split())
    subprocess.run(("tc", "-n", _ENDS[0], "-batch", "-"), input="\n".join(way.rules), text=True, check=True)


def through(quick: bool) -> Table:
    """Transactions of one byte through each way."""
    wanted_s, runs = (0.2, 1) if quick else (1.0, 3)
    rows: dict[str, tuple[Cell, ...]] = {}
    for name, way in WAYS.items():
        lay(way)
        rows[name] = tuple(
            Cell(tuple(transactions(_ENDS, address, wanted_s) for _ in range(runs)), "/s") for address in way.addresses
        )
    title = "UDP transactions of one byte, there and back through"
    return Table("packets-through", title, ("IPv4", "IPv6"), rows, "as on the stock kernel")


def measure(quick: bool) -> Iterator[Table]:
    """Both families."""
    prepare()
    packets, runs = (6_400, 5) if quick else (64_000, 15)
    rows: dict[str, tuple[Cell, ...]] = {}
    for name, family in (("IPv4", socket.AF_INET), ("IPv6", socket.AF_INET6)):
        rows[name] = (per_packet(family, packets, runs),)
    yield Table("packets", "One UDP packet of 64 bytes over veth", ("time",), rows, "as on the stock kernel")
    yield through(quick)


if __name__ == "__main__":
    run(measure)
