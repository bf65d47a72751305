# SPDX-License-Identifier: GPL-2.0-or-later
"""``address-virtual``: the macvlans that ifupdown2 makes for addresses that several hosts share."""

from collections import Counter
from ipaddress import ip_interface

from netgroupd.config.importer.attributes import mac
from netgroupd.config.importer.draft import Draft
from netgroupd.config.importer.fold import Body
from netgroupd.config.importer.stanzas import Option

# Behind the link's own address in the same network, whose route has none: what the host sends leaves by the link.
_METRIC = 1024
_LONGEST = 15


class Virtuals:
    """Takes the lines as they come, and joins each macvlan to what its link is in when all stanzas are read."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._lower: dict[str, str] = {}
        self._lines: Counter[str] = Counter()

    def take(self, name: str, option: Option) -> bool:
        """Make the macvlan of a line of ours; say whether it is one."""
        if option.name != "address-virtual":
            return False
        word, *addresses = option.value.split() or [""]
        if word.lower() == "none" and not addresses:
            return True
        body: Body = {"kind": "macvlan", "link": name, "mode": "private"}
        body["addresses"] = [_entry(text) for text in addresses]
        if word.lower() != "none":
            body["mac"] = mac(word)
        virtual = f"{name[:13].replace('.', '-')}-v{self._lines[name]}"
        self._lines[name] += 1
        if len(virtual) > _LONGEST:
            told = f"the name {virtual} would be longer than {_LONGEST} characters"
            self._draft.remark(option.place, told, name=name)
            return True
        self._draft.links[virtual] = body
        self._lower[virtual] = name
        return True

    def finish(self) -> None:
        """Put each where its link is: up, in the VRF, forwarding."""
        for virtual, lower in self._lower.items():
            body, below = self._draft.link(virtual), self._draft.link(lower)
            if below.get("up"):
                body["up"] = True
            if below.get("master") in self._draft.vrfs:
                body["master"] = below["master"]
            if "ipv4.forwarding" in below.get("sysctl", {}):
                body["sysctl"] = {"ipv4.forwarding": below["sysctl"]["ipv4.forwarding"]}


def _entry(text: str) -> Body:
    whole = ip_interface(text)
    entry: Body = {"address": str(whole), "metric": _METRIC}
    if whole.version == 6:
        entry["nodad"] = True  # the other hosts have it too
    return entry
