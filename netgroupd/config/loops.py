# SPDX-License-Identifier: GPL-2.0-or-later
"""Which link stands on which -> the loops in that."""

from collections.abc import Iterator, Mapping

from netgroupd.model.state import Attrs


def loops(links: Mapping[str, Attrs]) -> Iterator[tuple[str, ...]]:
    """Each loop of masters and lower links once, as the names along it, the first again at the end."""
    done: set[str] = set()
    for start, attrs in links.items():
        lower, master = attrs.get("link"), attrs.get("master")
        if (lower is None or lower in done) and (master is None or master in done):
            done.add(start)  # nearly always, and then no path needs to be kept
        elif start not in done:
            yield from _from(start, links, done)


def _from(start: str, links: Mapping[str, Attrs], done: set[str]) -> Iterator[tuple[str, ...]]:
    path: dict[str, Iterator[str]] = {start: _below(start, links)}
    while path:
        name = next(reversed(path))
        for other in path[name]:
            if other in path:
                names = list(path)
                yield (*names[names.index(other) :], other)
            elif other not in done and other in links:
                path[other] = _below(other, links)
                break
        else:
            done.add(name)
            del path[name]


def _below(name: str, links: Mapping[str, Attrs]) -> Iterator[str]:
    attrs = links[name]
    return (str(other) for key in ("link", "master") if (other := attrs.get(key)))
