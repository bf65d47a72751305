# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that go down, or leave their master, for a moment only, and what can be there again afterwards.

It is what others have on them, and what no file says of ports.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from netgroupd.model.address import plain_address
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.bond import PORT_MODES_OF
from netgroupd.model.state import NOTHING, Attrs, Key, Object, State, records
from netgroupd.plan.compare import in_the_end, kind_of
from netgroupd.plan.fate import carried_down, hangs_on, is_ipv4
from netgroupd.plan.pieces import DOWN
from netgroupd.plan.serialise import singles, touching
from netgroupd.plan.step import Op, Plan, Step
from netgroupd.plan.stranded import Stranded

_ELSEWHERE = frozenset({"master", "netns"})
_TAKING = ("allmulticast", "promisc")


def passing(plan: Plan, links: Mapping[Key, Object]) -> frozenset[str]:
    """The links that come up again where they were."""
    if not plan.cycled:
        return plan.cycled
    up: dict[str, bool] = {}
    steps = [step for step in singles(plan.steps) if step.object.cls == "link" and step.object.name in plan.cycled]
    others = {name for name in plan.cycled if (link := links.get((name,))) and link.attrs.get("master") in plan.gone}
    for step in steps:
        name = step.object.name
        up[name] = bool(step.attrs.get("up", up.get(name, True)))
        others |= set() if _ELSEWHERE.isdisjoint(step.attrs) else {name}
    others -= {step.object.name for step in _returning(steps) if "netns" not in step.attrs}
    down = [name for name, stays in up.items() if not stays]
    return plan.cycled - others.union(down, (upper for upper, _ in carried_down(down, links)))


