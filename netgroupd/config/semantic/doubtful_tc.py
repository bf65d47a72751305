# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel takes of traffic control and is hardly meant: each is a warning."""

from itertools import chain

from netgroupd.config.checked import Checked
from netgroupd.config.sections.entries import told
from netgroupd.config.semantic.queues import CLSACT, Trees
from netgroupd.model.state import Key, Object, records
from netgroupd.model.tc.chain import led_to
from netgroupd.model.tc.filter import block, block_number
from netgroupd.model.tc.handle import HOOKS
from netgroupd.model.tc.qdisc import BLOCKS

_FOR_ALL = "matchall"
_JUMP = "jump "
_LAST = frozenset({"drop", "pass", "stolen", "queued", "repeat", "trap"})
_USUAL_DEFAULT = {"htb": "goes past the classes", "hfsc": "is dropped"}


def default_classes(checked: Checked) -> None:
    """Of htb and hfsc, where what no filter knows is to go: to a class with none below it."""
    trees = Trees(checked)
    for qdisc in checked.state.of("qdisc").values():
        minor = qdisc.attrs.get("default")
        if not isinstance(minor, int) or not minor:
            continue
        major = str(qdisc.attrs.get("handle") or "").partition(":")[0]
        wanted = f"{major}:{minor:x}"
        what = "with classes below it " if (qdisc.name, wanted) in trees.inner else ""
        if (qdisc.name, wanted) in trees.classes and not what:
            continue
        then = f"what no filter knows {_USUAL_DEFAULT[str(qdisc.attrs['kind'])]}"
        meant = f"{major}:{minor}"  # as if it were hexadecimal
        mistaken = meant != wanted and (qdisc.name, meant) in trees.classes
        hint = f'{then}; for class {meant} write "{meant}"' if mistaken else then
        told_ = f"default {minor} of {qdisc.name} is the class {wanted if major else f'{minor:x}'}, "
        told_ += f"which has {'classes below it' if what else 'no description'}"
        checked.report.warn(checked.entry(qdisc).place("default"), told_, hint)


def ceilings(checked: Checked) -> None:
    """A class that may send less than its rate."""
    for tclass in checked.state.of("tclass").values():
        rate, ceil = tclass.attrs.get("rate"), tclass.attrs.get("ceil")
        if isinstance(rate, int) and isinstance(ceil, int) and ceil < rate:
            told_ = f"the ceil of class {tclass.key[1]} is below its rate"
            checked.report.warn(checked.entry(tclass).place("ceil"), told_, "it gets no more than the ceil")


def missing_classes(checked: Checked) -> None:
    """Rules that lead to no class: the kernel takes them for rules that decide nothing."""
    trees = Trees(checked)
    for rule in checked.rules:
        classid = rule.attrs.get("classid")
        if classid is None or rule.key[1] in HOOKS or block_number(rule.name):
            continue
        if (lacking := trees.lacks(rule.name, str(classid))) and "no class" in lacking:
            told_ = f"{lacking}, for {told('filter', rule.key)}"
            dropped = trees.kind(rule.name, str(classid)) == "drr"
            hint = f"what it matches {'is dropped' if dropped else 'goes to the default'}"
            checked.report.warn(checked.entry(rule).place("classid"), told_, hint)


def ways_to_nowhere(checked: Checked) -> None:
    """Chains that rules lead to and no rule is in, and hooks that there is none of."""
    chains: set[Key] = {rule.key[:3] for rule in checked.rules}
    chains.update(checked.state.of("chain"))
    for rule in checked.rules:
        for number in led_to(rule.attrs):
            if (*rule.key[:2], number) not in chains:
                told_ = f"no rule is in chain {number}, which {told('filter', rule.key)} goes to"
                checked.report.warn(checked.entry(rule).place("action"), told_, "what gets there is past all rules")


