# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel settings somebody has changed: those that are not as in a namespace where nobody has.

A link has of the default what its kind does not change by itself, so links are
held against the default of their own namespace, and against one of their kind in
an empty one.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from stat import S_IWUSR

from netgroupd.kernel.netns import entered, fresh
from netgroupd.kernel.request import Context
from netgroupd.kernel.usual import SampleKernel, sample_steps
from netgroupd.model.kinds import KINDS
from netgroupd.model.state import Key, Object
from netgroupd.plan.compare import kind_of

_ROOT = "/proc/sys/net"
_OF_LINKS = tuple(f"{_ROOT}/{place}" for place in ("ipv4/conf", "ipv4/neigh", "ipv6/conf", "ipv6/neigh", "mpls/conf"))
_SHARED = frozenset({"all", "default"})
# Secrets that the kernel draws, deeds in the shape of a setting, and what follows from the link.
_NOT_SAID = frozenset({"stable_secret", "tcp_fastopen_key", "fib_multipath_hash_seed", "flush", "mtu"})

_OfLink = Mapping[tuple[str, str], str]


def changed(context: Context, links: Mapping[Key, Object], connect: Callable[[], SampleKernel]) -> list[Object]:
    """The settings of a namespace and its links that were changed, where that can be told."""
    with entered(context.netns):
        here = dict(_shared())
        default = _of_link("default")
        own = {link.name: _of_link(link.name) for link in links.values()}
    try:
        with fresh():
            usual, unset, samples = dict(_shared()), _of_link("default"), _samples(links, connect)
    except PermissionError:  # a confined daemon: nothing can be told
        return []
    found = [_setting(path, value) for path, value in here.items() if usual.get(path, value) != value]
    for link in links.values():
        sample = samples.get("lo" if link.name == "lo" else kind_of(link), {})
        by_kind = {place: value for place, value in sample.items() if unset.get(place) != value}
        for place, value in own[link.name].items():
            if value != by_kind.get(place, default.get(place, value)):
                found.append(_setting(f"{place[0]}/{link.name}/{place[1]}", value))
    return found


def _setting(path: str, value: str) -> Object:
    return Object("sysctl", (path.removeprefix("/proc/sys/"),), {"value": value})


def _samples(links: Mapping[Key, Object], connect: Callable[[], SampleKernel]) -> dict[str, _OfLink]:
    """The settings of one new link of each kind, in the namespace of the calling thread."""
    kernel = connect()
    try:
        found = {"lo": _of_link("lo")}
        for number, (kind, like) in enumerate({kind_of(link): link for link in links.values()}.items()):
            if kind in KINDS:
                for step in sample_steps(f"sample{number}", "", kind, "", like):
                    kernel.apply([step])
                found[kind] = _of_link(f"sample{number}")
        return found
    finally:
        kernel.close()


def _shared(directory: str = _ROOT) -> Iterator[tuple[str, str]]:
    """The settings that belong to no link."""
    with os.scandir(directory) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir():
                if directory not in _OF_LINKS or entry.name in _SHARED:
                    yield from _shared(entry.path)
            elif entry.name not in _NOT_SAID and entry.stat().st_mode & S_IWUSR and (value := _read(entry.path)):
                yield entry.path, value


def _of_link(name: str) -> _OfLink:
    """The settings of one link, by the place where those of all links are, and their name there."""
    found = {}
    for place in _OF_LINKS:
        try:
            settings = os.listdir(f"{place}/{name}")  # noqa: PTH208  # of every link
        except OSError:  # without this protocol
            continue
        for setting in sorted(settings):
            if setting not in _NOT_SAID and (value := _read(f"{place}/{name}/{setting}")):
                found[place, setting] = value
    return found


def _read(path: str) -> str:
    """A setting as text with single blanks, "" where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # a hundred for each link, and a Path costs more than the file
            return " ".join(file.read().split())
    except OSError:
        return ""
