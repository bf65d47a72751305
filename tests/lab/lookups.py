# SPDX-License-Identifier: GPL-2.0-or-later
"""In a guest whose clock counts instructions: tell how many the kernel takes to find the way to an address by a link.

First among few links that have one, then among many.
"""

import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

_FEW, _MANY = 50, 1600
_GET_ROUTE, _REQUEST = 26, 1
_DST, _OIF = 1, 4
_INDEX = 1000


def _add_links(numbers: range) -> None:
    lines = (f"link add name d{n} index {_INDEX + n} up type dummy\n" for n in numbers)
    subprocess.run(("ip", "-batch", "-"), input="".join(lines), check=True, text=True)


def _instructions(to: str, index: int) -> int:
    attrs = struct.pack("HH16sHHI", 20, _DST, socket.inet_pton(socket.AF_INET6, to), 8, _OIF, index)
    body = struct.pack("BBBBBBBBI", socket.AF_INET6, 128, 0, 0, 0, 0, 0, 0, 0) + attrs
    message = struct.pack("IHHII", 16 + len(body), _GET_ROUTE, _REQUEST, 0, 0) + body
    taken = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        for _ in range(20):
            before = time.perf_counter_ns()
            netlink.send(message)
            answer = netlink.recv(4096)
            taken.append(time.perf_counter_ns() - before)
    assert struct.unpack_from("H", answer, 4) == (24,), answer
    return min(taken)


def main() -> None:
    """Write a line for each number of links: what two addresses take."""
    Path("/proc/sys/net/ipv6/conf/default/accept_dad").write_text("0", encoding="ascii")
    for numbers in (range(_FEW), range(_FEW, _MANY)):
        _add_links(numbers)
        taken = (str(_instructions(to, _INDEX + numbers[0] + 10)) for to in ("fe80::99", "ff02::99"))
        sys.stdout.write(" ".join(taken) + "\n")


if __name__ == "__main__":
    main()
