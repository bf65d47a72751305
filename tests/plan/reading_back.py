# SPDX-License-Identifier: GPL-2.0-or-later
"""A plan as ``diff --json`` tells it -> its steps: nothing of them is lost on the way."""

import json

from netgroupd.plan.present import as_json
from netgroupd.plan.serialise import Json, attrs_from, objects_from
from netgroupd.plan.step import AnyStep, GroupStep, Op, Plan, RangeStep, Step


def read_back(plan: Plan) -> tuple[AnyStep, ...]:
    return tuple(map(_step, json.loads(json.dumps(as_json(plan)))))


def _step(plain: Json) -> AnyStep:
    if "steps" not in plain:
        return _single(plain)
    steps = tuple(map(_single, plain["steps"]))
    if "group" not in plain:
        return RangeStep(Op(plain["op"]), steps)
    return GroupStep(Op(plain["op"]), plain["group"], attrs_from(plain["attrs"]), steps, plain["mask"])


def _single(plain: Json) -> Step:
    before, after = (objects_from([plain[side]])[0] if side in plain else None for side in ("before", "after"))
    return Step(Op(plain["op"]), before, after, attrs_from(plain["attrs"]), plain.get("why", ""))
