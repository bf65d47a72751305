# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that no file can make where they are -> the same as if they were cards, with a comment on them.

A file says of a card how it is to be, and not that there is to be one.
"""

from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.state import Object, State
from netgroupd.plan.compare import kind_of


def as_given(actual: State, elsewhere: frozenset[str]) -> tuple[State, list[str]]:
    """Take links of unknown kinds, and those of which a part is ``elsewhere`` and not looked at, for cards."""
    found = {key: link for key, link in actual.of("link").items() if _is_given(link, elsewhere)}
    if not found:
        return actual, []
    links = {key: link.having({"kind": ""}) for key, link in found.items()}
    said = actual.having(link={**actual.of("link"), **links})
    names = ", ".join(f"{link.name} ({kind_of(link)})" for link in found.values() if link.name.isprintable())
    why = "their kind is unknown, or a part of them is in another network namespace"
    return said, [f"# taken as they are, and not made where there are none ({why}): {names}\n"]


def _is_given(link: Object, elsewhere: frozenset[str]) -> bool:
    kind = KINDS.get(kind_of(link))
    if kind is None:
        return bool(kind_of(link))
    known = "peer" if kind.name in PAIRS else "link"
    return link.name in elsewhere and not link.attrs.get("netns") and not link.attrs.get(known)
