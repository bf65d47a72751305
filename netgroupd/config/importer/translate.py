# SPDX-License-Identifier: GPL-2.0-or-later
"""One ``iface`` stanza after the other -> links, addresses, routes and the rest of a draft."""

import re

from netgroupd.config import notations
from netgroupd.config.importer import mtus
from netgroupd.config.importer.addresses import ABOUT, addresses, entry_of
from netgroupd.config.importer.attributes import (
    ATTRIBUTES,
    OF_ONE_PORT,
    PORT_ATTRIBUTES,
    REASONS,
    SECRETS,
    TUNNEL_KINDS,
    as_text,
)
from netgroupd.config.importer.commands import Commands
from netgroupd.config.importer.draft import Draft, Place
from netgroupd.config.importer.drivers import Drivers
from netgroupd.config.importer.gateways import NAMES, Gateways
from netgroupd.config.importer.sound import leave_out_unsound
from netgroupd.config.importer.stanzas import Option, Stanza
from netgroupd.config.importer.virtual import Virtuals
from netgroupd.config.importer.vlans import VlanAware
from netgroupd.config.importer.vxlans import Vxlans
from netgroupd.model.kinds import KINDS

_FIRST_AUTO_TABLE = 1001
_LAST_RESORT = 4278198272  # the metric that the kernel's VRF documentation gives the unreachable route
_KINDS = (
    ("bridge", ("bridge-ports", "bridge-vlan-aware")),
    ("bond", ("bond-slaves", "bond-ports", "slaves", "bond-mode")),
    ("vxlan", ("vxlan-id", "vxlan-local-tunnelip", "vxlan-vni", "vxlan-vnifilter", "bridge-vlan-vni-map")),
    ("vrf", ("vrf-table",)),
    ("vlan", ("vlan-raw-device", "vlan-id", "vlan-protocol", "vlan-bridge-binding")),
    ("xfrm", ("xfrm-id",)),
)


