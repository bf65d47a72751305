# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel settings, and what drivers are told -> what is written of them: not what follows from something else."""

from collections import defaultdict
from collections.abc import Iterator

from netgroupd.engine.capture.yaml_text import quoted
from netgroupd.model.state import State
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.settings import BY_WIREGUARD

_FORWARDS = "net/ipv4/ip_forward"
# With the first the kernel sets the others, for all links and those to come.
_FOLLOWING = {
    (_FORWARDS, "1"): {
        "net/ipv4/conf/all/forwarding": "1",
        "net/ipv4/conf/default/forwarding": "1",
        "net/ipv4/conf/all/accept_redirects": "0",
    },
    ("net/ipv6/conf/all/forwarding", "1"): {"net/ipv6/conf/default/forwarding": "1"},
}
# A link of WireGuard has them when it comes up.
_OF_WIREGUARD = {"net/ipv4/conf/{}/send_redirects": "0", "net/ipv6/conf/{}/addr_gen_mode": "1"}
_OF_SYSTEMD = ("net/unix/max_dgram_qlen", "512")  # which it sets at each boot
_OF_ALL_WITH_WIREGUARD = {BY_WIREGUARD: "0"}
_LRO = "rx-lro"  # which the kernel turns off where packets are forwarded, and below what has none, such as a VLAN


def settings_of(actual: State) -> dict[str, dict[str, Value]]:
    """The settings of each link, by what they are called there, and under "" those of none."""
    found: dict[str, dict[str, Value]] = defaultdict(dict)
    follows = dict(_following(actual))
    for (path, *_), setting in actual.of("sysctl").items():
        value = setting.attrs["value"]
        if follows.get(str(path)) == value:
            continue
        _, protocol, tree, link, *rest = (*str(path).split("/"), "", "")
        if tree in ("conf", "neigh") and (link,) in actual.of("link"):
            name = ".".join(filter(None, (protocol, tree if tree == "neigh" else "", *rest)))
            found[link][name] = value
        else:
            found[""][str(path) if "." in str(path) else str(path).replace("/", ".")] = value
    return found


def _following(actual: State) -> Iterator[tuple[str, Value]]:
    """The settings that have values because of something else."""
    yield _OF_SYSTEMD
    settings = actual.of("sysctl")
    for (path, value), others in _FOLLOWING.items():
        if (setting := settings.get((path,))) and setting.attrs["value"] == value:
            yield from others.items()
    for link in actual.of("link").values():
        if kind_of(link) == "wireguard" and link.attrs.get("up"):
            yield from ((path.format(link.name), value) for path, value in _OF_WIREGUARD.items())
            yield from _OF_ALL_WITH_WIREGUARD.items()


def of_drivers(actual: State) -> dict[str, str]:
    """What the driver of each link is told, part by part."""
    forwards = actual.of("sysctl").get((_FORWARDS,))
    links = actual.of("link").values()
    lowers = {str(link.attrs["link"]) for link in links if link.attrs.get("link")}
    lowers |= {link.name for link in links if link.attrs.get("master")}
    found: dict[str, dict[str, Value]] = defaultdict(dict)
    for (link, part), obj in actual.of("ethtool").items():
        attrs = {**obj.attrs}
        if attrs.get(_LRO) is False and (link in lowers or (forwards and forwards.attrs["value"] == "1")):
            del attrs[_LRO]
        if attrs:
            found[str(link)][str(part)] = attrs
    return {name: quoted(parts) for name, parts in found.items()}
