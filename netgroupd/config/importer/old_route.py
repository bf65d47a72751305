# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of route(8), which came before ``ip route`` -> those of the latter."""

from collections.abc import Sequence
from ipaddress import ip_network

from netgroupd.config.importer.shell import NONE

_SAME = {"gw": "via", "metric": "metric", "dev": "dev", "mss": "advmss", "window": "window", "irtt": "rtt"}
_FAMILIES = {"-4": "inet", "--inet": "inet", "-6": "inet6", "--inet6": "inet6"}


def as_ip(words: Sequence[str]) -> tuple[str, list[str]]:
    """Give the family and the words behind ``ip route``.

    Raises:
        ValueError: It does something else.
    """
    family, verb, host, netmask, said = "", "", False, "", []
    bare: list[str] = []
    waiting = " ".join(words).replace("-A ", "--").split()
    while waiting:
        word = waiting.pop(0)
        if word in _FAMILIES:
            family = _FAMILIES[word]
        elif word in ("-net", "-host"):
            host = word == "-host"
        elif word in _SAME and waiting:
            said += [_SAME[word], waiting.pop(0)]
        elif word == "netmask" and waiting:
            netmask = waiting.pop(0)
        elif word == "add":
            verb = word
        else:
            bare.append(word)
    if not verb or not 1 <= len(bare) <= 2:
        raise ValueError(NONE)
    # What is bare behind the destination is the link.
    return family, [verb, _network(bare[0], netmask, host=host), *said, *(["dev", bare[1]] if bare[1:] else [])]


def _network(destination: str, netmask: str, *, host: bool) -> str:
    if destination == "default":
        return destination
    if not netmask and not host and "/" not in destination:
        raise ValueError("it says no netmask; write the length of the network behind it, like 10.0.0.0/8")
    return str(ip_network(f"{destination}/{netmask}" if netmask else destination))
