# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel refused, as a person would say it: of what, which member or attribute, and from which line."""

import os

from netgroupd.errors import Refusal
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.kernel.netlink.delivery import Denied
from netgroupd.kernel.registry import codec
from netgroupd.model.state import called
from netgroupd.plan import present
from netgroupd.plan.fold import fold_names
from netgroupd.plan.step import GroupStep, Op, Step, cls_of
from netgroupd.plan.tc.beside import Said

_LITTLE = 3  # attributes that are told with a refusal


def title(step: Step | GroupStep, said: Said) -> str:
    """What a step does, in a few words."""
    if isinstance(step, GroupStep):
        what = {"link": "links", "address": "addresses"}[cls_of(step)]
        names = fold_names(dict.fromkeys(one.object.name for one in step.steps))
        return f"{step.op} {what} {' '.join(names) or f'of group {step.group:#x}'}"
    obj = said.of(step.object) if step.object.cls == "filter" else step.object
    return f"{step.op} {called(obj.cls)} {' '.join(present.title(obj))}"


def refused(step: Step | GroupStep, denied: Denied, said: Said, undone: Step | None = None) -> Refused:
    """Why the kernel did not take a step; ``undone`` is the one of its members that it did not."""
    about = codec(cls_of(step))
    number, about_one, sentence = denied.answer.errno, undone or step, denied.answer.sentence
    if name := about.blame(step, denied.path(about.body)) or (sentence == os.strerror(number) and _told(step)):
        sentence = f"{sentence} ({name})"
    if isinstance(step, GroupStep) and (found := _member(step, sentence, number)):
        about_one, sentence = found
    first = next(iter(about_one.steps), None) if isinstance(about_one, GroupStep) else about_one
    origin = first.object.origin if first else None
    return Refused(step, Refusal(title(about_one, said), number, sentence, str(origin or "")))


def _told(step: Step | GroupStep) -> str:
    """What links were told, where it is little."""
    if step.op is not Op.CHANGE or cls_of(step) != "link" or len(step.attrs) > _LITTLE:
        return ""
    return ", ".join(
        name if value is True else f"{name} {present.value_text(value)}" for name, value in step.attrs.items()
    )


def _member(step: GroupStep, sentence: str, number: int) -> tuple[Step, str] | None:
    """The step about the member that refused, and why, where the kernel names it: "d1 refused", or "d1: why"."""
    name, _, why = sentence.partition(" ")
    member = next((one for one in step.steps if one.object.name == name.rstrip(":")), None)
    return (member, os.strerror(number) if why == "refused" else why) if member else None
