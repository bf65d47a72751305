# SPDX-License-Identifier: GPL-2.0-or-later
"""MACsec: encrypted Ethernet on a lower link.  Its keys are left to what agrees on them: a file's is used twice."""

import re

from netgroupd.model.attr import Attr, Change, table
from netgroupd.model.kinds.kind import Kind
from netgroupd.model.value import FLAG, PORT, U32, Type, Value, number, word

_FIXED = Change.RECREATE
_CIPHER = {
    "gcm-aes-128": 0x0080020001000001,
    "gcm-aes-256": 0x0080C20001000002,
    "gcm-aes-xpn-128": 0x0080C20001000003,
    "gcm-aes-xpn-256": 0x0080C20001000004,
}
_HEX = re.compile(r"(0x)?([0-9a-fA-F]{16})")


def _parse_sci(raw: object) -> Value:
    found = _HEX.fullmatch(str(raw))
    if not found:
        raise ValueError("expected 16 hexadecimal digits")
    return found[2].lower()


_SCI = Type(
    "16 hexadecimal digits",
    _parse_sci,
    {"type": "string", "pattern": "^(0x)?[0-9a-fA-F]{16}$"},
    lambda value: bytes.fromhex(str(value)),
    lambda payload: bytes(payload).hex(),
)

_CHECK = number(8, 8, 16)
_NO_CHECK = range(9, 12)  # AES-GCM has none as long


def _parse_check(raw: object) -> Value:
    got = _CHECK.parse(raw)
    if got in _NO_CHECK:
        raise ValueError(f"expected {_ICVLEN.expected}")
    return got


_ICVLEN = _CHECK._replace(expected="8, or a whole number from 12 to 16", parse=_parse_check)

MACSEC = Kind(
    "macsec",
    "Encrypted Ethernet on the lower link; the keys are left to what agrees on them (MKA).",
    table(
        (
            Attr("sci", _SCI, "The id of its channel: MAC address and port.", 1, _FIXED),
            Attr("sci_port", PORT, "The port in the id of its channel.", 2, _FIXED, silent=True),
            Attr("icvlen", _ICVLEN, "The length of the check value.", 3, _FIXED),
            Attr("cipher", word(64, _CIPHER), "The cipher suite.", 4, _FIXED),
            Attr("encodingsa", number(8, 0, 3), "The association it sends with.", 6),
            Attr("encrypt", FLAG, "Encrypt, not only sign.", 7),
            Attr("protect", FLAG, "Protect what it sends.", 8),
            Attr("send_sci", FLAG, "Send the id of its channel.", 9),
            Attr("end_station", FLAG, "It is an end station.", 10),
            Attr("scb", FLAG, "Broadcast for a single copy.", 11),
            Attr("replay", FLAG, "Refuse what was seen before.", 12),
            Attr("window", U32, "How late a packet may come; needs replay.", 5),
            Attr("validate", word(8, {"disabled": 0, "check": 1, "strict": 2}), "What becomes of bad packets.", 13),
            Attr("offload", word(8, {"off": 0, "phy": 1, "mac": 2}), "What does the work.", 15),
        )
    ),
    lower=True,
)
