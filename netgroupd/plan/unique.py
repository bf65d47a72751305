# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of a kind that may not be alike: the ends and keys of tunnels, ids, ports that are listened on.

Who takes what another gives up comes behind it.  Where they wait for each other
in a circle, one of them has something that nobody else has meanwhile.  Linear.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from netgroupd.model.state import Attrs, Key, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import Step

Identity: TypeAlias = tuple[Value, ...]

_ENDS = frozenset({"local", "remote", "dev"})
_KEYED = _ENDS | {"ikey"}
_UNIQUE: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("gre", "gretap", "erspan", "vti", "ip6gre", "ip6erspan"), _KEYED),
    **dict.fromkeys(("ipip", "sit", "ip6tnl"), _ENDS),
    "vti6": frozenset({"local", "remote"}),
    "xfrm": frozenset({"if_id"}),
    "wireguard": frozenset({"listen_port"}),
}
_FOR_NOTHING = frozenset({"0.0.0.0", "::"})
# Addresses that no host has (RFC 7600, RFC 6666): a tunnel sends nothing from there.
_NOBODY = {"4": "192.0.0.8", "6": "100::1"}
_ANY_PORT = 0  # the kernel takes a free one
_LAST_ID = 0xFFFFFFFF


def identity(kind: str, attrs: Attrs) -> Identity | None:
    """What no other link of ``kind`` may have; None for what may be alike."""
    names = _UNIQUE.get(kind)
    if names is None or attrs.get("external") or (kind == "wireguard" and not attrs.get("listen_port")):
        return None
    values = (attrs.get(name) for name in sorted(names))
    return (kind, *(None if not value or value in _FOR_NOTHING else value for value in values))


def may_be_unique(kind: str, attrs: Attrs) -> bool:
    """Whether ``attrs`` say some of what no two links of ``kind`` may have alike."""
    return not _UNIQUE.get(kind, frozenset()).isdisjoint(attrs)


def in_turn(steps: list[Step], links: Mapping[Key, Object]) -> tuple[list[Step], list[Step]]:
    """Those of ``steps`` that change what is unique, each behind who gives it up, if any waits; and the others.

    ``links`` are those that there are.
    """
    moving: dict[Identity, Step] = {}
    goes: dict[Identity, Identity | None] = {}
    for step in steps:
        old, new = _move(step)
        if old and old != new:
            moving[old], goes[old] = step, new
    if moving.keys().isdisjoint(goes.values()):
        return [], steps
    turns = {id(step) for step in moving.values()}
    return [*_ordered(moving, goes, links)], [step for step in steps if id(step) not in turns]


def _move(step: Step) -> tuple[Identity | None, Identity | None]:
    """What is unique of a link before and after a step; the same where the step does not say."""
    link = step.before
    if link is None or not may_be_unique(kind := kind_of(link), step.attrs):
        return None, None
    return identity(kind, link.attrs), identity(kind, {**link.attrs, **step.attrs})


def _ordered(
    moving: Mapping[Identity, Step], goes: Mapping[Identity, Identity | None], links: Mapping[Key, Object]
) -> Iterator[Step]:
    done = set[Identity]()
    for start in moving:
        path: list[Step] = []
        place: Identity | None = start
        while place is not None and place in moving and place not in done:
            done.add(place)
            path.append(moving[place])
            place = goes[place]
        if path and place == start:
            yield path[0]._replace(attrs=_meanwhile(path[0], links))
        yield from reversed(path)


def _meanwhile(step: Step, links: Mapping[Key, Object]) -> Attrs:
    """What a link has while others take what it had."""
    assert step.before
    kind, attrs = kind_of(step.before), step.before.attrs
    if kind == "wireguard":
        return {"listen_port": _ANY_PORT}
    if kind == "xfrm":
        taken = {link.attrs.get("if_id") for link in links.values()}
        return {"if_id": next(number for number in range(_LAST_ID, 0, -1) if number not in taken)}
    ends = (attrs.get("local"), attrs.get("remote"))
    return {"local": _NOBODY["6" if any(":" in str(end) for end in ends) else "4"]}
