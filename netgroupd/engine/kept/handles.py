# SPDX-License-Identifier: GPL-2.0-or-later
"""Handles of rules that come back: those that they had, unless others of their preference have got them meanwhile."""

from netgroupd.model.state import Key, State


def leave_handles(goal: State, actual: State) -> None:
    """Let the kernel give those of all rules of a preference in which one has the handle of another by now."""
    held: dict[Key, Key] = {(*key[:4], have.attrs.get("handle")): key for key, have in actual.of("filter").items()}
    rules = goal.of("filter")
    taken = {
        key[:4]
        for key, rule in rules.items()
        if "handle" in rule.attrs and held.get((*key[:4], rule.attrs["handle"]), key) != key
    }
    if taken:
        goal.classes["filter"] = {
            key: rule.having({"handle": 0}) if key[:4] in taken else rule for key, rule in rules.items()
        }
