# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel in memory knows of links: how large their packets are, and what their masters refuse and forget."""

import errno
from collections.abc import Iterable

from netgroupd.model.attr import Change
from netgroupd.model.kinds.bond import MODES_OF
from netgroupd.model.state import Attrs, Object
from netgroupd.plan.compare import hardest

_WITHOUT_PORTS = {Change.EMPTY: errno.ENOTEMPTY, Change.VACANT: errno.EBUSY}


def mtu_of(attrs: Attrs, link: Object) -> int:
    """The MTU that a link has after a change."""
    mtu = attrs.get("mtu", link.attrs.get("mtu"))
    return mtu if isinstance(mtu, int) else 1500


def refuses_with_ports(link: Object, attrs: Attrs, links: Iterable[Object]) -> int:
    """The errno of a link that has ports, and is told what it takes only without any; 0 if it takes it."""
    number = _WITHOUT_PORTS.get(hardest(link, attrs)[0], 0)
    return number if number and any(each.attrs.get("master") == link.name for each in links) else 0


def remembered(after: Attrs, attrs: Attrs) -> Attrs:
    """What is left of a link when ``attrs`` were told; a bond forgets what its new mode does not have."""
    forgets = after.get("kind") == "bond" and "mode" in attrs
    lost = {name for name, modes in MODES_OF.items() if forgets and after.get("mode") not in modes}
    return {name: value for name, value in after.items() if value is not None and name not in lost}
