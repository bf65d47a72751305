# SPDX-License-Identifier: GPL-2.0-or-later
"""A plan -> what it does to each object altogether, whatever steps that takes."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from netgroupd.model.bridge_vlan import OUT
from netgroupd.model.state import NOTHING, Attrs, Key, Object
from netgroupd.model.value import Value
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import AnyStep, Op, Plan, Step
from netgroupd.plan.tc.atomic import SWITCH_PREF, is_switch
from netgroupd.plan.tc.beside import Said

_new = tuple.__new__  # without the checks of the arguments' names: there is one for every link that is made
_SWITCHES = "its rules are built beside the old ones, and take over at once"


class Net(NamedTuple):
    """What a plan does to one object altogether."""

    sign: str
    object: Object
    before: Attrs
    after: Attrs
    why: str


def nets(plan: Plan) -> Iterator[Net]:
    """The change of each object that becomes another, in the order in which the plan first touches it."""
    found: dict[tuple[str, Key], tuple[Step, ...]] = {}
    said = said_in(plan.steps)
    for step in singles(plan.steps):
        obj = step.after or step.before
        assert obj
        touched = (obj.cls, said.identity(obj)) if obj.cls == "filter" else obj[:2]
        if touched not in found:
            found[touched] = (step,)
        elif step.before is not step.after or _comes_along(step):  # else told with the making of the link, to have this
            found[touched] = (*found[touched], step)
    for touched in [*found]:
        steps = found.pop(touched)  # of half a million objects it is not all there at once
        net = (_net_alone(steps[0]) if len(steps) == 1 else None) or _net(steps, said)
        if net.before and not net.why and net.after.items() <= net.before.items():
            continue  # it is told again what it has, as a bridge its MTU when a port comes
        yield _as_said(net, said) if net.object.cls == "filter" else net


def said_in(steps: Iterable[AnyStep]) -> Said:
    """What the configuration says of the rules that ``steps`` are about."""
    about = [step for step in singles(steps) if step.object.cls == "filter"]
    return Said([rule for step in about for rule in (step.before, step.after) if rule])


def _as_said(net: Net, said: Said) -> Net:
    """What is done to a rule, in the words of the configuration."""
    if net.object.key[3] == SWITCH_PREF and net.sign != "-" and is_switch(net.object):
        return net._replace(why=_SWITCHES)
    obj, after = said.of(net.object), said.attrs(net.object, net.after)
    return net if obj is net.object and after is net.after else net._replace(object=obj, after=after)


def _net_alone(step: Step) -> Net | None:
    """The change of an object that one step touches in the usual way, which is nearly every one."""
    op, before, after, attrs, why = step
    if op is Op.CREATE and after and attrs != OUT:
        return _new(Net, ("+", after, NOTHING, after.attrs, why))
    if op is Op.CHANGE and before and before is not after:
        have = before.attrs
        return Net("~", step.object, {name: have.get(name) for name in attrs}, attrs, why)
    return None


def _net(steps: tuple[Step, ...], said: Said) -> Net:
    first = steps[0]
    created = deleted = None
    why = ""
    for step in steps:
        if step.op is Op.DELETE or step.attrs == OUT:
            deleted = deleted or step
        elif step.op is Op.CREATE or _comes_along(step):
            created = created or step
        else:
            continue
        why = why or step.why
    if created and deleted and created.object.key != deleted.object.key:
        # It is built on the other side: what it differs in there is what changes.
        after, had = created.object.attrs, deleted.object.attrs
        before = said.attrs(deleted.object, {name: had.get(name) for name in after})
        return Net("~", created.object, before, after, why)
    if created:
        return Net("-/+" if deleted else "+", created.object, NOTHING, created.object.attrs, why)
    if deleted:
        return Net("-", deleted.object, NOTHING, NOTHING, why)
    why = next((step.why for step in steps if step.why), "")
    attrs: dict[str, Value] = {}
    for step in steps:
        attrs.update(step.attrs)
    have = first.before.attrs if first.before else {}
    before = {name: have.get(name) for name in attrs}
    return Net("~", steps[-1].object, before, attrs, why)


def _comes_along(step: Step) -> bool:
    """Whether a step is about the end of a veth pair that the other end has made."""
    return step.before is step.after and "kind" in step.attrs
