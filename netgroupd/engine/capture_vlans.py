# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs of bridges and of their ports -> what is written of each, and comments on what no file can say.

A bridge puts itself and every port into one VLAN, untagged; of that is written what is otherwise.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from netgroupd.engine.yaml_text import quoted
from netgroupd.model.bridge_vlan import default_vid
from netgroupd.model.state import Key, Object, State
from netgroupd.model.value import Value
from netgroupd.model.vlan_global import TREE, USUAL
from netgroupd.plan.compare import kind_of, same
from netgroupd.plan.fold import fold_names
from netgroupd.plan.present import title
from netgroupd.plan.vlan_global import bridge_of

_BY_ITSELF: Mapping[str, Value] = {"pvid": True, "untagged": True}


def vlan_attrs(vlan: Object, chosen: Mapping[str, Value], actual: State) -> dict[str, Value] | None:
    """What is written of a VLAN that has ``chosen``; None where it is there by itself."""
    if _is_of_trees(vlan, actual):
        chosen = {name: value for name, value in chosen.items() if name != "state"}
    link = actual.link(vlan.name)
    if link is None or vlan.key[1] != default_vid(link, actual):
        return {**chosen}
    if chosen == _BY_ITSELF:
        return None
    return {name: False for name in _BY_ITSELF if name not in chosen} | {**chosen}


def _place(vlan: Object, actual: State) -> Key:
    """A VLAN of a port, or of a bridge itself, with the bridge."""
    return bridge_of(vlan, actual), vlan.key[1]


def _is_of_trees(vlan: Object, actual: State) -> bool:
    """Whether a port has a state for each spanning tree, which is then that of its VLANs."""
    bridge = actual.link(bridge_of(vlan, actual))
    return bridge is not None and bool(bridge.attrs.get("mst_enabled"))


def options_of(actual: State) -> dict[str, str]:
    """What is written under each bridge of its VLANs, where they have something else than a VLAN that is new."""
    alike: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (bridge, vid), obj in actual.of("vlan_global").items():
        chosen = {name: obj.attrs[name] for name, usual in USUAL.items() if not _is_usual(name, usual, obj)}
        if chosen:
            alike[str(bridge)][quoted(chosen)[1:-1]].append(str(vid))
    return {bridge: f"[{', '.join(_folded(found))}]" for bridge, found in alike.items()}


def _is_usual(name: str, usual: Value, obj: Object) -> bool:
    return name not in obj.attrs or same(name, usual, obj.attrs[name])


def _folded(alike: Mapping[str, list[str]]) -> Iterator[str]:
    """One entry for each range of VLANs that have the same."""
    for said, vids in alike.items():
        yield from (f'{{vid: "{text}", {said}}}' for text in fold_names(vids))


def untold_trees(actual: State) -> list[str]:
    """A comment on the VLANs that are in another spanning tree than the common one, and what ports are there."""
    options = actual.of("vlan_global")
    found = [obj for obj in options.values() if obj.attrs.get(TREE)]
    trees = {obj.key for obj in found}
    if trees:
        found += [
            obj for obj in actual.of("bridge_vlan").values() if _place(obj, actual) in trees and obj.key not in trees
        ]
    if not found:
        return []
    names = fold_names(f"{obj.cls} {title(obj)[0]}" for obj in found)
    return [f"# left out (no configuration says which spanning tree a VLAN is in, msti): {', '.join(names)}\n"]


def taken_out(actual: State) -> list[str]:
    """A comment on the links that are not in the VLAN that their bridge puts them into."""
    vlans, missing = actual.of("bridge_vlan"), []
    for link in actual.of("link").values():
        bridge = actual.link(str(link.attrs.get("master"))) or link
        vid = bridge.attrs.get("vlan_default_pvid") if kind_of(bridge) == "bridge" else None
        if vid and (link.name, vid) not in vlans:
            missing.append(link.name)
    if not missing:
        return []
    why = "a bridge puts itself and its ports into VLAN vlan_default_pvid, and no file takes one out again"
    return [f"# left out ({why}): {', '.join(missing)}\n"]
