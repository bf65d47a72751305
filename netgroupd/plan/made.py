# SPDX-License-Identifier: GPL-2.0-or-later
"""What the links are that steps make, and what they name: gathered once, for many ask, and of most there are few."""

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from netgroupd.model.value import Value
from netgroupd.plan.step import Step


class Made(NamedTuple):
    """The kinds of new links, their lower links and their masters (None where one has none), and all other steps."""

    kinds: Set[Value]
    lowers: Set[Value]
    masters: Set[Value]
    told: Sequence[Step]

    @classmethod
    def by(cls, steps: Iterable[Step]) -> "Made":
        """What ``steps`` about links make."""
        made = [step.after.attrs for step in steps if step.before is None and step.after]
        kinds, lowers, masters = ({attrs.get(name) for attrs in made} for name in ("kind", "link", "master"))
        return cls(kinds, lowers, masters, [step for step in steps if step.before])
