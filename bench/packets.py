# SPDX-License-Identifier: GPL-2.0-or-later
"""What a packet costs from one socket to another over a veth pair, which is what the patches must not make dearer.

The receiver is in the other namespace, so that a packet takes the route lookup, the device's queue, the receive
path and the lookup of the socket.  Run it in the lab on both kernels:
``python -m netgroupd.lab run --cpus 1 -- python -m bench.packets``.
"""

import ctypes
import os
import socket
import subprocess
import time
from collections.abc import Iterator

from bench.harness import Cell, Table, run

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
    subprocess.run(("ip", "netns", "add", "peer"), check=True)
    commands = ["link add v0 type veth peer name v1 netns peer", "link set v0 up", "-n peer link set v1 up"]
    for near, far in _ADDRESSES.values():
        length = near.partition("/")[2]
        nodad = "" if "." in far else " nodad"
        commands += [f"address add {near} dev v0{nodad}", f"-n peer address add {far}/{length} dev v1{nodad}"]
    for command in commands:
        subprocess.run(("ip", *command.split()), check=True)


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


def measure(quick: bool) -> Iterator[Table]:
    """Both families."""
    prepare()
    packets, runs = (6_400, 5) if quick else (64_000, 15)
    rows: dict[str, tuple[Cell, ...]] = {}
    for name, family in (("IPv4", socket.AF_INET), ("IPv6", socket.AF_INET6)):
        rows[name] = (per_packet(family, packets, runs),)
    yield Table("packets", "One UDP packet of 64 bytes over veth", ("time",), rows, "as on the stock kernel")


if __name__ == "__main__":
    run(measure)
