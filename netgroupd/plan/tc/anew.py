# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that the kernel does not change: each goes and comes with one packet, so that no traffic is without it long."""

from netgroupd.plan.step import AnyStep, Op, Step

_FIXED = frozenset({"matchall"})
_FLAGS = frozenset({"skip_hw", "skip_sw"})


def has_other_flags(step: Step) -> bool:
    """Whether a rule of u32 is to have other flags, which the kernel takes for good."""
    kind = step.object.attrs["kind"]
    return step.op is Op.CHANGE and kind == "u32" and not _FLAGS.isdisjoint(step.attrs)


def takes_two(step: AnyStep) -> bool:
    """Whether a step is two messages: of a rule that is deleted, and made as it is to be."""
    if not isinstance(step, Step) or step.op is not Op.CHANGE or step.object.cls != "filter" or step.why:
        return False
    return step.object.attrs["kind"] in _FIXED or has_other_flags(step)
