# SPDX-License-Identifier: GPL-2.0-or-later
"""An address, and the lines or words that say more of it, as an entry of a link."""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_interface

from netgroupd.config.importer.fold import Body
from netgroupd.config.importer.stanzas import Option
from netgroupd.config.sections.addresses import FORM
from netgroupd.model.attr import Attr
from netgroupd.model.value import FLAG, Type

_KEYS = {"broadcast": "broadcast", "scope": "scope", "pointopoint": "peer", "preferred-lifetime": "preferred_lft"}
ABOUT = frozenset({"netmask", "network", *_KEYS})  # the network follows from the others
_LATER = Type("", str, {})  # how it is read depends on the address
WORDS = {
    name: row if row.type is FLAG else row._replace(type=_LATER)
    for name, row in {**FORM.rows, "dev": Attr("dev", _LATER, "The link.")}.items()
    if name != "address"
}
"""What may be said behind ``ip address add``."""


def addresses(options: Sequence[Option]) -> Iterator[tuple[Option, str, dict[str, str]]]:
    """Give each address as it is written, and what is said of it."""
    places = [place for place, option in enumerate(options) if option.name == "address"]
    for number, place in enumerate(places):
        # What stands in front of the first address is about it as well.
        start = place if number else 0
        end = places[number + 1] if number + 1 < len(places) else len(options)
        about = {option.name: option.value for option in options[start:end] if option.name in ABOUT}
        for text in options[place].value.split():
            yield options[place], text, about


def entry_of(text: str, about: Mapping[str, str], label: str = "") -> Body:
    """Write an address of a stanza as an entry.

    Raises:
        ValueError: It is none, or is not as the lines about it say.
    """
    length = f"/{about['netmask'].lstrip('/')}" if "netmask" in about and "/" not in text else ""
    said = {_KEYS[name]: value for name, value in about.items() if name in _KEYS}
    return described(text + length, {**said, "label": label})


def described(text: str, said: Mapping[str, object]) -> Body:
    """Write an address, and what is said of it under ``ip``'s names, as an entry.

    Raises:
        ValueError: It is none, or cannot be so.
    """
    try:
        whole = ip_interface(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an address") from None
    body: Body = {"address": str(whole), **{key: value for key, value in said.items() if value not in ("", "-")}}
    if body.get("broadcast") == "+":
        body["broadcast"] = str(whole.network.broadcast_address)
    if peer := str(body.get("peer", "")):
        # With a peer it is the peer's network that the link leads to, of one address if no length is given.
        there = ip_interface(peer)
        body |= {"address": f"{whole.ip}/{there.network.prefixlen}", "peer": str(there.ip)}
    if body.get("scope") in ("universe", "global", "0") or whole.version == 6:
        body.pop("scope", None)  # the usual one, or what the kernel knows of the address itself
    if whole.version == 6:
        body.pop("label", None)
    for key, value in body.items():
        try:
            FORM.rows[key].type.parse(value)
        except ValueError as error:
            raise ValueError(f"{key} {value} of {text}: {error}") from None
    if whole.version == 4 and body.get("preferred_lft", "forever") != "forever" and "valid_lft" not in body:
        raise ValueError(f"preferred_lft {body['preferred_lft']} of {text}: IPv4 knows no such end without valid_lft")
    if whole.version == 6 and "broadcast" in body:
        raise ValueError(f"broadcast {body['broadcast']} of {text}: IPv6 has none")
    return body
