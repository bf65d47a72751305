# SPDX-License-Identifier: GPL-2.0-or-later
"""A change that was interrupted or waits: whoever comes next finds it, and what they ask for comes after it."""

from netgroupd.model.state import Object
from netgroupd.model.value import Value
from tests.engine.desk import Desk


def given(desk: Desk, name: str, **attrs: Value) -> None:
    """Another program makes a link, or another one in its place."""
    desk.kernel.state.add(Object("link", (name,), {"group": 0, "mtu": 1500, "up": True, **attrs}))


def test_what_has_come_in_the_place_of_what_was_there_keeps_nobody_from_another_change(desk: Desk) -> None:
    given(desk, "x", kind="dummy")
    desk.wants("links: {x: {mtu: 1400}}")
    desk.engine.apply(confirm_s=0.0)
    given(desk, "x", kind="bridge")
    desk.wants("links: {y: {kind: dummy}}")
    warning = desk.engine.apply().plan.warnings[0]
    assert warning.startswith("what was there before generation 1 could not be put back: 'x' exists, is a link of kind")
    assert desk.kernel.has_link("y")
    assert desk.engine.pending() is None