def jumps_to_nowhere(checked: Checked) -> None:
    """Jumps that do not lead on to an action behind them."""
    for rule in checked.rules:
        actions = records(rule.attrs, "actions")
        for place, record in enumerate(actions):
            for control in map(str, (record.get("control"), record.get("conform"))):
                if control.startswith(_JUMP) and not place < int(control.removeprefix(_JUMP)) < len(actions):
                    told_ = f"{control} of {told('filter', rule.key)} leads to none of the actions behind it"
                    hint = "what gets there passes; jump 2 leads to the third action"
                    checked.report.warn(checked.entry(rule).place("action"), told_, hint)


def rules_in_vain(checked: Checked) -> None:
    """Rules behind one that decides about every packet."""
    ends: dict[Key, Object] = {}
    for rule in checked.rules:
        if rule.attrs.get("kind") == _FOR_ALL and rule.attrs.get("protocol") == "all" and _decides(rule):
            first = ends.setdefault(rule.key[:3], rule)
            if _pref(rule) < _pref(first):
                ends[rule.key[:3]] = rule
    if not ends:
        return
    for rule in checked.rules:
        end = ends.get(rule.key[:3])
        if end is not None and _pref(rule) > _pref(end):
            told_ = f"no packet gets to {told('filter', rule.key)}: pref {end.key[3]} decides about all of them"
            there = checked.report.where(checked.entry(end).at)
            checked.report.warn(checked.entry(rule).at, told_, f"that one is at {there}")


def _pref(rule: Object) -> int:
    pref = rule.key[3]
    assert isinstance(pref, int)
    return pref


def _decides(rule: Object) -> bool:
    """Whether the first action of a rule ends it for every packet; one in hardware alone sees not all of them."""
    actions = records(rule.attrs, "actions")
    if not actions or rule.attrs.get("skip_sw") or rule.attrs.get("optional"):
        return False
    first = actions[0]
    return first["kind"] == "gact" and first.get("control") in _LAST and "random" not in first


def marks_in_vain(checked: Checked) -> None:
    """Marks of connections: the kernel sets those that it commits, and takes others without setting them."""
    for cls in ("filter", "action"):
        for obj in checked.rules if cls == "filter" else checked.state.of(cls).values():
            for record in records(obj.attrs, "actions"):
                vain = [name for name in ("mark", "label") if name in record]
                if record["kind"] == "ct" and vain and not record.get("commit"):
                    told_ = f"{told(cls, obj.key)} does not set the {vain[0]} of a connection"
                    place = checked.entry(obj).place("action")
                    checked.report.warn(place, told_, "it is set of those that are committed: commit: true")


def hooks_of_nothing(checked: Checked) -> None:
    """Rules of hooks whose qdisc, and of blocks whose links, only somebody else can have made."""
    qdiscs = checked.state.of("qdisc")
    shared = (qdisc.attrs.get(name) for qdisc in qdiscs.values() for name in BLOCKS)
    blocks = {block(number) for number in shared if isinstance(number, int)}
    first: dict[Key, Object] = {}
    for obj in chain(checked.rules, checked.state.of("chain").values()):
        first.setdefault(obj.key[:2], obj)
    for obj in first.values():
        where, parent = obj.name, str(obj.key[1])
        entry = checked.entry(obj)
        if block_number(where):
            if where not in blocks:
                hint = f"ingress_block: {where.split()[1]} under a link puts it into it"
                checked.report.warn(entry.at, f"no file puts a link into {where}", hint)
        elif parent in HOOKS and (where, CLSACT) not in qdiscs:
            hint = f"write its rules under `{parent}`, which brings it, or add qdiscs: {{kind: clsact}}"
            checked.report.warn(entry.place("parent"), f"no file describes the clsact of {where}", hint)


DOUBTS = (
    default_classes,
    ceilings,
    missing_classes,
    ways_to_nowhere,
    jumps_to_nowhere,
    rules_in_vain,
    marks_in_vain,
    hooks_of_nothing,
)
