# SPDX-License-Identifier: GPL-2.0-or-later
"""(entry of a bridge or VXLAN, MAC of a neighbour) -> whether what is for it would be sent where it is not."""

from netgroupd.model.state import Object


def leads_to_another(entry: Object, vxlan: Object, lladdr: str) -> bool:
    """Whether an entry has a VXLAN send to another end than the one that it sends to by itself."""
    remote, end = vxlan.attrs.get("remote"), entry.attrs.get("dst")
    return entry.key[1] == lladdr and bool(remote and end) and end != remote


def is_kept_from(entry: Object, lladdr: str, behind: str) -> bool:
    """Whether an entry keeps a bridge from finding a neighbour behind a port; what may move is set right at once."""
    if not lladdr or entry.key[1] != lladdr:
        return False
    if entry.key[3] == "self":
        return True  # it is the bridge's own address then
    stays = entry.attrs.get("state") == "permanent" or bool(entry.attrs.get("sticky"))
    return bool(behind) and entry.name != behind and stays
