# SPDX-License-Identifier: GPL-2.0-or-later
"""One dump of filters for each hook, filtered by the kernel, and rules out of its messages.

All chains of a hook are owned, so none is asked for alone.  A terse dump would tell
handles, kinds of actions and cookies alone.  With a digest of each rule as its cookie
that is enough to see that nothing differs, but it saves a third of the bytes and less
of the time, and rules of one line would no longer have their actions in common, which
costs more where they are put in: bench/tc.py has the figures.
"""

from collections import Counter
from collections.abc import Mapping, Set
from itertools import groupby

from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.message import attributes
from netgroupd.kernel.netlink.request import Context, Selection
from netgroupd.kernel.tc import programs, u32_listed
from netgroupd.kernel.tc import u32 as words
from netgroupd.kernel.tc.actions.codec import has_shared, held_by
from netgroupd.kernel.tc.classifiers import BPF_FLAGS, CLASSIFIERS, PROGRAM, SKIP_HW, SKIP_SW
from netgroupd.kernel.tc.filters.seen import KINDS, Seen
from netgroupd.kernel.tc.filters.stuck import told_alone, told_around, told_until
from netgroupd.kernel.tc.filters.unsaid import (
    TWICE,
    does_more,
    matches_more,
    named,
    told_apart,
    unsayable,
)
from netgroupd.kernel.tc.qdiscs import hooks_of_rules
from netgroupd.kernel.tc.tcmsg import CHAIN, HEADER, KIND, OPTIONS, RTM_GETTFILTER, Located
from netgroupd.model.collector import uncollected
from netgroupd.model.state import Key, Object
from netgroupd.model.tc.filter import HOLDS, SHARES
from netgroupd.model.tc.filter import key as key_of
from netgroupd.model.tc.handle import handle_text
from netgroupd.model.tc.protocol import protocol_name, swapped
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNSAID

_LAST_FIRST = frozenset({"basic", "bpf"})


def dump(context: Context, selection: Selection) -> list[Object]:
    """The rules of the selected hooks."""
    found: list[Object] = []
    seen = Seen(selection.rules, handles=selection.handles)
    for hook in hooks_of_rules(context, selection):
        place = hook.place
        asked = message.request(RTM_GETTFILTER, message.NLM_F_DUMP, place.header())
        decoder = Decoder(context.names, hook, seen, taken=selection.taken, everything=selection.everything)
        what = f"dump of filters of {hook.where} {hook.parent}".rstrip()
        with uncollected():
            rules, begun = told_until(context.socket, asked, what, place, decoder)
            rules, stuck = told_around(context.socket, place, what, decoder) if begun else (rules, [])
            rules += told_alone(context.socket, place, what, decoder, decoder.left_out())
        rules += map(decoder.begun, filter(place.has, stuck))
        for hung in decoder.mixed():
            rules = u32_listed.without_others(context.socket, place, hung, rules)
        found += rules if TWICE.isdisjoint(decoder.kinds) else _as_made(told_apart(rules))
    return found


def _as_made(rules: list[Object]) -> list[Object]:
    """The rules in the order in which they came: of some the kernel asks, and tells, the last of a preference first."""
    groups = groupby(rules, lambda rule: (rule.key[:4], rule.attrs["kind"] in _LAST_FIRST))
    return [rule for (_, turned), found in groups for rule in (reversed([*found]) if turned else [*found])]


