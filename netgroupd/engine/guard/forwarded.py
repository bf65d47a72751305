# SPDX-License-Identifier: GPL-2.0-or-later
"""(entry of a bridge or VXLAN, or a macvlan; MAC of a neighbour) -> whether it is sent to where it is, and heard."""

from netgroupd.model.state import Attrs, Object

# With one of these a bridge does not pass on to a port by which a neighbour of IPv6 is asked for; for an address of
# IPv4 it answers itself, where that is on the same host.
_UNASKED = {"port.mcast_flood": False, "port.neigh_suppress": True}


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


def keeps_questions(said: Attrs) -> bool:
    """Whether what is said of a port keeps from it the questions for who is behind it."""
    return any(said.get(name) == value for name, value in _UNASKED.items())


def takes_nothing_from(lladdr: str, macvlan: Object) -> bool:
    """Whether a macvlan takes only what others send."""
    heard = macvlan.attrs.get("macaddr") or ()
    assert isinstance(heard, tuple)
    return macvlan.attrs.get("mode") == "source" and bool(lladdr) and lladdr not in heard
