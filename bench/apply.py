# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole way, from files to a verified kernel, beside ``ip`` and beside bare messages.

netgroupd reads and expands the files, dumps, plans, writes its journal, applies,
dumps again and compares; ``ip -batch`` only sends.  One table is the deeds that
groups and order are for, each beside the way without them.  ``--only NAME`` is
one table: a number of links, or the deeds.
"""

import argparse
import itertools
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.harness import Cell, Table, Way, by_rounds, count, in_turn, ratio, run, seconds
from bench.links import BLIND, IP, SIZES, Stack, bare, batch_file, encoded, ip_batch, remove, send_blind, stack
from bench.peer_files import Size
from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.kernel.features import features
from netgroupd.kernel.kernel import Kernel
from netgroupd.model.state import Object
from netgroupd.plan.step import Op, Step

RUNS = 5
LARGEST = Size(1_150, 60)  # once, and where nothing grows with the square: stock would not be done in a day
GROUP = 42
_DEEDS = "deeds"
_STACKS = {str(size.links): size for size in (*SIZES, LARGEST)}
NAMES = (*(str(size.links) for size in SIZES), _DEEDS, str(LARGEST.links))
_OURS = "netgroupd, files to verified"
_LIGHT = "netgroupd, lightweight links, files to verified"


class Desk:
    """An engine with a directory of its own for everything."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "config" / "all.yaml"
        self.file.parent.mkdir()
        self.engine = Engine(Paths((self.file.parent,), directory / "state", directory / "group"))

    def wants(self, text: str) -> None:
        """Put a configuration in place."""
        self.file.write_text(text, encoding="ascii")
        written = time.time() - 1  # who types a command behind an edit does not wait for the file to be whole
        os.utime(self.file, (written, written))

    def becomes(self, text: str) -> None:
        """Apply a configuration, unmeasured."""
        self.wants(text)
        self.engine.apply()


def whole_way(desk: Desk, links: Stack, directory: Path, runs: int) -> Iterator[tuple[str, Cell]]:
    """One stack from nothing, each way, and what it takes to find that nothing has to be done."""
    text = links.text()
    batch_file(links, directory / "batch")
    packets = encoded(links.steps)

    def prepared(wanted: str = text) -> None:
        remove()
        desk.becomes("{}")
        desk.wants(wanted)

    ways = {
        IP: Way(lambda: ip_batch(directory / "batch"), remove),
        BLIND: Way(lambda: send_blind(packets), remove),
    }
    if features().light:  # ``ip`` has no word for them
        ways[_LIGHT] = Way(desk.engine.apply, partial(prepared, links.text(", lightweight: true")))
    ways[_OURS] = Way(desk.engine.apply, prepared)
    found = in_turn(ways, runs)
    nothing = seconds(desk.engine.diff, runs=runs)
    edits = itertools.count()
    anew = seconds(desk.engine.diff, runs=runs, prepare=lambda: desk.wants(f"{text}# {next(edits)}\n"))
    read = seconds(bare, runs=runs)

    def one_less() -> None:
        desk.becomes(text)
        desk.wants(f"{text}  bonus: {{kind: bridge, group: all}}\n")

    more = seconds(desk.engine.apply, runs=runs, prepare=one_less)
    gone = seconds(desk.engine.apply, runs=1, prepare=lambda: desk.wants("{}"))
    yield "links", count(links.links)
    yield from found.items()
    yield "netgroupd ÷ `ip -batch`", by_rounds(found[_OURS], found[IP])
    if _LIGHT in found:
        yield "the same, lightweight links", by_rounds(found[_LIGHT], found[IP])
    yield "netgroupd ÷ blind", by_rounds(found[_OURS], found[BLIND])
    yield "nothing to do", nothing
    yield "nothing to do, the file edited", anew
    yield "a bare socket reading the links", read
    yield "nothing to do ÷ bare", ratio(nothing, read)
    yield "nothing to do, the file edited ÷ bare", ratio(anew, read)
    yield "one link more", more
    yield "delete all of it", gone


def each_alone(lines: Iterable[str]) -> None:
    """Run one ``ip`` for each line."""
    for line in lines:
        subprocess.run(["ip", *line.split()], check=True)


def mtu(desk: Desk, links: int) -> tuple[Cell, ...]:
    """The MTU of a whole group."""
    text = f"groups: {{all: {{id: 42, mtu: %d}}}}\nlinks: {{'d[1-{links}]': {{kind: dummy, group: all}}}}\n"
    desk.becomes(text % 1500)
    ours = seconds(desk.engine.apply, runs=1, prepare=lambda: desk.wants(text % 1400))
    by_group = seconds(lambda: subprocess.run(["ip", "link", "set", "group", "42", "mtu", "1450"], check=True), runs=1)
    naive = seconds(lambda: each_alone(f"link set d{number} mtu 1480" for number in range(1, links + 1)), runs=1)
    desk.becomes("{}")
    return ours, by_group, naive, ratio(naive, ours)


