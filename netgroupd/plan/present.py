# SPDX-License-Identifier: GPL-2.0-or-later
"""A plan -> what an operator reads: one line for thousands of equal changes, and a count at the end.

``+`` is created, ``~`` changed, ``-`` deleted, ``-/+`` deleted and created, with
the reason.  What is shown are changes of objects; how many messages they take
is said in the last line.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import compress
from operator import is_not

from netgroupd.model.bridge_vlan import USUAL as USUAL_OF_MEMBER
from netgroupd.model.kinds.wireguard import ANOTHER_KEY, KEY_FILES
from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.route import MAIN_TABLE
from netgroupd.model.state import NOTHING, Attrs, Key, Object, called, records
from netgroupd.model.sysctl import is_secret
from netgroupd.model.tc.units import rate_text
from netgroupd.model.value import Value
from netgroupd.model.vf import USUAL as USUAL_OF_FUNCTION
from netgroupd.model.vlan_global import USUAL as USUAL_OF_VLAN
from netgroupd.plan.compare import UNSAID, expected, row_of, same
from netgroupd.plan.fold import field_text, fold, name_text
from netgroupd.plan.messages import messages
from netgroupd.plan.nets import Net, nets
from netgroupd.plan.serialise import Json, step_to
from netgroupd.plan.step import AnyStep, Plan, Step
from netgroupd.plan.tc.beside import Said

_NAME_WIDTH = 44
_VERBS = {"+": "create", "~": "change", "-/+": "recreate", "-": "delete"}
_OF_FDB = ("", "", "vlan", "", "dst", "src_vni")
_NUMBERED = {"bridge_vlan": "vid", "vlan_global": "vid", "mst": "msti", "vni": "vni", "vf": ""}
USUAL: Mapping[str, Mapping[str, Value]] = {
    "link": {"group": GROUP_BASE},
    "address": {"scope": "global", "valid_lft": "forever", "preferred_lft": "forever", "metric": 0},
    "route": {"type": "unicast", "scope": "global", "pref": "medium"},
    "rule": {"action": "lookup", "tos": 0},
    "neighbour": {"state": "permanent"},
    "nexthop": {"group_type": "mpath", "family": "inet"},
    "bridge_vlan": {**USUAL_OF_MEMBER, "member": True},
    "mdb": {"filter_mode": "exclude"},
    "vlan_global": USUAL_OF_VLAN,
    "token": {"token": "::"},
    "vf": USUAL_OF_FUNCTION,
}
"""What most objects of a class are, which goes without saying."""
_NUMBER = re.compile(r"[0-9]+")
_SAID_BY_A_NAME = frozenset({"kind", "link", "id"})
_SAID_BY_A_NOUN = frozenset({"kind"})
_SAID_BY_A_LABEL = frozenset({"label"})
_SAID_BY_A_RULE = frozenset({"kind", "protocol", "handle", UNSAID})
_SAID_BY_A_HANDLE = frozenset({"hooks"})
_SAID_BY_NOTHING = frozenset[str]()
_HIDDEN = "(secret)"  # in place of a setting that root alone may read: everybody may ask for a plan
_IN_UNITS = frozenset({"qdisc", "tclass"})
_TOLD_WHOLE = frozenset({"link", "ethtool", "vf"})
_ALIKE = frozenset({"link", "filter"})
_RATES = frozenset({"rate", "peakrate"})
_PLAIN = frozenset({str, int})
_SHARED = _PLAIN | {bool, type(None)}
_PAIR = "%s %s".__mod__


def noun(obj: Object) -> str:
    """What an object is called: a link by its kind."""
    return str(obj.attrs.get("kind") or "link") if obj.cls == "link" else called(obj.cls)


def title(obj: Object) -> tuple[str, ...]:
    """The name of an object and what else its key says."""
    if named := _TITLES.get(obj.cls):
        return named(obj.key)
    if obj.cls in _NUMBERED:
        # The name is both: all ports of a bridge are in thousands of VLANs.
        return (" ".join(filter(None, (str(obj.key[0]), _NUMBERED[obj.cls], str(obj.key[1])))),)
    return _fields(obj.key)


def _fields(key: Key) -> tuple[str, ...]:
    return tuple(str(field) for field in key if field is not None and field is not False)


def _route(key: Key) -> tuple[str, ...]:
    family, table, destination, tos, metric = key
    # The table is part of the name: very many have a default route each.
    name = f"{destination} table {table}" if table != MAIN_TABLE else str(destination)
    usual = 1024 if family == "inet6" else 0
    return (name, *([f"tos {tos}"] if tos else ()), *([f"metric {metric}"] if metric != usual else ()))


def _rule(key: Key) -> tuple[str, ...]:
    family, pref, selectors = key
    assert isinstance(selectors, tuple)
    return (str(pref), str(family), *(_pair(*pair) for pair in selectors if isinstance(pair, tuple)))


def _filter(key: Key) -> tuple[str, ...]:
    where, parent, chain, pref, match = key
    assert isinstance(match, tuple)
    hook = f"{where} {parent}" if parent else where
    place = f"{hook} chain {chain} pref {pref}" if chain else f"{hook} pref {pref}"
    # All of it is the name: it is what tells one rule of a range from the next.
    return (" ".join([place, *[_pair(*pair) for pair in match if isinstance(pair, tuple)]]),)


def _neighbour(key: Key) -> tuple[str, ...]:
    link, address, proxy = key
    return (str(link), str(address), *(("proxy",) if proxy else ()))


def _fdb(key: Key) -> tuple[str, ...]:
    return tuple(f"{name} {field}".lstrip() for name, field in zip(_OF_FDB, key, strict=False) if field)


def _mdb(key: Key) -> tuple[str, ...]:
    link, port, group, vid, src = key
    return (f"{link} {port} {group}", *([f"vid {vid}"] if vid else ()), *([f"src {src}"] if src else ()))


def _action(key: Key) -> tuple[str, ...]:
    return (" ".join(_fields(key)),)


_TITLES: Mapping[str, Callable[[Key], tuple[str, ...]]] = {
    "route": _route,
    "rule": _rule,
    "filter": _filter,
    "neighbour": _neighbour,
    "fdb": _fdb,
    "mdb": _mdb,
    "action": _action,
}
"""The names of objects whose keys say more than a name and a number."""


def _pair(name: Value, value: Value) -> str:
    return str(name) if value is True else f"{name} {value_text(value)}"


def value_text(value: Value) -> str:
    """A value as one would write it."""
    if isinstance(value, str):  # first, as it is what most are
        return value
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ",".join(map(value_text, value))
    if isinstance(value, Mapping):
        return f"({_record_text(value)})"
    return str(value)


def _record_text(record: Mapping[str, Value]) -> str:
    if record.get("kind") == "police":
        record = {name: rate_text(value) if name in _RATES else value for name, value in record.items()}
    if _PLAIN.issuperset(map(type, record.values())) and KEY_FILES.isdisjoint(record):  # as of very many rules
        return " ".join(map(_PAIR, record.items()))
    return " ".join([_told(*pair) for pair in record.items()])


def _attr_text(obj: Object, name: str, value: Value, names: Mapping[int, str]) -> str:
    if obj.cls in _IN_UNITS and value is not None and (row := row_of(obj, name)) and row.type.text:
        return f"{name} {row.type.text(value)}"
    if name == "group" and isinstance(value, int):
        value = names.get(value, value)
    if name == "up":
        return "up" if value else "down"
    return _told(name, _HIDDEN if obj.cls == "sysctl" and is_secret(obj.key[0]) else value)


def _told(name: str, value: Value) -> str:
    return f"{name} unknown" if name in KEY_FILES and value == ANOTHER_KEY else f"{name} {value_text(value)}"


def _details(net: Net, names: Mapping[int, str]) -> str:
    if net.sign == "-" or not net.after:
        return ""
    obj = net.object
    if net.sign == "~":
        changed = (_changed(name, net, names) for name in net.after)
        return "  ".join(filter(None, changed))
    said_already, usual = _said_already(obj), USUAL.get(obj.cls, NOTHING)
    told = [
        (name, value)
        for name, value in net.after.items()
        if value is not None and name not in said_already and not (name in usual and same(name, usual[name], value))
    ]
    if obj.cls in _TOLD_WHOLE:
        return "  ".join([_attr_text(obj, name, value, names) for name, value in told])
    shown = [(name, value) for name, value in told if value is not False or name in usual]
    said = title(obj) if shown and obj.cls != "filter" else ()  # the name of a rule says what it matches
    texts = [_attr_text(obj, name, value, names) for name, value in shown if value is not True or name not in said]
    return "  ".join([text for text in texts if text not in said])


class _Details:
    """What is told of one object after the other: very many rules have all but their actions in common."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names
        self._last: Attrs = NOTHING
        self._texts: dict[str, str] = {}
        self._known: defaultdict[frozenset[str], dict[tuple[object, ...], str]] = defaultdict(dict)

    def of(self, net: Net) -> str:
        """As ``_details``."""
        after, last = net.after, self._last
        if net.sign == "~" or net.object.cls not in _ALIKE:
            return _details(net, self._names)
        if net.object.cls == "link":
            return self._of_link(net)
        moved: Iterable[str] = compress(after, map(is_not, after.values(), map(last.get, after)))
        if after.keys() != last.keys():
            moved, self._texts = after, dict.fromkeys(after, "")
        for name in moved:
            self._texts[name] = _details(net._replace(after={name: after[name]}), self._names)
        self._last = after
        return "  ".join(filter(None, self._texts.values()))

    def _of_link(self, net: Net) -> str:
        """Of links: what one of them has is what many others have."""
        said_already, after = _said_already(net.object), net.after
        known, values = self._known[said_already], after.values()
        try:
            texts = [*map(known.__getitem__, zip(after, map(type, values), values, strict=True))]
        except (KeyError, TypeError):  # the first to have one of them, or one that has records
            texts = []
            for name, value in after.items():
                kind = type(value)
                pair = (name, kind, value) if kind in _SHARED else ()
                if (text := known.get(pair)) is None:
                    text = "" if name in said_already else _details(net._replace(after={name: value}), self._names)
                    if pair:
                        known[pair] = text
                texts.append(text)
        return "  ".join(filter(None, texts))


