# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel in memory knows of links: how large their packets are, and what their masters refuse and forget."""

import errno
from collections.abc import Iterable, Mapping

from netgroupd.model.attr import Change
from netgroupd.model.kinds.bond import MODES_OF
from netgroupd.model.state import Attrs, Key, Object
from netgroupd.plan.compare import hardest, kind_of
from netgroupd.plan.unique import identity, may_be_unique

_WITHOUT_PORTS = {Change.EMPTY: errno.ENOTEMPTY, Change.VACANT: errno.EBUSY}


def mtu_of(attrs: Attrs, link: Object) -> int:
    """The MTU that a link has after a change."""
    mtu = attrs.get("mtu", link.attrs.get("mtu"))
    return mtu if isinstance(mtu, int) else 1500


def refuses(link: Object, attrs: Attrs, links: Mapping[Key, Object]) -> int:
    """The errno with which the kernel refuses to tell ``link`` something; 0 if it takes it."""
    if any(attrs.get(field) and (attrs[field],) not in links for field in ("link", "master")):
        return errno.ENODEV
    lower = links.get((attrs.get("link", link.attrs.get("link")),)) if kind_of(link) == "vlan" else None
    if lower and mtu_of(attrs, link) > mtu_of({}, lower):
        return errno.ERANGE
    if lower and attrs.get("up") and not lower.attrs.get("up"):
        return errno.ENETDOWN
    return _with_ports(link, attrs, links.values()) or _taken(link, attrs, links.values())


def _with_ports(link: Object, attrs: Attrs, links: Iterable[Object]) -> int:
    """The errno of what has ports, and is told what it takes only without any."""
    number = _WITHOUT_PORTS.get(hardest(link, attrs)[0], 0)
    return number if number and any(each.attrs.get("master") == link.name for each in links) else 0


def _taken(link: Object, attrs: Attrs, links: Iterable[Object]) -> int:
    """The errno of what shall have what another has, and no two can."""
    kind = kind_of(link)
    wants = identity(kind, {**link.attrs, **attrs}) if may_be_unique(kind, attrs) else None
    if wants is None or all(each.name == link.name or identity(kind_of(each), each.attrs) != wants for each in links):
        return 0
    return errno.EADDRINUSE if kind == "wireguard" else errno.EEXIST


def remembered(after: Attrs, attrs: Attrs) -> Attrs:
    """What is left of a link when ``attrs`` were told; a bond forgets what its new mode does not have."""
    forgets = after.get("kind") == "bond" and "mode" in attrs
    lost = {name for name, modes in MODES_OF.items() if forgets and after.get("mode") not in modes}
    return {name: value for name, value in after.items() if value is not None and name not in lost}
