# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that get another MAC, by a step or with what they have it of, or ARP: the kernel forgets their neighbours."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import ip_bytes, split_prefix
from netgroupd.plan.compare import UNOWNED, kind_of
from netgroupd.plan.fate import TEAMING
from netgroupd.plan.reach import closure
from netgroupd.plan.step import Op, Step
from netgroupd.plan.without_mac import is_by_a_port

_BORROW_OF_PORTS = TEAMING | {"bridge"}
_FLUSHING = frozenset({"mac", "arp"})
_OF_IPV4 = (bytes(12), bytes.fromhex("fe80") + bytes(10))  # what those of a sit begin with
_LEAVING = frozenset({"master", "netns"})
# They have the MAC of the link below them unless they were given another one.
_HAVE_THAT_OF_LOWER = frozenset({"vlan", "macsec"})


def forgotten(steps: Collection[Step], actual: State) -> Iterator[Key]:
    """The neighbours that links may lose with the MACs or the ARP that they have, but those that are answered for."""
    neighbours = [obj for obj in actual.of("neighbour").values() if not obj.key[2]]
    names = readdressed(steps, actual) if neighbours else frozenset[str]()
    yield from (obj.key for obj in neighbours if obj.name in names)


def forgetting(steps: Iterable[Step]) -> dict[str, str]:
    """The links that surely forget their neighbours, for they are told another MAC or ARP, each with the reason."""
    changed = (step for step in steps if step.op is Op.CHANGE and step.object.cls == "link")
    return {
        step.object.name: f"{step.object.name} forgets its neighbours with another {sorted(flushing)[0]}"
        for step in changed
        if (flushing := _FLUSHING.intersection(step.attrs))
    }


def readdressed(steps: Collection[Step], actual: State) -> frozenset[str]:
    """The names of the links that stay and may get another MAC, or begin or cease to ask for those of others."""
    found: set[str] = set()
    links = actual.of("link")
    gone = {step.object.name for step in steps if step.op is Op.DELETE and step.object.cls == "link"}
    found.update(step.object.name for step in steps if is_by_a_port(step))  # with the MAC of that meanwhile
    for step in steps:
        if step.object.cls != "link":
            continue
        if step.op is Op.CHANGE and not _FLUSHING.isdisjoint(step.attrs):
            found.add(step.object.name)
        if step.op is not Op.DELETE and _LEAVING.isdisjoint(step.attrs):
            continue
        before = step.before.attrs.get("master") if step.before else None
        for name in (before, step.attrs.get("master")):
            if not name or (master := links.get((name,))) is None:
                continue
            if master.name not in gone:
                found.add(master.name)
            if kind_of(master) in TEAMING:
                found.add(step.object.name)  # which has the MAC of these meanwhile
    return _followed(found, actual)


def _followed(found: set[str], actual: State) -> frozenset[str]:
    """With those that have the MAC of another: a bridge of its ports, these of a bond, a VLAN of what is below."""
    if not found:
        return frozenset()
    beside: dict[str, list[str]] = defaultdict(list)
    for link in actual.of("link").values():
        if (lower := link.attrs.get("link")) and kind_of(link) in _HAVE_THAT_OF_LOWER:
            beside[str(lower)].append(link.name)
        if lower and link.attrs.get("mode") == "passthru":  # of which either has the MAC that the other is given
            beside[str(lower)].append(link.name)
            beside[link.name].append(str(lower))
        if (master := actual.link(str(link.attrs.get("master")))) and kind_of(master) in _BORROW_OF_PORTS:
            beside[link.name].append(master.name)
            if kind_of(master) in TEAMING:
                beside[master.name].append(link.name)
    return closure(found, beside)


def is_by_kernel(obj: Object, actual: State) -> bool:
    """Whether a neighbour is one that a link without ARP has by itself, with the MAC of that link.

    Or an address is one that a sit has of that which it sends from, or of each of the host, and the kernel does not
    say that.
    """
    link = actual.link(obj.name)
    if link is None or UNOWNED not in obj.attrs:
        return False
    if obj.cls == "address":
        address, local = split_prefix(str(obj.key[1]))[0], link.attrs.get("local")
        ends = address[-4:] == ip_bytes(str(local)) if local else address[-4] > 0
        return kind_of(link) == "sit" and address[:-4] in _OF_IPV4 and ends
    return (
        obj.cls == "neighbour"
        and obj.attrs.get("state") == "noarp"
        and obj.attrs.get("lladdr") == link.attrs.get("mac")
    )
