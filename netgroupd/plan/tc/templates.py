# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that lead to chains which lose their templates.

The kernel keeps a template as long as a rule leads to its chain, whether or not that
has rules, and tells no one.  So these rules go first, and are made again.  Linear.
"""

from collections.abc import Iterable

from netgroupd.model.state import Key, State
from netgroupd.model.tc.chain import led_to
from netgroupd.plan.step import Step
from netgroupd.plan.tc.tables import with_all_of_u32


def holding(steps: Iterable[Step], actual: State) -> frozenset[Key]:
    """The rules that lead to the chains which ``steps`` delete and do not make again."""
    told = [*steps]
    made = {step.object.key for step in told if step.after}
    lost = {step.object.key for step in told} - made
    if not lost:
        return frozenset()
    rules = actual.of("filter").values()
    found = {rule.key for rule in rules if any((*rule.key[:2], number) in lost for number in led_to(rule.attrs))}
    return with_all_of_u32(found, rules)
