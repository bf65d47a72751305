# SPDX-License-Identifier: GPL-2.0-or-later
"""The command lines of ``up`` and its relatives -> what they would do, where that can be said."""

import re
from collections.abc import Callable, Sequence

from netgroupd.config.importer import old_route
from netgroupd.config.importer.commands_ip import Objects
from netgroupd.config.importer.commands_link import LinkCommands
from netgroupd.config.importer.draft import Draft, Place
from netgroupd.config.importer.drivers import Drivers
from netgroupd.config.importer.shell import NONE, commands, echoed
from netgroupd.config.importer.stanzas import Option
from netgroupd.config.importer.words import number
from netgroupd.model.sysctl import PATH

_CARD = re.compile(r"/sys/class/net/([^/]+)/device/sriov_numvfs")
_SILENT = frozenset({"-w", "-q", "-e", "-wq", "-qw"})
_FAMILIES = {"-4": "inet", "-6": "inet6"}
_OWN = ("ipv4", "ipv6", "mpls")  # the protocols that a link has settings of


class Commands:
    """Reads ip, bridge, ethtool, sysctl, echo and what came before them; everything else is listed."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._objects = Objects(draft)
        links = self._links = LinkCommands(draft)
        self._programs: dict[str, Callable[[str, Sequence[str], Place], None]] = {
            "brctl": links.brctl,
            "bridge": self._ip,
            "echo": self._echo,
            "ethtool": Drivers(draft).run,
            "ifconfig": links.ifconfig,
            "ip": self._ip,
            "route": self._route,
            "sysctl": self._sysctl,
        }

    def run(self, name: str, option: Option) -> None:
        """Translate the commands of a line, or list those that have no equivalent."""
        try:
            found = commands(option.value, name)
        except ValueError as error:
            self._draft.remark(option.place, f"{option.name} {option.value}", str(error), name)
            return
        if not found:
            self._draft.remark(option.place, f"{option.name} {option.value}", NONE, name)
        for words in found:
            try:
                self._known(name, words, option.place)
            except ValueError as error:
                line = option.value if len(found) == 1 else " ".join(words)
                self._draft.remark(option.place, f"{option.name} {line}", str(error), name)

    def unneeded(self, name: str, option: Option) -> None:
        """List a command that undoes something."""
        program = option.value.partition(" ")[0].rpartition("/")[2]
        hint = "what the files no longer mention is removed without a command" if program in self._programs else NONE
        self._draft.remark(option.place, f"{option.name} {option.value}", hint, name)

    def _known(self, name: str, words: Sequence[str], place: Place) -> None:
        program = words[0].rpartition("/")[2]
        if program not in self._programs or (program != "echo" and not {">", ">>"}.isdisjoint(words)):
            raise ValueError(NONE)
        self._programs[program](name, [program, *words[1:]], place)

    def _ip(self, name: str, words: Sequence[str], place: Place) -> None:
        program, *rest = words
        family = _FAMILIES.get(rest[0], "") if rest else ""
        noun, *rest = [*rest[1 if family else 0 :], ""]
        if len(rest) < 2:
            raise ValueError(NONE)
        for handlers in (self._objects.handlers, self._links.handlers):
            for (of, whole), handle in handlers.items():
                if of == program and whole.startswith(noun.replace("neighbor", "neighbour")):
                    handle(name, rest[:-1], place, family)
                    return
        raise ValueError(NONE)

    def _route(self, name: str, words: Sequence[str], place: Place) -> None:
        family, rest = old_route.as_ip(words[1:])
        self._objects.route(name, rest, place, family)

    def _echo(self, name: str, words: Sequence[str], place: Place) -> None:
        path, value = echoed(words[1:])
        if (card := _CARD.fullmatch(path)) and value.isdecimal():
            self._draft.put(place, card[1], "num_vfs", int(value))
            return
        if not path.startswith("/proc/sys/net/"):
            raise ValueError(NONE)
        self._set(name, path.removeprefix("/proc/sys/"), value, place)

    def _sysctl(self, name: str, words: Sequence[str], place: Place) -> None:
        settings = [word for word in words[1:] if word not in _SILENT]
        if not settings or not all(word.startswith("net") and "=" in word for word in settings):
            raise ValueError(NONE)
        for setting in settings:
            path, _, value = setting.partition("=")
            # The first separator says which of the two is the other: net.ipv4.conf.eth0/7.rp_filter.
            dotted = "/" not in path or "." in path.partition("/")[0]
            self._set(name, path.translate(_SWAPPED) if dotted else path, value, place)

    def _set(self, name: str, path: str, value: str, place: Place) -> None:
        """Keep a setting with the link that it is of, if that is the stanza's, and else with the host's."""
        PATH.parse(path)
        tree, protocol, *rest = path.split("/")
        if protocol in _OWN and rest[:2] == ["conf", name] and len(rest) == 3:
            self._draft.setting(place, name, f"{protocol}.{rest[2]}", number(value))
        else:
            self._draft.sysctl[path if "." in path else ".".join((tree, protocol, *rest))] = value


_SWAPPED = str.maketrans("./", "/.")
