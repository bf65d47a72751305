# SPDX-License-Identifier: GPL-2.0-or-later
"""What a state speaks of: whose links, files and hooks must be looked at for it.  Found once for each state."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple
from weakref import WeakKeyDictionary

from netgroupd.kernel.netlink.request import Away
from netgroupd.model.bridge_vlan import is_said_apart
from netgroupd.model.state import Object, State, records
from netgroupd.model.value import Value
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.tc.hooks import Hook, classes_on, hooks_of


class Spoken(NamedTuple):
    """The names and attributes of all links, key files of WireGuard ones, those that live elsewhere, hooks, classes.

    And the IPv6 addresses that routes send from, and whether what is said of VLANs is lost in ranges of them.
    """

    links: frozenset[str]
    rows: frozenset[str]
    key_files: Mapping[str, tuple[str, ...]]
    away: Away
    hooks: frozenset[Hook]
    classes: frozenset[str]
    sources: frozenset[str]
    vlans_apart: bool


_found: WeakKeyDictionary[State, Spoken] = WeakKeyDictionary()


def spoken_of(wanted: State) -> Spoken:
    """What ``wanted`` speaks of, which from here on stays as it is."""
    if (spoken := _found.get(wanted)) is None:
        rows = frozenset().union(*(link.attrs for link in wanted.of("link").values()))
        classes = {cls for cls, objects in wanted.classes.items() if objects} | classes_on(wanted.of("qdisc").values())
        sources = {str(route.attrs.get("src")) for route in wanted.of("route").values()}
        ipv6 = frozenset(source for source in sources if ":" in source)
        away = _away(wanted) if "netns" in rows else frozenset()
        told = (_links(wanted), rows, _key_files(wanted), away, hooks_of(wanted), frozenset(classes))
        spoken = _found[wanted] = Spoken(*told, ipv6, is_said_apart(wanted))
    return spoken


def _links(wanted: State) -> frozenset[str]:
    links = wanted.of("link")
    names = {key[0] for key in links}
    for field in ("link", "master"):
        names |= {link.attrs.get(field) for link in links.values()}
    for cls, objects in wanted.classes.items():
        if cls != "link":
            names.update(chain.from_iterable(map(hangs_on, objects.values())))
    return frozenset(map(str, names - {None, ""}))


def _key_files(wanted: State) -> dict[str, tuple[str, ...]]:
    tunnels = (link for link in wanted.of("link").values() if link.attrs.get("kind") == "wireguard")
    return {link.name: key_files_of(link) for link in tunnels}


def key_files_of(tunnel: Object) -> tuple[str, ...]:
    """The files that hold the keys of a link of WireGuard, as far as they are known."""
    return tuple(str(path) for path in keys_of(tunnel) if path)


def keys_of(link: Object) -> Iterator[Value]:
    """Where each key of a link of WireGuard is, and of any other link nothing."""
    yield link.attrs.get("private_key_file")
    for peer in records(link.attrs, "peers"):
        yield peer.get("preshared_key_file")


def _away(wanted: State) -> Away:
    links = wanted.of("link").values()
    return frozenset((str(netns), link.name) for link in links if (netns := link.attrs.get("netns")))
