# SPDX-License-Identifier: GPL-2.0-or-later
"""What a link of each kind takes of the running kernel's memory and time: some are made in an empty namespace."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from time import perf_counter

from netgroupd.kernel.netns import fresh
from netgroupd.kernel.usual import Sample, SampleKernel, sample_steps
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.state import Object
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import Op, Step

_MEMORY = Path("/proc/meminfo")
_EXACT_NOW = Path("/proc/sys/vm/stat_refresh")
_MOST, _LEAST = 48, 12  # more take longer; fewer are lost in what else goes on
_LASTING = ("Slab:", "Percpu:")
_KIB = 1024
# Made of hardware's stand-ins or by other means than one message: they are weighed as dummies.
_NOT_MADE = frozenset({"netdevsim", "tun", *PAIRS})


def samples_of(links: Iterable[Object], connect: Callable[[], SampleKernel]) -> dict[str, Sample]:
    """A sample of each kind; without those kinds of which too few could be made."""
    by_kind: dict[str, list[Object]] = defaultdict(list)
    for link in links:
        if kind_of(link) in KINDS and len(by_kind[kind_of(link)]) < _MOST:
            by_kind[kind_of(link)].append(link)
    by_kind["dummy"] = [Object("link", ("sample",), {"kind": "dummy"})] * _MOST
    samples = {}
    for kind, likes in by_kind.items():
        if kind not in _NOT_MADE and len(likes) >= _LEAST:
            try:
                with fresh():
                    sample = _sample(kind, likes, connect)
            except PermissionError:  # nobody to make samples for
                return {}
            if sample and sample.bytes > 0:
                samples[kind] = sample
    return samples


def _sample(kind: str, likes: list[Object], connect: Callable[[], SampleKernel]) -> Sample | None:
    """How much more memory is in use for each link of a kind, and how long it took; None where that cannot be told."""
    kernel = connect()
    try:
        made = []
        for number, like in enumerate(likes):
            *below, sample = sample_steps(f"sample{number}", "", kind, "", like)
            if not kernel.apply([*below, *_raised(below)]):
                made.append(sample)
        before, started = _in_use(), perf_counter()
        if len(made) < _LEAST or kernel.apply(made) or kernel.apply(_raised(made)):
            return None
        took_s = perf_counter() - started
        return Sample((_in_use() - before) // len(made), took_s / len(made))
    finally:
        kernel.close()


def _raised(made: list[Step]) -> list[Step]:
    """What brings up the links that steps have made."""
    return [Step(Op.CHANGE, step.after, step.after, {"up": True}) for step in made]


def _in_use() -> int:
    """Bytes that the kernel holds for objects, without those on their way back to it."""
    with suppress(OSError):
        _EXACT_NOW.write_text("1", encoding="ascii")
    rows: Mapping[str, list[str]] = {
        row.split()[0]: row.split() for row in _MEMORY.read_text(encoding="ascii").splitlines()
    }
    return sum(int(rows[name][1]) * _KIB for name in _LASTING if name in rows)