def vrf(desk: Desk, links: int) -> tuple[Cell, ...]:
    """Links that are up into a VRF: beside enslaving them as they are."""
    before = f"links: {{'d[1-{links}]': {{kind: dummy, up: true}}}}\nvrfs: {{red: {{table: 7, up: true}}}}\n"
    after = before.replace("table: 7", f"table: 7, links: 'd[1-{links}]'")
    desk.becomes(before)
    ours = seconds(desk.engine.apply, runs=1, prepare=lambda: desk.wants(after))
    desk.becomes(before)
    steps = []
    for number in range(1, links + 1):
        link = Object("link", (f"d{number}",), {"kind": "dummy"})
        steps.append(Step(Op.CHANGE, link, link, {"master": "red"}))

    def naive() -> None:
        with Kernel() as kernel:
            assert not kernel.apply(steps)

    theirs = seconds(naive, runs=1)
    desk.becomes("{}")
    return ours, Cell(), theirs, ratio(theirs, ours)


def vrf_made(desk: Desk, links: int, directory: Path) -> tuple[Cell, ...]:
    """A VRF with links, from nothing: beside making the links, bringing them up and only then enslaving them."""
    made = f"links: {{'d[1-{links}]': {{kind: dummy, up: true, group: all}}}}\ngroups: {{all: {{id: {GROUP}}}}}\n"
    text = f"{made}vrfs: {{red: {{table: 7, up: true, links: 'd[1-{links}]'}}}}\n"
    desk.becomes("{}")
    ours = seconds(desk.engine.apply, runs=1, prepare=lambda: desk.wants(text))
    desk.becomes("{}")
    names = [f"d{number}" for number in range(1, links + 1)]
    lines = [f"link add red group {GROUP} type vrf table 7", "link set red up"]
    for form in (f"link add {{}} group {GROUP} type dummy", "link set {} up", "link set {} master red"):
        lines += map(form.format, names)
    file = directory / "batch"
    file.write_text("\n".join(lines) + "\n", encoding="ascii")
    batch = seconds(lambda: ip_batch(file), runs=1, prepare=remove)
    naive = seconds(lambda: each_alone(lines), runs=1, prepare=remove)
    remove()
    return ours, batch, naive, ratio(naive, ours)


def delete(desk: Desk, links: int) -> tuple[Cell, ...]:
    """Many links away: beside one message for each, of which a tenth is measured."""
    text = f"links: {{'d[1-{links}]': {{kind: dummy}}}}\n"
    desk.becomes(text)
    ours = seconds(desk.engine.apply, runs=1, prepare=lambda: desk.wants("{}"))
    some = links // 10
    desk.becomes(f"links: {{'d[1-{some}]': {{kind: dummy}}}}\n")
    steps = [Step(Op.DELETE, Object("link", (f"d{number}",), {"kind": "dummy"}), None) for number in range(1, some + 1)]

    def naive() -> None:
        with Kernel() as kernel:
            assert not kernel.apply(steps)

    theirs = Cell(tuple(10 * run_s for run_s in seconds(naive, runs=1).runs))
    return ours, Cell(), theirs, ratio(theirs, ours)


def stack_of(desk: Desk, links: Stack, directory: Path, runs: int) -> Iterator[Table]:
    """One stack, whole."""
    rows: dict[str, tuple[Cell, ...]] = {}
    goal = "files to verified ≤ 1.0× `ip -batch`, ≤ 1.2× blind; nothing to do ≤ 3× a bare socket"
    for row, cell in whole_way(desk, links, directory, runs):
        rows[row] = (cell,)
        yield Table(f"apply-{links.links}", links.title, ("cost",), rows, goal)


def deeds(desk: Desk, directory: Path, few: int) -> Iterator[Table]:
    """What groups and order are for, with ``few`` times fewer links."""
    named = (_OURS, "`ip`, by group or batch", "one each", "times as fast")
    ways = {
        f"MTU of {2048 // few} links of a group": partial(mtu, desk, 2048 // few),
        f"{4000 // few} links in a VRF, from nothing": partial(vrf_made, desk, 4000 // few, directory),
        f"{4000 // few} links that are up into a VRF": partial(vrf, desk, 4000 // few),
        f"{10000 // few} links deleted": partial(delete, desk, 10000 // few),
    }
    rows: dict[str, tuple[Cell, ...]] = {}
    for row, way in ways.items():
        rows[row] = way()
        yield Table("apply-deeds", "What groups and order are for", named, rows, "65×, 5×, 10×")


def measure(quick: bool, names: Sequence[str] = NAMES) -> Iterator[Table]:
    """Make the tables."""
    with TemporaryDirectory() as temporary:
        directory = Path(temporary)
        desk = Desk(directory)
        if quick:
            yield from stack_of(desk, stack(Size(20, 6)), directory, 2)
            names = (_DEEDS,)
        for name in names:
            if name == _DEEDS:
                yield from deeds(desk, directory, 16 if quick else 1)
            elif _STACKS[name] != LARGEST:
                yield from stack_of(desk, stack(_STACKS[name]), directory, RUNS)
            elif features().dump_group:
                yield from stack_of(desk, stack(LARGEST), directory, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--only", choices=NAMES)
    known, rest = parser.parse_known_args()
    run(partial(measure, names=(known.only,) if known.only else NAMES), rest)
