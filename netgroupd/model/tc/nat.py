# SPDX-License-Identifier: GPL-2.0-or-later
"""What addresses are rewritten to: 192.0.2.1-192.0.2.9 port 1000-2000, of which all but the first may be missing."""

import re
from typing import NamedTuple

from netgroupd.model.value import IP4, Type, Value, ip_bytes, ip_text, prefix

_SPAN = r"(\S+?)(?:\s*-\s*(\S+?))?"
_RANGE = re.compile(rf"\s*{_SPAN}(?:\s+port\s+([0-9]{{1,5}})(?:\s*-\s*([0-9]{{1,5}}))?)?\s*")
_EXPECTED = "an address, or a span of them, and perhaps ports: 192.0.2.1-192.0.2.9 port 1000-2000"


class Range(NamedTuple):
    """The first and last address, and the first and last port, or none."""

    addresses: tuple[bytes, bytes]
    ports: tuple[int, ...] = ()

    def __str__(self) -> str:
        text = "-".join(dict.fromkeys(map(ip_text, self.addresses)))
        return text + (" port " + "-".join(map(str, dict.fromkeys(self.ports))) if self.ports else "")


def read_range(text: str) -> Range:
    """A range out of its text; raises ValueError."""
    if not (found := _RANGE.fullmatch(text)):
        raise ValueError(f"expected {_EXPECTED}")
    low, high = ip_bytes(found[1]), ip_bytes(found[2] or found[1])
    ports = (int(found[3]), int(found[4] or found[3])) if found[3] else ()
    if len(low) != len(high) or high < low:
        raise ValueError(f"expected {_EXPECTED}: the span of addresses ends before it begins")
    if ports and not 0 < ports[0] <= ports[1] <= 0xFFFF:
        raise ValueError(f"expected {_EXPECTED}: ports are from 1 to 65535, and end behind where they begin")
    return Range((low, high), ports)


def _parse_old(raw: object) -> Value:
    if ":" in str(raw):
        raise ValueError(f"expected {_OLD_EXPECTED}")
    return _ADDRESS.parse(raw)


_OLD_EXPECTED = "an IPv4 address, with a length like 10.0.0.0/24"
_ADDRESS = prefix(network=False)
OLD, NEW = _ADDRESS._replace(expected=_OLD_EXPECTED, parse=_parse_old), IP4  # the action has no IPv6
RANGE = Type(_EXPECTED, lambda raw: str(read_range(str(raw))), {"type": "string"})
