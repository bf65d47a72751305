# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that exchange what only one of them can have at a time: MACs of stacked links, names, ends of tunnels, queues.

Who takes waits for who gives; where they wait for each other in a circle, one
of them gives up what it has first.
"""

from collections.abc import Mapping

from netgroupd.model.state import Key, Object
from netgroupd.model.value import Value
from netgroupd.plan.step import Step
from netgroupd.plan.unique import in_turn

_QUEUE = "port.queue_id"
# Locally administered; only seen between two messages of one batch.
_SCRATCH_MAC = 0x02_4E_47_00_00_00


def untangle(steps: list[Step], links: Mapping[Key, Object]) -> tuple[list[Step], list[Step]]:
    """What some of ``steps`` must give up before others can take it, and what is left of them for afterwards."""
    given, left = _given_names(steps)
    turns, others = in_turn(left, links)
    return _given_macs(steps) + _given_queues(steps) + given + turns, others


def _given_macs(steps: list[Step]) -> list[Step]:
    # Only links stacked on the same lower one must differ.
    moving = [step for step in steps if step.attrs.get("mac") and _lower(step.object)]
    taken: set[tuple[Value, Value]] = {(_lower(step.object), step.attrs["mac"]) for step in moving}
    giving = [step for step in moving if (_lower(step.object), _before(step).attrs.get("mac")) in taken]
    return [
        step._replace(attrs={"mac": (_SCRATCH_MAC + number).to_bytes(6, "big").hex(":")})
        for number, step in enumerate(giving, 1)
    ]


def _given_queues(steps: list[Step]) -> list[Step]:
    # A queue of a bond leads to one port.
    moving = [step for step in steps if _QUEUE in step.attrs]
    taken = {(_before(step).attrs.get("master"), step.attrs[_QUEUE]) for step in moving if step.attrs[_QUEUE]}
    giving = [step for step in moving if (_before(step).attrs.get("master"), _before(step).attrs.get(_QUEUE)) in taken]
    return [step._replace(attrs={_QUEUE: 0}) for step in giving]


def _given_names(steps: list[Step]) -> tuple[list[Step], list[Step]]:
    given, left = [], []
    for step in steps:
        before = _before(step)
        had, wants = _names(before.attrs.get("altnames")), _names(step.attrs.get("altnames"))
        kept = tuple(name for name in had if name in wants)
        if "altnames" not in step.attrs or kept == had:
            left.append(step)
            continue
        given.append(step._replace(attrs={"altnames": kept}))
        done = {"altnames"} if len(kept) == len(wants) else frozenset[str]()
        if attrs := {name: value for name, value in step.attrs.items() if name not in done}:
            left.append(step._replace(before=before.having({"altnames": kept}), attrs=attrs))
    return given, left


def _names(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else ()


def _before(step: Step) -> Object:
    assert step.before is not None
    return step.before


def _lower(link: Object) -> Value:
    return link.attrs.get("link")
