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

_MANY = {"address": "addresses", "bridge_vlan": "VLANs", "fdb": "forwarding entries", "mdb": "multicast groups"}
_MANY |= {"vlan_global": "VLANs with options", "mst": "states in spanning trees"}
_MANY |= {"vni": "VNIs", "tclass": "classes", "filter": "rules", "link": "tunnels"}
# As `ip route` calls them, where nobody has told it otherwise.
_PROTOCOLS = {2: "kernel", 3: "boot", 4: "static", 11: "zebra", 12: "bird", 16: "dhcp", 18: "keepalived", 42: "babel"}
_PROTOCOLS |= {186: "bgp", 187: "isis", 188: "ospf", 189: "rip", 192: "eigrp"}


def told(loss: Loss) -> tuple[str, ...]:
    """A sentence about what is lost, one about what comes back of it, and one about groups that lose members."""
    kept = {obj[:2] for obj in loss.back}
    lost = loss.theirs._replace(objects=tuple(obj for obj in loss.theirs.objects if obj[:2] not in kept))
    return (
        *_on_links(lost, loss.when),
        *_on_links(Theirs(loss.back), loss.again or f"{loss.when} for a moment, and is given back"),
        *_groups([group for group in loss.theirs.groups if group[:2] not in kept]),
    )


def told_of_watched(losses: Iterable[Loss]) -> tuple[str, ...]:
    """What nobody gives back of what others had, when what there was is put back: their programs are to do that."""
    watched = (loss.theirs._replace(objects=()) for loss in losses)
    return tuple(said for theirs in watched for said in _on_links(theirs, "may have gone, for others to bring back"))


def _groups(groups: Sequence[Object]) -> Iterator[str]:
    if groups:
        shown = ((group.key[0], group.attrs[UNOWNED]) for group in groups)
        named = (f"{number} (proto {_protocol(by)})" if by else str(number) for number, by in shown)
        yield f"groups of nexthops that are not netgroupd's lose members: {few_of(named, len(groups))}"


def _on_links(theirs: Theirs, what_becomes: str) -> tuple[str, ...]:
    counts, links = Counter[str](), dict[str, None]()
    for obj in theirs.objects:
        if "group" in obj.attrs or obj.cls == "action":
            continue  # told by their members, and by the rules that share them
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
