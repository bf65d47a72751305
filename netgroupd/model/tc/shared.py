# SPDX-License-Identifier: GPL-2.0-or-later
"""Actions that stand by themselves: filters that name one by kind and index have it together.

It is changed by one message whatever the number of its filters, and counts and
polices what all of them bring.
"""

from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.tc.action import ACTIONS, FIELDS
from netgroupd.model.value import number, word

OF_RULES = "of_rules"
"""The mark of an action that goes with the last rule that has it: its index is not free for a shared one."""

CLASS = Class(
    "action",
    "An action that several filters share.",
    (
        Attr("kind", word(8, {kind: place for place, kind in enumerate(FIELDS)}), "The kind."),
        Attr("index", number(32, 1), "The index."),
    ),
    table((Attr("actions", ACTIONS, "What it does: the one action that it is."),)),
)
