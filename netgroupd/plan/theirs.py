# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on links of ours, which goes when these go or go down, or with something that these lose."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from netgroupd.model.state import Object


class Along(StrEnum):
    """What of a link goes: itself, all it has by one protocol, the MAC for its neighbours, or what routes send from."""

    LINK = "link"
    IPV4 = "inet"
    IPV6 = "inet6"
    MAC = "mac"
    SOURCE = "src"


class Theirs(NamedTuple):
    """What others have on links: ``objects``, and by class, protocol and link how many more that their programs watch.

    These bring it back themselves, if it is still to be there.  ``groups`` of nexthops lose
    members, whosever they are.
    """

    objects: tuple[Object, ...] = ()
    watched: Mapping[tuple[str, int, str], int] = MappingProxyType({})
    groups: tuple[Object, ...] = ()


class Loss(NamedTuple):
    """What others lose on links that stay, what of it comes ``back``, and in words ``when`` it goes."""

    theirs: Theirs
    back: tuple[Object, ...]
    when: str
