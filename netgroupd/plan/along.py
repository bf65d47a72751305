# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have that goes with nexthops and links of ours: told before it is done."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.fold import few_of, fold_names
from netgroupd.plan.present import title
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Op, Plan
from netgroupd.plan.theirs import Loss, Theirs
from netgroupd.plan.unsaid import told as beyond_files

_MANY = {"address": "addresses", "bridge_vlan": "VLANs", "fdb": "forwarding entries", "mdb": "multicast groups"}
_MANY |= {"vlan_global": "VLANs with options", "mst": "states in spanning trees"}
_MANY |= {"vni": "VNIs", "tclass": "classes", "filter": "rules", "link": "tunnels"}
# As `ip route` calls them, where nobody has told it otherwise.
_PROTOCOLS = {2: "kernel", 3: "boot", 4: "static", 11: "zebra", 12: "bird", 16: "dhcp", 18: "keepalived", 42: "babel"}
_PROTOCOLS |= {186: "bgp", 187: "isis", 188: "ospf", 189: "rip", 192: "eigrp"}


def told(theirs: Theirs, back: Sequence[Object]) -> tuple[str, ...]:
    """A sentence about what goes with links, one about what comes ``back``, and one about groups that lose members."""
    kept = {obj[:2] for obj in back}
    lost = theirs._replace(objects=tuple(obj for obj in theirs.objects if obj[:2] not in kept))
    return (
        *_on_links(lost, "goes when links go, go down or change their VRF"),
        *_on_links(Theirs(tuple(back)), "goes with links that go down for a moment, and is given back"),
        *_groups([group for group in theirs.groups if group[:2] not in kept]),
    )


def told_of_loss(loss: Loss) -> tuple[str, ...]:
    """The same of what goes with something that links lose."""
    kept = {obj[:2] for obj in loss.back}
    lost = loss.theirs._replace(objects=tuple(obj for obj in loss.theirs.objects if obj[:2] not in kept))
    back = Theirs(loss.back)
    return (*_on_links(lost, loss.when), *_on_links(back, f"{loss.when} for a moment, and is given back"))


def told_of_lists(lost: Sequence[Object], back: Sequence[Object]) -> tuple[str, ...]:
    """The same of what is listed on links; that a port is not in a VLAN counts as one."""
    kept = {obj[:2] for obj in back}
    gone = Theirs(tuple(obj for obj in lost if obj[:2] not in kept))
    return (
        *_on_links(gone, "goes when links go or leave their bridge"),
        *_on_links(Theirs(tuple(back)), "goes with ports that leave their bridge for a moment, and is given back"),
    )


def told_of_queues(lost: Sequence[Object]) -> tuple[str, ...]:
    """The same of what hangs on qdiscs, and which of it nothing brings back."""
    return (*_on_links(Theirs(tuple(lost)), "goes with the qdiscs and links that are deleted"), *beyond_files(lost))


def told_of_astray(rules: Sequence[Object], back: Sequence[Object]) -> tuple[str, ...]:
    """The same of rules and tunnels that lead to links which go."""
    kept = {obj[:2] for obj in back}
    led = [obj for obj in rules if obj.cls != "action"]  # those are told by the rules that share them
    lost, again = ([obj for obj in led if (obj[:2] in kept) is there] for there in (False, True))
    return (
        *_on_links(Theirs(tuple(lost)), "leads to links that go, and to nothing then"),
        *_on_links(Theirs(tuple(again)), "leads to links that are made anew, and does so again"),
    )


def told_of_gone(rules: Iterable[tuple[Object, str]]) -> tuple[str, ...]:
    """The same of policy rules about links that go, each with its link."""
    found = Counter((rule.cls, 0, link) for rule, link in rules)
    return _on_links(Theirs(watched=found), "is about links that go, and matches nothing then")


def told_of_watched(*lost: Theirs) -> tuple[str, ...]:
    """What nobody gives back of what others had, when what there was is put back: their programs are to do that."""
    watched = (theirs._replace(objects=()) for theirs in lost)
    return tuple(said for theirs in watched for said in _on_links(theirs, "may have gone, for others to bring back"))


def _groups(groups: Sequence[Object]) -> Iterator[str]:
    if groups:
        shown = ((group.key[0], group.attrs[UNOWNED]) for group in groups)
        named = (f"{number} (proto {_protocol(by)})" if by else str(number) for number, by in shown)
        yield f"groups of nexthops that are not netgroupd's lose members: {few_of(named, len(groups))}"


def _on_links(theirs: Theirs, what_becomes: str) -> tuple[str, ...]:
    counts, links = Counter[str](), dict[str, None]()
    for obj in theirs.objects:
        if "group" in obj.attrs:
            continue
        counts[_of(obj.cls, obj.attrs.get(UNOWNED))] += 1
        links.update(dict.fromkeys(hangs_on(obj)[1:] if obj.cls == "mdb" else hangs_on(obj)))
    for (cls, protocol, link), count in theirs.watched.items():
        counts[_of(cls, protocol)] += count
        links.update({link: None} if link else {})
    if not counts:
        return ()
    found = ", ".join(f"{what} ({count:,})" for what, count in counts.items())
    # Of a route by a nexthop nothing may tell the link.
    where = f"on {few_of(fold_names(links), len(links))}" if links else "by nexthops"
    return (f"what is not netgroupd's {what_becomes}: {found} {where}",)


def _of(cls: str, protocol: Value) -> str:
    """What a number of objects are called, with their protocol where it says whose they are."""
    many = _MANY.get(cls, f"{cls}s")
    return f"{many} of proto {_protocol(protocol)}" if protocol and cls != "address" else many


def deleted_nexthops(plan: Plan, actual: State) -> frozenset[int]:
    """The nexthops that a plan deletes, also those that it makes again: what went by way of them is gone then."""
    if not actual.of("nexthop"):
        return frozenset()
    steps = (step for step in singles(plan.steps) if step.object.cls == "nexthop" and step.op is Op.DELETE)
    return frozenset(number for step in steps if isinstance(number := step.object.key[0], int))


def warnings(routes: Iterable[Object], desired: State) -> tuple[str, ...]:
    """One sentence about all of them, but for those that become netgroupd's."""
    wants = desired.of("route")
    lost = [route for route in routes if route.key not in wants]
    if not lost:
        return ()
    named = few_of(map(_named, lost), len(lost))
    return (f"routes that are not netgroupd's go with the nexthops that are deleted: {named}",)


def _named(route: Object) -> str:
    return f"{' '.join(title(route))} by nexthop {route.attrs['nhid']} (proto {_protocol(route.attrs[UNOWNED])})"


def _protocol(number: Value) -> Value:
    return _PROTOCOLS.get(number, number) if isinstance(number, int) else number
