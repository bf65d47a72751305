# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have listed on links that a plan deletes or takes out of their bridge, with which the kernel forgets it.

It is VLANs, forwarding entries, multicast groups and VNIs.  Where a file lists some of a link it lists all of
them: those are no others'.  What daemons learn or are told of by others they tell again.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from netgroupd.engine.observe import Connection, Mine, read
from netgroupd.kernel.links.codec import FEW
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.bridge_vlan import USUAL, bridge_of, default_vid
from netgroupd.model.fdb import WITH_TABLES
from netgroupd.model.mdb import is_of_host
from netgroupd.model.owner import LISTED
from netgroupd.model.state import Attrs, Object, State
from netgroupd.model.value import Value
from netgroupd.model.vlan_global import USUAL as OF_NEW_VLAN
from netgroupd.plan.bridge_vlan import bridge_in
from netgroupd.plan.compare import UNOWNED, kind_of, same
from netgroupd.plan.fate import hangs_on, is_of_bridge
from netgroupd.plan.named import named_in
from netgroupd.plan.passing import on_returning
from netgroupd.plan.step import Plan
from netgroupd.plan.theirs import Loss, Theirs

_FLAGS = ("pvid", "untagged")
_BY_ITSELF = dict.fromkeys(_FLAGS, True)


def listed_by_others(kernel: Connection, plan: Plan, goal: State, actual: State, mine: Mine) -> Loss:
    """All of it, with a VLAN that has nothing where a port is not in the one that any new port is in."""
    names = frozenset(name for name in plan.gone | plan.moved if _has_lists(actual.link(name), actual))
    others = plan.gone - names  # which may have addresses beside their own: looked for on few
    alone = others if len(others) <= FEW else frozenset[str]()
    if not (names or alone):
        return _loss((), plan)
    bridges = frozenset(bridge for name in names if (link := actual.link(name)) and (bridge := bridge_of(link)))
    classes = LISTED - {"mdb"} if names else frozenset({"fdb"})
    found = read(kernel, Selection(classes, links=names | bridges | alone, vlans_apart=True), mine.away)
    if names:
        found.classes |= read(kernel, Selection(frozenset({"mdb"}), everything=True), mine.away).classes
    whole = named_in(mine.named).listed.union((cls, str(key[0])) for cls in LISTED for key in goal.of(cls))

    def is_lost(obj: Object) -> bool:
        goes = plan.gone.intersection(hangs_on(obj)) or (is_of_bridge(obj) and plan.moved.intersection(hangs_on(obj)))
        of_port = obj.cls == "mdb" and not is_of_host(obj.key)
        ours = UNOWNED not in obj.attrs if of_port else (obj.cls, obj.name) in whole
        return bool(goes) and not ours and obj.key not in goal.of(obj.cls)

    entries = (obj for cls in ("fdb", "mdb", "vni") for obj in found.of(cls).values() if is_lost(obj))
    members = sorted(name for name in names if ("bridge_vlan", name) not in whole)
    told = found.of("bridge_vlan")  # of some at least, by any kernel that knows VLANs
    by_link: defaultdict[str, dict[Value, Object]] = defaultdict(dict)
    for (name, vid), vlan in told.items():
        by_link[str(name)][vid] = vlan
    vlans = [vlan for name in members if told for vlan in _vlans(name, by_link[name], goal, actual)]
    return _loss((*vlans, *_options(kernel, vlans, goal, actual, mine), *entries), plan)


def _loss(lost: tuple[Object, ...], plan: Plan) -> Loss:
    again = "goes with ports that leave their bridge for a moment, and is given back"
    return Loss(Theirs(lost), on_returning(lost, plan), "goes when links go or leave their bridge", again)


def _options(kernel: Connection, vlans: list[Object], goal: State, actual: State, mine: Mine) -> Iterator[Object]:
    """What bridges do in these VLANs, and the states of their ports in trees: the last one may take it along."""
    ports = frozenset(vlan.name for vlan in vlans)
    places = {(bridge_in(vlan.name, actual), vlan.key[1]) for vlan in vlans if vlan.attrs}
    if not places:
        return
    bridges = frozenset(bridge for bridge, _ in places)
    found = read(kernel, Selection(frozenset({"vlan_global", "mst"}), links=ports, bridges=bridges), mine.away)
    for key, options in found.of("vlan_global").items():
        said = {name: value for name, value in options.attrs.items() if not same(name, OF_NEW_VLAN.get(name), value)}
        if said and key in places and key not in goal.of("vlan_global"):
            yield options._replace(attrs=said)
    yield from (state for key, state in found.of("mst").items() if key not in goal.of("mst"))


def _has_lists(link: Object | None, actual: State) -> bool:
    if link is None:
        return False
    master = link.attrs.get("master")
    return kind_of(link) in WITH_TABLES or (bool(master) and kind_of(actual.link(str(master))) in ("", "bridge"))


def _vlans(name: str, vlans: Mapping[Value, Object], goal: State, actual: State) -> Iterator[Object]:
    """The VLANs of a member of a bridge, unless it has what any new one has."""
    link = actual.link(name)
    if link is None or not bridge_of(link):
        return
    default = default_vid(link, actual)
    if {vid: _said(vlan) for vid, vlan in vlans.items()} == ({default: _BY_ITSELF} if default else {}):
        return
    bridges = (state.link(bridge_of(link)) for state in (goal, actual))
    in_trees = any(bridge and bridge.attrs.get("mst_enabled") for bridge in bridges)
    for vid, vlan in vlans.items():
        if vid == default and _said(vlan) == _BY_ITSELF:
            continue
        said = {**{flag: vlan.attrs[flag] for flag in _FLAGS}, **_said(vlan)}
        yield vlan._replace(attrs={key: value for key, value in said.items() if key != "state" or not in_trees})
    if default and default not in vlans:
        left = {default, default_vid(link, goal)} - {0, *vlans}
        yield from (Object("bridge_vlan", (name, vid), {}) for vid in left)


def _said(vlan: Object) -> Attrs:
    """What somebody has told a VLAN."""
    return {name: value for name, value in vlan.attrs.items() if value != USUAL.get(name, False)}
