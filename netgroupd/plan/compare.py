# SPDX-License-Identifier: GPL-2.0-or-later
"""(wanted object, actual object) -> the attributes that differ.

What was not mentioned is kept, ``None`` is absent, and of a nested record only
the mentioned fields count, but for actions of traffic control, peers of
WireGuard and the ways of a route.  Linear, and at C speed where nothing differs.
"""

from collections.abc import Mapping
from functools import cache
from itertools import compress, repeat
from operator import ne
from typing import NamedTuple

from netgroupd.model import CLASSES, address, ethtool, fdb, nexthop, rule, sysctl
from netgroupd.model.address import LIFETIME
from netgroupd.model.attr import Attr, Change
from netgroupd.model.kinds import AS_MADE_IF_EXTERNAL, KINDS
from netgroupd.model.kinds.wireguard import whole
from netgroupd.model.link import COMMON
from netgroupd.model.route import BEHIND, EXPIRES
from netgroupd.model.state import NOTHING, Attrs, Key, Object
from netgroupd.model.tc.action import staying, usual
from netgroupd.model.tc.filter import FOR_GOOD
from netgroupd.model.tc.qdisc import KINDS as QDISCS
from netgroupd.model.value import Value

# The kernel keeps these in the order in which they were added.
_UNORDERED = frozenset({"altnames", "features", "lock"})
_PORT = "port."
# A bridge whose topology changes does not tell it.  To say it again would end the haste with which it then forgets.
# Of a route its place among others is for when it is made.
# Without a carrier there is no speed to tell.
UNTOLD = frozenset({"ageing_time", BEHIND, "speed", "duplex"})
# With 250 or 300 ticks to the second one hundredth is lost on the way there and back.
_TICKS = frozenset(name for kind in KINDS.values() for name, row in kind.attrs.items() if row.ticks)
# The kernel tells what is left of them, and a busy host may ask the time seconds before it does.
_LIFETIMES = frozenset(name for name, row in CLASSES["address"].attrs.items() if row.type is LIFETIME)
_LATE_S = 5
_JIFFIES = frozenset({"refill_delay"})  # the kernel rounds up to a jiffy, 1 to 10 ms
_JIFFY_US = 10_000
# Of a tunnel that sends from or to any address the kernel tells none: that says only which IP version it is of.
_ENDS, _ANY = ("local", "remote"), ("::", "0.0.0.0")
_COMPARED = 1024
_EASE = [*Change]
# Ways and members are told all at once: what is not said of one it has not.
_USUAL_OF_WAYS: Mapping[str, Attrs] = {
    "nexthops": {"weight": 1, "onlink": False, "encap": None, "as": None, "realm": None},
    "group": {"weight": 1},
}
# Of a filter's own actions a file says all, for each is made anew with the filter.
_ALONE = {"actions": False, "action": True}

UNOWNED = "foreign_protocol"
"""The mark of an object that is not netgroupd's, and that shall not be where a wanted object has it."""

UNSAID = "unsaid"
"""The mark of an object that has more than a file can say: a rule of traffic control, or what a dump of all tells."""


def kind_of(link: Object | None) -> str:
    """The kind of a link or queue; "" for hardware, for what has none and for what is not there."""
    return link.attrs.get("kind") or "" if link else ""  # type: ignore[return-value]  # a word, if anything


def group_of(link: Object) -> int:
    """The kernel group of a link."""
    group = link.attrs.get("group")
    return group if isinstance(group, int) else 0


