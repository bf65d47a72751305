# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on links of ours, which goes when these go or go down, or with something that these lose."""

from collections import Counter
from collections.abc import Mapping, Set
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from netgroupd.model.state import Object
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.fate import hangs_on

XDP = "XDP program"
"""What programs on links are counted as: they move with their link to another namespace."""

_OF_NAMESPACE = frozenset({"route", "nexthop"})


class Along(StrEnum):
    """What of a link goes: itself, its carrier, one protocol, the MAC for its neighbours, or what routes send from."""

    LINK = "link"
    CARRIER = "carrier"
    IPV4 = "inet"
    IPV6 = "inet6"
    MAC = "mac"
    SOURCE = "src"


class Going(NamedTuple):
    """What goes of links and beside them.

    Nexthops that have one of ``ids`` go too, and those that are ``deleted``: of routes by those alone something else
    tells.  Of the carrier, a protocol, the MAC or ``sources``, which are addresses, what goes ``along`` with
    that alone.  Some of the links are ``gone`` then.
    """

    ids: Set[int] = frozenset()
    deleted: Set[int] = frozenset()
    along: Along = Along.LINK
    sources: Set[str] = frozenset()
    gone: Set[str] = frozenset()


class Theirs(NamedTuple):
    """What others have on links: ``objects``, and by class, protocol and link how many more that their programs watch.

    These bring it back themselves, if it is still to be there.  ``groups`` of nexthops lose
    members, whosever they are.
    """

    objects: tuple[Object, ...] = ()
    watched: Mapping[tuple[str, int, str], int] = MappingProxyType({})
    groups: tuple[Object, ...] = ()

    def beside(self, elsewhere: "Theirs") -> "Theirs":
        """With what is in another network namespace, the routes and nexthops of which are none of this one."""
        counted = Counter({**self.watched, **elsewhere.watched})
        counted.update(_counted(obj) for obj in elsewhere.objects if obj.cls in _OF_NAMESPACE)
        kept = (obj for obj in elsewhere.objects if obj.cls not in _OF_NAMESPACE)
        return self._replace(objects=(*self.objects, *kept), watched=counted)


def _counted(obj: Object) -> tuple[str, int, str]:
    protocol = obj.attrs[UNOWNED]
    assert isinstance(protocol, int)
    return obj.cls, protocol, next(iter(hangs_on(obj)), "")


class Loss(NamedTuple):
    """What others lose, what of it comes ``back``, and in words when either goes."""

    theirs: Theirs
    back: tuple[Object, ...]
    when: str
    again: str = ""  # of what comes back, where that is not said in the same words
