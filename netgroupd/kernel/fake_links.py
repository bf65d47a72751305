# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel in memory knows of links: how large their packets are, and what a bond refuses and forgets."""

from collections.abc import Iterable

from netgroupd.model.attr import Change
from netgroupd.model.kinds.bond import MODES_OF
from netgroupd.model.state import Attrs, Object
from netgroupd.plan.compare import hardest


def mtu_of(attrs: Attrs, link: Object) -> int:
    """The MTU that a link has after a change."""
    mtu = attrs.get("mtu", link.attrs.get("mtu"))
    return mtu if isinstance(mtu, int) else 1500


def refuses_with_ports(link: Object, attrs: Attrs, links: Iterable[Object]) -> bool:
    """Whether a bond has ports, and is told what it takes only without any."""
    return hardest(link, attrs)[0] is Change.EMPTY and any(each.attrs.get("master") == link.name for each in links)


def remembered(after: Attrs, attrs: Attrs) -> Attrs:
    """What is left of a link when ``attrs`` were told; a bond forgets what its new mode does not have."""
    forgets = after.get("kind") == "bond" and "mode" in attrs
    lost = {name for name, modes in MODES_OF.items() if forgets and after.get("mode") not in modes}
    return {name: value for name, value in after.items() if value is not None and name not in lost}
