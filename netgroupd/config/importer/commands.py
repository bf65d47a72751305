# SPDX-License-Identifier: GPL-2.0-or-later
"""The command lines of ``up`` and its relatives -> what they would do, where that can be said."""

import re
import shlex
from collections.abc import Callable, Sequence
from ipaddress import ip_address, ip_network

from netgroupd.config.importer.created import created
from netgroupd.config.importer.draft import Draft
from netgroupd.config.importer.fold import Body
from netgroupd.config.importer.stanzas import Option

_ADD = ("add", "a", "replace", "append", "change")
_TYPES = ("blackhole", "unreachable", "prohibit", "throw", "local", "unicast")
_OF_ROUTES = tuple("to type via dev table vrf metric src mtu scope tos advmss initcwnd".split())
_ECHO = re.compile(r"echo\s+['\"]?([^'\">]+?)['\"]?\s*>\s*/proc/sys/(\S+)")
_COMMENT = re.compile(r"\s#[^'\"]*$")
_EXPANDED = re.compile(r"[$`]")
_SWAPPED = str.maketrans("./", "/.")
_TRUE = re.compile(r"\s*\|\|\s*(?:true|:|exit 0)\s*$|\s*2?>\s*/dev/null(?:\s+2>&1)?\s*$|\s*;\s*$")


