# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel may take along with what a plan says to it, for a snapshot to keep."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from netgroupd.model.beside import MACVLANS
from netgroupd.model.kinds.macvlan import IPVLANS
from netgroupd.model.state import Attrs, Key, Object, State, records
from netgroupd.plan.bridge_vlan import LEARNING, SNOOPING
from netgroupd.plan.carrier import goes_with_carrier, in_the_dark, losing_carrier, shaken_by
from netgroupd.plan.compare import kind_of
from netgroupd.plan.default_vlan import DEFAULT, moved
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
_About: TypeAlias = defaultdict[str, list[Step]]
"""The steps about each class."""
_Row: TypeAlias = tuple[Iterable[str], object, Callable[[Object], object]]
"""Classes, what something of them may go with, if there is any of that, and whether one does."""


def may_take(step: Step, actual: State) -> bool:
    """Whether something can go with a step: of the many about links most make one or bring it up.

    A port that comes to a bridge may give it another MAC.
    """
    made = step.after if step.op is Op.CREATE else None
    if made is None or made.cls != "link":
        return step.attrs != _UP
    return _is_shared(step, made) or actual.link(str(step.attrs.get("master"))) is not None


def taken_along(steps: Iterable[Step], actual: State) -> Iterator[tuple[str, Key]]:
    """What may be lost with links that are deleted, go down, change their master or lose IPv6."""
    about: _About = defaultdict(list)
    for step in steps:
        about[step.object.cls].append(step)
    links, rules = about["link"], about["filter"]
    shaken = shaken_by(links)
    yield from _taken_links(links, shaken, actual)
    yield from (("neighbour", key) for key in forgotten((*links, *about["bridge_vlan"]), actual))
    yield from (("bridge_vlan", key) for key in moved(links, actual))
    yield from (("fdb", key) for key in of_vlans(about["fdb"], actual.of("fdb")))
    yield from (one[:2] for one in given_a_share(about["tclass"], actual))
    yield from (rule[:2] for rule in inside(_deleted(rules), actual.of("filter").values()))
    # One that is said again comes behind those that stay, and all that were behind it then behind that.
    yield from (rule[:2] for rule in behind((step.object for step in rules if step.before), actual))
    for rows in (_of_vlans, _by_carriers, _by_nexthops, _on_qdiscs, _on_links):
        for classes, goes, is_taken in rows(about, shaken, actual):
            for cls in classes if goes else ():
                yield from ((cls, key) for key, obj in actual.of(cls).items() if is_taken(obj))


def _taken_links(links: Iterable[Step], shaken: set[str], actual: State) -> Iterator[tuple[str, Key]]:
    """The links that feel what is said to others; those that lose something too are put to the ``shaken``."""
    deleted = {step.object.name for step in links if step.op is Op.DELETE}
    ports = [link for link in actual.of("link").values() if link.attrs.get("master") in deleted] if deleted else []
    shaken.update(link.name for link in ports)
    # The first port gives its MAC to a bond, which has any when the last has gone.
    joining = (step.attrs["master"] for step in links if step.attrs.get("master"))
    leaving = (step.before.attrs.get("master") for step in links if step.before and step.object.name in shaken)
    for name in {*joining, *leaving}:
        if (link := actual.link(str(name))) and kind_of(link) in TEAMING:
            yield link[:2]
    carried = [name for name, _ in carried_down(list(shaken), actual.of("link"))] if shaken else []
    shaken.update(carried)
    yield from (link[:2] for link in ports)
    # They are not up again before the link below them is, and that may not be reached.
    yield from (("link", (name,)) for name in carried)


def _deleted(steps: Iterable[Step]) -> list[Object]:
    return [step.object for step in steps if step.op is Op.DELETE]


def _on_links(about: _About, shaken: set[str], actual: State) -> Iterator[_Row]:
    cards = {step.object.name for step in about["sriov"]}
    yield ("vf",), cards, lambda vf: vf.name in cards
    # The ipvlans on one link share a mode, and the macvlans a limit.
    changing = ((step, obj) for step in about["link"] for obj in (step.before, step.object) if obj)
    lowers = {link.attrs.get("link") for step, link in changing if _is_shared(step, link)}
    yield ("link",), lowers, lambda link: kind_of(link) in _SHARING and link.attrs.get("link") in lowers
    prefs = {step.object.key[:2] for step in about["rule"]}
    yield ("rule",), prefs, lambda rule: rule.key[:2] in prefs
    bare = _bare(about, actual)
    yield ("route", "neighbour"), bare, lambda obj: is_ipv4(obj) and bare.intersection(hangs_on(obj))
    silent = muted((*about["link"], *about["sysctl"]), actual.of("link"))
    yield ("address", "route", "neighbour", "token"), silent, lambda obj: why_muted(obj, silent)
    # One that speaks a protocol again begins with the settings of a new link.
    afresh = {name for name, _ in silent}
    yield ("sysctl",), afresh, lambda setting: afresh.intersection(hangs_on(setting))
    others = [cls for cls in actual.classes if cls != "link"]
    yield others, shaken, lambda obj: obj.attrs.get("nhid") or shaken.intersection(hangs_on(obj))


