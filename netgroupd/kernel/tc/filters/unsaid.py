# SPDX-License-Identifier: GPL-2.0-or-later
"""(a rule of a dump) -> whether it has more than a configuration can say.

Others may have put one where all rules are owned.  It must be seen, to be deleted,
and must not be taken for one that matches more than it does, or does another thing.
"""

from collections.abc import Callable, Mapping

from netgroupd.kernel.tc import ematches, flower
from netgroupd.kernel.tc.classifiers import Found
from netgroupd.model.state import Key, Object
from netgroupd.model.tc.action import FIELDS, shared
from netgroupd.model.tc.filter import AGAIN
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNSAID

Fields = Mapping[str, Value]

# By what they are called in the kernel's headers without TCA_FLOWER_, TCA_U32_ and their like.
_KNOWN: Mapping[str, frozenset[int]] = {
    "flower": flower.NUMBERS | {1, 3, 22, 86},
    "matchall": frozenset(range(1, 6)),
    "u32": frozenset(range(1, 13)),
    "fw": frozenset({1, 2, 4, 5}),
    "basic": frozenset(range(1, 7)),
    "bpf": frozenset(range(1, 12)),
    "flow": frozenset({*range(1, 11), 12}),
}


TWICE = frozenset({"u32", "basic", "bpf", "flow"})
"""The classifiers of which the kernel takes several rules that match the same."""


def _is_somewhere(match: Fields) -> bool:
    """A program that was loaded from a file has the name of a section, or none."""
    return "bytecode" in match or str(match.get("pinned", "")).startswith("/")


_SAYS_ALL: Mapping[str, Callable[[Fields], bool]] = {
    "basic": lambda match: not str(match.get("match", "")).startswith(ematches.UNKNOWN),
    "bpf": _is_somewhere,
}


def matches_more(kind: str, options: Found, match: Fields) -> bool:
    """Whether what a rule has beside its actions is more than ``match``."""
    says_all = _SAYS_ALL.get(kind)
    return not options.keys() <= _KNOWN[kind] or (says_all is not None and not says_all(match))


def does_more(actions: Value) -> bool:
    """Whether an action of a rule is of a kind that netgroupd does not know."""
    assert isinstance(actions, tuple)
    return any(
        isinstance(action, Mapping) and action["kind"] not in FIELDS and not shared(action["kind"])
        for action in actions
    )


def named(rule: Object) -> Key:
    """The key of a rule that is told from others by what the kernel calls it."""
    *place, match = rule.key
    assert isinstance(match, tuple)
    handle = rule.attrs["handle"]
    assert isinstance(handle, int)
    said = (("protocol", rule.attrs["protocol"]), ("kind", rule.attrs["kind"]), ("handle", hex(handle)))
    return (*place, (*match, *said))


def unsayable(rule: Object) -> Object:
    """A rule of which only what the kernel calls it can be said."""
    return rule._replace(key=named(rule), attrs={**rule.attrs, UNSAID: True})


def told_apart(rules: list[Object]) -> list[Object]:
    """The rules of a hook as the kernel asks them; one that matches the same as another before it has no other name."""
    seen = set[Key]()
    found: list[Object] = []
    for rule in rules:
        again = rule[2]["kind"] in TWICE and rule[1] in seen
        found.append(rule._replace(key=named(rule), attrs={**rule.attrs, UNSAID: AGAIN}) if again else rule)
        seen.add(rule[1])
    return found
