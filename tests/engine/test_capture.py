# SPDX-License-Identifier: GPL-2.0-or-later
"""What a host has, as configuration."""

from netgroupd.engine.capture import captured
from netgroupd.model.state import Object, State
from tests.config.reading import desired

HTB = Object("qdisc", ("v0", "root"), {"kind": "htb", "handle": "1:"})
TOP = Object("tclass", ("v0", "1:1"), {"kind": "htb", "parent": "1:", "rate": 1000})
CLSACT = Object("qdisc", ("v0", "clsact"), {"kind": "clsact", "handle": "ffff:"})


def _rule(pref: int, action: str) -> Object:
    return Object("filter", ("v0", "ingress", 0, pref, ()), {"kind": "matchall", "actions": ({"kind": action},)})


def test_qdiscs_and_actions_that_no_file_can_say_are_left_out() -> None:
    kept = (HTB, TOP, CLSACT, _rule(2, "gact 7"))
    drr = Object("qdisc", ("v1", "root"), {"kind": "drr", "handle": "2:"})
    below = Object("qdisc", ("v1", "2:1"), {"kind": "pfifo", "handle": "3:"})
    cake = Object("qdisc", ("v0", "1:1"), {"kind": "cake", "handle": "4:"})
    text = captured(State((*kept, drr, below, cake, *(_rule(pref, "skbmod") for pref in (7, 8)))), {}, {})
    assert [line.rpartition(": ")[2] for line in text.splitlines() if line.startswith("#")] == [
        "qdisc v1 root",
        "qdisc v0 1:1",
        "filter v0 ingress pref [7-8]",
    ]
    found = desired(text, "actions: {gact 7: drop}", known=("v0",)).state
    assert {obj.key for obj in found if obj.cls != "link"} == {*(obj.key for obj in kept), ("gact", 7)}
