# SPDX-License-Identifier: GPL-2.0-or-later
"""The change of a link -> what each phase says of it."""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from netgroupd.model.kinds import KINDS, RING_PORTS, TAKERS
from netgroupd.model.kinds.bridge import has_group_by_itself
from netgroupd.model.link import COMMON
from netgroupd.model.state import NOTHING, Attrs, Key, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.narrowed import grows_later
from netgroupd.plan.step import Op, Step

DOWN: Mapping[str, Value] = {"up": False}
_FREED, _EMPTIED = ("mtu", "mac"), ("mac",)
"""What a bond gives back to a port that leaves, and what changes when that was the last one."""
_GROWN = ("mtu",)
_FIRST = (("regroup links", "group"), ("lead links away", "dev"))
_NAMES_PORT = ("primary", "active_slave")
_NAMES_A_PORT = (*_NAMES_PORT, "port.backup_port")
"""What names a port of the same master, which may become one of it by this change."""
_OF_ANY_WAY = COMMON.keys() - {"mtu"}

_TELLING_GROUP = frozenset({"vlan_filtering", "vlan_protocol"})


OF_PORTS = frozenset({*_NAMES_PORT, *(f"port.{name}" for kind in KINDS.values() for name in kind.port)})
"""What is said of a port, or names one."""


class Manner(NamedTuple):
    """What a change of a link depends on besides what it says."""

    down: bool  # while it changes
    shrinks: bool
    early: bool  # it leaves its master first: another is to take its packets, or a bond is to have no ports
    late: tuple[str, ...]  # what ports and bonds that part have of before, or any, and so on: it is said when they have
    nameless: bool  # a bridge without a MAC, which refuses VLANs of its own
    waits: bool  # for a link that it names and that is to be made, or to be larger
    follows: bool  # the spanning tree group of a bridge, from the rest
    before: frozenset[str]  # what a bond can be told only in the mode that it leaves
    led_away: bool  # from a link that goes, and would take it along


def claimed(steps: Iterable[Step], told: Iterable[Step]) -> set[str]:
    """The links that leave their master as they are ``told``, and that one which is made takes all packets of."""
    leaving = {step.object.name for step in told if step.attrs.get("master", "") is None}
    made = (step.object for step in steps if step.op is Op.CREATE) if leaving else ()
    return leaving.intersection(name for link in made for name in _taken(link))


def _taken(link: Object) -> Iterator[str]:
    """The links that a link takes all packets of, as a master."""
    if kind_of(link) in TAKERS:
        yield str(link.attrs.get("link"))
    elif kind_of(link) == "hsr":
        yield from (str(link.attrs.get(name)) for name in RING_PORTS)


def shrinks(mtu: Value, now: Value) -> bool:
    """Whether an MTU, if any is said, is less than that of ``now``."""
    return isinstance(mtu, int) and isinstance(now, int) and mtu < now


def late(have: Object, attrs: Attrs, left: Container[Value], links: Mapping[Key, Object]) -> tuple[str, ...]:
    """What is said of a link when ports have parted from bonds and bridges, of which some are ``left``."""
    if "master" in attrs and kind_of(links.get((str(have.attrs.get("master")),))) == "bond":
        return _FREED
    if kind_of(have) == "bond" and have.name in left:
        return _EMPTIED
    return _GROWN if "mtu" in attrs and grows_later(have, attrs, left, links) else ()


def follows(attrs: Attrs, have: Object) -> bool:
    """Whether the group of a bridge changes with the rest: one that is told its group never follows that again."""
    if "group_address" not in attrs or attrs.keys().isdisjoint(_TELLING_GROUP):
        return False
    return has_group_by_itself(have.attrs) and has_group_by_itself({**have.attrs, **attrs})


def pieces_of(attrs: Attrs, manner: Manner) -> Iterator[tuple[str, Attrs]]:
    """What the phases say of a change, but for bringing up again."""
    left = dict(attrs)
    if manner.follows:
        del left["group_address"]
    apart = ("group", "up", "master", *("dev",) * manner.led_away)
    said = {name: left.pop(name) for name in apart if name in left}
    last = {name: left.pop(name) for name in attrs if "master" in said and name.startswith("port.")}
    last |= {name: left.pop(name) for name in _NAMES_A_PORT if name in left}
    last |= {name: left.pop(name) for name in manner.late if name in left}
    # Of a tunnel one message says all, and its MTU, which the way there changes.
    last |= {name: left.pop(name) for name in attrs if manner.waits and name in left and name not in _OF_ANY_WAY}
    yield from ((phase, {name: said[name]}) for phase, name in _FIRST if name in said)
    if said.get("up") is False or manner.down:
        yield "take links down", DOWN
    if manner.shrinks and "mtu" in left:
        yield "shrink links", {"mtu": left.pop("mtu")}
    if manner.early:  # others leave late: an empty bridge has no MAC
        yield "release links", {"master": None}
    if "netns" in left:
        yield "move links", {"netns": left.pop("netns")}
    if manner.nameless and "mac" in left:
        yield "change links", {"mac": left.pop("mac")}
    if manner.before:
        yield "change links", {name: left.pop(name) for name in sorted(manner.before)}
    if left:
        yield "change links", left
    if "master" in said and (said["master"] or not manner.early):
        yield "enslave links", {"master": said["master"]}
    # Of one message the kernel takes this one first, and then changes to the primary one.
    in_use = {"active_slave": last.pop("active_slave")} if last.keys() >= {*_NAMES_PORT} else NOTHING
    yield from (("settle links", piece) for piece in (last, in_use) if piece)
