# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols of the link layer and of PPP by the names that ``tc`` gives them, or by number."""

from netgroupd.model.value import Type, Value, number, word

PROTOCOLS = {
    "all": 0x0003,
    "ip": 0x0800,
    "ipv6": 0x86DD,
    "arp": 0x0806,
    "rarp": 0x8035,
    "802.1q": 0x8100,
    "802.1ad": 0x88A8,
    "mpls_uc": 0x8847,
    "mpls_mc": 0x8848,
    "ppp_ses": 0x8864,
    "lldp": 0x88CC,
    "cfm": 0x8902,
}
_NAMES = {value: name for name, value in PROTOCOLS.items()}
_PLAIN = number(16)
_EXPECTED = "one of " + ", ".join(PROTOCOLS) + ", or a number"


def protocol_number(value: Value) -> int:
    """A protocol as it is on the wire, in host order."""
    return PROTOCOLS[value] if isinstance(value, str) else int(value)  # type: ignore[arg-type]


def swapped(number: int) -> int:
    """A protocol from the host's order to that of the network, or back."""
    return number >> 8 | (number & 0xFF) << 8


def protocol_name(value: int) -> Value:
    """A protocol's name, or its number if it has none."""
    return _NAMES.get(value, value)


def _parse(raw: object) -> Value:
    if str(raw).lower() in PROTOCOLS:
        return str(raw).lower()
    try:
        got = _PLAIN.parse(raw)
    except ValueError:
        raise ValueError(f"expected {_EXPECTED}") from None
    assert isinstance(got, int)
    return protocol_name(got)


PROTOCOL = Type(
    _EXPECTED,
    _parse,
    {"anyOf": [{"enum": list(PROTOCOLS)}, _PLAIN.schema]},
    lambda value: protocol_number(value).to_bytes(2, "big"),
    lambda payload: protocol_name(int.from_bytes(payload[:2], "big")),
)

_PPP_NAMES = word(16, {"ip": 0x21, "ipv6": 0x57, "mpls_uc": 0x281, "mpls_mc": 0x283}, order=">")
_PPP_EXPECTED = f"{_PPP_NAMES.expected}, or a number"


def _parse_ppp(raw: object) -> Value:
    for known in (_PPP_NAMES, _PLAIN):
        try:
            return known.parse(raw)
        except ValueError:
            continue
    raise ValueError(f"expected {_PPP_EXPECTED}")


PPP_PROTOCOL = _PPP_NAMES._replace(
    expected=_PPP_EXPECTED, parse=_parse_ppp, schema={"anyOf": [_PPP_NAMES.schema, _PLAIN.schema]}
)