class Translation:
    """Everything that stanzas turn into; ``finish`` says what needs all of them."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self._commands = Commands(draft)
        self._gateways = Gateways(draft)
        self._vlans = VlanAware(draft)
        self._vxlans = Vxlans(draft)
        self._virtuals = Virtuals(draft)
        self._drivers = Drivers(draft)
        self._order: dict[str, None] = {}  # the names, as they came
        self._waiting: list[tuple[str, Place]] = []  # stanzas that nothing brings up by name
        self._patterns: list[tuple[str, re.Pattern[str]]] = []
        self._bonds: dict[str, Place] = {}

    def stanza(self, name: str, stanza: Stanza, words: list[str], *, up: bool) -> None:
        """Translate one stanza for one of the names it stands for."""
        base, _, label = name.partition(":")
        options = {option.name for option in stanza.options}
        if "vrf-table" in options:
            self.draft.vrfs.setdefault(base, self.draft.links.pop(base, {}))
        body = self.draft.link(base)
        self.draft.mention(stanza.place, base)
        self._order.setdefault(base)
        self._kind(base, stanza)
        if up and "link-down" not in options:
            body.setdefault("up", True)
        if not up and base != "lo":
            self._waiting.append((base, stanza.place))
        self._method(base, stanza, words)
        self._addresses(base, stanza, label and name)
        taken = {"address", *(ABOUT if "address" in options else ()), *(NAMES if "gateway" in options else ())}
        for option in stanza.options:
            if option.name not in taken:
                self._option(base, option)
        if words[:2] == ["inet6", "auto"]:
            # What ifupdown sets; a router takes advertisements only with the 2.
            settings = body.setdefault("sysctl", {})
            body["sysctl"] = {"ipv6.accept_ra": 2, "ipv6.autoconf": 1} | settings
        self._gateways.take(base, stanza.options)
        self._vlan_device(base)

    def _vlan_device(self, name: str) -> None:
        """Read from the name of a VLAN device what its stanza does not say."""
        body = self.draft.link(name)
        if body.get("kind") != "vlan":
            return
        lower, _, number = name.rpartition(".")
        number = number.removeprefix("vlan")
        if lower:
            body.setdefault("link", lower)
        if number.isdecimal():
            body.setdefault("id", int(number))

    def _kind(self, name: str, stanza: Stanza) -> None:
        options = {option.name: option.value for option in stanza.options}
        found = [kind for kind, signs in _KINDS if not options.keys().isdisjoint(signs) and name != "lo"]
        tunnel = options.get("tunnel-mode") or options.get("mode", "")
        kind = options.get("link-type") or TUNNEL_KINDS.get(tunnel, "") or (found[:1] or [""])[0]
        if kind and kind != "vrf":
            place = next((option.place for option in stanza.options if option.name == "link-type"), stanza.place)
            self.draft.put(place, name, "kind", kind)

    def _method(self, name: str, stanza: Stanza, words: list[str]) -> None:
        at = words.index("inherits") if "inherits" in words else 2
        if more := " ".join(words[at:]):
            hint = "copy what it needs of that stanza into this one" if words[at] == "inherits" else ""
            self.draft.remark(stanza.place, f"{more} has no equivalent", hint, name=name)
        method = words[1] if at > 1 and len(words) > 1 else ""
        if method in ("", "static", "manual", "loopback", "tunnel") or words[:2] == ["inet6", "auto"]:
            return
        if method == "v4tunnel":
            self.draft.put(stanza.place, name, "kind", "sit")
        else:
            hint = "run a DHCP client beside netgroupd" if method in ("dhcp", "dhcp6") else ""
            self.draft.remark(stanza.place, f"method {method} has no equivalent", hint, name=name)

    def _addresses(self, name: str, stanza: Stanza, label: str) -> None:
        for option, text, about in addresses(stanza.options):
            try:
                entry = entry_of(text, about, label)
            except ValueError as error:
                self.draft.remark(option.place, str(error), name=name)
                continue
            if name == "lo" and entry["address"] in ("127.0.0.1/8", "::1/128"):
                self.draft.remark(option.place, f"{text} is left out", "the kernel gives it", name=name)
            else:
                self.draft.address(option.place, name, entry)

    def _option(self, name: str, option: Option) -> None:
        try:
            if not self._special(name, option) and not self._listed(name, option):
                self._unknown(name, option)
        except (ValueError, OverflowError):
            self.draft.remark(option.place, f"{option.value!r} is no value of {option.name}", name=name)

    def _listed(self, name: str, option: Option) -> bool:
        """Translate what a table has; say whether it does."""
        if option.name in PORT_ATTRIBUTES:
            self._port_attribute(name, option)
            return True
        if option.name not in ATTRIBUTES:
            return False
        key, read = ATTRIBUTES[option.name]
        value = read(option.value)
        if isinstance(value, str):
            value = as_text(value)
        if key.startswith("sysctl."):
            self.draft.setting(option.place, name, key.removeprefix("sysctl."), value)
        else:
            self.draft.put(option.place, name, key, value)
        return True

    def _port_attribute(self, name: str, option: Option) -> None:
        key, read = PORT_ATTRIBUTES[option.name]
        words = option.value.split()
        if option.name in OF_ONE_PORT:
            words = ["=".join(words)]
        for word in words:
            ports, equals, value = word.rpartition("=")
            said = KINDS["bridge"].port[key].type.parse(read(value))
            for port in notations.names(ports) if equals else (name,):
                self.draft.mention(option.place, port, "port")
                self.draft.link(port).setdefault("port", {})[key] = said

    def _special(self, name: str, option: Option) -> bool:
        """Translate what is more than one attribute; say whether it was."""
        translate = {
            "bond-master": lambda name, option: self.draft.port(option.place, option.value, name),
            "bond-ports": self._ports,
            "bond-slaves": self._ports,
            "bridge-ports": self._ports,
            "slaves": self._ports,
            "link-type": lambda *_: None,
            "mode": self._mode,
            "tunnel-mode": self._mode,
            "up": self._commands.run,
            "down": self._commands.unneeded,
            "post-up": self._commands.run,
            "pre-up": self._commands.run,
            "post-down": self._commands.unneeded,
            "pre-down": self._commands.unneeded,
            "vrf-table": self._table,
        }.get(option.name)
        if translate:
            translate(name, option)
        takers = (self._vlans, self._vxlans, self._virtuals, self._drivers)
        return bool(translate) or any(taker.take(name, option) for taker in takers)

    def _mode(self, name: str, option: Option) -> None:
        """List a kind of tunnel that there is not; one that there is has been taken with the stanza."""
        if option.value not in TUNNEL_KINDS:
            self._unknown(name, option)

    def _unknown(self, name: str, option: Option) -> None:
        reason = next((why for start, why in REASONS.items() if option.name.startswith(start)), "")
        secret = option.name.startswith(SECRETS)
        place = option.place._replace(text=option.name) if secret else option.place
        said = option.name if secret else f"{option.name} {option.value}"
        self.draft.remark(place, f"{said} has no equivalent", reason, name=name)

    def _ports(self, name: str, option: Option) -> None:
        if option.name != "bridge-ports":
            self._bonds.setdefault(name, option.place)
        words = iter(option.value.split())
        for word in words:
            if word == "regex":
                self._pattern(name, option, next(words, ""))
            elif word == "glob":
                for port in notations.names(next(words, "")):
                    self.draft.port(option.place, name, port)
            elif word in ("none", "all"):
                if word == "all":
                    self._pattern(name, option, "^(eth|en|swp).*")
            else:
                for port in notations.names(word) if "[" in word else (word,):
                    self.draft.port(option.place, name, port)

    def _pattern(self, name: str, option: Option, pattern: str) -> None:
        """Keep a pattern until all links are known; ifupdown2 looks for it anywhere in front of a name's end."""
        try:
            self._patterns.append((name, re.compile(f"{pattern}$")))
        except re.error as error:
            raise ValueError(pattern) from error
        hint = "add those of this machine that have no stanza"
        self.draft.remark(option.place, f"of the links of these files, its ports are those like {pattern}", hint, name)

    def _table(self, name: str, option: Option) -> None:
        self.draft.put(option.place, name, "table", option.value if option.value == "auto" else int(option.value))

    def _number_tables(self) -> None:
        """Give the VRFs that leave it to us tables that no other one has."""
        taken = {body.get("table") for body in self.draft.vrfs.values()}
        free = (table for table in range(_FIRST_AUTO_TABLE, 1 << 31) if table not in taken)
        for body in self.draft.vrfs.values():
            if body.get("table") == "auto":
                body["table"] = next(free)

    def finish(self) -> None:
        """Add what follows from all stanzas together."""
        self._number_tables()
        for name, place in self._bonds.items():
            if "mode" not in self.draft.link(name):
                hint = "the kernel's is balance-rr, that of Cumulus' policy 802.3ad; add `mode`"
                self.draft.remark(place, "it has no bond-mode", hint, name)
        for bridge, pattern in self._patterns:
            for name in self._order:
                if name != bridge and pattern.search(name):
                    self.draft.append(bridge, "ports", name)
        self._vlans.finish()
        self._vxlans.finish()
        self._gateways.finish()
        self._raise_what_carries()
        self._virtuals.finish()
        leave_out_unsound(self.draft)
        mtus.write_out(self.draft)
        for family in ("inet", "inet6") if self.draft.vrfs else ():
            for name in self.draft.vrfs:
                last = {"to": "default", "vrf": name, "type": "unreachable", "metric": _LAST_RESORT, "family": family}
                self.draft.entry("routes", last)
            self.draft.entry("rules", {"pref": 1000, "l3mdev": True, "family": family})

    def _raise_what_carries(self) -> None:
        """Bring up what the links that come up stand on, as ifupdown2 does, and list what stays down."""
        waiting = [name for name, body in self.draft.links.items() if body.get("up")]
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            body = self.draft.link(name)
            lower = {str(body.get("link")), str(body.get("dev")), name.rpartition(".")[0]} & self._order.keys()
            # A VLAN that no stanza is about is made, and brought up, because it is a port.
            ports = (port for port in body.get("ports", ()) if port in self._order or "." not in port)
            for carrier in (*ports, *lower):
                self.draft.link(carrier).setdefault("up", True)
                waiting.append(carrier)
        for name, place in self._waiting:
            if "up" not in self.draft.link(name):
                self.draft.remark(place, "it is not brought up", "nothing asks for it; add `up: true` if meant", name)
