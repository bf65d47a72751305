# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that exchange what only one of them can have at a time: MACs of stacked links, further names.

Who takes waits for who gives; where they wait for each other in a circle, one
of them gives up what it has first.
"""

from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan.step import Step

# Locally administered; only seen between two messages of one batch.
_SCRATCH_MAC = 0x02_4E_47_00_00_00


def untangle(steps: list[Step]) -> list[Step]:
    """Put in front what some of ``steps`` must give up before others can take it."""
    return _given_macs(steps) + _given_names(steps) + steps


def _given_macs(steps: list[Step]) -> list[Step]:
    # Only links stacked on the same lower one must differ.
    moving = [step for step in steps if step.attrs.get("mac") and _lower(step.object)]
    taken: set[tuple[Value, Value]] = {(_lower(step.object), step.attrs["mac"]) for step in moving}
    giving = [step for step in moving if (_lower(step.object), _before(step).attrs.get("mac")) in taken]
    return [
        step._replace(attrs={"mac": (_SCRATCH_MAC + number).to_bytes(6, "big").hex(":")})
        for number, step in enumerate(giving, 1)
    ]


def _given_names(steps: list[Step]) -> list[Step]:
    given = []
    for step in steps:
        if "altnames" not in step.attrs:
            continue
        had, wants = _names(_before(step).attrs.get("altnames")), _names(step.attrs["altnames"])
        kept = tuple(name for name in had if name in wants)
        if kept != had:
            given.append(step._replace(attrs={"altnames": kept}))
    return given


def _names(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else ()


def _before(step: Step) -> Object:
    assert step.before is not None
    return step.before


def _lower(link: Object) -> Value:
    return link.attrs.get("link")
