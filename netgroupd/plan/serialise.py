# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects <-> plain values that JSON can hold, both ways without loss; steps -> such values.

Tuples become lists and come back as tuples; an attribute that is ``None`` stays,
for it is not the same as one that is missing.
"""

from collections.abc import Iterable, Mapping
from itertools import compress
from operator import ne
from typing import Any, TypeAlias

from netgroupd.model.state import Attrs, Key, Object, Origin
from netgroupd.model.value import Value
from netgroupd.plan.step import AnyStep, GroupStep, RangeStep, Step

Json: TypeAlias = Any


def value_from(plain: Json) -> Value:
    """A value out of JSON."""
    if isinstance(plain, list):
        return tuple(map(value_from, plain))
    if isinstance(plain, dict):
        return {name: value_from(inner) for name, inner in plain.items()}
    assert plain is None or isinstance(plain, int | str)
    return plain


def attrs_from(plain: Json) -> dict[str, Value]:
    """Attributes out of JSON."""
    return {name: value_from(inner) if isinstance(inner, list | dict) else inner for name, inner in plain.items()}


def key_from(plain: Json) -> Key:
    """A key out of JSON."""
    return tuple(value_from(field) if isinstance(field, list | dict) else field for field in plain)


def object_to(obj: Object) -> Json:
    """An object as [class, key, attributes] or with its [file, line, column] behind."""
    plain = [obj.cls, obj.key, _mapping(obj.attrs)]
    return [*plain, obj.origin] if obj.origin else plain


def objects_to(objects: Iterable[Object]) -> list[Json]:
    """Objects as a list; one with the attributes of an earlier, by name, has that one's place and what differs."""
    found: list[Json] = []
    firsts: dict[tuple[str, ...], tuple[int, Attrs]] = {}
    for obj in objects:
        place, alike = firsts.setdefault((obj.cls, *obj.attrs), (len(found), obj.attrs))
        if place == len(found):
            found.append(object_to(obj))
            continue
        # The names come in one order, so the values stand side by side.
        differs = map(ne, obj.attrs.values(), alike.values())
        plain = [place, obj.key, dict(compress(obj.attrs.items(), differs))]
        found.append([*plain, obj.origin] if obj.origin else plain)
    return found


def objects_from(plain: Json) -> tuple[Object, ...]:
    """Objects out of JSON."""
    found: list[Object] = []
    for cls, key, attrs, *origin in plain:
        first = found[cls] if isinstance(cls, int) else None
        whole = {**first.attrs, **attrs_from(attrs)} if first else attrs_from(attrs)
        name = first.cls if first else cls
        found.append(Object(name, key_from(key), whole, Origin(*origin[0]) if origin else None))
    return tuple(found)


def _mapping(attrs: Mapping[str, Value]) -> dict[str, Value]:
    return attrs if isinstance(attrs, dict) else dict(attrs)


def step_to(step: AnyStep) -> Json:
    """A step as a mapping; of a group or a range with the single steps it stands for."""
    if isinstance(step, RangeStep):
        return {"op": str(step.op), "steps": [step_to(single) for single in step.steps]}
    if isinstance(step, GroupStep):
        return {
            "op": str(step.op),
            "group": step.group,
            "mask": step.mask,
            "attrs": _mapping(step.attrs),
            "steps": [step_to(single) for single in step.steps],
        }
    plain: dict[str, Json] = {"op": str(step.op), "attrs": _mapping(step.attrs)}
    if step.before:
        plain["before"] = object_to(step.before)
    if step.after:
        plain["after"] = object_to(step.after)
    if step.why:
        plain["why"] = step.why
    return plain


def singles(steps: Iterable[AnyStep]) -> Iterable[Step]:
    """The steps of single objects that ``steps`` stand for, in order."""
    for step in steps:
        if isinstance(step, Step):
            yield step
        else:
            yield from step.steps


def touching(steps: Iterable[AnyStep], links: Mapping[Key, Object]) -> list[Step]:
    """The single steps, but for those about links that are not among ``links``: where there are many, most are."""
    found = []
    for step in singles(steps):
        obj = step.after or step.before
        if obj and (obj.cls != "link" or obj.key in links):
            found.append(step)
    return found
