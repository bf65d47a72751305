# SPDX-License-Identifier: GPL-2.0-or-later
"""What each qdisc, class and rule alone cannot tell: the tree of queues of a link, and where in it they are.

A tree is known where the files describe its root and all handles, for then there is
no other qdisc.  Of another one the host may have any part, and that passes.
"""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from netgroupd.config.checked import Checked
from netgroupd.config.node import Scalar
from netgroupd.config.ranges import has_pattern
from netgroupd.config.sections.entries import told
from netgroupd.model.state import Key, Object
from netgroupd.model.tc.filter import block_number
from netgroupd.model.tc.handle import HOOKS
from netgroupd.model.tc.qdisc import KINDS

CLSACT, ROOT = "clsact", "root"
_OF_HOOKS = frozenset({CLSACT, "ingress"})
_HOOKS_HANDLE = "ffff"  # whichever it is said to have
_WITH_CLASSES = frozenset(kind for kind, known in KINDS.items() if known.classes)
_AT_ROOT = frozenset({"mq", "mqprio", "taprio"})
_WITH_INNER = _WITH_CLASSES - {"drr"}  # classes with others below them, and rules on them
_WITH_BANDS = frozenset({"prio", "ets"})
_WITH_QDISCS = frozenset({*_WITH_CLASSES, *_WITH_BANDS, "tbf", "cbs", "red", "netem", *_AT_ROOT})
_WITH_SIZES = frozenset({"", "mq", "mqprio"})  # or who knows
_WITH_RULES = frozenset({*_WITH_CLASSES, *_WITH_BANDS, "fq_codel", "sfq", "cake"})


def queues(checked: Checked) -> None:
    """Every qdisc has a handle of its own and is where its kind can be, and its classes are of its kind."""
    trees = Trees(checked)
    for qdisc in checked.state.of("qdisc").values():
        _place(checked, qdisc)
        _default(checked, qdisc)
        other = trees.qdiscs.get((qdisc.name, _major_of(qdisc)), qdisc)
        if other is not qdisc:
            there = checked.report.where(checked.entry(other).at)
            told_ = f"{qdisc.name} has two qdiscs with the handle {_major_of(qdisc)}:"
            checked.refuse(qdisc, "handle", told_, f"the other is at {there}")
    for tclass in checked.state.of("tclass").values():
        _kind(checked, tclass, trees)
    if not checked.report.failed:  # or what is missing may be what could not be read
        _parents(checked, trees)
        _class_loops(checked)


def _class_loops(checked: Checked) -> None:
    """Every class is below the root, and not below itself."""
    classes, done = checked.state.of("tclass"), set[Key]()
    for start in classes:
        way, key = dict[Key, None](), start
        while key in classes and key not in done and key not in way:
            way[key] = None
            key = (key[0], classes[key].attrs["parent"])
        if key in way:
            loop = [*way][[*way].index(key) :]
            names = " in ".join(str(one[1]) for one in (*loop, key))
            place = checked.entry(classes[key]).place("parent")
            checked.report.once(place, f"classes of {key[0]} are in each other in a loop: {names}")
        done.update(way)


class Trees:
    """The qdiscs by link and major number, and the links all of whose qdiscs are known."""

    def __init__(self, checked: Checked) -> None:
        self.qdiscs: dict[tuple[str, str], Object] = {}
        self.classes = checked.state.of("tclass")
        self.inner: set[Key] = {(tclass.name, tclass.attrs["parent"]) for tclass in self.classes.values()}
        self._whole: dict[str, bool] = {}
        roots = set()
        for qdisc in checked.state.of("qdisc").values():
            major = _major_of(qdisc)
            if major:
                self.qdiscs.setdefault((qdisc.name, major), qdisc)
            self._whole[qdisc.name] = self._whole.get(qdisc.name, True) and bool(major)
            if qdisc.key[1] == ROOT:
                roots.add(qdisc.name)
        self._whole = {link: whole and link in roots for link, whole in self._whole.items()}

    def lacks(self, link: str, parent: str) -> str:
        """What there is not, of a parent that something is to hang on; "" where it is there or may be."""
        major, _, minor = parent.partition(":")
        qdisc = self.qdiscs.get((link, major))
        if qdisc is None:
            return f"there is no qdisc {major}: on {link}" if self._whole.get(link) else ""
        kind = str(qdisc.attrs["kind"])
        if minor and kind in _WITH_CLASSES and (link, parent) not in self.classes:
            return f"there is no class {parent} on {link}"
        if minor and kind in _WITH_BANDS and int(minor, 16) > _bands(qdisc):
            return f"there is no band {parent} on {link}: its {kind} has {_bands(qdisc)}"
        return ""

    def kind(self, link: str, handle: str) -> str:
        """The kind of the qdisc that a handle or class is of; "" where the files do not tell."""
        qdisc = self.qdiscs.get((link, handle.partition(":")[0]))
        return str(qdisc.attrs["kind"]) if qdisc else ""


