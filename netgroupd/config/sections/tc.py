# SPDX-License-Identifier: GPL-2.0-or-later
"""The section ``tc``, by link or ``block N`` -> qdiscs, classes, chains and filters.

``ingress`` and ``egress`` are the filters of a hook, which is then owned whole;
``qdiscs``, ``classes``, ``chains`` and ``filters`` are lists of what hangs below
the root.  A filter names its classifier: ``{pref: 10, flower: {dst_ip: …}, action: drop}``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from netgroupd.config.expression import Env
from netgroupd.config.merge import Item
from netgroupd.config.node import Entry, Node, Scalar
from netgroupd.config.node import Mapping as MappingNode
from netgroupd.config.node import Sequence as SequenceNode
from netgroupd.config.ranges import Pattern, compile_text, has_pattern
from netgroupd.config.sections import chains
from netgroupd.config.sections.entries import Compiled, Form, Made, Sink, compile_entries
from netgroupd.config.sections.links import Links
from netgroupd.config.values import Values
from netgroupd.model.attr import Attr
from netgroupd.model.state import Attrs, Key, records
from netgroupd.model.tc import filter as classifier
from netgroupd.model.tc import layers, qdisc, queues
from netgroupd.model.tc.action import shared
from netgroupd.model.tc.bpf import CURRENT
from netgroupd.model.tc.filter import HOLDS
from netgroupd.model.tc.handle import HANDLE
from netgroupd.model.tc.qdisc import BLOCKS
from netgroupd.model.value import Value, word

HOOKS = ("ingress", "egress")
SECTIONS = (*HOOKS, "qdiscs", "classes", "chains", "filters")
_USUAL_PARENT = {"clsact": "clsact", "ingress": "clsact"}
NO_FILTERS = frozenset({"root", "clsact"})

_ROWS = {row.name: row for row in classifier.CLASS.key}
_MATCHES = tuple(
    Attr(kind, known, f"What the classifier {kind} matches.") for kind, known in classifier.RECORDS.items()
)
_ACTION = classifier.CLASS.attrs["actions"]
_ATTRS = {name: row for name, row in classifier.CLASS.attrs.items() if name not in ("kind", "actions", CURRENT, HOLDS)}

FILTER = Form(
    "filter",
    {
        **{name: _ROWS[name] for name in ("parent", "chain", "pref")},
        **{row.name: row for row in _MATCHES},
        "action": _ACTION,
        **_ATTRS,
    },
    frozenset({"parent", "chain", "pref", *(row.name for row in _MATCHES)}),
    frozenset({"pref"}),
)
_QDISC_KEYS = tuple(row for row in qdisc.CLASS.key if row.name != "link")
_CLASS_KEYS = tuple(row for row in qdisc.TCLASS.key if row.name != "link")
_QDISC_KIND = qdisc.CLASS.attrs["kind"]._replace(type=word(8, {kind: place for place, kind in enumerate(qdisc.KINDS)}))


_Rule = tuple[str, Key, Attrs]  # what it hangs on, the key but for where that is, and what it does


class _Place(NamedTuple):
    """One entry of the section: the links or blocks, and what hangs there."""

    item: Item
    pattern: Pattern
    entries: Mapping[str, Entry]


def qdisc_form(kind: str) -> Form:
    """What a qdisc of one kind may say."""
    common = [_QDISC_KIND, qdisc.CLASS.attrs["handle"]]
    if kind not in _USUAL_PARENT:
        common.append(qdisc.CLASS.attrs["stab"])
    elif kind == "ingress":  # of clsact they stand beside the hooks
        common.append(qdisc.CLASS.attrs["ingress_block"])
    rows = {row.name: row for row in (*_QDISC_KEYS, *common)}
    known = qdisc.KINDS[kind]
    return Form("qdisc", {**rows, **known.options}, frozenset({"parent"}), frozenset({"kind", *known.needs}))


def class_form(kind: str) -> Form:
    """What a class of a qdisc of one kind may say."""
    rows = {row.name: row for row in (*_CLASS_KEYS, _QDISC_KIND, qdisc.TCLASS.attrs["parent"])}
    return Form("class", {**rows, **qdisc.KINDS[kind].classes}, frozenset({"classid"}), frozenset({"classid"}))


def expand_tc(items: Sequence[Item], links: Links, sink: Sink) -> None:
    """Make what hangs on every link and block of the section."""
    for item in items:
        pattern = links.values.pattern(item.key, item.at)
        if not isinstance(item.node, MappingNode):
            links.report.error(item.node.at, f"{item.key!r} must be a mapping of {', '.join(SECTIONS)}")
        elif pattern is not None and _are_blocks(item, pattern, links):
            _Expansion(_Place(item, pattern, item.node.entries), links, sink).run()
    queues.settle(sink.classes)


def _are_blocks(item: Item, pattern: Pattern, links: Links) -> bool:
    """Make sure that what begins like a shared block is one; links have no spaces in their names."""
    named = (str(text) for text, _ in pattern.instances()) if item.key.startswith("block ") else iter(())
    wrong = next((name for name in named if not classifier.block_number(name)), None)
    if wrong is not None:
        links.report.error(item.at, f"{wrong!r} is no block", "its number is from 1 to 4294967295, as in block 7")
    return wrong is None


class _Expansion:
    """One entry of the section on its way to its objects."""

    def __init__(self, place: _Place, links: Links, sink: Sink) -> None:
        self.place = place
        self.links = links
        self.values: Values = links.values
        self.sink = sink
        self.kinds: dict[str, str] = {}  # the kind of qdisc by the major number of its handle

    def run(self) -> None:
        """Make everything that the entry holds."""
        for key, entry in self.place.entries.items():
            if key not in (*SECTIONS, *BLOCKS):
                self.values.unknown(key, entry.at, (*SECTIONS, *BLOCKS))
        self._clsact()
        self._qdiscs()
        self._classes()
        self._chains()
        for section in (*HOOKS, "filters"):
            self._filters(section)

    def _names(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        return ((str(text), env) for text, env in self.place.pattern.instances())

    def _node(self, section: str) -> Node | None:
        entry = self.place.entries.get(section)
        return entry.value if entry and not (isinstance(entry.value, Scalar) and entry.value.null) else None

    def _clsact(self) -> None:
        """Where a hook is named, the qdisc that has it."""
        hooks = tuple(hook for hook in HOOKS if hook in self.place.entries)
        given = {name: self.place.entries[name] for name in BLOCKS if name in self.place.entries}
        if not hooks and not given:
            return
        for hook in hooks:
            if f"{hook}_block" in given and self._node(f"{hook}_block") and _holds_entries(self._node(hook)):
                told = f"{hook} is in a shared block, and has no filters of its own"
                hint = f"write them under the block, or leave out {hook}_block"
                self.links.report.error(self.place.entries[hook].at, told, hint)
        record = self.values.record(given, qdisc.CLASS.attrs, self.place.pattern.ranges)
        # Rules of a hook are the link's own, unless the hook is said to be in a block.
        unshared = {f"{hook}_block": None for hook in hooks}
        shared: Attrs = {"kind": "clsact", "hooks": hooks, **unshared, **record.shared}
        entry = Compiled(self.place.item.at, self.place.entries, (), record, {}, shared, frozenset())
        for name, env in self._names():
            if not classifier.block_number(name):
                for made in entry.each(self.values, env, name):
                    self._add_at_hooks(name, made.attrs, entry)

    def _add_at_hooks(self, name: str, attrs: Attrs, entry: Compiled) -> None:
        before = self.sink.classes.get("qdisc", {}).get((name, "clsact"))
        if before and (both := _joined(before.attrs, attrs)):
            self.sink.put(before._replace(attrs=both))
        else:
            self.sink.add("qdisc", (name, "clsact"), attrs, entry)

    def _kinded(self, section: str) -> Iterator[tuple[Node, str]]:
        """The entries of a section with the kind that each says it has."""
        node = self._node(section)
        if node is None:
            return
        for item in [node] if isinstance(node, Scalar | MappingNode) else node.items:
            entry = item.entries.get("kind") if isinstance(item, MappingNode) else None
            kind = self.values.constant(_QDISC_KIND, entry.value) if entry else ""
            if kind is not None:
                yield item, str(kind)

    def _qdiscs(self) -> None:
        for node, kind in self._kinded("qdiscs"):
            if not kind:
                self.links.report.error(node.at, "this qdisc needs 'kind'", f"one of {', '.join(qdisc.KINDS)}")
                continue
            for entry in compile_entries(node, qdisc_form(kind), self.place.pattern.ranges, self.values):
                handle = str(entry.attrs.get("handle", ""))
                if handle:
                    self.kinds[handle.partition(":")[0]] = kind
                for name, env in self._names():
                    for made in entry.each(self.values, env, name):
                        self._add_qdisc(kind, name, made)

    def _add_qdisc(self, kind: str, name: str, made: Made) -> None:
        if (whole := self._whole(queues.whole, kind, made)) is None:
            return
        parent = made.keys.get("parent", _USUAL_PARENT.get(kind, "root"))
        if parent == "clsact":
            self._add_at_hooks(name, whole, made.entry)
        else:
            self.sink.add("qdisc", (name, parent), whole, made.entry)

    def _whole(self, complete: Callable[[str, Attrs], Attrs], kind: str, made: Made) -> Attrs | None:
        try:
            return complete(kind, made.attrs)
        except ValueError as error:
            told, _, hint = str(error).partition("; ")
            unread = made.entry.entries.keys() - made.attrs.keys() - made.keys.keys()  # which is told already
            if not unread:
                self.links.report.once(made.entry.place(told.partition(":")[0]), told, hint)
            return None

    def _classes(self) -> None:
        for node, said in self._kinded("classes"):
            kind = said or self._kind_of(node)
            if not kind:
                told, hint = "this class needs 'classid'", 'such as "1:10"'
                if isinstance(node, MappingNode) and "classid" in node.entries:
                    told = "no qdisc here has such a class"
                    hint = "describe its qdisc with this handle, or say which `kind` it is"
                self.links.report.error(node.at, told, hint)
                continue
            for entry in compile_entries(node, class_form(kind), self.place.pattern.ranges, self.values):
                for name, env in self._names():
                    for made in entry.each(self.values, env, name):
                        self._add_class(kind, name, made)

    def _add_class(self, kind: str, name: str, made: Made) -> None:
        classid = made.keys.get("classid")
        if classid and (whole := self._whole(queues.whole_class, kind, made)) is not None:
            below = f"{str(classid).partition(':')[0]}:"
            self.sink.add("tclass", (name, classid), {"parent": below, **whole, "kind": kind}, made.entry)

    def _kind_of(self, node: Node) -> str:
        """The kind of the qdisc that a class is of, by its handle; of several, where all are of one."""
        entry = node.entries.get("classid") if isinstance(node, MappingNode) else None
        text = entry.value.text if entry and isinstance(entry.value, Scalar) else ""
        with suppress(ValueError):  # told when it is read
            majors = {str(HANDLE.parse(f"{major}:")) for major, _ in compile_text(text.partition(":")[0]).instances()}
            kinds = {self.kinds.get(major.partition(":")[0], "") for major in majors}
            return kinds.pop() if len(kinds) == 1 else ""
        return ""

    def _chains(self) -> None:
        node = self._node("chains")
        if node is None:
            return
        form = chains.FORM_OF_BLOCK if self.place.item.key.startswith("block ") else chains.FORM
        for entry in compile_entries(node, form, self.place.pattern.ranges, self.values):
            if wrong := chains.wrong(entry):
                self.links.report.error(*wrong)
                continue
            if not self._hangs(entry):
                continue
            for name, env in self._names():
                for made in entry.each(self.values, env, name):
                    if made.keys.keys() >= form.required | (entry.entries.keys() & form.keys):
                        self._add_chain(made)

    def _add_chain(self, made: Made) -> None:
        name, keys, attrs, entry = made
        if wrong := chains.too_high(made):
            self.links.report.once(*wrong)
        template = attrs.get("flower")
        if isinstance(template, Mapping):
            attrs = {**attrs, "flower": self._fitted(entry, template, attrs)}
        parent = "" if classifier.block_number(name) else keys["parent"]
        self.sink.add("chain", (name, parent, chains.number_of(made)), attrs, entry)

    def _filters(self, section: str) -> None:
        node = self._node(section)
        if node is None:
            return
        for entry in compile_entries(node, FILTER, self.place.pattern.ranges, self.values):
            kind = self._classifier(entry)
            if not kind or not self._parent_fits(section, entry) or not self._flags_fit(kind, entry):
                continue
            whole = self._with_kind(entry, kind)
            rules: list[_Rule] = []
            varies = None
            for name, env in self._names():
                if varies is None:
                    varies = whole.depends_on(env)
                if varies or not rules:
                    rules = list(self._rules(whole, kind, name, env))
                for parent, rest, attrs in rules:
                    hook = "" if classifier.block_number(name) else section if section in HOOKS else parent
                    self.sink.add("filter", (name, hook, *rest), attrs, entry)

    def _rules(self, entry: Compiled, kind: str, name: str, env: Env) -> Iterator[_Rule]:
        """The rules that an entry gives under one link."""
        look, then = _looked_at(entry) if kind == "flower" else (False, False)
        for _, keys, attrs, _ in entry.each(self.values, env, name):
            match, pref, number = keys.get(kind), keys.get("pref"), keys.get("chain", 0)
            if isinstance(match, Mapping) and isinstance(pref, int) and isinstance(number, int):  # or told already
                if look:
                    match = self._fitted(entry, match, attrs)
                    look = then
                yield str(keys.get("parent", "")), classifier.key("", "", number, pref, match)[2:], attrs

    def _fitted(self, entry: Compiled, match: Mapping[str, Value], attrs: Attrs) -> Mapping[str, Value]:
        """What of flower the kernel will read and tell, which depends on the protocol."""
        try:
            return layers.fitted(match, attrs.get("protocol", "all"))
        except ValueError as error:
            told, _, hint = str(error).partition("; ")
            written, name = _written(entry, "flower"), told.partition(":")[0]
            place = written[name].value.at if name in written else entry.place("flower")
            self.links.report.once(place, told, hint)
            return match

    def _classifier(self, entry: Compiled) -> str:
        named = [kind for kind in classifier.RECORDS if kind in entry.entries]
        if len(named) == 1:
            return named[0]
        many = f"has {' and '.join(named)}, of which it can have one" if named else "does not say what it matches"
        hint = "" if named else "as in flower: {dst_ip: 10.0.0.1}, or matchall: {}"
        self.links.report.error(entry.at, f"this filter {many}", hint)
        return ""

    def _parent_fits(self, section: str, entry: Compiled) -> bool:
        if section in HOOKS:
            if "parent" not in entry.entries:
                return True
            self.links.report.error(entry.place("parent"), f"a filter under `{section}` has no other parent")
            return False
        return self._hangs(entry)

    def _hangs(self, entry: Compiled) -> bool:
        """Make sure that filters and chains hang on what can have some: a block has one place for them."""
        if self.place.item.key.startswith("block "):
            return True
        parent = entry.keys.get("parent", "" if "parent" in entry.entries else "root")
        if parent in NO_FILTERS:
            told = "this filter needs 'parent'" if "parent" not in entry.entries else f"no filters hang on {parent}"
            hint = "a handle like 1: or 1:10, or ingress or egress"
            self.links.report.error(entry.place("parent"), told, hint)
        return parent not in NO_FILTERS

    def _flags_fit(self, kind: str, entry: Compiled) -> bool:
        wrong = [name for name, kinds in classifier.FLAGS_OF.items() if name in entry.entries and kind not in kinds]
        for name in wrong:
            told = f"{kind} has no {name}"
            self.links.report.error(entry.place(name), told, f"it is of {', '.join(classifier.FLAGS_OF[name])}")
        if entry.attrs.get("skip_hw") and entry.attrs.get("skip_sw"):
            self.links.report.error(entry.place("skip_sw"), "a filter that is in hardware alone cannot skip it", "")
            return False
        return not wrong

    def _with_kind(self, entry: Compiled, kind: str) -> Compiled:
        """Say of the filter what it is, and that it is for all protocols where it does not say."""
        attrs: dict[str, Value] = {"kind": kind, "protocol": "all", **entry.attrs}
        matched = entry.entries[kind].value
        if kind == "bpf" and isinstance(matched, MappingNode) and "pinned" in matched.entries:
            attrs[CURRENT] = True
        of_others = any(shared(action["kind"]) for action in records(attrs, "actions"))
        if of_others and kind in classifier.FLAGS_OF["skip_hw"]:  # the kernel takes it with none of these alone
            attrs = {"skip_hw": False, "skip_sw": False, **attrs}
        return entry._replace(attrs=attrs)


def _joined(before: Attrs, attrs: Attrs) -> Attrs | None:
    """What two entries say of the hooks of one link, of which one may name none; None where they do not agree."""
    apart = any(attrs.get(name, value) != value for name, value in before.items() if name != "hooks")
    if apart or "hooks" not in {*before, *attrs}:
        return None
    named = {name for one in (before, attrs) for name in one.get("hooks", ())}  # type: ignore[union-attr]  # tuples
    return {**before, **attrs, "hooks": tuple(hook for hook in HOOKS if hook in named)}


def _holds_entries(node: Node | None) -> bool:
    return node is not None and not (isinstance(node, SequenceNode) and not node.items)


def _written(entry: Compiled, kind: str) -> Mapping[str, Entry]:
    """The keys of what an entry matches, as they are written."""
    node = entry.entries[kind].value if kind in entry.entries else None
    return node.entries if isinstance(node, MappingNode) else {}


class _Looked(NamedTuple):
    """Which rules of an entry the kernel may not read or tell in full: the first stands for all, or each its own."""

    first: bool
    each: bool


def _looked_at(entry: Compiled) -> _Looked:
    written = {name: one.value for name, one in _written(entry, "flower").items()}
    deciding = [written[name] for name in layers.DECIDING & written.keys()]
    deciding += [entry.entries["protocol"].value] if "protocol" in entry.entries else []
    vain = any(_may_be_vain(written[name]) for name in layers.ADDRESSES & written.keys())
    needy = vain or bool(layers.NEEDY & written.keys())
    return _Looked(
        needy, vain or (needy and any(isinstance(one, Scalar) and has_pattern(one.text) for one in deciding))
    )


def _may_be_vain(address: Node) -> bool:
    """Whether no bit of an address counts, as far as it can be told before ranges are read."""
    length = address.text.partition("/")[2] if isinstance(address, Scalar) else ""
    return length == "0" or (bool(length) and not length.isdigit())
