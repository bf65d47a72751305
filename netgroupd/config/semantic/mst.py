# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of spanning trees that a bridge does not keep, or in which a port has no VLAN."""

from collections import defaultdict
from collections.abc import Mapping

from netgroupd.config.checked import Checked
from netgroupd.model.bridge_vlan import default_vid, vlans_joined
from netgroupd.model.value import Value
from netgroupd.model.vlan_global import TREE


def trees(checked: Checked) -> None:
    """A VLAN is put into a tree of a bridge that keeps states for it."""
    for obj in checked.state.of("vlan_global").values():
        if obj.attrs.get(TREE) and _keeps_one(obj.name, checked):
            told = f"{obj.name!r} keeps one spanning tree state for all VLANs, and VLAN {obj.key[1]} would be shut"
            checked.refuse(obj, TREE, told, f"set mst_enabled of {obj.name!r}")


def tree_states(checked: Checked) -> None:
    """A port has a state in the trees that its VLANs are in, where its bridge keeps any."""
    said = checked.state.of("mst")
    joined = _joined(checked) if said else {}
    for (name, msti), obj in said.items():
        bridge = str(checked.attrs(str(name)).get("master"))
        if checked.attrs(bridge).get("kind") != "bridge":
            continue
        if _keeps_one(bridge, checked):
            told = f"{bridge!r} keeps one spanning tree state for all VLANs, and takes none of {name!r} for tree {msti}"
            checked.refuse(obj, "", told, f"set mst_enabled of {bridge!r}")
        elif not ({bridge, name} & checked.links.unsound) and msti not in joined.get((bridge, str(name)), ()):
            if bridge in checked.links.known:
                continue  # of which somebody else may have put VLANs into trees
            told = f"no VLAN of {name!r} is in spanning tree {msti}, and it has no state there"
            hint = f"put one into it, under `vlan_global` of {bridge!r}"
            checked.report.missing(checked.entry(obj).place(TREE), told, hint)


def shut_ports(checked: Checked) -> None:
    """Where files tell the states of some ports, another that they leave out is shut by mistake."""
    said = checked.state.of("mst")
    told_of = {checked.attrs(str(name)).get("master") for name, _ in said}
    shut: defaultdict[tuple[str, Value], list[tuple[str, Value]]] = defaultdict(list)
    for (bridge, name), found in _joined(checked).items() if said else ():
        for msti, vid in found.items() if bridge in told_of else ():
            if (name, msti) not in said:
                shut[bridge, msti].append((name, vid))
    for (bridge, msti), ports in shut.items():
        (name, vid), more = ports[0], len(ports) - 1
        which = f"{name!r} and {more} more are" if more else f"{name!r} is"
        told = f"{which} shut in spanning tree {msti} from the moment on that VLAN {vid} is in it"
        hint = f"say {'their states' if more else 'its state'} under `mst` of {'each' if more else repr(name)}"
        options = checked.state.of("vlan_global")[bridge, vid]
        checked.report.warn(checked.entry(options).place(TREE), told, hint)


def _keeps_one(bridge: str, checked: Checked) -> bool:
    """Whether a bridge has ports in one state for all VLANs, as one that is new and one that is told so."""
    attrs = checked.attrs(bridge)
    unsaid = "mst_enabled" not in attrs and bridge not in checked.links.known
    return attrs.get("kind") == "bridge" and (unsaid or attrs.get("mst_enabled") is False)


def _joined(checked: Checked) -> Mapping[tuple[str, str], Mapping[Value, Value]]:
    """The trees that files put VLANs of each port into, with the first such VLAN; the port by its bridge and name."""
    mapped: defaultdict[str, dict[Value, Value]] = defaultdict(dict)
    for (bridge, vid), options in checked.state.of("vlan_global").items():
        if options.attrs.get(TREE):
            mapped[str(bridge)][vid] = options.attrs[TREE]
    found: defaultdict[tuple[str, str], dict[Value, Value]] = defaultdict(dict)
    by_itself = (
        (link.name, default_vid(link, checked.state))
        for bridge in mapped
        for port in checked.by_master.get(bridge, ())
        if (link := checked.state.link(port))
    )
    out = checked.state.of("bridge_vlan").keys() - vlans_joined(checked.state).keys()
    for name, vid in (*vlans_joined(checked.state), *(place for place in by_itself if place not in out)):
        bridge = str(checked.attrs(str(name)).get("master"))
        if tree := mapped.get(bridge, {}).get(vid):
            found[bridge, str(name)].setdefault(tree, vid)
    return found
