# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel settings somebody has changed: those that are not as in a namespace where nobody has.

A link has of the default what its kind does not change by itself, so links are
held against the default of their own namespace, and against one of their kind in
an empty one.
"""

import os
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from functools import cache, partial
from stat import S_IWUSR

from netgroupd.kernel.netlink.request import Context
from netgroupd.kernel.netns import entered, fresh
from netgroupd.kernel.settings.sysctls import read
from netgroupd.kernel.settings.sysctls_told import TOLD, advised, told
from netgroupd.kernel.settings.sysctls_usual import ROOT, is_usual, of_neighbours
from netgroupd.kernel.usual import Likeness, SampleKernel, sample_steps
from netgroupd.model.kinds import KINDS
from netgroupd.model.state import Key, Object
from netgroupd.model.sysctl import BY_OTHER_NAMES, OF_ALL

_TOLD = {f"{ROOT}/{place}": names for place, names in TOLD.items()}
_OF_LINKS = (*_TOLD, f"{ROOT}/mpls/conf")
# Secrets that the kernel draws, deeds in the shape of a setting, and what follows from the link.
_NOT_SAID = frozenset({"stable_secret", "tcp_fastopen_key", "fib_multipath_hash_seed", "flush", "mtu"})
# What a router's advertisement gives, which comes again with the next.
_ADVERTISED = {
    (f"{ROOT}/ipv6/conf", "hop_limit"),
    (f"{ROOT}/ipv6/neigh", "base_reachable_time_ms"),
    (f"{ROOT}/ipv6/neigh", "retrans_time_ms"),
    (f"{ROOT}/ipv6/neigh", "gc_stale_time"),  # three times the first
}

_LO = Likeness("lo")
_FEW = 64  # links of which a few files each may be read
_FILES = 128  # to read all those of a link takes as long as to hear what netlink tells of so many
_OfLink = Mapping[tuple[str, str], str]


def changed(context: Context, links: Mapping[Key, Object], connect: Callable[[], SampleKernel]) -> list[Object]:
    """The settings of a namespace and its links that were changed, where that can be told."""
    try:
        with fresh():
            new = dict(_shared())
            unset, samples = _of_link("default"), _samples(links, connect)
    except PermissionError:  # a confined daemon: nothing can be told
        return []
    with entered(context.netns):
        default, known = _of_link("default"), dict[tuple[int, Likeness], _OfLink]()
        first = any(map(of_neighbours, default))  # those for links to come are the same for all namespaces
        there = dict(_shared()).items()
        found = [_setting(path, now) for path, now in there if not is_usual(path, now, new.get(path), first=first)]
        hears = cache(partial(advised, context))

        def otherwise(name: str, own: _OfLink, sample: _OfLink) -> Iterator[tuple[tuple[str, str], str]]:
            for place, value in own.items():
                by_kind = sample.get(place)
                expected = default.get(place, value) if by_kind in {None, unset.get(place)} else by_kind
                # Of neighbours it has what the host's own had for links to come, then or by now.
                usual = expected if place in default else of_neighbours(place)
                if value not in {"", expected, usual} and _is_writable(name, place):
                    yield place, value

        for link, shared, own in _of_links(context, links.values()):
            like = _LO if link.name == "lo" else Likeness.of(link, None)
            sample = samples.get(like, {})
            if (both := (id(shared), like)) not in known:
                known[both] = dict(otherwise(link.name, shared, sample))
            for place, value in (*known[both].items(), *otherwise(link.name, own, sample)):
                if place not in _ADVERTISED or link.name not in hears():
                    found.append(_setting(f"{place[0]}/{link.name}/{place[1]}", value))
    return found


def of_links(context: Context, names: Collection[str]) -> list[Object]:
    """The settings of links that are not those of all new ones; of many links those that netlink tells of."""
    found = []
    with entered(context.netns):
        default = {**_of_link("lo"), **_of_link("default")}  # of neighbours only the first namespace has one
        links = [Object("link", (name,), {}) for name in names]
        known: dict[int, _OfLink] = {}  # what many share is looked through once
        for link, shared, own in _of_links(context, links, wholly=len(names) <= _FEW):
            if id(shared) not in known:
                known[id(shared)] = _unusual(link.name, shared, default)
            for place, value in (*known[id(shared)].items(), *_unusual(link.name, own, default).items()):
                found.append(_setting(f"{place[0]}/{link.name}/{place[1]}", value))
    return found


def _unusual(name: str, own: _OfLink, default: _OfLink) -> _OfLink:
    return {
        place: value
        for place, value in own.items()
        if value not in {"", default.get(place, value)} and _is_writable(name, place)
    }


def _is_writable(name: str, place: tuple[str, str]) -> bool:
    """Whether a setting of a link is one, and not told alone: who routes multicasts has ``mc_forwarding`` say so."""
    try:
        return bool(os.stat(f"{place[0]}/{name}/{place[1]}").st_mode & S_IWUSR)  # noqa: PTH116  # as below
    except OSError:
        return False


def _setting(path: str, value: str) -> Object:
    return Object("sysctl", (path.removeprefix("/proc/sys/"),), {"value": value})


def _samples(links: Mapping[Key, Object], connect: Callable[[], SampleKernel]) -> dict[Likeness, _OfLink]:
    """The settings of one new link of each kind, in the namespace of the calling thread."""
    kernel = connect()
    try:
        found = {_LO: _of_link("lo")}
        for number, (like, link) in enumerate({Likeness.of(link, None): link for link in links.values()}.items()):
            if like.kind in KINDS:
                for step in sample_steps(f"sample{number}", "", like.kind, "", link):
                    kernel.apply([step])
                found[like] = _of_link(f"sample{number}")
        return found
    finally:
        kernel.close()


def _shared(directory: str = ROOT) -> Iterator[tuple[str, str]]:
    """The settings that belong to no link."""
    with os.scandir(directory) as entries:
        there = {entry.name: entry for entry in entries}
    for name, entry in sorted(there.items()):
        if entry.is_dir():
            if directory not in _OF_LINKS or name in OF_ALL:
                yield from _shared(entry.path)
        elif _is_said(name, there) and entry.stat().st_mode & S_IWUSR and (value := _read(entry.path)):
            yield entry.path, value


def _of_links(
    context: Context, links: Collection[Object], *, wholly: bool = True
) -> Iterator[tuple[Object, _OfLink, _OfLink]]:
    """The settings of links, those that it shares with others and those of its own.

    Of those of which netlink tells the same, all files are read of one alone; unless ``wholly`` none of the others.
    """
    few = len(links) * _FILES < len(context.names)
    alike = {} if few else told(context)
    places = () if few else filter(os.path.isdir, _OF_LINKS)  # as below
    there = [frozenset(os.listdir(place)) for place in places]  # noqa: PTH208  # as below
    firsts: dict[object, tuple[_OfLink, list[tuple[str, str]]]] = {}
    for link in links:
        name = link.name
        like = (alike.get(name, name), *(name in some for some in there))
        if like in firsts:
            shared, untold = firsts[like]
            yield link, shared, {place: _read(f"{place[0]}/{name}/{place[1]}") for place in untold}
        else:
            own = _of_link(name)
            shared = {place: value for place, value in own.items() if place[1] in _TOLD.get(place[0], ())}
            untold = [place for place in own if place not in shared and _is_writable(name, place)] if wholly else []
            firsts[like] = shared, untold
            yield link, shared, {place: own[place] for place in untold}


def _of_link(name: str) -> _OfLink:
    """The settings of one link, by the place where those of all links are, and their name there."""
    found = {}
    for place in _OF_LINKS:
        try:
            settings = frozenset(os.listdir(f"{place}/{name}"))  # noqa: PTH208  # of every link
        except OSError:  # without this protocol
            continue
        for setting in sorted(settings):
            if _is_said(setting, settings) and (value := _read(f"{place}/{name}/{setting}")):
                found[place, setting] = value
    return found


def _is_said(name: str, beside: Container[str]) -> bool:
    """Whether a setting is one that counts, and none ``beside`` it is the same by another name.

    Who asks for that, the kernel writes to its log that it is not to be asked for.
    """
    return name not in _NOT_SAID and BY_OTHER_NAMES.get(name) not in beside


def _read(path: str) -> str:
    """A setting as text with single blanks, "" where it cannot be read."""
    try:
        return read(path)
    except OSError:
        return ""
