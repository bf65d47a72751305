# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of traffic control that netgroupd can delete or change and not bring back: told before it is done."""

from collections.abc import Iterable

from netgroupd.model.state import Object, State
from netgroupd.plan.beside import Said
from netgroupd.plan.compare import UNSAID, differing

_SHOWN = 5


def warnings(desired: State, actual: State) -> tuple[str, ...]:
    """One sentence about all of them."""
    wants = desired.of("filter")
    lost = [
        rule
        for key, rule in actual.of("filter").items()
        if UNSAID in rule.attrs and ((want := wants.get(key)) is None or differing(want, rule))
    ]
    if not lost:
        return ()
    said = Said(actual.of("filter").values())
    return (_told(map(said.of, lost)),)


def _told(lost: Iterable[Object]) -> str:
    from netgroupd.plan.fold import fold_names  # noqa: PLC0415  # seldom needed
    from netgroupd.plan.present import title  # noqa: PLC0415

    names = fold_names(" ".join(title(rule)) for rule in lost)
    more = ", …" if len(names) > _SHOWN else ""
    return (
        f"no rollback brings these back, for they have what no file can say: filter {', '.join(names[:_SHOWN])}{more}"
    )
