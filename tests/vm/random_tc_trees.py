# SPDX-License-Identifier: GPL-2.0-or-later
"""Random trees of queues: a qdisc, its classes, some with another tree below, leaves, and the rules that choose."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.vm.random_tc_rules import Groups, draw_groups, touch_groups
from tests.vm.tc_flower_cases import Raw
from tests.vm.tc_qdisc_cases import BOUNDED, CLASSES, QDISCS, STABS

_CLASSFUL = ("htb", "hfsc", "drr", "prio", "ets")
_WITH_BANDS = ("prio", "ets")
_WITH_RULES_OF_CLASSES = ("htb", "hfsc")
_OF_QUEUES = ("mq", "mqprio", "taprio")
_CLASSES = range(1, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """What hangs below the root of a link, or below a class of another tree."""

    root: Raw = field(default_factory=dict)
    classes: Mapping[int, Raw] = field(default_factory=dict)
    leaves: Mapping[int, Raw] = field(default_factory=dict)
    rules: Groups = field(default_factory=dict)
    of_classes: Mapping[int, Groups] = field(default_factory=dict)
    below: Mapping[int, "Tree"] = field(default_factory=dict)

    def text(self) -> dict[str, object]:
        """The tree as a file has it: a leaf is in a class that is there and has no other below it."""
        if not self.root:
            return {}
        qdiscs, classes = [self.root], [*self.classes.values()]
        filters = [*self._filters()]
        for number in self._ends():
            if number in self.below:
                inner = self.below[number].text()
                qdiscs += inner.get("qdiscs", ())  # type: ignore[arg-type]  # lists of ours
                classes += inner.get("classes", ())  # type: ignore[arg-type]
                filters += inner.get("filters", ())  # type: ignore[arg-type]
            elif number in self.leaves:
                qdiscs.append(self.leaves[number])
        said: dict[str, object] = {"qdiscs": qdiscs, "classes": classes, "filters": filters}
        return {name: entries for name, entries in said.items() if entries}

    def _ends(self) -> list[int]:
        """The classes that may have a qdisc."""
        above = {said["parent"] for said in self.classes.values()}
        there = 2 if self.root["kind"] in _WITH_BANDS else 4 if self.root["kind"] in _OF_QUEUES else 0
        numbers = sorted({*self.leaves, *self.below})
        free = [number for number in numbers if number <= there or number in self.classes]
        return [number for number in free if f"{self.root['handle']}{number}" not in above]

    def _filters(self) -> Iterator[Raw]:
        handle = self.root["handle"]
        if self.root["kind"] in _CLASSFUL:
            yield from ({"parent": handle, **rule} for group in self.rules.values() for rule in group)
        for number, groups in self.of_classes.items():
            if number in self.classes:
                parent = f"{handle}{number}"
                yield from ({"parent": parent, **rule} for group in groups.values() for rule in group)


def _options(rng: random.Random, kind: str) -> Raw:
    """Some options of a qdisc that go together."""
    cases: list[Raw] = [
        {**base, name: value} for name, (base, *values) in QDISCS.get(kind, {}).items() for value in values
    ]
    cases += [said for name, *both in BOUNDED if name == kind for said in both]
    cases += [said for name, *both in STABS if name == kind for said in both]
    said = dict(rng.choice(cases or [{}]))
    return {"kind": kind, **said}


def _class(rng: random.Random, kind: str, number: int, handle: str) -> Raw:
    options = CLASSES[kind]
    name = rng.choice(tuple(options))
    base, *values = options[name]
    above = range(1, number) if kind != "drr" else ()
    parent = rng.choice([handle, *(f"{handle}{each}" for each in above)])
    return {"classid": f"{handle}{number}", "parent": parent, **base, name: rng.choice(values)}


def _leaf(rng: random.Random, number: int, handle: str) -> Raw:
    kind = rng.choice([kind for kind in QDISCS if kind not in (*_OF_QUEUES, *CLASSES)])
    below = f"{int(handle[:-1], 16) * 16 + number:x}:"
    return {"parent": f"{handle}{number}", "handle": below, **_options(rng, kind), "stab": None}


def draw(rng: random.Random, *, queues: bool = False) -> Tree:
    """A tree, of what has ``queues`` one that may be over these."""
    if rng.random() < 0.2:
        return Tree()
    kinds = [kind for kind in (*QDISCS, *_CLASSFUL * 3) if kind not in _OF_QUEUES]
    kind = rng.choice([*kinds, *(_OF_QUEUES * 3 if queues else ()), "noqueue"])
    return _of_kind(rng, kind, "1:")


def _of_kind(rng: random.Random, kind: str, handle: str, depth: int = 0) -> Tree:
    numbers = sorted(rng.sample(_CLASSES, rng.randint(0, 4))) if kind in CLASSES else []
    numbers = [number for number in numbers if number == numbers[0] or number - 1 in numbers]
    drawn = {number: _class(rng, kind, number, handle) for number in numbers}
    return Tree(
        root={"handle": handle, **_options(rng, kind)},
        classes=_rooted(drawn, handle),
        leaves={number: _leaf(rng, number, handle) for number in _CLASSES if rng.random() < 0.5},
        rules=draw_groups(rng, "1:", 3) if not depth else {},
        of_classes=_of_classes(rng, kind, numbers) if not depth else {},
        below=_below(rng, handle, depth),
    )


def _of_classes(rng: random.Random, kind: str, numbers: list[int]) -> Mapping[int, Groups]:
    """Rules of classes; of u32 all of a link are told together."""
    if kind not in _WITH_RULES_OF_CLASSES:
        return {}
    drawn = {number: draw_groups(rng, "1:", 2) for number in numbers if rng.random() < 0.3}
    return {
        number: {at: rules for at, rules in groups.items() if "u32" not in rules[0]} for number, groups in drawn.items()
    }


def _below(rng: random.Random, handle: str, depth: int) -> Mapping[int, Tree]:
    """Trees below classes."""
    numbers = [number for number in _CLASSES if depth < 2 and rng.random() < 0.15]
    return {number: _inner(rng, number, handle, depth + 1) for number in numbers}


def _inner(rng: random.Random, number: int, handle: str, depth: int) -> Tree:
    own = f"{int(handle[:-1], 16) * 16 + number:x}:"
    tree = _of_kind(rng, rng.choice(_CLASSFUL), own, depth)
    root = _placed(f"{handle}{number}", tree.root)
    return Tree(root=root, classes=tree.classes, leaves=tree.leaves, below=tree.below)


def _rooted(classes: Mapping[int, Raw], handle: str) -> Mapping[int, Raw]:
    """The classes, where one whose class above is not there is below the qdisc."""
    there = {said["classid"] for said in classes.values()}
    return {
        number: said if said["parent"] in there else {**said, "parent": handle}
        for number, said in sorted(classes.items())
    }


def touch(rng: random.Random, tree: Tree) -> Tree:
    """The tree after somebody has worked on it."""
    if not tree.root:
        return draw(rng)
    kind, handle = str(tree.root["kind"]), str(tree.root["handle"])
    if rng.random() < 0.15 and kind in _CLASSFUL:
        return _of_another_kind(rng, tree)
    root = tree.root if rng.random() < 0.6 else _asked_anew(rng, tree.root)
    classes = {number: said for number, said in tree.classes.items() if rng.random() < 0.7}
    for number in _CLASSES if kind in CLASSES else ():
        if rng.random() < 0.2:
            classes[number] = _class(rng, kind, number, handle)
    leaves = {
        number: leaf if rng.random() < 0.6 else _leaf(rng, number, handle) for number, leaf in tree.leaves.items()
    }
    of_classes = {
        number: {at: rules for at, rules in touch_groups(rng, groups, "1:").items() if "u32" not in rules[0]}
        for number, groups in tree.of_classes.items()
    }
    below = {number: touch(rng, inner) for number, inner in tree.below.items() if rng.random() < 0.8}
    rules = touch_groups(rng, tree.rules, "1:") if "parent" not in root else {}
    return Tree(
        root=root, classes=_rooted(classes, handle), leaves=leaves, rules=rules, of_classes=of_classes, below=below
    )


def _of_another_kind(rng: random.Random, tree: Tree) -> Tree:
    """The tree below a qdisc of another kind, which has the same rules and leaves."""
    handle = str(tree.root["handle"])
    other = _of_kind(rng, rng.choice(_CLASSFUL), handle, depth=2)
    root = _placed(tree.root["parent"], other.root) if "parent" in tree.root else other.root
    return Tree(root=root, classes=other.classes, leaves=tree.leaves, rules=tree.rules, below=tree.below)


def _asked_anew(rng: random.Random, root: Raw) -> Raw:
    """A qdisc with other options where it was."""
    other = {"handle": root["handle"], **_options(rng, str(root["kind"]))}
    return _placed(root["parent"], other) if "parent" in root else other


def _placed(parent: object, root: Raw) -> Raw:
    """The same below a class: what it says of its own classes by name is of those of the root."""
    return {"parent": parent, **{name: value for name, value in root.items() if name != "default"}, "stab": None}
