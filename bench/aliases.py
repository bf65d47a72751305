# SPDX-License-Identifier: GPL-2.0-or-later
"""The post on IP aliases: throughput through more and more of them, and what adding them costs.

Two namespaces joined by a veth pair: one iperf3 server on each alias, one client
to each, all at once, as in the post.  Beyond that many processes one flow goes to
the last of the aliases, which is what would show if looking one up cost anything.
Run it in the lab: ``python -m netgroupd.lab run --memory 6G -- python -m bench.aliases``.
"""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.fetched import unpack
from bench.harness import Cell, Table, ratio, run, seconds
from netgroupd.kernel.features import features
from netgroupd.kernel.kernel import Kernel
from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import ip_text
from netgroupd.plan.step import Op, Step

FLOWS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 160, 192, 224, 254)
MANY = (1_000, 10_000)
MOST = 100_000  # where nothing grows with the square: stock would add them for the better part of an hour
SERVER, CLIENT = "ng-server", "ng-client"
_BASE = 10 << 24 | 1 << 16  # 10.1.0.0
_PORT = 5201
_SECONDS = 3
_LONG = 3_600  # as long as it takes until the last flow is there
_POLL_S = 0.05
_NOWHERE = subprocess.DEVNULL
_ESTABLISHED, _LISTEN = "01", "0A"


def ip(*arguments: str) -> None:
    """Run one ``ip``."""
    subprocess.run(("ip", *arguments), check=True)


def alias(number: int) -> str:
    """The address of an alias."""
    return ip_text((_BASE + number).to_bytes(4, "big"))


def connect() -> None:
    """Make the two namespaces, the wire between them, and the way to the aliases' link."""
    for name in (SERVER, CLIENT):
        ip("netns", "add", name)
    ip("link", "add", "wire", "netns", SERVER, "type", "veth", "peer", "name", "wire", "netns", CLIENT)
    for name, address in ((SERVER, "192.168.77.1/24"), (CLIENT, "192.168.77.2/24")):
        ip("-n", name, "address", "add", address, "dev", "wire")
        ip("-n", name, "link", "set", "wire", "up")
        ip("-n", name, "link", "set", "lo", "up")
    ip("-n", CLIENT, "route", "add", "10.0.0.0/8", "via", "192.168.77.1")


def fresh_link() -> None:
    """An empty link for aliases; what the last one held goes with it."""
    subprocess.run(("ip", "-n", SERVER, "link", "del", "aliases"), stderr=subprocess.DEVNULL, check=False)
    ip("-n", SERVER, "link", "add", "aliases", "up", "type", "dummy")


def add_aliases(last: int) -> None:
    """Add the aliases up to ``last`` by netgroupd."""
    attrs: Attrs = {}
    aliases = [Object("address", ("aliases", f"{alias(n)}/32", None), attrs) for n in range(1, last + 1)]
    with Kernel(SERVER) as kernel:
        refused = kernel.apply([Step(Op.CREATE, None, address, attrs) for address in aliases])
    assert not refused, refused[:1]


def by_ip_batch(last: int) -> None:
    """The same by ``ip -batch``."""
    with TemporaryDirectory() as directory:
        file = Path(directory) / "aliases"
        file.write_text("".join(f"address add {alias(n)}/32 dev aliases\n" for n in range(1, last + 1)))
        ip("-n", SERVER, "-batch", str(file))


@cache
def iperf3() -> tuple[str, ...]:
    """The program, unpacked in this guest."""
    place = unpack("iperf3")
    return ("env", f"LD_LIBRARY_PATH={place}/usr/lib/x86_64-linux-gnu", str(place / "usr/bin/iperf3"))


def sockets(process: subprocess.Popen[bytes], state: str, column: int) -> int:
    """How many in one state have the port, at their end (1) or at the other (2), in the namespace of a process."""
    rows = Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]
    return sum(row.split()[column].endswith(f":{_PORT:04X}") and row.split()[3] == state for row in rows)


def received() -> int:
    """The bytes that came through the wire so far."""
    told = subprocess.check_output(("ip", "-n", SERVER, "-s", "-j", "link", "show", "wire"))
    return int(json.loads(told)[0]["stats64"]["rx"]["bytes"])


def throughput(numbers: Sequence[int]) -> Cell:
    """What comes through the wire while there is a flow to each of ``numbers``.

    Each program would tell of its own seconds, and where it takes long to start so
    many, few of those have all the others in them.
    """
    processes: list[subprocess.Popen[bytes]] = []

    def started(namespace: str, *options: str) -> subprocess.Popen[bytes]:
        argv = ("ip", "netns", "exec", namespace, *iperf3(), *options, "-p", str(_PORT))
        processes.append(subprocess.Popen(argv, stdout=_NOWHERE, stderr=_NOWHERE))
        return processes[-1]

    try:
        return _through_the_wire(numbers, started)
    finally:
        for process in processes:
            process.kill()
        for process in processes:  # not before all are told: those that still send would leave it no time to end
            process.wait()


def _through_the_wire(numbers: Sequence[int], started: Callable[..., subprocess.Popen[bytes]]) -> Cell:
    servers = [started(SERVER, "-s", "-1", "-B", alias(number)) for number in numbers]
    while sockets(servers[0], _LISTEN, 1) < len(numbers):
        time.sleep(_POLL_S)
    clients = []
    for number in numbers:
        clients.append(started(CLIENT, "-t", str(_LONG), "-c", alias(number)))
        while sockets(clients[0], _ESTABLISHED, 2) < 2 * len(clients):  # one for the talk, one for the flow
            if clients[-1].poll() is not None:
                return Cell(note="a flow ended before all were there")
            time.sleep(_POLL_S)
        clients[-1].send_signal(signal.SIGSTOP)  # or the next would share the processors with all before it
    for client in clients:
        client.send_signal(signal.SIGCONT)
    time.sleep(_POLL_S)
    before, start = received(), time.perf_counter()
    time.sleep(_SECONDS)
    return Cell(((received() - before) * 8 / (time.perf_counter() - start) / 1e6,), "Mbit/s")


def post(flows: Sequence[int]) -> Table:
    """What the post measured."""
    fresh_link()
    add_aliases(flows[-1])
    rows: dict[str, tuple[Cell, ...]] = {str(n): (throughput(range(1, n + 1)),) for n in flows}
    goal = "does not fall with the number of aliases"
    return Table("aliases", "Aliases post: throughput through so many aliases", ("together",), rows, goal)


def beyond(number: int) -> tuple[Cell, ...]:
    """Adding ``number`` aliases in both ways, and a flow to the first and to the last of them."""
    theirs = seconds(lambda: by_ip_batch(number), runs=1, prepare=fresh_link)
    ours = seconds(lambda: add_aliases(number), runs=1, prepare=fresh_link)
    return ours, theirs, ratio(ours, theirs), throughput([1]), throughput([number])


def measure(quick: bool) -> Iterator[Table]:
    """First as the post, then far beyond it."""
    flows, many = (FLOWS[:3], MANY[:1]) if quick else (FLOWS, MANY)
    if not quick and features().dump_group:
        many = (*many, MOST)
    connect()
    yield post(flows)
    columns = ("netgroupd adds them", "`ip -batch` does", "ratio", "a flow to the first", "to the last")
    rows = {f"{number:,}": beyond(number) for number in many}
    yield Table("aliases-many", "Aliases post, beyond: /32 addresses on one link", columns, rows, "linear, and ≤ 1.0 ×")


if __name__ == "__main__":
    run(measure)
