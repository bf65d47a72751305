# SPDX-License-Identifier: GPL-2.0-or-later
"""Hash tables of u32 rules: what goes with them, and in which order they come and go.

A table is there before a rule is in it or leads to it, and goes when no rule leads
to it any more; the rules in it go along.  With the last rule of all the kernel takes
the tables too, so where one stays new rules come before old ones go.  A table that
changes takes all rules of its preference along, for some of them lead to it.  Linear.
"""

from collections.abc import Collection, Iterable, Mapping, Set

from netgroupd.model.state import Key, Object, State
from netgroupd.model.tc.handle import numbered_by
from netgroupd.plan.step import Op, Step

_KIND = "u32"
_WHY = "a hash table of its preference changes"
_Number = tuple[object, object, object]
_Pref = tuple[object, ...]  # where, parent, chain, preference


def match_of(key: Key) -> dict[str, object]:
    """What a filter with this key matches, by name."""
    return dict(key[4])  # type: ignore[arg-type]  # pairs, as filter.key makes


def is_u32(rule: Object) -> bool:
    """Whether a filter is a rule or a table of u32."""
    return rule.cls == "filter" and rule.attrs.get("kind") == _KIND


def table_of(rule: Object) -> int:
    """The number of the table that this is; 0 for what is none."""
    if not is_u32(rule):
        return 0
    match = match_of(rule.key)
    number = match.get("table")
    return number if isinstance(number, int) and "divisor" in match else 0


def _number(table: Object) -> _Number:
    return (table.key[0], numbered_by(str(table.key[1])), table_of(table))


def with_all_of_u32(found: Set[Key], rules: Collection[Object]) -> frozenset[Key]:
    """The rules ``found``, and where there are hash tables among those of u32 with them all others of that."""
    hashed = {key[:4] for key in found} & {rule.key[:4] for rule in rules if table_of(rule)} if found else ()
    if not hashed:
        return frozenset(found)
    return frozenset(found).union(rule.key for rule in rules if is_u32(rule) and rule.key[:4] in hashed)


def inside(deleted: Iterable[Object], rules: Iterable[Object]) -> list[Object]:
    """The ``rules`` that go along with hash tables among what is ``deleted``."""
    going = {(*table.key[:4], number) for table in deleted if (number := table_of(table))}
    if not going:
        return []
    found = ((rule, match_of(rule.key)) for rule in rules if is_u32(rule))
    return [rule for rule, match in found if (*rule.key[:4], match.get("table")) in going and "divisor" not in match]


def arrange(steps: list[Step], desired: State, actual: State) -> list[Step]:
    """Put the steps about filters so that each table is there while a rule needs it."""
    # Of many rules few are of u32, so this is looked at without a call for each.
    if not any(((step[2] or step[1])[2]).get("kind") == _KIND for step in steps):  # type: ignore[index]  # has one
        return steps
    steps = _rebuilt(steps, desired, actual)
    deleted = [step for step in steps if step.op is Op.DELETE]
    others = [step for step in steps if step.op is not Op.DELETE]
    along = {rule.key for rule in inside((step.object for step in deleted), (step.object for step in deleted))}
    # A rule leads to tables of higher numbers than its own alone.
    deleted.sort(key=lambda step: table_of(step.object))
    others.sort(key=lambda step: not table_of(step.object))
    return [step for step in deleted if step.object.key not in along] + others


def _rebuilt(steps: list[Step], desired: State, actual: State) -> list[Step]:
    """Where a table is wanted that is there in another way, delete all of its preference and make it again."""
    wanted = {_number(step.object) for step in steps if step.op is Op.CREATE and table_of(step.object)}
    if not wanted:
        return steps
    haves = [have for have in actual.of("filter").values() if is_u32(have)]
    prefs = {have.key[:4] for have in haves if table_of(have) and _number(have) in wanted}
    if not prefs:
        return steps
    again = {have.key: have for have in haves if have.key[:4] in prefs}
    others = [step for step in steps if step.object.key not in again]
    wants: Mapping[Key, Object] = desired.of("filter")
    deleted = [Step(Op.DELETE, have, None, why=_WHY) for have in again.values()]
    created = [Step(Op.CREATE, None, want, want.attrs, _WHY) for key in again if (want := wants.get(key))]
    return [*deleted, *others, *created]


def standing(steps: Iterable[Step], desired: State) -> frozenset[_Pref]:
    """The preferences, each with its protocol, of which a table stays: old rules go when the new ones are there."""
    if not any(step.op is Op.DELETE and is_u32(step.object) for step in steps):
        return frozenset()
    made = {_number(step.object) for step in steps if step.op is Op.CREATE and table_of(step.object)}
    deleted = (step.object for step in steps if step.op is Op.DELETE and table_of(step.object))
    changed = {table.key[:4] for table in deleted if _number(table) in made}
    kept = (want for want in desired.of("filter").values() if table_of(want))
    return frozenset(pref_of(table) for table in kept if table.key[:4] not in changed)


def pref_of(rule: Object) -> _Pref:
    """Where rules of one preference are, with their protocol."""
    return (*rule.key[:4], rule.attrs.get("protocol"))
