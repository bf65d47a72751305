# SPDX-License-Identifier: GPL-2.0-or-later
"""Flower rules put into a hook: by ``tc -b``, by netgroupd, and by the same bytes laid out beforehand.

Then what it costs to find that nothing is to be done, and the kernel's memory
for a rule.  Run it in the lab, on each kernel:
``python -m netgroupd.lab run --kernel patched -- python -m bench.tc``; with
``--rules N`` (and ``--runs M``) for that many alone, with ``--insert`` for their insertion alone.
"""

import argparse
import os
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.harness import Cell, Table, Way, by_rounds, in_turn, run, seconds
from netgroupd.kernel.features import features
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.compound import compound, entry
from netgroupd.kernel.netlink.message import NLM_F_DUMP, attr, request
from netgroupd.kernel.netlink.request import Selection
from netgroupd.kernel.netlink.socket import Socket, noop
from netgroupd.kernel.tc.filters import codec as filters
from netgroupd.kernel.tc.tcmsg import HEADER, RTM_GETTFILTER, Place
from netgroupd.model.collector import uncollected
from netgroupd.model.state import Attrs, Object, State
from netgroupd.model.tc.filter import key
from netgroupd.plan.diff import Changes, diff
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.hooks import ON_QDISCS

_LINK = "dum0"
_HOOK = (_LINK, "ingress")
_QDISC = Object("qdisc", (_LINK, "clsact"), {"kind": "clsact", "hooks": ("ingress",)})
_PACKED = 256
_TOGETHER = 8192  # in one compound message
_LAST = 1  # the number of the message that ends a packet
_TERSE = attr(15, struct.pack("=II", 1, 1))  # TCA_DUMP_FLAGS: that there are rules, not what they say


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
    """The packets of so many rules, as large as this kernel likes them best, to the last byte."""
    batched = kernel.features.tc_batch
    size = _TOGETHER if batched else _PACKED
    messages = [filters._write(step, kernel.names) for step in _steps(count)]
    packets = []
    for start in range(0, count, size):
        some = messages[start : start + size]
        parts = compound(b"".join(map(entry, some))) if batched else some
        packets.append(b"".join((*parts, noop(_LAST))))
    return packets


def _send(packets: list[bytes]) -> None:
    """Send what is laid out, and wait for the end of each packet."""
    with Socket() as socket:
        for packet in packets:
            socket.send(packet)
            for answer in socket.answers(_LAST):
                raise AssertionError(answer)


def _applied(kernel: Kernel, steps: list[Step]) -> Callable[[], object]:
    """Put rules in, from the steps of a plan on."""

    def action() -> None:
        with uncollected():  # as the engine has it
            refused = kernel.apply(steps)
        assert not refused, refused[:2]

    return action


def _compared(kernel: Kernel, desired: State) -> Changes:
    """Read what there is, and find what is to be done, as the engine does."""
    asked = Selection(classes=ON_QDISCS, hooks=frozenset({_HOOK}), rules=desired.of("filter"), handles=False)
    with uncollected():
        return diff(desired, kernel.dump(asked), Owned())


def _nothing_to_do(kernel: Kernel, count: int) -> Callable[[], object]:
    desired = State((_QDISC, *rules(count)))

    def action() -> None:
        changes = _compared(kernel, desired)
        assert not changes.steps, changes.steps[:2]

    return action


def _one_changed(kernel: Kernel, count: int, runs: int) -> tuple[Cell, ...]:
    """Give one rule among all another action, and back: the time from the dump on, and the messages."""
    plain = list(rules(count))
    place = count // 2
    other = plain[place]._replace(attrs={**plain[place].attrs, "actions": ({"kind": "gact", "control": "pass"},)})
    goals = (State((_QDISC, *plain[:place], other, *plain[place + 1 :])), State((_QDISC, *plain)))
    times, sent = [], []
    for run_ in range(runs + runs % 2):  # every second one puts it back
        start = time.perf_counter()
        changes = _compared(kernel, goals[run_ % 2])
        before = kernel.counters.messages
        refused = kernel.apply(changes.steps)
        times.append(time.perf_counter() - start)
        sent.append(float(kernel.counters.messages - before))
        assert not refused, refused
    cell = Cell(tuple(times))
    return cell, Cell(tuple(count / one for one in times), "rules/s"), Cell(tuple(sent), "messages")


def _bare_dump(kernel: Kernel, *more: bytes) -> int:
    """Read the rules and look at none; how many bytes it was."""
    place = Place.of(*_HOOK, kernel.names)
    asked = request(RTM_GETTFILTER, NLM_F_DUMP, HEADER.pack(0, 0, 0, place.ifindex, 0, place.parent, 0), *more)
    with Socket() as socket:
        socket.dump(asked, lambda _kind, _payload: None)
        return socket.counters.received


def _reading(kernel: Kernel, count: int, runs: int, *more: bytes) -> tuple[Cell, ...]:
    """What reading all rules takes, how many that is a second, and the bytes of one."""
    cell = seconds(lambda: _bare_dump(kernel, *more), runs=runs)
    size = Cell((_bare_dump(kernel, *more) / count,), "B a rule")
    return cell, Cell(tuple(count / one for one in cell.runs), "rules/s"), size


