# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes that wait for a carrier: until their link has one the kernel cannot tell whether their source is another's.

That of IPv6 it finds out by asking around.  The rest of what is wanted need not wait.
"""

from collections.abc import Iterable, Set

from netgroupd.model.route import source_of
from netgroupd.model.state import Object, State
from netgroupd.plan.present import title

_SHOWN = 5


def without_waiting(desired: State, actual: State, sources: Set[str]) -> tuple[State, tuple[Object, ...]]:
    """``desired`` without the routes that are to send from ``sources`` and do not yet, and these."""
    haves = actual.of("route")
    found = (want for want in desired.of("route").values() if source_of(want) in sources) if sources else ()
    waiting = {want.key: want for want in found if not _is_there(want, haves.get(want.key))}
    if not waiting:
        return desired, ()
    attainable = State(groups=desired.groups)
    attainable.classes = {cls: dict(objects) for cls, objects in desired.classes.items()}
    for key in waiting:
        attainable.classes["route"].pop(key)
        if have := haves.get(key):  # which stays as it is meanwhile
            attainable.add(have)
    return attainable, tuple(waiting.values())


def _is_there(want: Object, have: Object | None) -> bool:
    return have is not None and have.attrs.get("src") == want.attrs["src"]


def told(routes: Iterable[Object]) -> tuple[str, ...]:
    """A sentence about routes that wait."""
    waiting = [f"{' '.join(title(route))} src {route.attrs['src']}" for route in routes]
    if not waiting:
        return ()
    more = f", … ({len(waiting):,} in all)" if len(waiting) > _SHOWN else ""
    return (f"configured when the link of their source has a carrier: {', '.join(waiting[:_SHOWN])}{more}",)
