# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of chains themselves: the template that their filters must fit, and that they change as a whole.

An atomic chain changes between two chains beside it, numbered from ``SPARE`` on.
Where all chains of a hook change together, each has two from ``OF_HOOK`` on, so
that one way can follow the other without meeting its rules.
"""

from collections.abc import Iterator

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.state import Attrs, Key
from netgroupd.model.tc.action import chain_led_to
from netgroupd.model.tc.filter import CLASS as FILTER
from netgroupd.model.tc.filter import RECORDS
from netgroupd.model.tc.protocol import PROTOCOL
from netgroupd.model.value import FLAG

# The kernel has 28 bits for the number of a chain, and each takes two.
SPARE, OF_HOOK = 1 << 27, 1 << 26
MOST_ATOMIC, MOST_OF_HOOK = (1 << 26) - 1, (1 << 25) - 1
ALL = None
"""In the place of a number: all chains of the hook."""


def beside(number: int, side: int, *, whole: bool) -> int:
    """One of the two chains beside a chain; of a hook that changes as a ``whole``, that of it."""
    return (OF_HOOK if whole else SPARE) + 2 * number + side


def said_as(number: int) -> int:
    """The number that the configuration has for a chain that may be beside one."""
    if number < OF_HOOK:
        return number
    return (number - (SPARE if number >= SPARE else OF_HOOK)) // 2


def chain_of(rule: Key) -> int:
    """The number of the chain that a rule with this key is in."""
    number = rule[2]
    assert isinstance(number, int)
    return number


def led_to(attrs: Attrs) -> Iterator[int]:
    """The chains that rules with these attributes lead to."""
    actions = attrs.get("actions") or ()
    assert isinstance(actions, tuple)
    for action in actions:
        if (number := chain_led_to(action)) is not None:
            yield number


_CHAIN = next(row for row in FILTER.key if row.name == "chain")
CLASS = Class(
    "chain",
    "A chain of filters with a template, or one or all of a hook that are replaced as a whole.",
    (
        *(row for row in FILTER.key if row.name in ("where", "parent")),
        _CHAIN._replace(doc="The chain; with `atomic`, all those of its parent together if not mentioned."),
    ),
    table(
        (
            Attr("protocol", PROTOCOL, "The protocol that all of it is for.", change=Change.RECREATE),
            Attr("flower", RECORDS["flower"], "What all filters of it match, by key and mask.", change=Change.RECREATE),
            Attr(
                "atomic",
                FLAG,
                "Replace its rules as a whole where one of them changes: no packet meets half of them.",
                silent=True,
            ),
        )
    ),
)
