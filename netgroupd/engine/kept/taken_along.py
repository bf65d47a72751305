# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel may take along with what a plan says to it, for a snapshot to keep."""

from collections.abc import Iterator, Sequence

from netgroupd.model.beside import MACVLANS
from netgroupd.model.kinds.macvlan import IPVLANS
from netgroupd.model.state import Attrs, Key, Object, State, records
from netgroupd.plan.bridge_vlan import LEARNING, SNOOPING
from netgroupd.plan.carrier import losing_carrier, shaken_by
from netgroupd.plan.compare import kind_of
from netgroupd.plan.default_vlan import moved
from netgroupd.plan.fate import (
    TEAMING,
    carried_down,
    followers,
    hangs_on,
    is_ipv4,
    muted,
    resized_ports,
    stripped,
    why_muted,
)
from netgroupd.plan.fdb import of_vlans
from netgroupd.plan.mst import Disturbed
from netgroupd.plan.narrowed import narrowed
from netgroupd.plan.readdressed import forgotten
from netgroupd.plan.step import Op, Step
from netgroupd.plan.tc.classes import given_a_share
from netgroupd.plan.tc.hooks import ON_QDISCS, hangs_on_one_of, is_in_one_of, swept
from netgroupd.plan.tc.tables import inside
from netgroupd.plan.tc.turns import behind
from netgroupd.plan.vlan_global import bridge_of

_UP: Attrs = {"up": True}
_SHARING = IPVLANS | {*MACVLANS}


def may_take(step: Step) -> bool:
    """Whether something can go with a step: of the many about links most make one or bring it up."""
    made = step.after if step.op is Op.CREATE else None
    return step.attrs != _UP and (made is None or made.cls != "link" or _is_shared(step, made))


def taken_along(steps: list[Step], actual: State) -> Iterator[tuple[str, Key]]:
    """What may be lost with links that are deleted, go down, change their master or lose IPv6."""
    links = [step for step in steps if step.object.cls == "link"]
    deleted = {step.object.name for step in links if step.op is Op.DELETE}
    shaken = shaken_by(links)
    ports = [link for link in actual.of("link").values() if link.attrs.get("master") in deleted] if deleted else []
    shaken.update(link.name for link in ports)
    # The first port gives its MAC to a bond, which has any when the last has gone.
    joining = (step.attrs["master"] for step in links if step.attrs.get("master"))
    leaving = (step.before.attrs.get("master") for step in links if step.before and step.object.name in shaken)
    for name in {*joining, *leaving}:
        if (link := actual.link(str(name))) and kind_of(link) in TEAMING:
            yield link.cls, link.key
    carried = [name for name, _ in carried_down(list(shaken), actual.of("link"))] if shaken else []
    shaken.update(carried)
    yield from ((link.cls, link.key) for link in ports)
    # They are not up again before the link below them is, and that may not be reached.
    yield from (("link", (name,)) for name in carried)
    yield from (("neighbour", key) for key in forgotten(steps, actual))
    yield from _sharing_a_mode(links, actual)
    yield from _taken_vlans(steps, actual)
    yield from (("fdb", key) for key in of_vlans(steps, actual.of("fdb")))
    if states := actual.of("mst"):
        disturbed = Disturbed(steps, actual)
        yield from (("mst", key) for key, state in states.items() if state.name in disturbed)
    prefs = {step.object.key[:2] for step in steps if step.object.cls == "rule"}
    yield from (("rule", key) for key in actual.of("rule") if key[:2] in prefs)
    yield from _taken_options(steps, shaken, actual)
    yield from _taken_functions(steps, actual)
    going = {step.object.key for step in steps if step.object.cls == "address" and step.op is Op.DELETE}
    bare = stripped(going, actual.of("address")) if going else set()  # those that come before may be refused
    dark = losing_carrier(shaken, actual.of("link")) if actual.of("nexthop") else ()
    yield from _taken_with_nexthops(steps, shaken.union(bare, dark), actual)
    for cls in ("route", "neighbour") if bare else ():
        found = actual.of(cls).items()
        yield from ((cls, key) for key, obj in found if is_ipv4(obj) and bare.intersection(hangs_on(obj)))
    yield from ((one.cls, one.key) for one in given_a_share(steps, actual))
    doomed = [step.object for step in steps if step.op is Op.DELETE]
    yield from _taken_with_qdiscs(doomed, actual)
    yield from ((rule.cls, rule.key) for rule in inside(doomed, actual.of("filter").values()))
    # One that is said again comes behind those that stay, and all that were behind it then behind that.
    said = (step.object for step in steps if step.before and step.object.cls == "filter")
    yield from ((rule.cls, rule.key) for rule in behind(said, actual))
    if silent := muted(steps, actual.of("link")):
        # One that speaks a protocol again begins with the settings of a new link.
        afresh = {name for name, _ in silent}
        yield from (
            (obj.cls, obj.key)
            for obj in actual
            if why_muted(obj, silent) or (obj.cls == "sysctl" and afresh.intersection(hangs_on(obj)))
        )
    if not shaken:
        return
    for obj in actual:
        if obj.cls != "link" and (obj.attrs.get("nhid") or shaken.intersection(hangs_on(obj))):
            yield obj.cls, obj.key


