# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules and qdiscs that netgroupd can delete or change and not bring back: told before it is done."""

from collections.abc import Iterable, Sequence

from netgroupd.model.state import Object, State
from netgroupd.model.tc.qdisc import KINDS
from netgroupd.plan.compare import UNSAID, differing
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.beside import Said

_WHY = {"filter": "for they have what no file can say", "qdisc": "for they are of kinds that no file can ask for"}


def is_foreign(obj: Object) -> bool:
    """Whether it is a qdisc of a kind that no file can ask for, as `pie`."""
    return obj.cls == "qdisc" and obj.attrs.get("kind") not in KINDS


def is_beyond_files(obj: Object) -> bool:
    """Whether it is one of these qdiscs, or a rule that has what no file can say: nothing makes it what it was."""
    return is_foreign(obj) or (obj.cls == "filter" and UNSAID in obj.attrs)


def warnings(desired: State, actual: State, steps: Iterable[Step]) -> tuple[str, ...]:
    """One sentence about all rules of these, and one about all qdiscs that ``steps`` delete."""
    rules, deleted = _lost_rules(desired, actual), [step.before for step in steps if step.op is Op.DELETE]
    said = Said(actual.of("filter").values()) if rules else Said(())
    return told((*map(said.of, rules), *(obj for obj in deleted if obj and is_foreign(obj))))


def told(lost: Iterable[Object]) -> tuple[str, ...]:
    """The same of all of these among what is ``lost``."""
    beyond = [*filter(is_beyond_files, lost)]
    each = (_told(cls, why, [obj for obj in beyond if obj.cls == cls]) for cls, why in _WHY.items())
    return tuple(filter(None, each)) if beyond else ()


def _lost_rules(desired: State, actual: State) -> list[Object]:
    wants = desired.of("filter")
    return [
        rule
        for key, rule in actual.of("filter").items()
        if UNSAID in rule.attrs and ((want := wants.get(key)) is None or differing(want, rule))
    ]


def _told(cls: str, why: str, lost: Sequence[Object]) -> str:
    if not lost:
        return ""
    from netgroupd.plan.fold import few_of, fold_names  # noqa: PLC0415  # seldom needed
    from netgroupd.plan.present import title  # noqa: PLC0415

    names = fold_names(" ".join(title(rule)) for rule in lost)
    return f"no rollback brings these back, {why}: {cls} {few_of(names, len(lost))}"
