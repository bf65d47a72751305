# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of traffic control that the kernel never takes where they are, or never tells of."""

from collections.abc import Iterator
from typing import NamedTuple

from netgroupd.config.checked import Checked
from netgroupd.config.sections.entries import told
from netgroupd.model.state import Object, records
from netgroupd.model.tc.action import shared
from netgroupd.model.tc.filter import block_number

_ON_CLSACT = frozenset({"", "ingress", "egress"})  # a block has no name for its one place


class _Wrong(NamedTuple):
    """Which key of an entry is wrong, what is, and why."""

    key: str
    told: str
    hint: str


def taken_rules(checked: Checked) -> None:
    """Every rule is one that the kernel takes and tells of."""
    for rule in checked.rules:
        for wrong in _wrong(rule):
            place = checked.entry(rule).place(wrong.key)
            checked.report.once(place, f"{told('filter', rule.key)} {wrong.told}", wrong.hint)


def taken_hooks(checked: Checked) -> None:
    """No link has both of its hooks in one block."""
    for qdisc in checked.state.of("qdisc").values():
        if (number := qdisc.attrs.get("ingress_block")) and qdisc.attrs.get("egress_block") == number:
            place = checked.entry(qdisc).place("egress_block")
            told_ = f"both hooks of {qdisc.name} cannot be in block {number}"
            checked.report.once(place, told_, "the kernel has a link once in a block; give one hook a block of its own")


def _wrong(rule: Object) -> Iterator[_Wrong]:
    kind, match = rule.attrs["kind"], dict(rule.key[4])  # type: ignore[arg-type]  # pairs, as filter.key makes
    actions = records(rule.attrs, "actions")
    if kind == "fw" and not actions and rule.attrs.get("classid") is None:
        yield _Wrong("fw", "needs a classid or an action", "the kernel does not tell of one with neither")
    if kind == "flow" and "baseclass" not in match and block_number(rule.name):
        yield _Wrong("flow", "needs a baseclass other than the first", "a block has no qdisc whose classes it could be")
    if rule.key[1] not in _ON_CLSACT and any(str(action["kind"]).partition(" ")[0] == "ct" for action in actions):
        yield _Wrong("action", "cannot have ct", "the kernel takes that at ingress and egress, and in blocks")
    flag = next((name for name in ("skip_hw", "skip_sw") if rule.attrs.get(name)), "")
    if flag and any(shared(action["kind"]) for action in actions):
        hint = "the kernel takes those only without; give it an action of its own, or let it be for both"
        yield _Wrong(flag, f"cannot have {flag} beside an action that is shared", hint)
