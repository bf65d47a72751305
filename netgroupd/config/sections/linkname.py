# SPDX-License-Identifier: GPL-2.0-or-later
"""What can name a link, by the rules of the kernel.

It takes 15 bytes, and reads each byte as a letter of Latin-1, where 0xa0 is a
blank.  A ``%d`` in a name is a pattern to it, which it makes a name of its own of.
"""

import re

from netgroupd.model.sysctl import OF_ALL

LONGEST = 15
_BLANK = b"\xa0"
_REFUSED = re.compile(r"[\s/:%\0\[\]{}]|^\.{0,2}$")
_NUMBERED = re.compile(r"[A-Za-z][A-Za-z0-9.-]{0,13}[0-9]")
_BONDS = "bonding_masters"


def too_long(name: str) -> tuple[str, str] | None:
    """Why nothing can have a name of such a length, and what would be right; None when it can."""
    if len(name) <= LONGEST and name.isascii():
        return None
    size = len(name.encode(errors="replace"))
    if size <= LONGEST:
        return None
    unit = "characters" if name.isascii() else "bytes"
    return f"the name {name!r} has {size} {unit}", f"the kernel takes at most {LONGEST}"


def objection(name: str) -> tuple[str, str] | None:
    """Why nothing can be named so, and what would be right; None when it can."""
    if _NUMBERED.fullmatch(name):  # as nearly all are, where there are many
        return None
    return too_long(name) or _unfit(name)


def _unfit(name: str) -> tuple[str, str] | None:
    if _REFUSED.search(name):
        return f"{name!r} cannot name a link", "names have no blanks and none of / : % [ ] { }"
    if name in OF_ALL:
        return f"{name!r} cannot name a link", "the kernel has settings of that name for all links"
    if name == _BONDS:
        return f"{name!r} cannot name a link", "the kernel lists the names of its bonds in a file of that name"
    if _BLANK in name.encode(errors="replace"):
        return f"{name!r} cannot name a link", "the kernel takes the byte 0xa0 of it for a blank"
    return None
