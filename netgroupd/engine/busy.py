# SPDX-License-Identifier: GPL-2.0-or-later
"""Why the kernel calls a link busy: another one takes all that comes in by it, which mostly no file mentions."""

import errno
from collections.abc import Iterator, Mapping, Sequence

from netgroupd.engine.observe import Connection
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.kinds import RING_PORTS, TAKERS
from netgroupd.model.state import Object
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import Op, Step

_ROWS = frozenset({"kind", "link", "master", *RING_PORTS})


def with_takers(kernel: Connection, refused: Sequence[Refused]) -> list[Refused]:
    """What was refused, with who takes what comes in by the links that are busy."""
    if not any(map(_is_busy, refused)):
        return [*refused]
    found = kernel.dump(Selection(rows=_ROWS, everything=True)).of("link")
    kinds = {link.name: kind_of(link) for link in found.values()}
    takers = {lower: (link, taker) for link in found.values() for lower, taker in _taken(link, kinds)}
    return [_explained(each, takers) if _is_busy(each) else each for each in refused]


def _is_busy(refused: Refused) -> bool:
    step = refused.step
    about_link = isinstance(step, Step) and step.object.cls == "link" and step.op is not Op.DELETE
    return about_link and refused.refusal.errno == errno.EBUSY


def _taken(link: Object, kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The links by which all comes in that one takes, or its master does."""
    kind, master = kind_of(link), str(link.attrs.get("master") or "")
    if kind in TAKERS:
        yield str(link.attrs.get("link")), f"the {kind} {link.name!r}"
    if kind == "hsr":
        yield from ((str(link.attrs.get(row)), f"the ring {link.name!r}") for row in RING_PORTS)
    if master and kinds.get(master) != "vrf":
        yield link.name, f"the {kinds.get(master) or 'master'} {master!r}"


def _explained(refused: Refused, takers: Mapping[str, tuple[Object, str]]) -> Refused:
    step, refusal = refused
    assert isinstance(step, Step)
    sort = TAKERS.get(kind_of(step.object)) if step.op is Op.CREATE else None
    for name in _entered(step):
        taker, told = takers.get(name, (None, ""))
        if taker and (sort is None or TAKERS.get(kind_of(taker)) != sort):
            return Refused(
                step, refusal._replace(sentence=f"{refusal.sentence}; {told} takes all that comes in by {name!r}")
            )
    return refused


def _entered(step: Step) -> Iterator[str]:
    """The links by which all that comes in a step has another one take."""
    if step.attrs.get("master"):
        yield step.object.name
    yield from (str(name) for row in ("link", *RING_PORTS) if (name := step.attrs.get(row)))
