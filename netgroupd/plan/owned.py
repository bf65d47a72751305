# SPDX-License-Identifier: GPL-2.0-or-later
"""Which links are netgroupd's, by what is written on them in the kernel."""

from typing import NamedTuple

from netgroupd.model.owner import GROUP_BASE, GROUP_MASK
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.named import named_in


class Owned(NamedTuple):
    """The ids of the groups whose links are netgroupd's, besides those of its own range.

    Others have made those that are ``borrowed``, whose kind no file has said, and those in groups that files have
    ``entered`` just now.  The last files have ``named`` links that they list entries of, and ports.  What is wanted may
    be what ``was`` there, of which the kernel is not asked whether it could be made.
    """

    groups: frozenset[int] = frozenset()
    borrowed: frozenset[str] = frozenset()
    entered: frozenset[int] = frozenset()
    named: tuple[str, ...] = ()
    was: bool = False

    def has(self, link: Object) -> bool:
        """Whether a link of the kernel is netgroupd's."""
        return self.covers(link.attrs.get("group"))

    def made(self, link: Object) -> bool:
        """Whether it is netgroupd's to delete."""
        others = link.name in self.borrowed or link.attrs.get("group") in self.entered
        return bool(kind_of(link)) and self.has(link) and not others

    def names_port(self, master: Value, port: str) -> bool:
        """Whether the last files have named ``port`` as one of ``master``."""
        return (master, port) in named_in(self.named).ports

    def covers(self, group: Value) -> bool:
        """Whether the links of a group are."""
        return isinstance(group, int) and (group in self.groups or group & GROUP_MASK == GROUP_BASE)