def _bare(about: _About, actual: State) -> set[str]:
    """The links that may lose their last address of IPv4: those that come before it may be refused."""
    going = {address.key for address in _deleted(about["address"])}
    return stripped(going, actual.of("address")) if going else set()


def _of_vlans(about: _About, shaken: set[str], actual: State) -> Iterator[_Row]:
    links, vlans, options = about["link"], about["bridge_vlan"], about["vlan_global"]
    disturbed = Disturbed((*links, *vlans, *options), actual)
    yield ("mst",), True, lambda state: state.name in disturbed
    # Those that are not the one of untagged packets any more, and that lose the VNI they are mapped to.
    untagged = {step.object.name for step in vlans if step.attrs.get("pvid")}
    yield ("bridge_vlan",), untagged, lambda vlan: vlan.name in untagged and vlan.attrs.get("pvid")
    unmapped = {step.object.name for step in links if step.attrs.get("port.vlan_tunnel") is False}
    yield ("bridge_vlan",), unmapped, lambda vlan: vlan.name in unmapped and "tunnel_id" in vlan.attrs
    # Whether a limit on its groups is told at all, and taken, follows from what its bridge learns.
    learning: set[object] = {step.object.name for step in links if not step.attrs.keys().isdisjoint(LEARNING)}
    learning.update(step.object.key for step in options if SNOOPING in step.attrs)
    yield ("bridge_vlan",), learning, lambda vlan: not learning.isdisjoint(_places(vlan, actual))
    # The options of those that somebody leaves, or may leave with a port: with the last one they are gone.
    left: set[object] = {port.attrs.get("master") for port in filter(None, map(actual.link, shaken))}
    left.update(step.object.name for step in links if DEFAULT in step.attrs)
    left.update(_places(vlan, actual)[1] for vlan in _deleted(vlans))
    yield ("vlan_global",), left, lambda options: not left.isdisjoint((options.key[0], options.key))


def _places(vlan: Object, actual: State) -> tuple[str, Key]:
    """The bridge of a VLAN, and the VLAN there."""
    bridge = bridge_of(vlan, actual)
    return bridge, (bridge, vlan.key[1])


def _by_carriers(about: _About, shaken: set[str], actual: State) -> Iterator[_Row]:
    """The neighbours that do not age on links that may lose their carrier, or are told something without one."""
    lossy = {obj.name for obj in actual.of("neighbour").values() if goes_with_carrier(obj)} if about["link"] else set()
    if not lossy:
        return
    dark = lossy & in_the_dark(shaken, about["link"], actual.of("link"))
    yield ("neighbour",), dark, lambda obj: obj.name in dark and goes_with_carrier(obj)


def _by_nexthops(about: _About, shaken: set[str], actual: State) -> Iterator[_Row]:
    """The nexthops on links, the groups that lose one, the last of which takes them along, and what goes by these."""
    nexthops = actual.of("nexthop").values()
    if not nexthops:
        return
    lost = shaken.union(_bare(about, actual), losing_carrier(shaken, actual.of("link")))
    gone = {nexthop.key[0] for nexthop in _deleted(about["nexthop"])}
    gone.update([each.key[0] for each in nexthops if lost.intersection(hangs_on(each))])
    gone.update([each.key[0] for each in nexthops if any(one["id"] in gone for one in records(each.attrs, "group"))])
    yield ("nexthop",), gone, lambda each: each.key[0] in gone
    yield ("route", "fdb"), gone, lambda each: each.attrs.get("nhid") in gone


def _on_qdiscs(about: _About, _shaken: set[str], actual: State) -> Iterator[_Row]:
    """What hangs on qdiscs that are deleted, and what is in classes that are."""
    classes = {(obj.name, str(obj.key[1])) for obj in _deleted(about["tclass"])}
    deleted = _deleted(about["qdisc"])
    deleted += [obj for obj in actual.of("qdisc").values() if is_in_one_of(obj, classes)] if classes else []
    parents = swept(deleted, actual) if deleted else ()
    yield ON_QDISCS, deleted or classes, lambda obj: hangs_on_one_of(obj, parents) or is_in_one_of(obj, classes)


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
        smaller = {name: links[name,] for name, _ in followers(resized, links, masters={"bridge"})}
        yield from (("link", (name,)) for name, link in smaller.items() if kind_of(link) != "bridge")
