# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``address`` lines of a stanza, with the lines that say more of each."""

from collections.abc import Iterator, Sequence
from ipaddress import ip_interface

from netgroupd.config.importer.fold import Body
from netgroupd.config.importer.stanzas import Option

_KEYS = {"broadcast": "broadcast", "scope": "scope", "pointopoint": "peer", "preferred-lifetime": "preferred_lft"}
ABOUT = frozenset({"netmask", "network", *_KEYS})  # the network follows from the others


def addresses(options: Sequence[Option], label: str) -> Iterator[tuple[Option, str, Body | None]]:
    """Give each address as written and as an entry, or None where it is no address."""
    places = [place for place, option in enumerate(options) if option.name == "address"]
    for number, place in enumerate(places):
        # What stands in front of the first address is about it as well.
        start = place if number else 0
        end = places[number + 1] if number + 1 < len(places) else len(options)
        about = {option.name: option.value for option in options[start:end] if option.name in ABOUT}
        for text in options[place].value.split():
            yield options[place], text, _entry(text, about, label)


def _entry(text: str, about: dict[str, str], label: str) -> Body | None:
    length = f"/{about['netmask'].lstrip('/')}" if "netmask" in about and "/" not in text else ""
    try:
        whole = ip_interface(text + length)
    except ValueError:
        return None
    entry: Body = {"address": str(whole)}
    if label and whole.version == 4:  # IPv6 has none
        entry["label"] = label
    for name, key in _KEYS.items():
        if name in about and about[name] not in ("+", "-"):
            entry[key] = int(about[name]) if about[name].isdecimal() else about[name]
    return entry
