# SPDX-License-Identifier: GPL-2.0-or-later
"""Why the kernel does not let go of something: the rules of the host, whoever has made them, that still have it.

All of them are read for that, which is for when a change has failed.
"""

from collections.abc import Callable, Mapping

from netgroupd.errors import KernelError
from netgroupd.kernel.netlink.request import Context, Selection
from netgroupd.kernel.tc.filters import read as filters_read
from netgroupd.model.state import records
from netgroupd.model.value import Value


def rules_with(context: Context, has: Callable[[Mapping[str, Value]], bool]) -> str:
    """The names of all rules one of whose actions ``has`` knows; "" for none."""
    from netgroupd.plan.fold import few_of, fold_names  # noqa: PLC0415  # seldom needed
    from netgroupd.plan.present import title  # noqa: PLC0415

    try:
        rules = filters_read.dump(context, Selection(everything=True))
    except KernelError:
        return ""  # what has failed is told all the same
    found = [rule for rule in rules if any(map(has, records(rule.attrs, "actions")))]
    names = fold_names(" ".join(title(rule)) for rule in found)
    return f"filter {few_of(names, len(found))}" if found else ""
