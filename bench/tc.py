# SPDX-License-Identifier: GPL-2.0-or-later
"""Flower rules put into a hook: by ``tc -b``, by netgroupd, and by the same bytes laid out beforehand.

Then what it costs to find that nothing is to be done, and the kernel's memory
for a rule.  Run it in the lab, on each kernel:
``python -m netgroupd.lab run --kernel patched -- python -m bench.tc``.
"""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.harness import Cell, Table, ratio, run, seconds
from netgroupd.kernel.compound import MOST, RTM_BATCHTFILTER, compound, entry
from netgroupd.kernel.features import features
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.message import SEQUENCE
from netgroupd.kernel.request import Selection
from netgroupd.kernel.socket import Socket, noop
from netgroupd.kernel.tc import filters
from netgroupd.model.state import Attrs, Object, State
from netgroupd.model.tc.filter import key
from netgroupd.plan.diff import diff
from netgroupd.plan.hooks import ON_QDISCS
from netgroupd.plan.link import Owned
from netgroupd.plan.step import Op, Step

_LINK = "dum0"
_HOOK = (_LINK, "ingress")
_QDISC = Object("qdisc", (_LINK, "clsact"), {"kind": "clsact", "hooks": ("ingress",)})
_PACKED = 256


def _attrs(*, percpu: bool) -> Attrs:
    action: Attrs = {"kind": "gact", "control": "drop", **({} if percpu else {"no_percpu": True})}
    return {"kind": "flower", "protocol": "ip", "actions": (action,), "skip_hw": True}


def rules(count: int, *, percpu: bool = True) -> Iterator[Object]:
    """So many rules of one line, each for another address."""
    attrs = _attrs(percpu=percpu)
    for number in range(count):
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        yield Object("filter", key(*_HOOK, 0, 10, {"dst_ip": address}), attrs)


def _steps(count: int, *, percpu: bool = True) -> list[Step]:
    return [Step(Op.CREATE, None, rule, rule.attrs) for rule in rules(count, percpu=percpu)]


def _empty() -> None:
    """An empty hook."""
    subprocess.run(["tc", "qdisc", "del", "dev", _LINK, "clsact"], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["tc", "qdisc", "add", "dev", _LINK, "clsact"], check=True)


def _batch_file(count: int, folder: str) -> str:
    path = Path(folder) / "batch"
    with path.open("w", encoding="ascii") as file:
        for rule in rules(count):
            address = dict(rule.key[4])["dst_ip"]  # type: ignore[arg-type]  # pairs, as filter.key makes
            file.write(
                f"filter add dev {_LINK} ingress pref 10 protocol ip flower skip_hw dst_ip {address} action drop\n"
            )
    return str(path)


def _laid_out(kernel: Kernel, count: int) -> list[bytes]:
    """The packets of so many rules, as large as this kernel likes them best."""
    batched = kernel.features.tc_batch
    size = MOST if batched else _PACKED
    messages = [filters._write(step, kernel.names) for step in _steps(count)]
    packets = []
    for start in range(0, count, size):
        some = messages[start : start + size]
        packets.append(compound(map(entry, some)) if batched else b"".join(some))
    return packets


def _send(packets: list[bytes]) -> None:
    """Send what is laid out, and wait for the end of each packet."""
    with Socket() as socket:
        for packet in packets:
            last = socket.next_sequence()
            whole = bytearray(packet)
            if whole[4] == RTM_BATCHTFILTER:
                SEQUENCE.pack_into(whole, 8, last)
                last = socket.next_sequence()
            socket.send(bytes(whole) + noop(last))
            for answer in socket.answers(last):
                raise AssertionError(answer)


def _applied(kernel: Kernel, steps: list[Step]) -> None:
    refused = kernel.apply(steps)
    assert not refused, refused[:2]


def _nothing_to_do(kernel: Kernel, count: int) -> Callable[[], object]:
    desired = State((_QDISC, *rules(count)))

    def action() -> None:
        actual = kernel.dump(Selection(classes=ON_QDISCS, hooks=frozenset({_HOOK})))
        changes = diff(desired, actual, Owned())
        assert not changes.steps, changes.steps[:2]

    return action


def _memory_kib() -> int:
    told = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    return int(told["MemAvailable"].split()[0])


def _rows(kernel: Kernel, plain: Kernel, count: int, runs: int) -> dict[str, tuple[Cell, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        path = _batch_file(count, folder)
        by_tc = seconds(lambda: subprocess.run(["tc", "-b", path], check=True), runs=runs, prepare=_empty)
    steps, quiet = _steps(count), _steps(count, percpu=False)
    packets = _laid_out(kernel, count)
    found = {
        "tc -b": by_tc,
        "netgroupd, one message a rule": seconds(lambda: _applied(plain, steps), runs=runs, prepare=_empty),
        "the bytes laid out beforehand": seconds(lambda: _send(packets), runs=runs, prepare=_empty),
    }
    if kernel.features.tc_batch:
        found["netgroupd, compound messages"] = seconds(lambda: _applied(kernel, steps), runs=runs, prepare=_empty)
        found["… no_percpu"] = seconds(lambda: _applied(kernel, quiet), runs=runs, prepare=_empty)
    else:
        found["… no_percpu"] = seconds(lambda: _applied(plain, quiet), runs=runs, prepare=_empty)
    _empty()
    before = _memory_kib()
    _applied(kernel, steps)
    per_rule = Cell(((before - _memory_kib()) * 1024 / count,), "B a rule")
    found["nothing to do"] = seconds(_nothing_to_do(kernel, count), runs=runs)
    table = {name: (cell, _rate(cell, count), ratio(by_tc, cell)) for name, cell in found.items()}
    return {**table, "memory of the kernel": (per_rule, Cell(), Cell())}


def _rate(cell: Cell, count: int) -> Cell:
    return Cell(tuple(count / one for one in cell.runs), "rules/s")


def measure(quick: bool) -> Iterator[Table]:
    """One table for each number of rules."""
    subprocess.run(["ip", "link", "add", _LINK, "type", "dummy"], check=True)
    with Kernel() as kernel, Kernel(assume=features()._replace(tc_batch=False)) as plain:
        for count in (1000,) if quick else (10_000, 100_000):
            yield Table(
                f"tc-{count}",
                f"{count:,} flower rules into one hook",
                ("time", "rate", "times as fast as tc -b"),
                _rows(kernel, plain, count, 3 if quick else 5),
                "≥ 3 × tc -b on stock, ≥ 10 × on patched, ≤ 1.2 × the bytes laid out beforehand",
            )


if __name__ == "__main__":
    run(measure)