def _sharing_a_mode(steps: list[Step], actual: State) -> Iterator[tuple[str, Key]]:
    """The ipvlans on links on which one comes, goes or changes, and the macvlans where one is told a limit of all."""
    changing = (obj for step in steps for obj in (step.before, step.object) if obj and _is_shared(step, obj))
    if lowers := {obj.attrs.get("link") for obj in changing}:
        found = (link for link in actual.of("link").values() if kind_of(link) in _SHARING)
        yield from ((link.cls, link.key) for link in found if link.attrs.get("link") in lowers)


def _is_shared(step: Step, link: Object) -> bool:
    """Whether all links of its sort on the one below have what a step says to one of them."""
    return kind_of(link) in IPVLANS or "bclim" in step.attrs


def taken_sizes(steps: Sequence[Step], actual: State) -> Iterator[tuple[str, Key]]:
    """The MTU of a link is the most that those above it can have, and they do not grow again with it."""
    links = actual.of("link")
    changed = (step.object for step in steps if "mtu" in step.attrs and step.op is Op.CHANGE)
    resized = {obj.name for obj in changed if obj.cls == "link"}
    if resized:
        resized.update(resized_ports(resized, links))
        yield from (("link", (name,)) for name in resized)
    if resized := resized.union(narrowed(steps, links)):
        smaller = {name: links[name,] for name, _ in followers(resized, links, bridges=True)}
        yield from (("link", (name,)) for name, link in smaller.items() if kind_of(link) != "bridge")


def _taken_vlans(steps: list[Step], actual: State) -> Iterator[tuple[str, Key]]:
    """The VLANs that are not the one of untagged packets any more, and those that lose the VNI they are mapped to."""
    yield from (("bridge_vlan", key) for key in moved(steps, actual))
    untagged = {step.object.name for step in steps if step.attrs.get("pvid")}
    unmapped = {step.object.name for step in steps if step.attrs.get("port.vlan_tunnel") is False}
    for key, vlan in actual.of("bridge_vlan").items() if untagged or unmapped else ():
        if (vlan.name in untagged and vlan.attrs.get("pvid")) or (vlan.name in unmapped and "tunnel_id" in vlan.attrs):
            yield vlan.cls, key
    # Whether a limit on its groups is told at all, and taken, follows from what its bridge learns.
    learning = {step.object.name for step in steps if not step.attrs.keys().isdisjoint(LEARNING)}
    settings = {step.object.key for step in steps if step.object.cls == "vlan_global" and SNOOPING in step.attrs}
    for key, vlan in actual.of("bridge_vlan").items() if learning or settings else ():
        if (bridge := bridge_of(vlan, actual)) in learning or (bridge, key[1]) in settings:
            yield vlan.cls, key


def _taken_options(steps: list[Step], shaken: set[str], actual: State) -> Iterator[tuple[str, Key]]:
    """The options of VLANs that somebody leaves, or may leave with a port: with the last one they are gone."""
    options = actual.of("vlan_global")
    if not options:
        return
    ports = filter(None, map(actual.link, shaken))
    bridges = {port.attrs.get("master") for port in ports}
    bridges.update(step.object.name for step in steps if "vlan_default_pvid" in step.attrs)
    left = {
        (bridge_of(step.object, actual), step.object.key[1])
        for step in steps
        if step.object.cls == "bridge_vlan" and step.op is Op.DELETE
    }
    yield from (("vlan_global", key) for key in options if key in left or key[0] in bridges)


def _taken_with_nexthops(steps: list[Step], shaken: set[str], actual: State) -> Iterator[tuple[str, Key]]:
    """The nexthops on links, the groups that lose one, the last of which takes them along, and what goes by these."""
    nexthops = actual.of("nexthop")
    gone = {step.object.key[0] for step in steps if step.object.cls == "nexthop" and step.op is Op.DELETE}
    on_links = [each for each in nexthops.values() if shaken.intersection(hangs_on(each))] if shaken else []
    gone.update(each.key[0] for each in on_links)
    if not gone:
        return
    yield from ((each.cls, each.key) for each in on_links)
    groups = [
        each for each in nexthops.values() if any(member["id"] in gone for member in records(each.attrs, "group"))
    ]
    gone.update(each.key[0] for each in groups)
    yield from ((each.cls, each.key) for each in groups)
    for cls in ("route", "fdb"):
        yield from ((cls, key) for key, each in actual.of(cls).items() if each.attrs.get("nhid") in gone)


def _taken_functions(steps: list[Step], actual: State) -> Iterator[tuple[str, Key]]:
    """The virtual functions of cards that have another number of them."""
    cards = {step.object.name for step in steps if step.object.cls == "sriov"}
    yield from ((obj.cls, obj.key) for obj in actual.of("vf").values() if obj.name in cards)


def _taken_with_qdiscs(doomed: list[Object], actual: State) -> Iterator[tuple[str, Key]]:
    """What hangs on qdiscs that are deleted, and what is in classes that are."""
    deleted = [obj for obj in doomed if obj.cls == "qdisc"]
    classes = {(obj.name, str(obj.key[1])) for obj in doomed if obj.cls == "tclass"}
    deleted += [obj for obj in actual.of("qdisc").values() if is_in_one_of(obj, classes)] if classes else []
    if not deleted and not classes:
        return
    parents = swept(deleted, actual)
    for cls in ON_QDISCS:
        found = actual.of(cls).items()
        yield from ((cls, key) for key, obj in found if hangs_on_one_of(obj, parents) or is_in_one_of(obj, classes))
