# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of ``ip link add`` -> a link, of the kinds for which each word has a key of ours.

A VXLAN or VRF is not among them: what ifupdown2 does unasked with its own, it does not do with one from a command.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from netgroupd.config.importer.attributes import mac, switch
from netgroupd.config.importer.fold import Body

_Rows = Mapping[str, tuple[str, Callable[[str], Any]]]

_COMMON: _Rows = {
    "address": ("mac", mac),
    "dev": ("name", str),
    "link": ("link", str),
    "mtu": ("mtu", int),
    "name": ("name", str),
    "txqlen": ("txqueuelen", int),
    "txqueuelen": ("txqueuelen", int),
}
_OF_KIND: Mapping[str, _Rows] = {
    "bridge": {
        "forward_delay": ("forward_delay", int),
        "stp_state": ("stp", switch),
        "vlan_filtering": ("vlan_filtering", switch),
    },
    "dummy": {},
    "ifb": {},
    "macvlan": {"mode": ("mode", str)},
    "veth": {"peer": ("peer", str)},
    "vlan": {"id": ("id", int), "protocol": ("protocol", str.lower)},
}


def created(words: Sequence[str]) -> tuple[str, Body]:
    """Give the name of the link and the rest of it.

    Raises:
        ValueError: It is of another kind, or one of the words has no key.
    """
    place = words.index("type")
    kind = " ".join(words[place + 1 : place + 2])
    if kind not in _OF_KIND:
        raise ValueError(f"no links of the kind {kind!r} are made of words")
    about = _read(words[:place], _COMMON, "name")
    name = about.pop("name", "")
    if not name:
        raise ValueError("the kernel would choose the name")
    own = _read([word for word in words[place + 2 :] if word != "name"], _OF_KIND[kind], "")  # `peer name eth9`
    return name, {"kind": kind, **about, **own}


def _read(words: Iterable[str], rows: _Rows, alone: str) -> Body:
    """Read words in pairs; one alone is the value of the key that is named."""
    body: Body = {}
    rest = iter(words)
    for word in rest:
        key, read = rows.get(word, (alone, str))
        if not key or key in body:
            raise ValueError(f"{word!r} has no key")
        body[key] = read(next(rest, "")) if word in rows else word
    return body
