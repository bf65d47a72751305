# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on links that a plan takes down or deletes: it is told, and given back after a refusal.

It is no part of the goal of putting back: what is there again by then stays as it is, and what the kernel does not
take any more keeps nothing else from coming back.  So it is with what no file says of ports that come back.
"""

import errno
from collections.abc import Iterable, Iterator, Set

from netgroupd.engine.kept.astray import is_astray, led_again
from netgroupd.engine.living_ways import made_in_part
from netgroupd.engine.observe import Connection, Mine, read
from netgroupd.engine.passing_ways import on_passing_ways
from netgroupd.errors import Refusal
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.address import plain_address
from netgroupd.model.state import Object, State
from netgroupd.plan.address import is_of_tunnel
from netgroupd.plan.carrier import in_the_dark, shaken_by, told_in_the_dark, without_a_port, without_a_port_for_good
from netgroupd.plan.compare import same
from netgroupd.plan.fate import hangs_on, is_ipv4, muted, why_muted
from netgroupd.plan.fold import few_of
from netgroupd.plan.order import QUEUES
from netgroupd.plan.passing import on_emptied, on_passing, on_sources, passing
from netgroupd.plan.present import title
from netgroupd.plan.readdressed import is_without_arp, readdressed
from netgroupd.plan.serialise import singles
from netgroupd.plan.settings import rank
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.tc.hooks import Queues, hook_of
from netgroupd.plan.theirs import XDP, Along, Going, Loss, Theirs
from netgroupd.plan.unsaid import is_beyond_files

_KEEP = "net/ipv6/conf/{}/keep_addr_on_down"
_AS_WANTED = (errno.EEXIST, errno.ENOENT)  # of what is made, and of what is deleted
# What follows needs what is before it; a gateway needs the route to it.
_IN_BRIDGES = ("bridge_vlan", "vlan_global", "mst")
_IN_PART = frozenset({"src", "nexthops"})
_STAYING = frozenset({"link", "ethtool"})  # there by themselves, and what they were is told
_IN_QUEUES = ("tclass", "chain", "filter")
_ORDER = ("sysctl", *_IN_BRIDGES, "vni", "address", "nexthop", "route", "neighbour", "fdb", "mdb", *_IN_QUEUES)


def of_others(kernel: Connection, plan: Plan, deleted: Set[int], goal: State, actual: State, mine: Mine) -> Theirs:
    """What a plan takes away from others, with the nexthops that are ``deleted`` too, but for what becomes netgroupd's.

    Nothing is looked at where nothing goes.
    """
    links = plan.gone | plan.cycled
    if not (links or deleted):
        return Theirs()
    there = {
        number
        for obj in actual.of("nexthop").values()
        if isinstance(number := obj.key[0], int) and not links.isdisjoint(hangs_on(obj))
    }
    found = kernel.theirs(links, Going(there, deleted, gone=plan.gone))
    lost = [obj for obj in found.objects if obj.key not in goal.of(obj.cls) and not _is_ipv4_and_stays(obj, plan)]
    lost = [obj for obj in lost if not _is_by_kernel(obj, actual)]
    kept = _keeping(kernel, {obj.name for obj in lost if obj.cls == "address"} - plan.gone, actual, mine)
    stays = (obj for obj in lost if obj.cls == "address" and obj.name in kept and _is_lasting(obj))
    staying = {obj.key for obj in stays}
    moved = {step.object.name for step in singles(plan.steps) if "netns" in step.attrs}
    return found._replace(
        objects=tuple(obj for obj in lost if obj.cls != "address" or obj.key not in staying),
        groups=tuple(group for group in found.groups if group.key not in goal.of("nexthop")),
        watched={place: count for place, count in found.watched.items() if not (place[0] == XDP and place[2] in moved)},
    )


def _is_by_kernel(obj: Object, actual: State) -> bool:
    by = {"neighbour": is_without_arp, "address": is_of_tunnel}.get(obj.cls)
    return by is not None and by(obj, actual)


def on_links(
    kernel: Connection, plan: Plan, deleted: Set[int], goal: State, actual: State, mine: Mine
) -> Iterator[Loss]:
    """What others lose on links, and with the nexthops that are ``deleted``; what is there again is part of each."""
    lost = of_others(kernel, plan, deleted, goal, actual, mine)
    back = on_passing(lost.objects, passing(plan, actual.of("link")), plan.gone | plan.cycled, goal, actual)
    when = "goes when links go, go down or change their VRF"
    yield Loss(lost, back, when, "goes with links that go down for a moment, and is given back")
    yield from on_staying(kernel, plan, goal, actual)


def on_staying(kernel: Connection, plan: Plan, goal: State, actual: State) -> Iterator[Loss]:
    """What a plan takes away from others on links that neither go nor go down."""
    bare = _of_emptied(kernel, plan, goal)
    yield Loss(bare, on_emptied(bare.objects, plan, goal), "goes with the last IPv4 address of links")
    steps = [*singles(plan.steps)]
    shaken = plan.gone | plan.cycled
    yield _with_carriers(kernel, plan, goal, actual)
    deleted = [step.object for step in steps if step.object.cls == "address" and step.op is Op.DELETE]
    sources = frozenset(plain_address(address.key) for address in deleted)
    lost = _of_some(kernel, {address.name for address in deleted} - shaken - plan.emptied, Along.SOURCE, goal, sources)
    yield Loss(lost, on_sources(lost.objects, sources, goal), "goes with the addresses that it sends from")
    if silent := muted(steps, actual.of("link")):
        lasting = muted(steps, actual.of("link"), for_good=True)
        for along, family in ((Along.IPV4, "IPv4"), (Along.IPV6, "IPv6")):
            lost = _of_some(kernel, {name for name, each in silent if each == along} - shaken, along, goal)
            back = tuple(obj for obj in lost.objects if not why_muted(obj, lasting))
            yield Loss(lost, back, f"goes with {family} on links")
    # Which of them do get another MAC nobody can tell: what is there still is not made again.
    lost = _of_some(kernel, readdressed(steps, actual) - shaken, Along.MAC, goal)
    objects = tuple(obj for obj in lost.objects if not is_without_arp(obj, actual))
    yield Loss(lost._replace(objects=objects), objects, "may go with the MAC that links have")


def _with_carriers(kernel: Connection, plan: Plan, goal: State, actual: State) -> Loss:
    """What others lose on links that stay, and have no port any more that has a carrier, or stand above such."""
    down, links = plan.gone | plan.cycled, actual.of("link")
    steps = [step for step in singles(plan.steps) if step.object.cls == "link"]
    shaken = down | shaken_by(steps)
    names = in_the_dark(shaken, steps, links) - down
    dark = without_a_port(down, shaken, links) if names else set[str]()
    lost = _of_some(kernel, (dark | told_in_the_dark(steps)) & names, Along.CARRIER, goal)
    # Mostly nothing is, and all links that are to be need not be looked through.
    staying = names - without_a_port_for_good(dark, plan, goal, actual) if lost.objects else names
    back = on_passing(lost.objects, frozenset(staying), frozenset(names), goal, actual)
    return Loss(lost, back, "may go with the carrier of links")


def _of_some(kernel: Connection, names: Set[str], along: Along, goal: State, sources: Set[str] = frozenset()) -> Theirs:
    found = kernel.theirs(names, Going(along=along, sources=sources)) if names else Theirs()
    return found._replace(objects=tuple(obj for obj in found.objects if obj.key not in goal.of(obj.cls)))


def _of_emptied(kernel: Connection, plan: Plan, goal: State) -> Theirs:
    """What a plan takes away from others with the last IPv4 addresses of links; one that they have there keeps it."""
    links = plan.emptied - {"lo"}  # which has one of the kernel's
    if not links:
        return Theirs()
    found = kernel.theirs(links, Going(along=Along.IPV4))
    kept = {obj.name for obj in found.objects if obj.cls == "address"}
    lost = (obj for obj in found.objects if kept.isdisjoint(hangs_on(obj)) and obj.key not in goal.of(obj.cls))
    return Theirs(tuple(lost), {place: count for place, count in found.watched.items() if place[2] not in kept})


def _is_ipv4_and_stays(obj: Object, plan: Plan) -> bool:
    return obj.cls == "address" and is_ipv4(obj) and obj.name not in plan.gone


def _keeping(kernel: Connection, links: set[str], actual: State, mine: Mine) -> set[str]:
    """Those of ``links`` that keep lasting IPv6 addresses when they are down."""
    if not links:
        return links
    settings = frozenset(_KEEP.format(where) for where in ("all", *links))
    found = read(kernel, Selection(frozenset({"sysctl"}), settings=settings), mine.away).of("sysctl").values()
    keep = {str(one.key[0]).split("/")[3] for one in found if int(str(one.attrs["value"])) > 0}
    here = {name for name in links if not ((link := actual.link(name)) and link.attrs.get("netns"))}
    return links & (keep | here) if "all" in keep else links & keep


def _is_lasting(address: Object) -> bool:
    return address.attrs.get("valid_lft") == "forever" and address.attrs.get("scope") != "link"


def settings_of_others(kernel: Connection, plan: Plan) -> tuple[Object, ...]:
    """The settings of links that a plan deletes or takes to another namespace, whoever has changed them."""
    steps = (step for step in singles(plan.steps) if step.object.cls == "link" and step.before)
    gone = {step.object.name for step in steps if step.op is Op.DELETE or "netns" in step.attrs}
    return tuple(kernel.settings_of(gone)) if gone else ()


def give_back(kernel: Connection, objects: Iterable[Object], mine: Mine) -> tuple[str, ...]:
    """Make what is not there any more of what others had; what is to be said of what the kernel refuses."""
    given = [*objects]
    found = [obj for obj in given if not (is_astray(obj) or is_beyond_files(obj))]
    depths = Queues(State(found))
    ordered = sorted((obj for obj in found if obj.cls not in _STAYING), key=lambda obj: _turn(obj, depths))
    steps = [*_staying(kernel, [obj for obj in found if obj.cls in _STAYING], mine), *map(_step, ordered)]
    steps += led_again(kernel, [obj for obj in given if is_astray(obj)], mine)
    refused = kernel.apply(steps) if steps else ()
    unwanted = [each for each in refused if each.refusal.errno != _AS_WANTED[each.step.op is Op.DELETE]]
    lost = [str(refusal) for refusal in _refused_still(kernel, unwanted)]
    lost += _lost_for_good(kernel, [obj for obj in given if is_beyond_files(obj)], mine)
    if not lost:
        return ()
    return (f"what is not netgroupd's could not be given back: {few_of(lost, len(lost), '; ')}",)


def _refused_still(kernel: Connection, refused: list[Refused]) -> Iterator[Refusal]:
    """Why what was refused is not there, but for what can be had with fewer ways, and what leads by that."""
    with on_passing_ways(kernel, refused) as still:
        found = made_in_part(kernel, still)
    yield from found.missing
    yield from (each.refusal for each in found.rest)
    yield from (each.refusal for each in (kernel.apply([each.step for each in found.led]) if found.led else ()))


def _lost_for_good(kernel: Connection, objects: list[Object], mine: Mine) -> Iterator[str]:
    """What is to be said of those that no file can say, and that are not there any more."""
    if not objects:
        return
    hooks = frozenset(hook for obj in objects for hook in (hook_of(obj), (obj.name, str(obj.key[1]))))
    there = read(kernel, Selection(frozenset(obj.cls for obj in objects), hooks=hooks), mine.away)
    for obj in objects:
        now = there.of(obj.cls).get(obj.key)
        if now is None or now.attrs.get("kind") != obj.attrs["kind"]:
            yield f"{obj.cls} {' '.join(title(obj))}: no file can say such a {obj.attrs['kind']}"


def _turn(obj: Object, depths: Queues) -> tuple[int, int, bool]:
    if obj.cls == "sysctl":
        return 0, *rank(obj)
    if obj.cls in QUEUES:
        return _ORDER.index("tclass"), depths.depth(obj), False
    return _ORDER.index(obj.cls), "group" in obj.attrs, "via" in obj.attrs or "nexthops" in obj.attrs


def _staying(kernel: Connection, objects: list[Object], mine: Mine) -> Iterator[Step]:
    """What ports and drivers were told and are not any more: a cost that a card's speed gives must not be said."""
    if not objects:
        return
    ports = frozenset(obj.name for obj in objects if obj.cls == "link")
    told = {obj.key: frozenset(obj.attrs) for obj in objects if obj.cls == "ethtool"}
    classes = frozenset(obj.cls for obj in objects)
    there = read(kernel, Selection(classes, links=ports, ethtool=told), mine.away)
    for obj in objects:
        now = there.of(obj.cls).get(obj.key)
        lost = {name: value for name, value in obj.attrs.items() if now and not same(name, value, now.attrs.get(name))}
        if now and lost:
            yield Step(Op.CHANGE, now, now.having({**lost, "optional": True}), lost)


def _step(obj: Object) -> Step:
    """One without which the rest is wanted all the same; it may be there still in part.

    So are a group without some of its members, and a route of IPv6 without some of its ways or the address that it
    sends from.
    """
    want = obj.having({"optional": True})
    if obj.cls == "bridge_vlan" and not obj.attrs:
        return Step(Op.DELETE, obj, want)  # by what comes after it a step says that it is optional
    lessened = "group" in obj.attrs or (obj.cls == "route" and not is_ipv4(obj) and not _IN_PART.isdisjoint(obj.attrs))
    return Step(Op.CHANGE if lessened else Op.CREATE, None, want, obj.attrs)
