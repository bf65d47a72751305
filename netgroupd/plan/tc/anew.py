# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that the kernel does not change: each goes and comes with one packet, so that no traffic is without it long.

And those that nothing could change to what is asked for.
"""

from netgroupd.errors import Problem
from netgroupd.model.state import NOTHING, Attrs, Object, problem_of, records
from netgroupd.model.tc.action import shared
from netgroupd.plan.step import AnyStep, Op, Step

_FIXED = frozenset({"matchall"})
_OTHER = {"skip_hw": "skip_sw", "skip_sw": "skip_hw"}
_FLAGS = frozenset(_OTHER)


def has_other_flags(step: Step) -> bool:
    """Whether a rule of u32 is to have other flags, which the kernel takes for good."""
    kind = step.object.attrs["kind"]
    return step.op is Op.CHANGE and kind == "u32" and not _FLAGS.isdisjoint(step.attrs)


def takes_two(step: AnyStep) -> bool:
    """Whether a step is two messages: of a rule that is deleted, and made as it is to be."""
    if not isinstance(step, Step) or step.op is not Op.CHANGE or step.object.cls != "filter" or step.why:
        return False
    return step.object.attrs["kind"] in _FIXED or has_other_flags(step)


def flag_of(rule: Object) -> str:
    """The flag that a rule is to have, of which there is one at most; most of a million have none."""
    said = rule.attrs
    return "skip_hw" if said.get("skip_hw") else "skip_sw" if said.get("skip_sw") else ""


def excluded(want: Object, have: Object) -> Attrs:
    """What else to say of a rule that gets one flag and has the other, of which its file says nothing."""
    other = _OTHER.get(flag_of(want), "")
    return {other: False} if have.attrs.get(other) and other not in want.attrs else NOTHING


def unfit(want: Object, have: Object) -> Problem | None:
    """What is wrong with a rule that keeps an action which others share, for no other is said, and is to get a flag."""
    flag = flag_of(want)
    if not flag or "actions" in want.attrs or want.attrs.get("optional"):
        return None
    kept = next((str(one["kind"]) for one in records(have.attrs, "actions") if shared(one["kind"])), "")
    told = f"a rule that has {kept!r}, which is shared, cannot have {flag}, and keeps it where no action is said"
    return problem_of(want, told, "say which action it is to have, or `action: []` for none") if kept else None
