# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have listed on links that a plan deletes or takes out of their bridge, with which the kernel forgets it.

It is VLANs, forwarding entries, multicast groups and VNIs.  Where a file lists some of a link it lists all of
them: those are no others'.  What daemons learn or are told of by others they tell again.
"""

from collections.abc import Iterator, Mapping

from netgroupd.engine.observe import Connection, Mine, read
from netgroupd.kernel.request import Selection
from netgroupd.model.bridge_vlan import USUAL, bridge_of, default_vid
from netgroupd.model.mdb import is_of_host
from netgroupd.model.owner import LISTED
from netgroupd.model.state import Attrs, Key, Object, State
from netgroupd.plan.compare import UNOWNED, kind_of
from netgroupd.plan.fate import hangs_on, is_of_bridge
from netgroupd.plan.named import named_in
from netgroupd.plan.step import Plan

_WITH_TABLES = frozenset({"bridge", "vxlan"})
_FLAGS = ("pvid", "untagged")
_BY_ITSELF = dict.fromkeys(_FLAGS, True)


def listed_by_others(kernel: Connection, plan: Plan, goal: State, actual: State, mine: Mine) -> tuple[Object, ...]:
    """All of it, with a VLAN that has nothing where a port is not in the one that any new port is in."""
    names = frozenset(name for name in plan.gone | plan.moved if _has_lists(actual.link(name), actual))
    if not names:
        return ()
    bridges = frozenset(bridge for name in names if (link := actual.link(name)) and (bridge := bridge_of(link)))
    found = read(kernel, Selection(LISTED - {"mdb"}, links=names | bridges), mine.away)
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
    return (*(vlan for name in members if told for vlan in _vlans(name, told, goal, actual)), *entries)


def _has_lists(link: Object | None, actual: State) -> bool:
    if link is None:
        return False
    master = link.attrs.get("master")
    return kind_of(link) in _WITH_TABLES or (bool(master) and kind_of(actual.link(str(master))) in ("", "bridge"))


def _vlans(name: str, told: Mapping[Key, Object], goal: State, actual: State) -> Iterator[Object]:
    """The VLANs of a member of a bridge, unless it has what any new one has."""
    link = actual.link(name)
    if link is None or not bridge_of(link):
        return
    vlans = {vid: vlan for (on, vid), vlan in told.items() if on == name}
    default = default_vid(link, actual)
    if {vid: _said(vlan) for vid, vlan in vlans.items()} == ({default: _BY_ITSELF} if default else {}):
        return
    bridges = (state.link(bridge_of(link)) for state in (goal, actual))
    in_trees = any(bridge and bridge.attrs.get("mst_enabled") for bridge in bridges)
    for vlan in vlans.values():
        said = {**{flag: vlan.attrs[flag] for flag in _FLAGS}, **_said(vlan)}
        yield vlan._replace(attrs={key: value for key, value in said.items() if key != "state" or not in_trees})
    defaults = {default, default_vid(link, goal)} - {0}
    yield from (Object("bridge_vlan", (name, vid), {}) for vid in defaults - vlans.keys())


def _said(vlan: Object) -> Attrs:
    """What somebody has told a VLAN."""
    return {name: value for name, value in vlan.attrs.items() if value != USUAL.get(name, False)}