def _changed(name: str, net: Net, names: Mapping[int, str]) -> str:
    before, after = net.before.get(name), net.after[name]
    if same(name, after, before):
        return ""
    if name == "peers":
        before, after = _peers_apart(net.before, net.after), _peers_apart(net.after, net.before)
    else:
        before = as_asked(name, before, after)
    old, new = (_attr_text(net.object, name, value, names) for value in (before, after))
    return f"{old} -> {new.removeprefix(name + ' ')}"


def as_asked(name: str, had: Value, said: Value) -> Value:
    """``had`` without what is the same where nothing is ``said``: of an action the kernel tells more than most say."""
    if isinstance(had, Mapping) and isinstance(said, Mapping):
        then = expected(name, said, had)
        return {
            field: value for field, value in had.items() if field in said or not same(field, then.get(field), value)
        }
    if isinstance(had, tuple) and isinstance(said, tuple) and len(had) == len(said):
        return tuple(as_asked(name, *pair) for pair in zip(had, said, strict=True))
    return had


def _peers_apart(some: Attrs, others: Attrs) -> Value:
    """The peers of a tunnel, which may have hundreds, but for those that are in both lists."""
    there = {peer.get("public_key"): peer for peer in records(others, "peers")}
    return tuple(peer for peer in records(some, "peers") if not _is_same_peer(peer, there.get(peer.get("public_key"))))


