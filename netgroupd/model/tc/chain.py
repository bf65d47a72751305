# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of chains themselves: the template that their filters must fit, and that they change as a whole.

The two chains that an atomic one changes between are numbered from ``SPARE`` on.
"""

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.tc.filter import CLASS as FILTER
from netgroupd.model.tc.filter import RECORDS
from netgroupd.model.tc.protocol import PROTOCOL
from netgroupd.model.value import FLAG

SPARE = 1 << 27
MOST_ATOMIC = (
    1 << 26
) - 1  # the kernel has 28 bits for the number of a chain, and each of these takes two from SPARE on
_WHERE = ("where", "parent", "chain")

CLASS = Class(
    "chain",
    "A chain of filters with a template.",
    tuple(row for row in FILTER.key if row.name in _WHERE),
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
