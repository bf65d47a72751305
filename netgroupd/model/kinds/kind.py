# SPDX-License-Identifier: GPL-2.0-or-later
"""What one kind of link adds to the attributes that all links have, and the types that several kinds share."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from netgroupd.model.attr import Attr
from netgroupd.model.value import FLAG, Type, Value, number

_NONE: Mapping[str, Attr] = MappingProxyType({})


class Kind(NamedTuple):
    """A kind as ``ip link add type`` knows it.

    ``attrs`` are laid out in IFLA_INFO_DATA, ``port`` in IFLA_INFO_SLAVE_DATA of
    the links that have this one as their master.  ``required`` must be given to
    create it; ``lower``: "link" must be given too.
    """

    name: str
    doc: str
    attrs: Mapping[str, Attr] = _NONE
    port: Mapping[str, Attr] = _NONE
    required: frozenset[str] = frozenset()
    lower: bool = False
    master: bool = False


PRESENCE = FLAG._replace(pack=None, unpack=lambda _payload: True)
"""True where the kernel has the attribute at all; it cannot be told False."""


def or_inherit(value: int) -> Type:
    """A byte of the outer header, or ``inherit``, which the kernel writes as ``value``."""
    byte = number(8)

    def parse(raw: object) -> Value:
        return value if raw == "inherit" else byte.parse(raw)

    schema = {"oneOf": [byte.schema, {"const": "inherit"}]}
    return Type(f"{byte.expected}, or inherit", parse, schema, byte.pack, byte.unpack)


TTL = or_inherit(0)
TOS = or_inherit(1)
LABEL = number(32, 0, (1 << 20) - 1, order=">")
MARK = number(32)


def stays(before: Value, after: Value) -> bool:
    """Whether it was there and still is: the kernel lets it change, but not come or go."""
    return before is not None and after is not None


def same_family(before: Value, after: Value) -> bool:
    """Whether both addresses are of one IP version; an address that comes or goes is another tunnel."""
    return before is not None and after is not None and (":" in str(before)) == (":" in str(after))
