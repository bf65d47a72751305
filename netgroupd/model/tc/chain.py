# SPDX-License-Identifier: GPL-2.0-or-later
"""Chains that exist for themselves, with the template that their filters must fit, as ``tc chain`` makes them."""

from netgroupd.model.attr import Attr, Change, Class, table
from netgroupd.model.tc.filter import CLASS as FILTER
from netgroupd.model.tc.filter import RECORDS
from netgroupd.model.tc.protocol import PROTOCOL

_WHERE = ("where", "parent", "chain")

CLASS = Class(
    "chain",
    "A chain of filters with a template.",
    tuple(row for row in FILTER.key if row.name in _WHERE),
    table(
        (
            Attr("protocol", PROTOCOL, "The protocol that all of it is for.", change=Change.RECREATE),
            Attr("flower", RECORDS["flower"], "What all filters of it match, by key and mask.", change=Change.RECREATE),
        )
    ),
)