def _is_same_peer(one: Mapping[str, Value], other: Mapping[str, Value] | None) -> bool:
    return other is not None and (same("peers", one, other) or same("peers", other, one))


def _said_already(obj: Object) -> frozenset[str]:
    """The attributes that say nothing that the name and the kind have not said."""
    if obj.cls == "link":
        attrs = obj.attrs
        if attrs.get("kind") == "vlan" and obj.name == f"{attrs.get('link')}.{attrs.get('id')}":
            return _SAID_BY_A_NAME
        return _SAID_BY_A_NOUN
    if obj.cls == "address" and obj.attrs.get("label") == obj.name:
        return _SAID_BY_A_LABEL
    if obj.cls == "filter" and UNSAID in obj.attrs:
        return _SAID_BY_A_RULE
    return _SAID_BY_A_HANDLE if obj.cls == "qdisc" else _SAID_BY_NOTHING


def text(plan: Plan) -> str:
    """The plan as lines, with the count line last; no line ends in blanks."""
    signs: Counter[str] = Counter()
    lines = [*_lines(_counting(nets(plan), signs), plan.group_names)]
    lines += [f"! {warning}" for warning in plan.warnings]
    return "\n".join([*lines, _counted(signs, messages(plan.steps))])


def _counting(found: Iterable[Net], signs: Counter[str]) -> Iterator[Net]:
    for net in found:
        signs[net.sign] += 1
        yield net


