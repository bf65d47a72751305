# SPDX-License-Identifier: GPL-2.0-or-later
"""What somebody has told queues and classes: where each differs from one that is told no more than it needs.

As with links, those are made in an empty namespace and read back, on a link of
the same MTU and queue.  Some options follow from others, so what is left is made
too: where not the same comes of it, all is said.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from netgroupd.kernel.netlink.request import Selection
from netgroupd.kernel.netns import fresh
from netgroupd.kernel.usual import SampleKernel, differing_from
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.model.tc.qdisc import KINDS, OF_LEAVES
from netgroupd.model.tc.queues import leave_to_leaves
from netgroupd.model.tc.red import lasting
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.hooks import CLSACT, ROOT

_MANY = 4096  # unlike ones; more take longer than it is worth
_OF_LINK = ("mtu", "txqueuelen")
_WHERE = frozenset({"kind", "handle", "parent", "hooks", "in_use"})
# A class is for its rates; of htb and hfsc there is none without.
_NEEDED_BY_CLASSES = frozenset({"rate", "rt", "ls"})
_OF_HARDWARE = frozenset({"mq", "mqprio", "taprio"})  # these say how its queues are used
_HANDLE, _CLASS = "1:", "1:1"


class _Sample(NamedTuple):
    """A queue or class, with what is below."""

    cls: str
    kind: str
    attrs: Attrs
    link: Attrs
    queue: Attrs

    @property
    def needed(self) -> Attrs:
        """What it cannot be without."""
        names = _NEEDED_BY_CLASSES if self.cls == "tclass" else KINDS[self.kind].needs
        return {name: value for name, value in self.attrs.items() if name in names}


def told_queues(actual: State, connect: Callable[[], SampleKernel]) -> list[Object]:
    """The queues and classes of ``actual`` of which less need be said, with that alone."""
    samples: dict[str, _Sample] = {}
    alike: list[tuple[Object, str]] = []
    for obj, sample in _samples(actual):
        alike.append((obj, text := repr(sample)))
        samples.setdefault(text, sample)
    if not samples or len(samples) > _MANY:
        return []
    try:
        found = dict(zip(samples, _told([*samples.values()], connect), strict=True))
    except PermissionError:  # a confined daemon
        return []
    return [
        obj._replace(attrs={name: value for name, value in obj.attrs.items() if name in told or name in _WHERE})
        for obj, text in alike
        if (told := found[text]) is not None
    ]


def _samples(actual: State) -> Iterable[tuple[Object, _Sample]]:
    links, queues = actual.of("link"), {}
    for obj in actual.of("qdisc").values():
        kind, link = kind_of(obj), links.get((obj.name,))
        if kind not in KINDS or kind in _OF_HARDWARE or obj.key[1] == CLSACT or link is None:
            continue
        below = {name: link.attrs[name] for name in _OF_LINK if name in link.attrs}
        attrs = _options(lasting(obj.attrs))
        queues[obj.name, str(obj.attrs["handle"])] = sample = _Sample("qdisc", kind, attrs, below, {})
        if attrs:
            yield obj, sample
    classes: dict[Key, Object] = {**actual.of("tclass")}
    leave_to_leaves(classes)
    for obj in classes.values():
        queue = queues.get((obj.name, f"{str(obj.key[1]).partition(':')[0]}:"))
        if queue and (attrs := _options(obj.attrs)):
            yield obj, _Sample("tclass", queue.kind, attrs, queue.link, queue.attrs)


def _options(attrs: Attrs) -> dict[str, Value]:
    return {name: value for name, value in attrs.items() if name not in _WHERE and value is not None}


def _told(samples: Sequence[_Sample], connect: Callable[[], SampleKernel]) -> list[Attrs | None]:
    """What must be said of each; None where that is all."""
    bare = _made(samples, [sample.needed for sample in samples], connect)
    said: list[Attrs] = []
    for sample, usual in zip(samples, bare, strict=True):
        less = sample.attrs if usual is None else {**sample.needed, **differing_from(usual, sample.attrs, ())}
        said.append({name: value for name, value in sample.attrs.items() if name in less})
    again = _made(samples, said, connect)
    return [told if made == sample.attrs else None for sample, told, made in zip(samples, said, again, strict=True)]


def _made(samples: Sequence[_Sample], said: Sequence[Attrs], connect: Callable[[], SampleKernel]) -> list[Attrs | None]:
    """What becomes of the samples, of which so much is said; None where nothing does."""
    with fresh():
        kernel = connect()
        try:
            for number, (sample, attrs) in enumerate(zip(samples, said, strict=True)):
                steps = _steps(f"sample{number}", sample, attrs)
                any(kernel.apply([step]) for step in steps)
            made = kernel.dump(Selection(frozenset({"qdisc", "tclass"}), everything=True))
        finally:
            kernel.close()
    return [_found(made, f"sample{number}", sample) for number, sample in enumerate(samples)]


def _found(made: State, name: str, sample: _Sample) -> Attrs | None:
    """What a sample has become; of a class with others below, without what it does not use."""
    obj = made.of(sample.cls).get((name, ROOT if sample.cls == "qdisc" else _CLASS))
    if obj is None:
        return None
    unused = OF_LEAVES - sample.attrs.keys() if sample.cls == "tclass" else ()
    return {name: value for name, value in _options(lasting(obj.attrs)).items() if name not in unused}


def _steps(name: str, sample: _Sample, attrs: Attrs) -> Iterable[Step]:
    """Make a link, its queue, and a class there if it is that."""
    queue = sample.queue if sample.cls == "tclass" else attrs
    yield _create("link", (name,), {"kind": "dummy", **sample.link})
    yield _create("qdisc", (name, ROOT), {"kind": sample.kind, "handle": _HANDLE, **queue})
    if sample.cls == "tclass":
        yield _create("tclass", (name, _CLASS), {"parent": _HANDLE, **attrs, "kind": sample.kind})


def _create(cls: str, key: Key, attrs: Mapping[str, Value]) -> Step:
    return Step(Op.CREATE, None, Object(cls, key, attrs), attrs)
