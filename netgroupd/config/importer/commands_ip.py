# SPDX-License-Identifier: GPL-2.0-or-later
"""``ip route``, ``ip rule``, ``ip address``, ``bridge fdb`` and so on -> entries of the sections of those names."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from netgroupd.config import notations
from netgroupd.config.importer import addresses
from netgroupd.config.importer.draft import Draft, Place
from netgroupd.config.importer.fold import Body
from netgroupd.config.importer.shell import NONE
from netgroupd.config.importer.words import alone, number, read, refuse, split, take
from netgroupd.config.sections import fdb, mdb, mst, neighbours, routes, rules, vlan_global, vlans
from netgroupd.model.attr import Attr
from netgroupd.model.route import DEAD_ENDS, TYPES
from netgroupd.model.rule import ACTIONS
from netgroupd.model.token import CLASS as TOKEN
from netgroupd.model.value import several

Handler = Callable[[str, Sequence[str], Place, str], None]
_ADDING = ("add", "a", "replace", "append", "change")
_FAMILIES = ("inet", "inet6")
_FDB = {"self": "where", "master": "where", "static": "state", "permanent": "state"}
_FDB_ALIASES = {"local": "permanent", "temp": "static"}
_RULE_ALIASES = {
    **dict.fromkeys(("priority", "prio", "preference", "order"), "pref"),
    "table": "lookup",
    "dev": "iif",
}
_VLANS = several(vlans.FORM.rows["vid"].type)
_OPTIONS = {name: row for name, row in vlan_global.FORM.rows.items() if name != "vid"}
_NO_OPTIONS = ("vid", "member", "pvid", "untagged", "tunnel_id")
_MEMBER = {name: row for name, row in vlans.FORM.rows.items() if name not in _NO_OPTIONS}
_BY_WHICH = ("self", "master")
_OF_LOCAL = ("local", "broadcast", "anycast")
_WAY = {name: routes.FORM.rows[name] for name in ("via", "dev", "onlink")}


class Objects:
    """Adds what a command would add; what it would change or delete is not."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._routes: dict[tuple[object, ...], Body] = {}
        self.handlers: dict[tuple[str, str], Handler] = {
            ("ip", "route"): self.route,
            ("ip", "address"): self._address,
            ("ip", "rule"): self._rule,
            ("ip", "neighbour"): self._neighbour,
            ("ip", "token"): self._token,
            ("bridge", "fdb"): self._fdb,
            ("bridge", "mdb"): self._mdb,
            ("bridge", "vlan"): self._vlan,
            ("bridge", "mst"): self._mst,
        }

    def route(self, name: str, words: Sequence[str], _place: Place, family: str) -> None:
        """Add a route."""
        first, *ways = split(_added(words), "nexthop")
        first = [word for before, word in pairwise(["", *first]) if before != "via" or word not in _FAMILIES]
        said, left = read(first, routes.FORM.rows, {"priority": "metric", "preference": "metric"}, _BY_WHOM)
        kind = {"type": left.pop(0)} if left and left[0] in TYPES else {}
        destination = str(said.pop("to", None) or alone(left, "destination"))
        routes.FORM.rows["to"].type.parse(destination)
        body: Body = {**kind, "to": destination, **said}
        if kind.get("type") in DEAD_ENDS:
            _to_nowhere(body, of_ipv6=family == "inet6" or ":" in destination)
        if kind.get("type") in _OF_LOCAL and body.keys().isdisjoint(("table", "vrf")):
            body["table"] = "local"  # where ip(8) puts them
        if ways:
            body["nexthops"] = [_way(way) for way in ways]
        if body.keys().isdisjoint(("dev", "via", "type", "nexthops", "nhid")):
            body["dev"] = name
        if destination == "default" and family == "inet6":
            body["family"] = family
        if self._routes.setdefault(_place_of(body), body) != body:
            raise ValueError(f"there is a route to {destination} already; the kernel takes one for each metric")
        self._draft.entry("routes", body)

    def _address(self, name: str, words: Sequence[str], place: Place, _family: str) -> None:
        said, left = read(_added(words), addresses.WORDS, {"brd": "broadcast"})
        link = str(said.pop("dev", name))
        self._draft.address(place, link, addresses.described(alone(left, "address"), said))

    def _rule(self, _name: str, words: Sequence[str], _place: Place, family: str) -> None:
        body, left = read(_without_all(_added(words)), rules.FORM.rows, _RULE_ALIASES)
        if left and left[0] in ACTIONS:
            body["action"] = left.pop(0)
        refuse(left)
        if "pref" not in body:
            raise ValueError("a rule needs a pref here; `ip rule` shows which the kernel has chosen")
        self._draft.entry("rules", {**body, "family": family or None})

    def _neighbour(self, name: str, words: Sequence[str], _place: Place, _family: str) -> None:
        body, left = read(_added(words), neighbours.FORM.rows, {"nud": "state"})
        if body.get("state") == "permanent":  # as it is without
            del body["state"]
        self._draft.entry("neighbours", {"dev": name, "ip": _address_in(left, neighbours.FORM.rows["ip"]), **body})

    def _token(self, name: str, words: Sequence[str], place: Place, _family: str) -> None:
        verb, *rest = words
        link = take(rest, "dev") or name
        if verb != "set":
            raise ValueError(NONE)
        self._draft.put(place, link, "token", _address_in(rest, TOKEN.attrs["token"]))

    def _fdb(self, name: str, words: Sequence[str], _place: Place, _family: str) -> None:
        rest = [_FDB_ALIASES.get(word, word) for word in _added(words) if word != "to"]
        flags = {_FDB[word]: word for word in rest if word in _FDB}
        body, left = read([word for word in rest if word not in _FDB], fdb.FORM.rows)
        if "dst" not in body:  # what bridge(8) means if nothing says
            flags = {"where": "self", **({"state": "permanent"} if flags.get("where") == "master" else {}), **flags}
        self._draft.entry("fdb", {"dev": name, "mac": _address_in(left, fdb.FORM.rows["mac"]), **body, **flags})

    def _mdb(self, _name: str, words: Sequence[str], _place: Place, _family: str) -> None:
        rest = _added(words)
        if "permanent" not in rest:
            raise ValueError("no equivalent of a group that is gone after some minutes; permanent ones have one")
        rest.remove("permanent")
        senders = take(rest, "source_list")
        body, left = read(rest, mdb.FORM.rows, {"grp": "group"}, _BY_WHOM)
        refuse(left)
        if not body.keys() >= {"dev", "port", "group"}:
            raise ValueError(NONE)
        self._draft.entry("mdb", {**body, "source_list": senders if senders is None else senders.split(",")})

    def _vlan(self, name: str, words: Sequence[str], place: Place, _family: str) -> None:
        if [*words[:2]] == ["global", "set"]:
            self._vlan_global(name, [*words[2:]], place)
            return
        if words[0] == "set":
            self._vlan_set(name, [word for word in words[1:] if word not in _BY_WHICH], place)
            return
        rest = [word for word in _added(words) if word not in _BY_WHICH]
        flags: Body = {word: True for word in ("pvid", "untagged") if word in rest}
        rest = [word for word in rest if word not in flags]
        pairs = dict(zip(rest[::2], rest[1::2], strict=False))
        if len(rest) % 2 or "vid" not in pairs or pairs.keys() > {"vid", "dev"}:
            raise ValueError(NONE)
        link, vid = pairs.get("dev", name), _vid(pairs["vid"])
        self._draft.mention(place, link, "vlans")
        self._draft.append(link, "vlans", {"vid": vid, **flags} if flags else vid)

    def _vlan_set(self, name: str, words: list[str], place: Place) -> None:
        """Give options to VLANs that a command has added before, for no two entries may speak of one."""
        link, vids = take(words, "dev") or name, take(words, "vid")
        body, left = read(words, _MEMBER)
        refuse(left)
        if vids is None or not body:
            raise ValueError(NONE)
        vid, entries = _vid(vids), self._draft.link(link).get("vlans", [])
        there = next(
            (entry for entry in entries if entry == vid or (isinstance(entry, dict) and entry["vid"] == vid)), 0
        )
        if not there:
            raise ValueError(f"no command before it adds {vid} alone; write it into the entry of `vlans` that has it")
        self._draft.mention(place, link, "vlans")
        entries[entries.index(there)] = {"vid": vid, **(there if isinstance(there, dict) else {}), **body}

    def _vlan_global(self, name: str, words: list[str], place: Place) -> None:
        link, vids = take(words, "dev") or name, take(words, "vid")
        body, left = read(words, _OPTIONS)
        refuse(left)
        if vids is None or not body:
            raise ValueError(NONE)
        self._draft.mention(place, link, "vlan_global")
        self._draft.append(link, "vlan_global", {"vid": _vid(vids), **body})

    def _mst(self, name: str, words: Sequence[str], place: Place, _family: str) -> None:
        verb, *rest = words
        link = take(rest, "dev") or name
        body, left = read(rest, mst.FORM.rows)
        refuse(left)
        if verb != "set" or body.keys() != mst.FORM.required:
            raise ValueError(NONE)
        self._draft.mention(place, link, "mst")
        self._draft.append(link, "mst", body)


