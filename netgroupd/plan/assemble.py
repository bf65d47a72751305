# SPDX-License-Identifier: GPL-2.0-or-later
"""(desired, actual) -> plan: compare, order, coalesce."""

from collections.abc import Mapping
from types import MappingProxyType

from netgroupd.errors import ConfigError
from netgroupd.model.state import State
from netgroupd.plan.absent import without_absent
from netgroupd.plan.affected import felt_of
from netgroupd.plan.carrier import darkened_by
from netgroupd.plan.coalesce import Abilities, coalesce
from netgroupd.plan.diff import diff
from netgroupd.plan.order import order
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import AnyStep, Plan
from netgroupd.plan.tc.atomic import placed
from netgroupd.plan.unsaid import warnings


def assemble(
    desired: State,
    actual: State,
    owned: Owned,
    abilities: Abilities = Abilities(),  # noqa: B008  # frozen
    indices: Mapping[str, int] = MappingProxyType({}),
    *,
    whole: bool = True,
) -> Plan:
    """Plan what turns ``actual`` into ``desired``; ``indices`` are those of the links there are.

    Unless ``whole`` there are no more steps than show that there are some, in no order.

    Raises:
        ConfigError: No step could, as for hardware with the name of a link to be made.
    """
    desired, absent, waiting = without_absent(desired, actual)
    desired = placed(desired, actual)
    changes = diff(desired, actual, owned, whole=whole)
    if changes.problems and (whole or not changes.steps):
        raise ConfigError(changes.problems)
    steps: tuple[AnyStep, ...] = changes.steps
    if steps and whole:
        steps = coalesce(order(changes, desired, actual), desired, actual, abilities, indices)
    names = {group.id: group.name for group in desired.groups.values()}
    lost = warnings(desired, actual, changes.others) if steps else ()
    gone, cycled, moved = (frozenset(names) for names in changes.fate)
    told = waiting + changes.warnings + lost
    emptied = changes.emptied - gone - cycled
    darkened = tuple(darkened_by(changes.links, desired, actual))
    links = gone, cycled - gone, moved - gone
    felt = felt_of(steps, changes, actual.of("link")) if whole else None
    return Plan(steps, told, names, *links, emptied=emptied, darkened=darkened, absent=absent, felt=felt)
