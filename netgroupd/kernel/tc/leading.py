# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that lead packets to some links, wherever they are: when such a link goes they stay, and lead nowhere."""

from collections.abc import Iterator, Set

from netgroupd.kernel.netlink.request import Context, Selection
from netgroupd.kernel.tc.actions import shared as actions_shared
from netgroupd.kernel.tc.filters import read as filters_read
from netgroupd.model.state import Object, records

_KIND = "mirred"


def rules_to(context: Context, names: Set[str]) -> list[Object]:
    """All of them, and actions that they share; no rule is read unless one question shows that there are some."""
    leading = [(action, stands) for action, stands in actions_shared.of_kind(context, _KIND) if _leads(action, names)]
    if not leading:
        return []
    shared = {f"{action.key[0]} {action.key[1]}" for action, stands in leading if stands}
    rules = filters_read.dump(context, Selection(everything=True))
    return [
        *(action for action, stands in leading if stands),
        *(rule for rule in rules if _leads(rule, names) or not shared.isdisjoint(_kinds(rule))),
    ]


def _leads(obj: Object, names: Set[str]) -> bool:
    return any(action.get("dev") in names for action in records(obj.attrs, "actions"))


def _kinds(rule: Object) -> Iterator[str]:
    yield from (str(action["kind"]) for action in records(rule.attrs, "actions"))