_BY_WHOM = ("proto", "protocol")  # the number of the program that adds it, which is netgroupd's now


def _to_nowhere(body: Body, *, of_ipv6: bool) -> None:
    """Leave out the link of a route that leads nowhere, of which IPv6 takes no notice; it is lo most of the time.

    Raises:
        ValueError: It is one of IPv4, which takes no such route.
    """
    if body.pop("dev", None) and not of_ipv6:
        raise ValueError(f"a route of type {body['type']} has no dev, and the kernel refuses one")


def _added(words: Sequence[str]) -> list[str]:
    """What is to be added.

    Raises:
        ValueError: It is another command.
    """
    verb, *rest = words
    if verb not in _ADDING:
        raise ValueError(NONE)
    return rest


def _without_all(words: Sequence[str]) -> list[str]:
    """The words of a rule but for networks that are everything, by which it selects nothing."""
    ends = [at for at, pair in enumerate(pairwise(words)) if pair in (("from", "all"), ("to", "all"))]
    return [word for at, word in enumerate(words) if at not in ends and at - 1 not in ends]


def _vid(said: str) -> object:
    """A VLAN, or a range of several."""
    vids = notations.numbers(said)
    _VLANS.parse(list(vids))
    return vids[0] if len(vids) == 1 else f"[{notations.fold(vids)}]"


def _place_of(route: Body) -> tuple[object, ...]:
    """What the kernel tells routes apart by."""
    return tuple(route.get(key) for key in ("to", "family", "table", "vrf", "metric", "tos"))


def _address_in(left: Sequence[str], row: Attr) -> str:
    """The one word that is left, if it can be of the row."""
    word = alone(left, "address")
    row.type.parse(word)
    return word


def _way(words: Sequence[str]) -> Body:
    """One of the ways of a route."""
    rest = list(words)
    weight = take(rest, "weight")
    body, left = read(rest, _WAY)
    refuse(left)
    return body if weight is None else {**body, "weight": number(weight)}