def _lines(found: Iterable[Net], names: Mapping[int, str]) -> Iterator[str]:
    groups: dict[tuple[str, str, str], list[tuple[str, ...]]] = {}
    told: Net | None = None
    telling = _Details(names)
    for net in found:
        # Most changes are the one before again, of another link, and most rules those of one line.
        if told is None or net[:1] != told[:1] or net.after is not told.after or net.before != told.before:
            details, told = telling.of(net), net if net.sign == "~" or net.object.cls == "filter" else None
        if net.sign == "~" and not details and not net.why:
            continue
        called_so = (net.object.name,) if net.object.cls == "link" else title(net.object)  # most are
        row = (*called_so, details, net.why)
        groups.setdefault((net.sign, noun(net.object), _NUMBER.sub("0", net.why) if net.why else ""), []).append(row)
    for (sign, what, _), rows in groups.items():
        patterns = fold(rows, exact=False)
        width = min(_NAME_WIDTH, max(len(name_text(pattern)) for pattern in patterns))
        for pattern in patterns:
            *texts, why = [field_text(pattern, number) for number in range(1, len(pattern.fields))]
            body = "  ".join(filter(None, texts))
            count = f" ({pattern.size})" if pattern.size > 1 else ""
            line = f"{sign} {what} {name_text(pattern):{width}}  {body}".rstrip()
            yield line + count + (f"  # {why}" if why else "")


def summary(plan: Plan) -> str:
    """The count line: what changes, and in how many messages."""
    return _counted(Counter(net.sign for net in nets(plan)), messages(plan.steps))


def _counted(signs: Counter[str], some: int) -> str:
    told = ", ".join(f"{signs[sign]} to {verb}" for sign, verb in _VERBS.items() if signs[sign]) or "no differences"
    return f"{told}; {some} message{'' if some == 1 else 's'}" if signs or some else told


def as_json(plan: Plan) -> list[Json]:
    """Every step, and in it every object."""
    return [step_to(_without_secret(step)) for step in plan.steps]


def _without_secret(step: AnyStep) -> AnyStep:
    if not isinstance(step, Step) or step.object.cls != "sysctl" or not is_secret(step.object.key[0]):
        return step
    hidden: Attrs = {"value": _HIDDEN}
    before, after = (side and side.having(hidden) for side in (step.before, step.after))
    return step._replace(before=before, after=after, attrs=hidden if step.attrs else step.attrs)


def objects_text(objects: Iterable[Object], names: Mapping[int, str]) -> str:
    """Objects as they are, folded: what ``show`` prints."""
    shown = [*objects]
    said = Said(obj for obj in shown if obj.cls == "filter")
    lines = _lines((_shown(obj, said) for obj in shown), names)
    return "\n".join(line.strip() for line in lines)


def _shown(obj: Object, said: Said) -> Net:
    if obj.cls != "filter":
        return Net("", obj, NOTHING, obj.attrs, "")
    return Net("", said.of(obj), NOTHING, said.attrs(obj, obj.attrs), "")
