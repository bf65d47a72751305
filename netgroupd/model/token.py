# SPDX-License-Identifier: GPL-2.0-or-later
"""The token of a link, under ``ip token``'s name: the lower half of the addresses that it makes of what routers tell.

A link that speaks IPv6 has one as long as it does, which is none at first.
"""

from netgroupd.model.attr import Attr, Class, table
from netgroupd.model.value import IP6, LINK, Value, ip_bytes

_HALF = 8
NONE = "::"
"""That of a link whose addresses the kernel makes by itself."""


def _parse(raw: object) -> Value:
    token = IP6.parse(raw)
    if any(lower_half(str(token), of=0)):
        raise ValueError(f"expected {_TYPE.expected}")
    return token


def lower_half(address: str, *, of: int = 1) -> bytes:
    """One half of an IPv6 address, the lower one unless it is the one ``of`` 0."""
    return ip_bytes(address)[of * _HALF :][:_HALF]


_TYPE = IP6._replace(expected="the lower half of an IPv6 address, like ::10:20, or :: for none", parse=_parse)

CLASS = Class(
    "token",
    "What a link puts behind the networks that routers tell of.",
    (Attr("link", LINK, "The link."),),
    table((Attr("token", _TYPE, "The lower half of its addresses, :: for one that the kernel makes.", 7),)),
)