def in_the_end(name: Value, wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> Attrs:
    """What a link has in the end: what is said of it, and of the rest what it has."""
    want, have = wants.get((name,)), haves.get((name,))
    if want and have:
        return {**have.attrs, **want.attrs}
    return want.attrs if want else have.attrs if have else NOTHING


def row_of(obj: Object, name: str) -> Attr | None:
    """The row that describes an attribute of ``obj``; None for what only the kernel module knows."""
    return _row(obj.cls, _part_or_kind(obj), name)


def _part_or_kind(obj: Object) -> str:
    """What tells the rows of one object from those of another of its class."""
    return str(obj.key[1]) if obj.cls == "ethtool" else kind_of(obj)


@cache
def _row(cls: str, kind: str, name: str) -> Attr | None:
    if cls in ("qdisc", "tclass"):
        queue = QDISCS.get(kind)
        own_rows = (queue.options if cls == "qdisc" else queue.classes) if queue else {}
        return own_rows.get(name) or CLASSES[cls].attrs.get(name)
    if cls == "ethtool":
        return ethtool.row_of(kind, name)
    if cls != "link":
        described = CLASSES.get(cls)
        return described.attrs.get(name) if described else None
    if name.startswith(_PORT):
        return next((each.port[name[5:]] for each in KINDS.values() if name[5:] in each.port), None)
    of_kind = KINDS.get(kind)
    return (of_kind.attrs.get(name) if of_kind else None) or COMMON.get(name)


def ends(obj: Object, name: str) -> bool:
    """Whether an attribute can be taken away; others go with what they came with."""
    row = row_of(obj, name)
    if row is None or row.nullable:
        return row is not None
    if obj.cls == "qdisc":  # which is made anew for some of its options
        queue = QDISCS.get(kind_of(obj))
        return row.change is Change.RECREATE and queue is not None and name in queue.options
    return obj.cls == "rule"  # which is made anew


def same(name: str, want: Value, have: Value) -> bool:
    """Whether ``have`` is what ``want`` asks for."""
    if want == have or (name in UNTOLD and (want is None or have is None)):
        return True
    if isinstance(have, str):
        return False
    if isinstance(want, tuple) and isinstance(have, tuple) and len(want) == len(have):
        return set(want) == set(have) if name in _UNORDERED else all(map(same, repeat(name), want, have))
    if isinstance(want, int) and isinstance(have, int):
        return _as_near_as_can_be(name, have - want)
    if isinstance(want, Mapping) and isinstance(have, Mapping):
        return _same_record(name, want, have)
    return have in (None, ()) and (want in (None, ()) or (want in _ANY and name in _ENDS))


def _same_record(name: str, want: Mapping[str, Value], have: Mapping[str, Value]) -> bool:
    if name in _ALONE and want.items() <= have.items() <= {**usual(want), **want}.items():
        return True
    fields = expected(name, want, have)
    return fields.items() <= have.items() or all(
        same(field, value, had) for field, value in fields.items() if (had := have.get(field)) != value
    )


def expected(name: str, want: Mapping[str, Value], have: Mapping[str, Value]) -> Mapping[str, Value]:
    """What is to be of an attribute that is a mapping, or of one of several that are, for ``want`` to be so."""
    if name == "peers":
        return whole(want)
    if name in _USUAL_OF_WAYS:
        return {**_USUAL_OF_WAYS[name], **want}
    alone = _ALONE.get(name)
    return want if alone is None else _fields_of_action(want, have, alone=alone)


def _fields_of_action(want: Mapping[str, Value], have: Mapping[str, Value], *, alone: bool) -> Mapping[str, Value]:
    """What an action is to have: what a file says, and the usual of what else the kernel tells."""
    others, unsaid = usual(want), have.keys() - want.keys() - staying(str(want["kind"]), alone=alone)
    return {**want, **{field: others.get(field) for field in unsaid}}  # what is said is more likely to differ


def _as_near_as_can_be(name: str, more: int) -> bool:
    """Whether so much more than is wanted is what the kernel makes of it."""
    return (
        name == EXPIRES  # which is less whenever one looks
        or (name in _TICKS and more == -1)
        or (name in _JIFFIES and 0 < more < _JIFFY_US)
        or (name in _LIFETIMES and abs(more) <= _LATE_S)
    )


class _Compared:
    """Lists that were compared: those of one range and of one dump are the same values thousands of times."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int], tuple[Value, Value, bool]] = {}

    def same(self, name: str, want: Value, have: Value) -> bool:
        """As the function ``same``."""
        if not isinstance(want, tuple):
            return same(name, want, have)
        pair = (name, id(want), id(have))
        found = self._known.get(pair)
        if found is None:
            if len(self._known) >= _COMPARED:
                self._known.clear()
            # They are kept with the answer, so that their identities stay their own.
            self._known[pair] = found = (want, have, same(name, want, have))
        return found[2]


_compared = _Compared()


class _Alike(NamedTuple):
    """Attributes that were not as wanted, the values that there were, and what of that is a difference.

    The next of a range has the same.
    """

    wanted: Attrs = NOTHING
    actual: Attrs = NOTHING
    values: tuple[Value, ...] = ()
    found: Attrs = NOTHING


class _Last:
    """The last that were found; other threads compare too, so it is read and replaced as one."""

    def __init__(self) -> None:
        self.alike = _Alike()


_last = _Last()


def differing(want: Object, have: Object) -> Attrs:
    """What ``have`` must be told to become ``want``: one mapping for those in a row that are told the same."""
    wanted, actual, last = want.attrs, have.attrs, _last.alike
    if want.cls == "sysctl":
        return _differing_setting(want, have)
    if wanted is last.wanted and (actual is last.actual or tuple(map(actual.get, wanted)) == last.values):
        return last.found
    if wanted.items() <= actual.items():
        return NOTHING
    values = tuple(map(actual.get, wanted))
    found: Attrs = {
        name: wanted[name]
        for name in compress(wanted, map(ne, wanted.values(), values))
        if not _compared.same("action" if want.cls == "action" else name, wanted[name], actual.get(name))
        and not _silent(want, name)
    }
    if found == last.found:
        found = last.found
    _last.alike = _Alike(wanted, actual, values, found)
    return found


def _differing_setting(want: Object, have: Object) -> Attrs:
    said, told = want.attrs.get("value"), have.attrs.get("value")
    alike = isinstance(said, str) and isinstance(told, str) and sysctl.alike(str(want.key[0]), said, told)
    return NOTHING if alike or said == told else want.attrs


def _silent(obj: Object, name: str) -> bool:
    row = row_of(obj, name)
    return row is not None and row.silent


def hardest(obj: Object, attrs: Attrs, have: Attrs = NOTHING) -> tuple[Change, str]:
    """What it takes to change ``attrs`` of ``obj`` from ``have``, and the attribute that takes it."""
    needed, because = Change.IN_PLACE, ""
    cls, kind = obj.cls, _part_or_kind(obj)
    if cls == "nexthop" and nexthop.is_another(have, attrs):
        return Change.RECREATE, "group"
    if cls == "nexthop" and UNOWNED in attrs and nexthop.keeps_its_protocol(have):
        return Change.RECREATE, "protocol"
    if cls == "rule" and rule.stands_beside(attrs):
        return Change.IN_PLACE, ""
    if hindrance := _hindrance(obj, attrs, have):
        return Change.RECREATE, hindrance
    for name, value in attrs.items():
        row = _row(cls, kind, name)
        if row is None or needed is Change.RECREATE:
            continue
        change = Change.RECREATE if cls == "filter" and (kind, name) in FOR_GOOD else row.change
        if row.in_place and not row.in_place(have.get(name), value):
            change = Change.RECREATE
        if _EASE.index(change) > _EASE.index(needed):
            needed, because = change, name
    return needed, because


def _hindrance(obj: Object, attrs: Attrs, have: Attrs) -> str:
    """Which of ``attrs`` cannot change in place because of what the object is or has besides."""
    if obj.cls == "fdb":
        return fdb.hinders(obj.key, have, attrs)
    if obj.cls == "address":
        return address.hinders(obj.key, attrs)
    kind = str(have.get("kind"))
    of_kind = KINDS[kind].attrs if have.get("external") and kind in AS_MADE_IF_EXTERNAL else NOTHING
    return next((name for name in attrs if name in of_kind), "")
