# SPDX-License-Identifier: GPL-2.0-or-later
"""Which address of a subnet packets leave with: the first of IPv4 and the last of IPv6, as files list them.

That follows from the order in which they came.  Where one comes to a subnet, or goes from it, and it would be
another one, those that are there and belong behind it are deleted and come again.

And which come before others go: a link without any address of IPv4 loses all of its routes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import TypeAlias

from netgroupd.model.address import plain_address
from netgroupd.model.kinds.macvlan import IPVLANS
from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import Value, ip_bytes, split_prefix
from netgroupd.plan.absent import networks_of
from netgroupd.plan.compare import UNOWNED, kind_of
from netgroupd.plan.fate import stripped
from netgroupd.plan.step import Op, Step

Subnet: TypeAlias = tuple[object, ...]
_OF_IPV4 = (bytes(12), bytes.fromhex("fe80") + bytes(10))  # what those of a sit begin with
_USUAL = "global"  # what an address is where no scope is said
_WHY = "another one of its subnet belongs before it"


def subnet_of(address: Key) -> Subnet:
    """The link of an address, and the network that is there by it."""
    return address[0], *networks_of([address])


def is_of_tunnel(address: Object, actual: State) -> bool:
    """Whether a sit has an address of that which it sends from, or of each of the host; the kernel does not say so."""
    link = actual.link(address.name)
    if link is None or kind_of(link) != "sit" or UNOWNED not in address.attrs:
        return False
    packed, local = split_prefix(str(address.key[1]))[0], link.attrs.get("local")
    ends = packed[-4:] == ip_bytes(str(local)) if local else packed[-4] > 0
    return packed[:-4] in _OF_IPV4 and ends


def stays_joined(address: Object) -> bool:
    """Whether the kernel, when its link takes an address along, does not leave its group, and cannot join it again."""
    return address.cls == "address" and bool(address.attrs.get("autojoin")) and ":" in str(address.key[1])


def arranged(
    steps: list[Step],
    wants: Mapping[Key, Object],
    haves: Mapping[Key, Object],
    lost: Callable[[Object], str],
    along: Set[Key],
) -> list[Step]:
    """The steps about addresses, and those that have others come again, in the order of ``wants``.

    Those that go ``along`` with the first of their subnet stay where the kernel is told to keep them.
    """
    coming = {step.object.key for step in steps if step.op is Op.CREATE or (step.before and lost(step.before))}
    changed = coming.union(step.object.key for step in steps if step.op is Op.DELETE)
    coming -= along
    stay = [key for key in haves if key in wants and key not in coming] if changed else []
    names = {key[0] for key in stay}.intersection(key[0] for key in changed)
    again = frozenset(_behind(names, changed, coming, wants, stay)) if names else frozenset()
    if not again:
        return steps
    told = {step.object.key: step for step in steps if step.op is not Op.DELETE}
    told |= {key: Step(Op.CREATE, None, wants[key], wants[key].attrs, _WHY) for key in again}
    return [
        # The last first, for the first would take the others along, or not.
        *(Step(Op.DELETE, haves[key], None, why=_WHY) for key in reversed([*haves]) if key in again),
        *(step for step in steps if step.op is Op.DELETE),
        *(told[key] for key in wants if key in told),
    ]


def _behind(
    names: Set[Value], changed: Set[Key], coming: Set[Key], wants: Iterable[Key], staying: Iterable[Key]
) -> Iterator[Key]:
    """Of those that stay the ones that would be before what is to be the first, or are to be the last."""
    subnets, here = _by_subnet(wants, names), _by_subnet(staying, names)
    for subnet in dict.fromkeys(subnet_of(key) for key in changed if key[0] in names):
        stay = here.get(subnet)
        if not stay:
            continue
        found = subnets[subnet]
        first, last = found[0], found[-1]
        if ":" in str(first[1]):  # the kernel tells the one that came last first
            if last in stay and (stay[0] != last or not coming.isdisjoint(found)):
                yield last
        elif first in coming:
            yield from stay
        elif first in stay:
            yield from stay[: stay.index(first)]


def _by_subnet(addresses: Iterable[Key], names: Set[Value]) -> dict[Subnet, list[Key]]:
    """Those of some links, in their order."""
    found: dict[Subnet, list[Key]] = {}
    for key in addresses:
        if key[0] in names:
            found.setdefault(subnet_of(key), []).append(key)
    return found


def successors(
    steps: Iterable[Step],
    haves: Mapping[Key, Object],
    links: Mapping[Key, Object],
    lost: Callable[[Object], str],
) -> dict[Key, list[Step]]:
    """The deletions of all that ``links`` have of IPv4, by the first that comes to each: that one can come before.

    In a subnet of one that goes it stays when that one goes, where it does not go itself, also if it is there already;
    one that differs in its peer alone cannot be there beside the other, nor one of another scope, and to no other link
    is given what an ipvlan has.
    """
    scopes: dict[Key, Value] = {}
    doomed, coming = defaultdict[Value, list[Step]](list), defaultdict[Value, list[Key]](list)
    for step in steps:
        link, address = step.object.key[:2]
        if ":" in str(address):
            continue
        if step.op is Op.DELETE:
            doomed[link].append(step)
        elif step.before is None or lost(step.before):
            coming[link].append(step.object.key)
            scopes[step.object.key] = _scope(step.object)
    if doomed.keys().isdisjoint(coming):
        return {}
    going = {step.object.key: _scope(step.object) for found in doomed.values() for step in found}
    left, local = networks_of(going), {key[:2] for key in going}
    bare = stripped({*going}.union(*coming.values()), haves)
    wanted = {plain_address(key) for keys in coming.values() for key in keys}
    several = len({*scopes.values(), *going.values()}) > 1
    near = {subnet_of(key): scope for key, scope in going.items()} if several else {}
    giving = {key[0] for key in going if plain_address(key) in wanted and kind_of(links.get(key[:1])) in IPVLANS}
    return {
        keys[0]: doomed[link]
        for link, keys in coming.items()
        if link in bare
        and link not in giving
        and (not near or near.get(subnet_of(keys[0]), scopes[keys[0]]) == scopes[keys[0]])
        and (left.isdisjoint(networks_of(keys)) or (keys[0] not in going and keys[0][:2] not in local))
    }


def _scope(address: Object) -> Value:
    return address.attrs.get("scope", _USUAL)