class Commands:
    """Reads ip, bridge, sysctl and echo; everything else is listed."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def run(self, name: str, option: Option) -> None:
        """Translate one command, or list it."""
        line = _COMMENT.sub("", option.value)
        while (shorter := _TRUE.sub("", line)) != line:
            line = shorter
        for variable in ("${IFACE}", "$IFACE"):
            line = line.replace(variable, name)
        try:
            # What the shell would put in is not known here.
            done = not _EXPANDED.search(line) and (self._setting(line) or self._known(name, shlex.split(line), option))
        except (ValueError, IndexError):
            done = False
        if not done:
            self._draft.remark(option.place, f"{option.name} {option.value}", "no equivalent of this command", name)

    def unneeded(self, name: str, option: Option) -> None:
        """List a command that undoes something."""
        hint = "what the files no longer mention is removed without a command"
        self._draft.remark(option.place, f"{option.name} {option.value}", hint, name)

    def _setting(self, line: str) -> bool:
        found = _ECHO.fullmatch(line.strip())
        if not found or not found[2].startswith("net/"):
            return False
        self._draft.sysctl[found[2]] = found[1].strip()
        return True

    def _known(self, name: str, words: Sequence[str], option: Option) -> bool:
        words = [word.rpartition("/")[2] if place == 0 else word for place, word in enumerate(words)]
        if words[0] == "sysctl":
            return self._sysctl(words[1:])
        if words[0] == "ifconfig" and words[1:] == [name, "up"]:
            self._draft.put(option.place, name, "up", True)
            return True
        family = {"-4": "inet", "-6": "inet6"}.get(words[1], "") if words[0] in ("ip", "bridge") else ""
        rest = words[2:] if words[1].startswith("-") else words[1:]
        handlers: dict[tuple[str, str], Callable[[str, Sequence[str], Option], bool]] = {
            ("ip", "route"): lambda name, words, _: self._route(name, words, family),
            ("ip", "address"): self._address,
            ("ip", "link"): self._link,
            ("ip", "rule"): lambda name, words, option: self._rule(name, words, option, family),
            ("ip", "neighbour"): self._neighbour,
            ("bridge", "fdb"): self._fdb,
            ("bridge", "mdb"): self._mdb,
            ("bridge", "vlan"): self._vlan,
        }
        for (program, noun), handle in handlers.items():
            if words[0] == program and noun.startswith(rest[0].replace("neighbor", "neighbour")):
                return handle(name, rest[1:], option)
        return False

    def _sysctl(self, words: Sequence[str]) -> bool:
        settings = [word for word in words if not word.startswith("-")]
        if not settings or not all(word.startswith("net") and "=" in word for word in settings):
            return False
        for setting in settings:
            path, _, value = setting.partition("=")
            if "/" in path and path.startswith("net."):
                path = path.translate(_SWAPPED)  # the dots of a link's name are slashes then
            self._draft.sysctl[path.strip()] = value.strip()
        return True

    def _route(self, name: str, words: Sequence[str], family: str) -> bool:
        if words[0] not in _ADD:
            return False
        body: Body = {}
        ignored = ("proto", "protocol")
        rest = _spelt_out(words[1:], (*_OF_ROUTES, *ignored), ("onlink",))
        if rest.count("to") != 1 or not _fields(rest, _OF_ROUTES, {"onlink"}, body, ignored) or not _is_route(body):
            return False
        if "dev" not in body and "via" not in body and "type" not in body:
            body["dev"] = name
        if body["to"] == "default" and family == "inet6":
            body["family"] = "inet6"
        self._draft.entry("routes", body)
        return True

    def _address(self, name: str, words: Sequence[str], _option: Option) -> bool:
        if words[0] not in _ADD:
            return False
        body: Body = {"address": words[1]}
        if not _fields(
            list(words[2:]), ("dev", "label", "scope", "peer", "broadcast", "metric"), {"nodad", "noprefixroute"}, body
        ):
            return False
        link = str(body.pop("dev", name))
        self._draft.append(link, "addresses", body if len(body) > 1 else body["address"])
        return True

    def _link(self, name: str, words: Sequence[str], option: Option) -> bool:
        rest = list(words[1:])
        if words[0] in ("add", "a"):
            link, body = created(rest)
            for key, value in body.items():
                self._draft.put(option.place, link, key, value)
            return True
        if words[0] != "set" or not rest:
            return False
        if rest[0] == "dev":
            rest.pop(0)
        link = rest.pop(0)
        body = {}
        aliases = {"address": "mac", "txqlen": "txqueuelen"}
        while rest:
            word = rest.pop(0)
            if word in ("up", "down"):
                body["up"] = word == "up"
            elif word in ("mtu", "txqueuelen", "txqlen", "address", "master", "alias"):
                body[aliases.get(word, word)] = _number(rest.pop(0))
            elif word in ("promisc", "multicast", "allmulticast", "arp") and rest and rest[0] in ("on", "off"):
                body[word] = rest.pop(0) == "on"
            else:
                return False
        for key, value in body.items():
            self._draft.put(option.place, link, key, value)
        return True

    def _rule(self, name: str, words: Sequence[str], option: Option, family: str) -> bool:
        if words[0] not in _ADD:
            return False
        body: Body = {}
        aliases = {
            **dict.fromkeys(("priority", "prio", "preference", "order"), "pref"),
            "table": "lookup",
            "dev": "iif",
        }
        rest = [aliases.get(word, word) for word in words[1:]]
        keys = ("pref", "from", "to", "iif", "oif", "fwmark", "lookup", "tos", "goto", "sport", "dport", "ipproto")
        if not _fields(rest, keys, {"l3mdev"}, body):
            return False
        if "pref" not in body:
            hint = "a rule needs a pref here; `ip rule` shows which the kernel has chosen"
            self._draft.remark(option.place, f"{option.name} {option.value}", hint, name)
            return True
        if body.get("from") == "all":
            del body["from"]
        self._draft.entry("rules", {**body, "family": family or None})
        return True

    def _neighbour(self, name: str, words: Sequence[str], _option: Option) -> bool:
        if words[0] not in _ADD:
            return False
        body: Body = {}
        rest = list(words[1:])
        if rest[0] == "proxy":
            body["proxy"] = True
            rest.pop(0)
        body["ip"] = rest.pop(0)
        if not _fields(rest, ("lladdr", "dev"), set(), body, ignored=("nud",)):
            return False
        self._draft.entry("neighbours", {"dev": name, **body})
        return True

    def _fdb(self, name: str, words: Sequence[str], _option: Option) -> bool:
        if words[0] not in _ADD:
            return False
        body: Body = {"dev": name, "mac": words[1]}
        found = _fields(
            list(words[2:]),
            ("dev", "dst", "vni", "src_vni", "port", "via", "vlan"),
            {"self", "master", "static", "permanent"},
            body,
        )
        for where in ("self", "master"):
            if body.pop(where, False):
                body["where"] = where
        for state in ("static", "permanent"):
            if body.pop(state, False):
                body["state"] = state
        if found:
            self._draft.entry("fdb", body)
        return found

    def _mdb(self, _name: str, words: Sequence[str], _option: Option) -> bool:
        if words[0] not in _ADD:
            return False
        body: Body = {}
        keys = ("dev", "port", "grp", "src", "vid", "filter_mode", "source_list")
        rest = [word for word in words[1:] if word != "permanent"]
        # An entry that is not permanent is gone after some minutes.
        if len(rest) == len(words) - 1 or not _fields(rest, keys, set(), body, ignored=("proto",)):
            return False
        if not body.keys() >= {"dev", "port", "grp"}:
            return False
        body["group"] = body.pop("grp")
        if "source_list" in body:
            body["source_list"] = str(body["source_list"]).split(",")
        self._draft.entry("mdb", body)
        return True

    def _vlan(self, name: str, words: Sequence[str], _option: Option) -> bool:
        body: Body = {}
        if words[0] not in _ADD or not _fields(
            list(words[1:]), ("vid", "dev"), {"pvid", "untagged", "self", "master"}, body
        ):
            return False
        link = str(body.pop("dev", name))
        body.pop("self", None)
        body.pop("master", None)
        vid = body["vid"] if isinstance(body["vid"], int) else f"[{body['vid']}]"
        self._draft.append(link, "vlans", {**body, "vid": vid})
        return True


def _spelt_out(words: Sequence[str], keys: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Put ``to`` and ``type`` in front of the words of a route that may stand without, wherever that is."""
    spelt: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in keys:
            spelt += [word, next(rest, "")]
        elif word in flags:
            spelt.append(word)
        else:
            spelt += ["type" if word in _TYPES else "to", word]
    return spelt


def _is_route(body: Body) -> bool:
    """Say whether the addresses are some and the table is known by number, not by a name that ``ip`` alone knows.

    Raises:
        ValueError: It is no address.
    """
    if body["to"] != "default":
        ip_network(str(body["to"]))
    if "via" in body:
        ip_address(str(body["via"]))
    return isinstance(body.get("table", 0), int) or body["table"] in ("main", "local", "default")


def _fields(words: list[str], keys: Sequence[str], flags: set[str], body: Body, ignored: Sequence[str] = ()) -> bool:
    """Take ``key value`` pairs and flags off the words into ``body``; say whether all were known."""
    while words:
        word = words.pop(0)
        if word in keys and words:
            body[word] = _number(words.pop(0))
        elif word in ignored and words:
            words.pop(0)
        elif word in flags:
            body[word] = True
        else:
            return False
    return True


def _number(word: str) -> int | str:
    return int(word) if word.isdecimal() else word
