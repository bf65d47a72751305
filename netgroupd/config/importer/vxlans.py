# SPDX-License-Identifier: GPL-2.0-or-later
"""VXLANs: what a stanza leaves to ifupdown2, which is not what the kernel does by itself, and the other ends."""

from netgroupd.config.importer.draft import Draft
from netgroupd.config.importer.stanzas import Option

_FLOOD = "00:00:00:00:00:00"
_PORT = 4789  # the kernel's own is 8472


class Vxlans:
    """Takes what is said of tunnels as it comes, and completes every VXLAN when all stanzas are read."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._local = ""  # of those that do not say theirs
        self._remotes: dict[str, list[str]] = {}
        self._maps: list[tuple[str, int, str]] = []  # by network

    def take(self, name: str, option: Option) -> bool:
        """Keep an option of ours; say whether it is."""
        if option.name == "vxlan-local-tunnelip":
            self._local_of(name, option)
        elif option.name == "vxlan-remoteip":
            self._remotes.setdefault(name, []).extend(option.value.split())
        elif option.name in ("vxlan-mcastgrp-map", "vxlan-remoteip-map"):
            for pair in option.value.split():
                network, _, others = pair.partition("=")
                self._maps += [(name, int(network), other) for other in others.split(",")]
        else:
            return False
        return True

    def _local_of(self, name: str, option: Option) -> None:
        """Keep an address to send from; that of ``lo`` and otherwise the first is for all that have none."""
        address = option.value.partition("/")[0]
        if name == "lo":
            self._local = address
            return
        self._local = self._local or address
        self._draft.put(option.place, name, "local", address)

    def finish(self) -> None:
        """Say what ifupdown2 does unasked."""
        for name, body in self._draft.links.items():
            if body.get("kind") != "vxlan":
                continue
            if self._local:
                body.setdefault("local", self._local)
            body.setdefault("dstport", _PORT)
            if "learning" in body.get("port", {}):
                body.setdefault("learning", body["port"]["learning"])
            for remote in self._remotes.get(name, ()):
                if remote != body.get("local"):  # one list is for all hosts
                    self._draft.entry("fdb", {"dev": name, "mac": _FLOOD, "dst": remote})
        for name, network, other in self._maps:
            if other != self._draft.link(name).get("local"):
                self._draft.entry("fdb", {"dev": name, "mac": _FLOOD, "dst": other, "src_vni": network})