class Decoder:
    """Makes rules out of the messages of one hook."""

    def __init__(
        self,
        names: Names,
        hook: Located,
        seen: Seen,
        *,
        taken: Set[Key] = frozenset(),
        everything: bool = False,
    ) -> None:
        """Also note which rules have ``taken`` for themselves; ``everything``: which share what a capture asks for."""
        self._names = names
        self._taken = taken
        self._everything = everything
        self._hook = hook
        self._seen = seen
        self._own_tables: Counter[u32_listed.Hung] = Counter()
        self._of_matchall: set[Key] = set()
        self.kinds: set[Value] = set()
        """The classifiers of the rules."""

    def skim(self, packet: memoryview, found: list[Object]) -> int:
        """Read what a packet begins with of rules like those that were read; where it ends."""
        return 0 if self._taken else self._seen.skim(packet, found, self._hook)

    def read(self, payload: memoryview) -> Object | None:
        """The rule of a message; None where it tells of what rules hang on."""
        handle, info = HEADER.unpack_from(payload)[4::2]
        found = attributes(payload, HEADER.size)
        rule = self._bare(payload, found)
        kind, chain = str(rule.attrs["kind"]), rule.key[2]
        self.kinds.add(kind)
        if kind == "matchall":
            (self._of_matchall.discard if handle else self._of_matchall.add)(rule.key[2:4])
        if not handle:
            return None
        assert isinstance(chain, int)
        if kind not in CLASSIFIERS:
            return unsayable(rule)
        if OPTIONS not in found:
            return None
        options = CLASSIFIERS[kind].said(attributes(found[OPTIONS]))
        if kind == "u32" and words.is_own_table(options, handle):
            self._own_tables[u32_listed.Hung(chain, info)] += 1
            return None
        rule = self._described(rule, kind, options, handle)
        if kind in KINDS and UNSAID not in rule.attrs and not (kind == "u32" and words.SEL not in options):
            self._seen.note(payload, rule, self._names)
        return rule

    def begun(self, payload: bytes) -> Object:
        """The rules of a preference of which the kernel tells no more than that there are some."""
        told = memoryview(payload)
        return unsayable(self._bare(told, attributes(told, HEADER.size)))

    def _bare(self, payload: memoryview, found: Mapping[int, memoryview]) -> Object:
        """A rule without what it matches."""
        handle, info = HEADER.unpack_from(payload)[4::2]
        kind = bytes(found[KIND]).rstrip(b"\0").decode()
        chain = int.from_bytes(found[CHAIN], "little") if CHAIN in found else 0
        protocol = protocol_name(swapped(info & 0xFFFF))
        key = key_of(self._hook.where, self._hook.parent, chain, info >> 16, {})
        return Object("filter", key, {"kind": kind, "protocol": protocol, "handle": handle})

    def _described(self, bare: Object, kind: str, options: Mapping[int, memoryview], handle: int) -> Object:
        match = CLASSIFIERS[kind].unpack(options, handle)
        attrs = {**bare.attrs, **self._attrs(kind, options)}
        if kind == "bpf":
            attrs |= programs.current(match, options, PROGRAM)
        rule = Object("filter", (*bare.key[:4], tuple(sorted(match.items()))), attrs)
        more = matches_more(kind, options, match)
        if more or does_more(attrs["actions"]):
            return rule._replace(key=named(rule) if more else rule.key, attrs={**attrs, UNSAID: True})
        return rule

    def _held(self, actions: memoryview) -> tuple[str, ...]:
        own = (one for one in held_by(actions) if not one.stands)
        return tuple(f"{one.kind} {one.number}" for one in own if (one.kind, one.number) in self._taken)

    def left_out(self) -> list[Key]:
        """The chains and preferences of `matchall` that have begun, and of which no rule has come."""
        return [*self._of_matchall]

    def mixed(self) -> list[u32_listed.Hung]:
        """Where the kernel has listed u32 rules of another chain or hook as well."""
        return [hung for hung, tables in self._own_tables.items() if tables > 1]

    def _attrs(self, kind: str, options: Mapping[int, memoryview]) -> dict[str, Value]:
        form = CLASSIFIERS[kind]
        bits = int.from_bytes(options[form.flags], "little") if form.flags in options else 0
        attrs: dict[str, Value] = {
            "actions": self._seen.actions.read(options[form.actions], self._names) if form.actions in options else (),
            "skip_hw": bool(bits & SKIP_HW),
            "skip_sw": bool(bits & SKIP_SW),
        }
        if self._taken and form.actions in options and (held := self._held(options[form.actions])):
            attrs[HOLDS] = held
        if self._everything and form.actions in options and has_shared(options[form.actions]):
            attrs[SHARES] = True
        if form.classid in options:
            attrs["classid"] = handle_text(int.from_bytes(options[form.classid], "little"))
        if kind == "bpf":
            attrs["direct_action"] = bool(BPF_FLAGS in options and options[BPF_FLAGS][0] & 1)
        return attrs
