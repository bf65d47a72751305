# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs of bridges and of their ports -> what is written of each, and a comment on what no file can say.

A bridge puts itself and every port into one VLAN, untagged; of that is written what is otherwise.
"""

from collections.abc import Mapping

from netgroupd.model.bridge_vlan import default_vid
from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan.compare import kind_of

_BY_ITSELF: Mapping[str, Value] = {"pvid": True, "untagged": True}


def vlan_attrs(vlan: Object, chosen: Mapping[str, Value], actual: State) -> dict[str, Value] | None:
    """What is written of a VLAN that has ``chosen``; None where it is there by itself."""
    link = actual.link(vlan.name)
    if link is None or vlan.key[1] != default_vid(link, actual):
        return {**chosen}
    if chosen == _BY_ITSELF:
        return None
    return {name: False for name in _BY_ITSELF if name not in chosen} | {**chosen}


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