def kept_down(raised: Set[str], wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> set[str]:
    """The VLANs that the kernel brings up with ``raised`` links, and are to be down.

    Where nobody says so, it is those that were down above links that were up: to come up again makes nothing new.
    """
    vlans = [want for want in wants.values() if not want.attrs.get("up") and kind_of(want) == "vlan"] if raised else []
    said = {want.name for want in vlans if want.attrs.get("up") is False}
    silent = (have for want in vlans if want.name not in said and (have := haves.get(want.key)))
    unsaid = {have.name for have in silent if have.attrs.get("up") is False}
    if unsaid:
        unsaid &= _brought_up(raised, haves)
    if said:
        said.intersection_update([name for name, _ in carried_down(raised, wants)])
    return said | unsaid


def _brought_up(names: Set[str], links: Mapping[Key, Object]) -> set[str]:
    """The VLANs that are down above those of ``names`` that are up, and are not any more when these come up again."""
    again = {name for name in names if (link := links.get((name,))) and link.attrs.get("up")}
    uppers = (upper for upper, _ in carried_down(again, links)) if again else ()
    return {upper for upper in uppers if links[upper,].attrs.get("up") is False}


def down_on_cycled(plan: Plan, goal: State, actual: State) -> Iterator[Object]:
    """The VLANs of others that the kernel brings up with links that go down for a moment, each down as it was."""
    links = actual.of("link")
    for name in sorted(_brought_up(plan.cycled, links)):
        if not goal.link(name):
            yield links[name,]._replace(attrs=DOWN)


def on_passing(
    objects: Sequence[Object], names: frozenset[str], shaken: frozenset[str], goal: State, actual: State
) -> tuple[Object, ...]:
    """Of what others lose with ``shaken`` links, what is on those of these names alone, with groups that are whole."""
    hops = goal.of("nexthop").keys()
    if not objects or not (names or hops):
        return ()
    back = {obj[:2]: obj for obj in objects if (on := shaken.intersection(hangs_on(obj))) and on <= names}
    lost = {obj.key for obj in objects if obj.cls == "nexthop" and "group" not in obj.attrs and obj[:2] not in back}
    missing = {key[0] for key in lost | (actual.of("nexthop").keys() - hops)}
    there = {key[0] for key in hops} | {key[0] for cls, key in back if cls == "nexthop"}
    for group in (obj for obj in objects if "group" in obj.attrs):
        members = {one.get("id") for one in records(group.attrs, "group")}
        if members & there and not members & missing:
            back[group[:2]] = group
    numbers = {key[0] for cls, key in back if cls == "nexthop"}
    routes = (obj for obj in objects if obj.cls == "route" and obj.attrs.get("nhid") in numbers)
    return tuple({**back, **{route[:2]: route for route in routes}}.values())


def on_returning(objects: Sequence[Object], plan: Plan) -> tuple[Object, ...]:
    """Of what others lose with the bridges of ports, what is on those that come back to theirs."""
    if not objects:
        return ()
    masters = {step.object.name: str(step.attrs["master"]) for step in _returning(singles(plan.steps))}
    back = masters.keys() & plan.moved
    back |= {masters[name] for name in back}  # with its options
    return tuple(obj for obj in objects if (hangs_on(obj)[-1] in back if obj.cls == "mdb" else obj.name in back))


def _returning(steps: Iterable[Step]) -> Iterator[Step]:
    for step in steps:
        have = step.before
        if have and have.cls == "link" and (master := step.attrs.get("master")) and have.attrs.get("master") == master:
            yield step


def options_of_ports(plan: Plan, goal: State, actual: State) -> Iterator[Object]:
    """The ports that come back to their master, each with what no file says and any port there can be told."""
    for step in _returning(touching(plan.steps, actual.of("link"))):
        have, master = step.before, step.attrs["master"]
        assert have
        takes = _options(in_the_end(master, goal.of("link"), actual.of("link")))
        unsaid = have.attrs.keys() - step.object.attrs.keys()
        if kept := {name: have.attrs[name] for name in sorted(unsaid) if name in takes}:
            yield have._replace(attrs=kept)


def flags_in_vrfs(plan: Plan, goal: State, actual: State) -> Iterator[Object]:
    """The links that enter or leave VRFs below others, each with what no file says of the packets that it takes.

    The kernel takes a port down and up when its VRF goes, and what others have it take it is told to take for good.
    """
    links = actual.of("link")
    lower = {link.attrs.get("link") for link in links.values()} if plan.cycled else set()
    for name in sorted(plan.cycled.intersection(map(str, lower))):
        have, want = actual.link(name), goal.link(name)
        masters = [str(link.attrs.get("master")) for link in (have, want) if link]
        if have and any(kind_of(actual.link(each) or goal.link(each)) == "vrf" for each in masters):
            said = want.attrs if want else NOTHING
            if kept := {row: False for row in _TAKING if have.attrs.get(row) is False and row not in said}:
                yield have._replace(attrs=kept)


def _options(master: Attrs) -> frozenset[str]:
    """The options of ports of a master."""
    kind, mode = master.get("kind"), master.get("mode")
    rows = (f"port.{name}" for name in (KINDS[str(kind)].port if kind in KINDS else ()))
    return frozenset(row for row in rows if mode in PORT_MODES_OF.get(row, (mode,)))


def on_emptied(objects: Sequence[Object], plan: Plan, goal: State) -> tuple[Object, ...]:
    """Of what others lose with the last IPv4 addresses of links, what can be there with those that these have then."""
    if not objects:
        return ()
    addressed = {obj.name for obj in goal.of("address").values() if is_ipv4(obj)}
    gone = [step.object for step in singles(plan.steps) if step.object.cls == "address" and step.op is Op.DELETE]
    stranded = Stranded(gone, goal)
    back = tuple(obj for obj in objects if addressed.issuperset(hangs_on(obj)) and not stranded.why(obj))
    return on_sources(back, frozenset(plain_address(address.key) for address in gone), goal)


def on_sources(objects: Sequence[Object], gone: Set[str], goal: State) -> tuple[Object, ...]:
    """Those without the routes that send from addresses that have ``gone``, and are not there again."""
    lost = gone - {plain_address(key) for key in goal.of("address")} if objects else gone
    return tuple(obj for obj in objects if obj.attrs.get("src") not in lost)