def _major_of(qdisc: Object) -> str:
    if qdisc.key[1] == CLSACT:
        return _HOOKS_HANDLE
    return str(qdisc.attrs.get("handle") or "").partition(":")[0]


def _bands(qdisc: Object) -> int:
    bands = qdisc.attrs.get("bands", 3)  # of prio, for ets always has some
    assert isinstance(bands, int)
    return bands


def _place(checked: Checked, qdisc: Object) -> None:
    """The kinds that have the hooks are at clsact, and no others are."""
    kind, parent = str(qdisc.attrs["kind"]), str(qdisc.key[1])
    if kind in _OF_HOOKS:
        wanted, fits = "clsact", parent == CLSACT
    elif kind in _AT_ROOT:
        wanted, fits = "root", parent == ROOT
    else:
        wanted, fits = "root or a class like 1:10", parent == ROOT or not parent.isalpha()
    if not fits:
        checked.refuse(qdisc, "parent", f"parent: {kind} is at {wanted}, not at {parent}")


def _default(checked: Checked, qdisc: Object) -> None:
    """A default class that is said by its handle is one of the qdisc's own."""
    entry = checked.entry(qdisc)
    node = entry.entries["default"].value if "default" in entry.entries else None
    if not isinstance(node, Scalar) or ":" not in node.text or has_pattern(node.text):
        return
    major = f"{int(node.text.partition(':')[0], 16):x}:"
    if qdisc.attrs.get("handle") != major:
        hint = "a class of another qdisc cannot be it"
        checked.report.once(node.at, f"default: expected the handle {major} of the qdisc beside it", hint)


def _kind(checked: Checked, tclass: Object, trees: Trees) -> None:
    """A class is in its own qdisc, and of its kind."""
    classid, parent, kind = str(tclass.key[1]), str(tclass.attrs["parent"]), tclass.attrs["kind"]
    if classid.partition(":")[0] != parent.partition(":")[0]:
        checked.refuse(tclass, "parent", f"class {classid} cannot be in {parent}, which is of another qdisc")
    elif kind not in _WITH_CLASSES:
        hint = f"those that are made are of {' or '.join(sorted(_WITH_CLASSES))}"
        checked.refuse(tclass, "", f"no classes are made of {kind}: it has its own, or none", hint)
    elif (actual := trees.kind(tclass.name, classid)) not in ("", kind):
        checked.refuse(tclass, "kind", f"class {classid} is of the kind {kind}, and its qdisc is of {actual}")


def _parents(checked: Checked, trees: Trees) -> None:
    """What hangs on something hangs on what can be there, and can have it."""
    for hung in _hung(checked):
        place = checked.entry(hung.obj).place("parent")
        if lacking := trees.lacks(hung.obj.name, hung.parent):
            hint = "describe it under `classes`" if "no class" in lacking else "describe it under `qdiscs`"
            if "no band" in lacking:
                hint = "raise its `bands`"
            checked.report.missing(place, f"{lacking}, for {told(hung.obj.cls, hung.obj.key)}", hint)
            continue
        kind = trees.kind(hung.obj.name, hung.parent)
        if kind and kind not in hung.kinds:
            told_ = f"{hung.what} can be in {hung.parent} of {hung.obj.name}: it is of the kind {kind}"
            checked.report.once(place, told_, f"only {', '.join(sorted(hung.kinds))} can have some")
        elif hung.obj.cls == "qdisc" and kind not in _WITH_SIZES and hung.obj.attrs.get("stab"):
            told_ = f"the qdisc in {hung.parent} of {hung.obj.name} can have no stab"
            checked.refuse(hung.obj, "stab", told_, "one at root can, or one in a class of mq")
        elif hung.obj.cls == "qdisc" and (hung.obj.name, hung.parent) in trees.inner:
            told_ = f"no qdisc can be in {hung.parent} of {hung.obj.name}: there are classes below it"
            checked.report.once(place, told_)


class _Hung(NamedTuple):
    """What hangs on something: on what, on which kinds of qdiscs it can, and in words that it cannot."""

    obj: Object
    parent: str
    kinds: frozenset[str]
    what: str


def _hung(checked: Checked) -> Iterator[_Hung]:
    """The objects with a parent in the tree; of the rules with one parent the first."""
    for qdisc in checked.state.of("qdisc").values():
        if qdisc.key[1] not in (ROOT, CLSACT):
            yield _Hung(qdisc, str(qdisc.key[1]), _WITH_QDISCS, "no qdisc")
    for tclass in checked.state.of("tclass").values():
        if not str(tclass.attrs["parent"]).endswith(":"):
            yield _Hung(tclass, str(tclass.attrs["parent"]), _WITH_INNER, "no class")
    seen = set()
    for rule in chain(checked.rules, checked.state.of("chain").values()):
        if rule.key[:2] not in seen and rule.key[1] not in HOOKS and not block_number(str(rule.key[0])):
            seen.add(rule.key[:2])
            parent = str(rule.key[1])
            yield _Hung(rule, parent, _WITH_RULES if parent.endswith(":") else _WITH_INNER, "no rules")
