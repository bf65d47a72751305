# SPDX-License-Identifier: GPL-2.0-or-later
"""(a VLAN to be made, of which nobody says whether it is up) -> the same, up where the link below it is.

The kernel brings it up when that link comes up later, and not when it is up already:
what a host has must not depend on which was there first.
"""

from collections.abc import Container, Mapping

from netgroupd.model.state import Key, Object
from netgroupd.plan.compare import kind_of


def as_below(want: Object, wants: Mapping[Key, Object], haves: Mapping[Key, Object], gone: Container[str]) -> Object:
    """A link to be made, in place of one or of none; those called ``gone`` are not there any more by then."""
    if not _is_unsaid(want):
        return want

    def comes_up(link: Object) -> bool:
        have = haves.get(link.key)
        return bool(not have or have.attrs.get("up")) and is_up(str(link.attrs.get("link")))

    def is_up(name: str) -> bool:
        said, have = wants.get((name,)), haves.get((name,))
        if said and "up" in said.attrs:
            return bool(said.attrs["up"])
        if have and name not in gone:
            return bool(have.attrs.get("up"))
        return said is not None and _is_unsaid(said) and comes_up(said)

    return want.having({"up": True}) if comes_up(want) else want


def _is_unsaid(link: Object) -> bool:
    return "up" not in link.attrs and kind_of(link) == "vlan" and not link.attrs.get("loose_binding")