def _available() -> int:
    """The memory that is free, once what was freed is really back."""

    def now() -> int:
        told = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        return int(told["MemAvailable"].split()[0]) * 1024

    before, after = 0, now()
    while after > before:  # the kernel frees rules some time after they are gone
        time.sleep(0.5)
        before, after = after, now()
    return after


def _memory(action: Callable[[], object], count: int) -> Cell:
    """What the kernel has less of after ``action``, for each rule."""
    _empty()
    before = _available()
    action()
    return Cell(((before - _available()) / count,), "B a rule")


@contextmanager
def _one_cpu() -> Iterator[None]:
    """Take all CPUs but the first away."""
    others = [path for path in Path("/sys/devices/system/cpu").glob("cpu*/online") if path.read_text().strip() == "1"]
    for path in others:
        path.write_text("0", encoding="ascii")
    try:
        yield
    finally:
        for path in others:
            path.write_text("1", encoding="ascii")


_TC, _LIMIT = "`tc -b`", "the limit: the bytes laid out beforehand"
_Rows = dict[str, tuple[Cell, ...]]


def _inserting(kernel: Kernel, plain: Kernel, count: int, runs: int, path: str) -> _Rows:
    packets, steps = _laid_out(kernel, count), _steps(count)
    ways: dict[str, Callable[[], object]] = {
        _TC: lambda: subprocess.run(["tc", "-b", path], check=True),
        _LIMIT: lambda: _send(packets),
        "netgroupd": _applied(kernel, steps),
        "netgroupd, counters not per CPU": _applied(kernel, _steps(count, percpu=False)),
    }
    if kernel.features.tc_batch:
        ways["netgroupd, one message a rule"] = _applied(plain, steps)
    turns = {name: Way(action, _empty) for name, action in ways.items()}
    rows = _against(in_turn(turns, runs), count)
    if os.cpu_count() == 1:
        return rows
    with _one_cpu():
        alone = in_turn({name: turns[name] for name in (_TC, _LIMIT, "netgroupd")}, runs)
    return rows | {f"{name}, on one CPU": row for name, row in _against(alone, count).items()}


def _against(found: dict[str, Cell], count: int) -> _Rows:
    """Each with its rate, and what it is beside ``tc`` and the limit."""
    return {
        name: (
            cell,
            Cell(tuple(count / one for one in cell.runs), "rules/s"),
            by_rounds(found[_TC], cell),
            by_rounds(cell, found[_LIMIT]),
        )
        for name, cell in found.items()
    }


def _keeping(kernel: Kernel, count: int, runs: int) -> _Rows:
    """What the rules cost that are there."""
    lean = _memory(_applied(kernel, _steps(count, percpu=False)), count)
    fat = _memory(_applied(kernel, _steps(count)), count)
    nothing = seconds(_nothing_to_do(kernel, count), runs=runs)
    return {
        "nothing to do: dump and compare": (nothing, Cell(tuple(count / one for one in nothing.runs), "rules/s")),
        "one rule changed: dump, compare and send": _one_changed(kernel, count, runs),
        "a bare dump": _reading(kernel, count, runs),
        "a bare dump, terse": _reading(kernel, count, runs, _TERSE),
        "memory of the kernel": (fat,),
        "memory of the kernel, counters not per CPU": (lean,),
    }


def _paper() -> _Rows:
    """What the paper has: 100,000 rules on a Xeon, before and after its authors' work, and what users want."""
    figures = {"before": (1000.0, 100.0), "after": (2.0, 50_000.0), "wanted": (0.1, 1_000_000.0)}
    return {
        f"the paper, 100,000 rules, {name}": (Cell((took,)), Cell((rate,), "rules/s"))
        for name, (took, rate) in figures.items()
    }


def measure(quick: bool, counts: Sequence[int] = (), runs: int = 0, *, keep: bool = True) -> Iterator[Table]:
    """The tables for each number of rules; without ``keep`` that of their insertion alone."""
    subprocess.run(["ip", "link", "add", _LINK, "type", "dummy"], check=True)
    usual = {10_000: 3} if quick else {10_000: 5, 100_000: 3, 1_000_000: 1}
    for count in counts or usual:
        yield from one_size(count, runs or usual.get(count, 1), keep=keep)


def one_size(count: int, runs: int, *, keep: bool) -> Iterator[Table]:
    """The tables for so many rules."""
    with (
        Kernel() as kernel,
        Kernel(assume=features()._replace(tc_batch=False)) as plain,
        TemporaryDirectory() as folder,
    ):
        path = _batch_file(count, folder)
        yield Table(
            f"tc-{count}",
            f"{count:,} flower rules into one hook",
            ("time", "rate", "times as fast as tc -b", "÷ the limit"),
            {**_inserting(kernel, plain, count, runs, path), **(_paper() if count == 100_000 else {})},
            "≥ 3 × tc -b on stock, ≥ 10 × on patched, ≤ 1.2 × the limit",
        )
        if keep:
            yield Table(
                f"tc-{count}-kept",
                f"{count:,} flower rules that are there",
                ("cost", "rate", "size"),
                _keeping(kernel, count, runs),
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--rules", type=int, nargs="+", default=())
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--insert", action="store_true")
    known, rest = parser.parse_known_args()
    run(partial(measure, counts=known.rules, runs=known.runs, keep=not known.insert), rest)
