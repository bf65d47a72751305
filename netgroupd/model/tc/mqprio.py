# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of mqprio, under ``tc``'s names."""

from netgroupd.model.attr import Attr, Change
from netgroupd.model.tc.lists import PRIOMAP
from netgroupd.model.tc.units import RATE
from netgroupd.model.value import FLAG, U16, number, several, word

MODE = word(16, {"dcb": 0, "channel": 1})
SHAPER = word(16, {"dcb": 0, "bw_rlimit": 1})
PREEMPTION = word(32, {"express": 1, "preemptible": 2, "e": 1, "p": 2})._replace(
    expected="express or preemptible, or E or P as tc has them", schema={"enum": ["express", "preemptible", "E", "P"]}
)

QUEUES = (
    Attr("num_tc", number(8, 1, 16), "How many traffic classes.", 0, Change.RECREATE),
    Attr("map", PRIOMAP, "The traffic class of each priority, 16 numbers.", 0, Change.RECREATE),
    Attr("queues", several(U16), "Count and offset of each class, in turn.", 0, Change.RECREATE),
)
OPTIONS = (
    *QUEUES,
    Attr("hw", FLAG, "Leave it to the hardware.", 0, Change.RECREATE),
    Attr("mode", MODE, "With `hw`: its classes alone, or queues and rates too.", 0, Change.RECREATE),
    Attr("shaper", SHAPER, "With `hw`: how its rates are limited.", 0, Change.RECREATE),
    Attr("min_rate", several(RATE), "The rate that each class is given, in turn.", 0, Change.RECREATE),
    Attr("max_rate", several(RATE), "The most of each class, in turn.", 0, Change.RECREATE),
    Attr("fp", several(PREEMPTION), "Which classes may be interrupted, in turn.", 0, Change.RECREATE),
)
