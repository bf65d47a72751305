# SPDX-License-Identifier: GPL-2.0-or-later
"""What helps connection tracking to see that one connection belongs to another, as ``tc`` has it: ipv4-tcp-ftp."""

import re
from typing import NamedTuple

from netgroupd.model.rule import IPPROTO
from netgroupd.model.value import Type, Value

FAMILIES = {"ipv4": 2, "ipv6": 10}
_HELPER = re.compile(r"([a-z0-9]+)-([a-z0-9]+)-(\S{1,15})", re.ASCII)  # NF_CT_HELPER_NAME_LEN, with a NUL behind it
_EXPECTED = "a family, a protocol and a name of up to 15 bytes, like ipv4-tcp-ftp"


class Helper(NamedTuple):
    """A helper: the family and the protocol of the connections that it is for, and its name."""

    family: str
    protocol: Value
    name: str

    def __str__(self) -> str:
        return f"{self.family}-{self.protocol}-{self.name}"


def read_helper(text: str) -> Helper:
    """A helper out of its text; raises ValueError."""
    found = _HELPER.fullmatch(text)
    if not found or found[1] not in FAMILIES:
        raise ValueError(f"expected {_EXPECTED}")
    try:
        return Helper(found[1], IPPROTO.parse(found[2]), found[3])
    except ValueError:
        raise ValueError(f"expected {_EXPECTED}, not the protocol {found[2]!r}") from None


HELPER = Type(_EXPECTED, lambda raw: str(read_helper(str(raw))), {"type": "string"})
