# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes along with what a plan takes down or makes smaller, and was not looked at: to be told, and put back.

It is links of others, of which a kernel that filters its dumps has not told: they go, go down, lose their master or
become as small.  And it is classes and rules on qdiscs of others in the place of which files put theirs.
"""

from collections.abc import Collection

from netgroupd.engine.observe import Connection, Mine
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.kinds.macvlan import IPVLANS
from netgroupd.model.state import Object, State
from netgroupd.plan.affected import felt
from netgroupd.plan.compare import kind_of
from netgroupd.plan.fate import followers
from netgroupd.plan.pieces import shrinks
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.tc.hooks import CLSACT, CLSACT_HOOKS, ON_QDISCS, ROOT, hangs_on_one_of, swept

_STANDING = frozenset({"kind", "link", "dev", "peer", "master"})  # on what a link stands, and with what it goes


def add_unseen(kernel: Connection, plan: Plan, actual: State) -> bool:
    """Bring them into ``actual``, and say whether there are any; all links are looked at where there may be."""
    if not kernel.features.dump_group:
        return False
    below = {name for step in singles(felt(plan).steps) if (name := _shaken(step))} | plan.cycled
    if not below:
        return False
    links = kernel.dump(Selection(rows=_STANDING, everything=True)).of("link")
    shaken = {*below, *(name for name, _ in followers(below, links, masters={"bridge"}))}
    unseen = [link for key, link in links.items() if key not in actual.of("link")]
    on = ("master", "dev")
    names = frozenset(
        link.name for link in unseen if link.name in shaken or any(link.attrs.get(field) in shaken for field in on)
    )
    if names:
        actual.classes["link"] = {**actual.of("link"), **kernel.dump(Selection(links=names)).of("link")}
    return bool(names)


def _shaken(step: Step) -> str:
    """The link on which others feel a step; "" for none."""
    if step.object.cls != "link":
        return ""
    if kind_of(step.object) in IPVLANS and step.op is not Op.DELETE:
        return str(step.object.attrs.get("link"))
    if step.before is None:
        return ""
    goes = step.op is Op.DELETE or "netns" in step.attrs
    return step.object.name if goes or shrinks(step.attrs.get("mtu"), step.before.attrs.get("mtu")) else ""


def add_unseen_on_qdiscs(kernel: Connection, plan: Plan, goal: State, actual: State, mine: Mine) -> tuple[Object, ...]:
    """Bring what hangs on qdiscs of others that a plan deletes into ``actual``, and say what goes with these."""
    gone = (step.object for step in singles(plan.steps) if step.op is Op.DELETE and step.object.cls == "qdisc")
    doomed = [obj for obj in gone if obj.key[1] != CLSACT and (obj.name, ROOT) not in mine.hooks]
    if not doomed:
        return ()
    links = {obj.name for obj in doomed}
    for obj in _hanging(kernel, [obj for obj in actual.of("qdisc").values() if obj.name in links]):
        if obj.key not in actual.of(obj.cls):
            actual.add(obj)
    parents = swept(doomed, actual)
    found = (obj for cls in sorted(ON_QDISCS) for obj in actual.of(cls).values() if obj.key not in goal.of(cls))
    return tuple(obj for obj in found if hangs_on_one_of(obj, parents))


def queues_of_others(kernel: Connection, plan: Plan, mine: Mine) -> tuple[Object, ...]:
    """The qdiscs that others have on links which a plan deletes, with all that hangs on them."""
    steps = (step for step in singles(plan.steps) if step.op is Op.DELETE and step.object.cls == "link")
    names = {step.object.name for step in steps}.difference(name for name, _ in mine.hooks)
    if not names:
        return ()
    hooks = frozenset((name, where) for name in names for where in (ROOT, *CLSACT_HOOKS))
    qdiscs = kernel.dump(Selection(frozenset({"qdisc"}), hooks=hooks)).of("qdisc").values()
    return (*qdiscs, *_hanging(kernel, qdiscs)) if qdiscs else ()


def _hanging(kernel: Connection, qdiscs: Collection[Object]) -> tuple[Object, ...]:
    """The classes of all of these, and the rules on them."""
    trees = [qdisc for qdisc in qdiscs if qdisc.key[1] != CLSACT]
    hooks = frozenset((obj.name, where) for obj in trees for where in (ROOT, str(obj.attrs["handle"])))
    classes = kernel.dump(Selection(frozenset({"tclass"}), hooks=hooks)).of("tclass").values()
    hooks |= {(tclass.name, str(tclass.key[1])) for tclass in classes}
    hooks |= {(qdisc.name, hook) for qdisc in qdiscs if qdisc.key[1] == CLSACT for hook in _hooks_of(qdisc)}
    return (*classes, *kernel.dump(Selection(frozenset({"filter", "chain"}), hooks=hooks)))


def _hooks_of(clsact: Object) -> frozenset[str]:
    return CLSACT_HOOKS if clsact.attrs["kind"] == CLSACT else CLSACT_HOOKS - {"egress"}
