# SPDX-License-Identifier: GPL-2.0-or-later
"""(plan) -> what the kernel refuses, or takes and does not do, because of something that no file says and that stays.

What files say of both is told by ``check``.  What is put back is as it was, and no line has asked for it.
"""

from collections.abc import Iterator

from netgroupd.errors import Problem
from netgroupd.model.beside import BESIDE
from netgroupd.model.kinds.tunnel import ALL_OF_6RD, wrong_6rd
from netgroupd.model.state import Object, State
from netgroupd.plan.bridge_vlan import LEARNING, LIMIT, bridge_in
from netgroupd.plan.compare import in_the_end, kind_of
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan, Step, classes_of

_CLASSES = frozenset({"link", "address", "neighbour", "bridge_vlan"})
_FIELDS = frozenset(row.field for row in BESIDE)


def unfit(plan: Plan, desired: State, actual: State) -> Iterator[Problem]:
    """Each of these, at the line that asks for it."""
    if _CLASSES.isdisjoint(classes_of(plan.steps)):
        return  # rules come by the million
    for step in singles(plan.steps):
        want = step.after
        if want is None or not want.origin or want.cls not in _CLASSES:
            continue
        if want.cls == "bridge_vlan":
            told = _limited(want, desired, actual) if step.attrs.get(LIMIT) else iter(())
        else:
            told = _changed(step, want, step.before) if step.before and step.op is Op.CHANGE else iter(())
        yield from (Problem(*want.origin, *each) for each in told)


def _changed(step: Step, want: Object, have: Object) -> Iterator[tuple[str, str]]:
    if want.cls == "link":
        yield from _beside(step, want, have)
        if kind_of(have) == "sit" and not ALL_OF_6RD.isdisjoint(step.attrs):
            found = wrong_6rd(want.name, {**have.attrs, **want.attrs})
            yield from ((told, hint or f"say its {field!r} too") for field, told, hint in found)
    elif want.cls == "address" and "preferred_lft" in step.attrs and "valid_lft" not in want.attrs:
        yield from _outliving(step, want, have)
    elif want.cls == "neighbour" and step.attrs.get("router") and want.attrs.get("managed", have.attrs.get("managed")):
        told = f"{want.key[1]} on {want.name!r} is managed, and stays so"
        yield f"{told}: the kernel finds out whether it is a router", "leave `router` out, or set managed: false"


def _beside(step: Step, want: Object, have: Object) -> Iterator[tuple[str, str]]:
    """What a link cannot have beside what it keeps."""
    saying = _FIELDS & step.attrs.keys()
    for row in BESIDE if saying else ():
        if row.field not in saying or step.attrs[row.field] in row.nothing or row.other in want.attrs:
            continue
        kept = have.attrs.get(row.other, row.usual)
        if (row.kinds is None or kind_of(have) in row.kinds) and not row.fits(kept):
            field, other = (name.removeprefix("port.") for name in (row.field, row.other))
            yield f"{want.name!r} cannot have {field!r}: {row.told}, and stays so", f"say its {other!r} too"


def _outliving(step: Step, want: Object, have: Object) -> Iterator[tuple[str, str]]:
    """An address that would be preferred for longer than it stays valid."""
    ends = step.attrs.get("valid_lft", have.attrs.get("valid_lft", "forever"))
    preferred = step.attrs["preferred_lft"]
    if isinstance(ends, int) and not (isinstance(preferred, int) and preferred <= ends):
        told = f"{want.key[1]} stays valid for {ends} seconds, and cannot be preferred for {preferred}"
        yield told, "say its valid_lft too"


def _limited(want: Object, desired: State, actual: State) -> Iterator[tuple[str, str]]:
    """A number of groups that a bridge takes only where it learns them for each VLAN."""
    name = bridge_in(want.name, desired, actual)
    bridge = in_the_end(name, desired.of("link"), actual.of("link"))
    lacking = [option for option in LEARNING if not bridge.get(option)]
    if bridge.get("kind") == "bridge" and lacking:
        told = f"{name!r} does not learn multicast for each VLAN, and takes no number of groups"
        yield f"{told} for VLAN {want.key[1]} of {want.name!r}", f"set {' and '.join(lacking)} of {name!r}"
