# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on links of ours, which goes when these go or go down."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from netgroupd.model.state import Object


class Theirs(NamedTuple):
    """What others have on links: ``objects``, and by class, protocol and link how many more that their programs watch.

    These bring it back themselves, if it is still to be there.  ``groups`` of nexthops lose
    members, whosever they are.
    """

    objects: tuple[Object, ...] = ()
    watched: Mapping[tuple[str, int, str], int] = MappingProxyType({})
    groups: tuple[Object, ...] = ()
