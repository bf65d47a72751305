# SPDX-License-Identifier: GPL-2.0-or-later
"""What the links are that steps make, and what they name: gathered once, for many ask, and of most there are few."""

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from netgroupd.model.value import Value
from netgroupd.plan.step import Step


class Made(NamedTuple):
    """New links, their kinds, lower links and masters (None where one has none), and all other steps."""

    names: Set[Value]
    kinds: Set[Value]
    lowers: Set[Value]
    masters: Set[Value]
    told: Sequence[Step]

    @classmethod
    def by(cls, steps: Iterable[Step]) -> "Made":
        """What ``steps`` about links make."""
        made = [step.after for step in steps if step.before is None and step.after]
        names, said = {link.key[0] for link in made}, [link.attrs for link in made]
        kinds, lowers, masters = ({attrs.get(name) for attrs in said} for name in ("kind", "link", "master"))
        return cls(names, kinds, lowers, masters, [step for step in steps if step.before])
