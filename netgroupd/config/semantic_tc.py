# SPDX-License-Identifier: GPL-2.0-or-later
"""What each rule of traffic control alone cannot tell: the others of its preference, and actions that it shares.

Rules of one entry have their attributes in common, and are looked at once.
"""

from netgroupd.config.checked import Checked, records
from netgroupd.config.entries import told
from netgroupd.model.state import Attrs, Key
from netgroupd.model.tc.action import shared


def shared_actions(checked: Checked) -> None:
    """Every action that a filter has together with others is described."""
    described = checked.state.of("action")
    seen: Attrs = {}
    for obj in checked.state.of("filter").values():
        if obj.attrs is seen:
            continue
        seen = obj.attrs
        for record in records(seen, "actions"):
            if (key := shared(record["kind"])) and key not in described:
                told_, hint = f"there is no action {record['kind']!r}", "describe it under `actions`"
                checked.report.once(checked.entry(obj).place("action"), told_, hint)


def preferences(checked: Checked) -> None:
    """The filters of one chain that have one preference are of one kind and for one protocol."""
    first: dict[Key, Key] = {}
    rules = checked.state.of("filter")
    seen: Attrs = {}
    place: Key = ()
    for key, obj in rules.items():
        if obj.attrs is seen and key[:4] == place:
            continue
        seen, place = obj.attrs, key[:4]
        other = rules[first.setdefault(place, key)]
        for name in ("kind", "protocol"):
            mine, theirs = seen.get(name), other.attrs.get(name)
            if mine != theirs:
                there = checked.report.where(checked.entry(other).at)
                told_ = f"{told('filter', key)} is of the {name} {mine}, and another of its pref is of {theirs}"
                hint = f"the other is at {there}; give one of them another pref"
                checked.report.once(checked.entry(obj).at, told_, hint)
                break
