# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``netgroupctl watch`` says of the properties that change on the bus."""

import time

import pytest

from netgroupd.cli.watch import told

SAID = [
    ("Counts", {"address": 4, "link": 1, "route": 0}, "counts 4 addresses, 1 link"),
    ("LastResult", "ok", "last result ok"),
    ("Trouble", "", "trouble none"),
    ("Online", False, "online no"),
    ("ConfirmBy", 0, "confirm by none"),
    ("Started", 1795600563602914, f"started {time.strftime('%H:%M:%S', time.localtime(1795600563))}"),
    ("Drift", 3, "drift 3"),
    ("Result", '{"generation":2,"summary":"1 to create; 1 message"}', "result 1 to create; 1 message, generation 2"),
    ("Result", '{"generation":0,"summary":"no differences"}', "result no differences"),
]


@pytest.mark.parametrize(("name", "value", "said"), SAID, ids=[name for name, _, _ in SAID])
def test_property_is_told_as_people_say_it(name: str, value: object, said: str) -> None:
    assert told(name, value) == said
