# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that lead packets to some links, wherever they are: when such a link goes they stay, and lead nowhere."""

from collections.abc import Set

from netgroupd.kernel.request import Context, Selection
from netgroupd.kernel.tc import actions_shared, filters_read
from netgroupd.model.state import Object, records

_KIND = "mirred"


def rules_to(context: Context, names: Set[str]) -> list[Object]:
    """All of them; no rule is read unless one question shows that there are some."""
    if not any(_leads(action, names) for action in actions_shared.of_kind(context, _KIND)):
        return []
    return [rule for rule in filters_read.dump(context, Selection(everything=True)) if _leads(rule, names)]


def _leads(obj: Object, names: Set[str]) -> bool:
    return any(action.get("dev") in names for action in records(obj.attrs, "actions"))
