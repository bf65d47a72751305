# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of a host, without what no two hosts that are alike have in common, and how it differs."""

import difflib
import re
from collections.abc import Mapping
from typing import Any

import yaml

# A bridge whose last port has left has no MAC, and cannot be told so.
_UNCHOSEN = {"bridge": "mac", "wireguard": "listen_port"}

_AGEING = ("valid_lft", "preferred_lft")


def lasting(told: str, links: Mapping[str, Any], *, without: re.Pattern[str] | None = None) -> str:
    """It without the order of IPv6 addresses of different subnets, ages, and what was drawn or cannot be told.

    So is what a MACsec has of a MAC, and the like where the files do not say it of their ``links``.
    """
    said = yaml.load(told, yaml.CSafeLoader)
    for name, body in said.get("links", {}).items():
        if (unchosen := _UNCHOSEN.get(body.get("kind"), "")) not in links.get(name, {}):
            body.pop(unchosen, None)
        for address in body.get("addresses", ()):
            if isinstance(address, dict):
                address.update((name, "a while") for name in _AGEING if address.get(name))
    for hop in said.get("nexthops", {}).values():
        if "via" not in hop:
            hop.pop("family", None)  # one without a gateway keeps that of the one before, and serves both
    for body in said.get("links", {}).values():
        body.pop("sci", None)
        body["addresses"] = sorted(body.get("addresses", ()), key=_subnet)
    if without:
        return yaml.dump(_own(said, without), Dumper=yaml.CSafeDumper)
    comments = (line for line in told.splitlines() if line.startswith("#"))
    return "\n".join([*comments, yaml.dump(said, Dumper=yaml.CSafeDumper, sort_keys=False)])


def _own(said: Any, others: re.Pattern[str]) -> Any:
    """It without what is of others."""
    if isinstance(said, dict):
        kept = {name: _own(each, others) for name, each in said.items() if not others.search(str(name))}
        return {name: each for name, each in kept.items() if each not in (None, {}, [])}
    if isinstance(said, list):
        return [_own(each, others) for each in said if not others.search(str(each))]
    return None if isinstance(said, str) and others.search(said) else said


def _subnet(address: Any) -> str:
    """What the addresses of an IPv6 subnet begin with; nothing of those of IPv4."""
    return str(address["address"] if isinstance(address, dict) else address).rpartition(":")[0]


def without_comments(told: str) -> str:
    """It without what is said of things that are left out."""
    return "".join(line for line in told.splitlines(keepends=True) if not line.startswith("#"))


def moved(told: str, again: str) -> str:
    """What the other host tells, without MTUs that ``told`` has not: of VXLANs that are larger than one can be made."""
    before, now = (yaml.load(each, yaml.CSafeLoader).get("links", {}) for each in (told, again))
    grown = {name for name, body in now.items() if body.get("kind") == "vxlan" and "mtu" not in before.get(name, body)}
    lines, link = list[str](), ""
    for line in without_comments(again).splitlines(keepends=True):
        link = line.strip(' "\n:') if re.match("  [^ ]", line) else link
        if link not in grown or not line.startswith("    mtu: "):
            lines.append(line)
    return "".join(lines)


def difference(before: str, after: str, around: int = 0) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=around, lineterm="")
    return "\n".join([*lines][3:])


def same(want: str, got: str) -> None:
    assert got == want, difference(want, got)
