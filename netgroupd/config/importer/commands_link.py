# SPDX-License-Identifier: GPL-2.0-or-later
"""``ip link``, ``ip tunnel``, ``ip tuntap``, ``bridge link``, brctl and ifconfig -> links and their attributes."""

from collections.abc import Callable, Mapping, Sequence

from netgroupd.config.importer.attributes import TUNNEL_KINDS, as_text, switch
from netgroupd.config.importer.draft import Draft, Place
from netgroupd.config.importer.fold import Body
from netgroupd.config.importer.shell import NONE
from netgroupd.config.importer.words import alone, read, refuse, split, take
from netgroupd.config.sections import vfs
from netgroupd.model.attr import Attr
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.link import COMMON
from netgroupd.model.vf import CLASS

Handler = Callable[[str, Sequence[str], Place, str], None]
# As `ip` has the words of a link; what it says otherwise than by a name and a value is left alone.
_OF_LINKS = {name: row for name, row in COMMON.items() if name not in ("up", "kind", "group", "altnames", "carrier")}
_ALIASES = {
    **dict.fromkeys(("txqlen", "qlen", "txqueuelen"), "txqueuelen"),
    "address": "mac",
}
_NUMBER = CLASS.key[1]
_BRCTL = {"addbr": 0, "addif": 1, "stp": 1}  # with how many words at least
_SHORT = {"stp_state": "stp"}
_PORTS = {"bridge_slave": "bridge", "bond_slave": "bond"}
_ENDS = {"key": "ikey"}
# What ifupdown2 does unasked with its own, it does not do with one from a command.
_WITH_MORE = {"vxlan": "write it under `links`", "vrf": "write it under `vrfs`"}


class LinkCommands:
    """Makes the links that a command would make, and sets what one would set."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.handlers: dict[tuple[str, str], Handler] = {
            ("ip", "link"): self._link,
            ("ip", "tunnel"): self._tunnel,
            ("ip", "tuntap"): self._tuntap,
            ("bridge", "link"): self._port,
        }

    def ifconfig(self, name: str, words: Sequence[str], place: Place) -> None:
        """Bring a link up, without an address."""
        link, *rest = words[1:] or [name]
        if not rest or not set(rest) <= {"up", "0.0.0.0", "0", "promisc"}:
            raise ValueError(NONE)
        self._draft.put(place, link, "up", True)
        if "promisc" in rest:
            self._draft.put(place, link, "promisc", True)

    def brctl(self, _name: str, words: Sequence[str], place: Place) -> None:
        """Make a bridge, give it ports, or say whether it speaks STP."""
        verb, bridge, *rest = words[1:] if len(words) > 2 else ("", "")
        if len(rest) < _BRCTL.get(verb, len(rest) + 1):
            raise ValueError(NONE)
        self._draft.put(place, bridge, "kind", "bridge")
        if verb == "stp":
            self._draft.put(place, bridge, "stp", switch(rest[0]))
        elif verb == "addif":
            for port in rest:
                self._draft.port(place, bridge, port)

    def _link(self, _name: str, words: Sequence[str], place: Place, _family: str) -> None:
        verb, *rest = words
        if verb not in ("add", "set"):
            raise ValueError(NONE)
        kind, options = "", []
        if "type" in rest[:-1]:
            at = rest.index("type")
            kind, options, rest = rest[at + 1], rest[at + 2 :], rest[:at]
        rest, functions = _functions(rest) if verb == "set" else (rest, {})
        body, left = read([word for word in rest if word not in ("dev", "name")], _OF_LINKS, _ALIASES)
        for word in ("up", "down"):
            if word in left:
                left.remove(word)
                body["up"] = word == "up"
        if "name" in rest and verb == "set":
            raise ValueError("no equivalent of a new name; systemd.link(5) gives links theirs")
        link = alone(left, "link")
        if verb == "add" and not kind:
            raise ValueError("it names no type")
        of_port = _options(options, KINDS[_PORTS[kind]].port) if kind in _PORTS else {}
        if kind and not of_port:
            body |= {"kind": kind, **self._of_kind(kind, options)}
        self._put(link, body, place)
        self._put_port(link, of_port, place)
        for number, said in functions.items():
            self._draft.mention(place, link, "vfs")
            self._draft.link(link).setdefault("vfs", {}).setdefault(number, {}).update(said)

    @staticmethod
    def _of_kind(kind: str, options: Sequence[str]) -> Body:
        if kind not in KINDS or kind in _WITH_MORE:
            raise ValueError(_WITH_MORE.get(kind, f"unknown type {kind!r}"))
        if kind in PAIRS and list(options[:1]) == ["peer"]:
            return {"peer": alone([word for word in options[1:] if word != "name"], "peer")}
        return _options(options, KINDS[kind].attrs)

    def _tunnel(self, _name: str, words: Sequence[str], place: Place, _family: str) -> None:
        verb, *rest = words
        pairs = dict(zip(rest[1::2], rest[2::2], strict=False)) if rest[:1] and rest[0] not in ("mode", "name") else {}
        kind = TUNNEL_KINDS.get(pairs.get("mode", ""), "")
        if verb != "add" or not kind or len(rest) % 2 == 0:
            raise ValueError(NONE)
        options = [word for key, value in pairs.items() if key != "mode" for word in (key, value)]
        body = _options(options, KINDS[kind].attrs, _ENDS)
        if "key" in pairs and "ikey" in body:
            body["okey"] = body["ikey"]
        self._put(rest[0], {"kind": kind, **body}, place)

    def _tuntap(self, _name: str, words: Sequence[str], place: Place, _family: str) -> None:
        verb, *rest = words
        said = [word for word in rest if word not in ("dev", "name", "one_queue")]  # which means nothing any more
        body, left = read(said, KINDS["tun"].attrs, {"group": "user_group"})
        if verb != "add" or "mode" not in body:
            raise ValueError(NONE)
        self._put(alone(left, "link"), {"kind": "tun", **body}, place)

    def _port(self, _name: str, words: Sequence[str], place: Place, _family: str) -> None:
        verb, *rest = words
        link = take(rest, "dev")
        if verb != "set" or link is None:
            raise ValueError(NONE)
        self._put_port(link, _options(rest, KINDS["bridge"].port), place)

    def _put(self, link: str, body: Body, place: Place) -> None:
        for key, value in body.items():
            self._draft.put(place, link, key, as_text(value) if isinstance(value, str) else value)

    def _put_port(self, link: str, body: Body, place: Place) -> None:
        if body:
            self._draft.mention(place, link, "port")
            self._draft.link(link).setdefault("port", {}).update(body)


def _functions(words: Sequence[str]) -> tuple[list[str], dict[int, Body]]:
    """What is said of virtual functions, each behind its number, and the words that are not about one.

    Raises:
        ValueError: It is no number, or nothing is said of it.
    """
    rest, *parts = split(words, "vf")
    found: dict[int, Body] = {}
    for part in parts:
        number = _NUMBER.type.parse(part[0]) if part else None
        body, left = read(part[1:], vfs.FORM.rows, {"rate": "max_tx_rate"})
        if not isinstance(number, int) or not body:
            raise ValueError(NONE)
        found.setdefault(number, {}).update(body)
        rest += left
    return rest, found


def _options(words: Sequence[str], rows: Mapping[str, Attr], aliases: Mapping[str, str] | None = None) -> Body:
    """What is said of a kind of link, all of it.

    Raises:
        ValueError: Something else is said.
    """
    body, left = read(words, rows, aliases)
    refuse(left)
    return {_SHORT.get(key, key): value for key, value in body.items()}
