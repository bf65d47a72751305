# SPDX-License-Identifier: GPL-2.0-or-later
"""Qdiscs, classes, chains and filters that a host has -> the section ``tc``, by link or block.

What the kernel puts on a link by itself has no handle and does not come.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from netgroupd.engine.capture.yaml_text import quoted
from netgroupd.model.state import Attrs, Key, Object, State, records
from netgroupd.model.tc.action import FIELDS, shared, usual, usual_control
from netgroupd.model.tc.bpf import CURRENT
from netgroupd.model.tc.chain import ALL
from netgroupd.model.tc.filter import AGAIN, MATCHES, SHARES
from netgroupd.model.tc.handle import handle_number
from netgroupd.model.tc.qdisc import BLOCKS, KINDS
from netgroupd.model.tc.queues import leave_to_leaves
from netgroupd.model.tc.red import lasting
from netgroupd.model.value import Type, Value
from netgroupd.plan.compare import UNSAID, kind_of, row_of
from netgroupd.plan.fold import Row, fold_names
from netgroupd.plan.present import title
from netgroupd.plan.tc.hooks import CLSACT, CLSACT_HOOKS, ON_QDISCS, ROOT, hangs_on_one_of, swept
from netgroupd.plan.tc.turns import several

_SECTIONS = ("qdiscs", "classes", "chains", "ingress", "egress", "filters")
_NOT_WRITTEN = frozenset({"kind", "handle", "hooks", "in_use", "actions", CURRENT, SHARES})

_NUMBERS = re.compile("([0-9]+)")
_NOWHERE = "mirred to a link that is gone"
_APART = (
    "# left out (that rules have an action together is for the section actions to say; "
    "here each has one of its own, which counts and polices apart): {}\n"
)
_DIRECTIONS = ("egress", "ingress")  # which tells more than the link alone
_GIVEN = 0x8000
"""The first handle that the kernel gives to a queue of which none is said."""


class _Entry(NamedTuple):
    """One entry of a list: what may be a range, the rest, and among which it keeps its place, if any."""

    key: Attrs
    rest: Attrs
    among: Key = ()


def sayable(actual: State) -> tuple[State, list[str]]:
    """What a file can say of ``actual``, and a comment on each kind of qdisc, rule and action that it cannot."""
    unknown: dict[str, list[Object]] = defaultdict(list)
    for qdisc in actual.of("qdisc").values():
        if qdisc.attrs["kind"] not in KINDS:
            unknown[f"qdisc {qdisc.attrs['kind']}"].append(qdisc)
    parents = swept((qdisc for found in unknown.values() for qdisc in found), actual)
    lost: dict[Key | None, str] = {}
    for key, action in actual.of("action").items():
        if kind := _unsayable(*records(action.attrs, "actions")):
            lost[key] = kind
            unknown[f"action {kind}"].append(action)
    for rule in actual.of("filter").values():
        kinds = (lost.get(shared(one["kind"])) or _unsayable(one) for one in records(rule.attrs, "actions"))
        if kind := next(filter(None, kinds), ""):
            unknown[f"action {kind}"].append(rule)
        elif UNSAID in rule.attrs:
            unknown[_unknown(rule)].append(rule)
    left_out = {(obj.cls, obj.key) for found in unknown.values() for obj in found}
    rules = (rule for rule in actual.of("filter").values() if SHARES in rule.attrs)
    together = [rule for rule in rules if (rule.cls, rule.key) not in left_out]
    comments = [_APART.format(_titles(together))] if together else []
    if not unknown:
        return actual, comments
    said = State(
        (obj for obj in actual if obj[:2] not in left_out and not hangs_on_one_of(obj, parents)), actual.groups
    )
    return said, [*comments, *(_comment(kind, found) for kind, found in unknown.items())]


def _unknown(rule: Object) -> str:
    """What there is none of in a configuration."""
    kind = str(rule.attrs["kind"])
    if rule.attrs[UNSAID] == AGAIN:
        return f"second {kind} that matches the same"
    return f"{kind} that says all of this" if kind in MATCHES else f"classifier {kind}"


def _unsayable(action: Mapping[str, Value]) -> str:
    """The kind of an action that no file can describe; "" for others."""
    kind = str(action["kind"])
    if kind == "mirred" and action.keys().isdisjoint(("dev", "block")):
        return _NOWHERE
    return "" if kind in FIELDS or shared(kind) else kind


def _comment(kind: str, found: Iterable[Object]) -> str:
    what = "with what is on it " if kind.startswith("qdisc") else ""
    # What a file names it owns as a whole.
    lost = "where the file says what else is there, applying it deletes this"
    return f"# left out {what}(there is no {kind} in a configuration; {lost}): {_titles(found)}\n"


def _titles(found: Iterable[Object]) -> str:
    return ", ".join(fold_names(" ".join((obj.cls, *title(obj))) for obj in found))


def action_rows(actual: State) -> Iterator[Row]:
    """For each action that filters share its name, and what it does."""
    for action in actual.of("action").values():
        kind, index = action.key
        (record,) = records(action.attrs, "actions")
        told = {"control": record["control"], **_fields(record)}
        yield (f"{kind} {index}", *(f"{name}: {quoted(value)}" for name, value in told.items()))


def tc_rows(actual: State) -> Iterator[Row]:
    """For each link or block its name, and the text of each part."""
    parts: dict[str, dict[str, list[_Entry]]] = defaultdict(lambda: defaultdict(list))
    blocks: dict[str, list[str]] = defaultdict(list)
    referred = _referred(actual)
    kinds: dict[tuple[str, str], str] = {}
    for qdisc in actual.of("qdisc").values():
        if qdisc.attrs["kind"] == CLSACT:
            parts[qdisc.name]["ingress"] += []
            blocks[qdisc.name] += [f"{name}: {quoted(qdisc.attrs[name])}" for name in BLOCKS if name in qdisc.attrs]
        else:
            handle = str(qdisc.attrs["handle"])
            is_said = handle_number(handle) >> 16 < _GIVEN or (qdisc.name, handle) in referred
            parts[qdisc.name]["qdiscs"].append(_qdisc(qdisc, handle if is_said else ""))
            kinds[qdisc.name, handle] = kind_of(qdisc)
    classes = {**actual.of("tclass")}
    leave_to_leaves(classes)
    for name, entry in _classes(classes.values(), kinds):
        parts[name]["classes"].append(entry)
    for chain in actual.of("chain").values():
        parent = {"parent": chain.key[1]} if chain.key[1] else {}
        number = {} if chain.key[2] is ALL else {"chain": chain.key[2]}
        parts[chain.name]["chains"].append(_Entry(number, {**parent, **_said(chain.attrs)}))
    among = several(actual.of("filter").values())
    for rule in actual.of("filter").values():
        hook = str(rule.key[1])
        place = hook if hook in CLSACT_HOOKS and "ingress" in parts[rule.name] else "filters"
        entry = _filter(rule, hook if place == "filters" else "")
        parts[rule.name][place].append(entry._replace(among=rule.key[:4]) if rule.key[:4] in among else entry)
    for name, lists in parts.items():
        texts = (f"{part}: [{', '.join(_folded(lists[part]))}]" for part in _SECTIONS if part in lists)
        yield (name, *blocks[name], *texts)


def _classes(classes: Iterable[Object], kinds: Mapping[tuple[str, str], str]) -> Iterator[tuple[str, _Entry]]:
    """Classes with their links; of the kinds of queues, those of classes that become one range are one."""
    said: list[tuple[Object, dict[str, Value]]] = []
    alike: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in classes:
        parent = {} if one.attrs["parent"] == _qdisc_of(one.key[1]) else {"parent": one.attrs["parent"]}
        said.append((one, {**parent, **_written(one, _said(one.attrs, "parent"))}))
        alike[one.name, quoted(said[-1][1])].add(kind_of(one))
    for one, rest in said:
        told = kinds.get((one.name, _qdisc_of(one.key[1]))) == kind_of(one) and len(alike[one.name, quoted(rest)]) == 1
        yield one.name, _Entry({"classid": one.key[1]}, rest if told else {**rest, "kind": one.attrs["kind"]})


def _folded(entries: Iterable[_Entry]) -> Iterator[str]:
    """The entries as texts; those that differ by their keys alone are one with ranges, unless others stand between."""
    alike: list[tuple[str, list[str]]] = []
    in_turn = set[int]()
    places: dict[str, int] = {}
    last: dict[Key, int] = {}
    for key, rest, among in entries:
        text, key_text = quoted(rest)[1:-1], quoted(key)[1:-1]
        # A range in a list would make the list longer, not more entries.
        if any(isinstance(inner, tuple) for value in key.values() for inner in _inside(value)):
            text, key_text = ", ".join(filter(None, (key_text, text))), ""
        place = places.get(text, -1)
        if place < last.get(among, 0):
            place = places[text] = len(alike)
            alike.append((text, []))
        alike[place][1].append(key_text)
        if among:
            last[among] = place
            in_turn |= set() if "flower" in key else {place}  # of one mask no order matters
    for place, (text, keys) in enumerate(alike):
        foldable = place not in in_turn or _count_up(keys)
        for key_text in (fold_names(filter(None, keys)) if foldable else keys) or ("",):
            yield "{" + ", ".join(filter(None, (key_text, text))) + "}"


def _count_up(keys: list[str]) -> bool:
    """Whether texts differ in one number alone, which grows: as a range they come in the same order."""
    rows = [_NUMBERS.split(key) for key in keys]
    if len({(len(row), *row[::2]) for row in rows}) > 1:
        return False
    moving = [numbers for column in zip(*rows, strict=True) if len(numbers := [*dict.fromkeys(column)]) > 1]
    return not moving or (len(moving) == 1 and moving[0] == sorted(moving[0], key=int) and len(moving[0]) == len(keys))


def _inside(value: Value) -> Iterable[Value]:
    return value.values() if isinstance(value, Mapping) else (value,)


def _referred(actual: State) -> set[tuple[str, str]]:
    """The links and handles of queues that a queue, a class, a chain or a rule names."""
    named = {(obj.name, obj.key[1]) for cls in ON_QDISCS for obj in actual.of(cls).values()}
    named |= {(rule.name, rule.attrs.get("classid")) for rule in actual.of("filter").values()}
    return {(name, _qdisc_of(handle)) for name, handle in named}


def _qdisc_of(handle: Value) -> str:
    """The handle of the queue that a class is of."""
    return f"{str(handle).partition(':')[0]}:"


def _said(attrs: Attrs, *places: str) -> dict[str, Value]:
    left_out = _NOT_WRITTEN.union(places)
    return {name: value for name, value in attrs.items() if name not in left_out and value is not None}


def _written(obj: Object, attrs: Attrs) -> dict[str, Value]:
    """The values in the units that people give them in."""
    rows = ((name, row_of(obj, name), value) for name, value in attrs.items())
    return {name: _as_text(row.type, value) if row else value for name, row, value in rows}


def _as_text(kind: Type, value: Value) -> Value:
    return text if kind.text and kind.parse(text := kind.text(value)) == value else value


def _qdisc(qdisc: Object, handle: str) -> _Entry:
    attrs, parent = qdisc.attrs, qdisc.key[1]
    said = {"kind": attrs["kind"], **({"handle": handle} if handle and parent != CLSACT else {})}
    place = {} if parent in (ROOT, CLSACT) else {"parent": parent}
    return _Entry(place, {**said, **_written(qdisc, _said(lasting(attrs)))})


def _filter(rule: Object, parent: str) -> _Entry:
    _, _, chain, pref, match = rule.key
    assert isinstance(match, tuple)
    matched: dict[str, Value] = {str(pair[0]): pair[1] for pair in match if isinstance(pair, tuple)}
    rest: dict[str, Value] = {"parent": parent} if parent else {}
    rest |= {"chain": chain} if chain else {}
    rest |= {name: value for name, value in _said(rule.attrs).items() if value is not False}
    if actions := records(rule.attrs, "actions"):
        rest["action"] = tuple(map(_action, actions))
    return _Entry({"pref": pref, str(rule.attrs["kind"]): matched}, rest)


def _action(action: Mapping[str, Value]) -> Value:
    if shared(action["kind"]):
        return action["kind"]
    fields = _fields(action)
    if action["kind"] == "gact" and not fields.keys() - {"control"}:
        return action.get("control", usual_control(action))
    return {str(action["kind"]): fields}


def _fields(action: Mapping[str, Value]) -> Mapping[str, Value]:
    """What an action does, but for what it does unless something else is said."""
    known, types = usual(action), FIELDS[str(action["kind"])]
    return {
        name: _as_text(types[name], value) if name in types else value
        for name, value in action.items()
        if name not in _NOT_WRITTEN and value is not None and (name in _DIRECTIONS or known.get(name) != value)
    }
