# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of VLANs that their bridge or port does not have, does not take, or has no use for."""

from netgroupd.config.checked import Checked
from netgroupd.model.bridge_vlan import AS_LONG_AS_ASKED, DEFAULT_VID, OF_PORTS, vlans_joined
from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import Value
from netgroupd.model.vlan_global import TREE

_SNOOPING = "mcast_snooping"
_LIMIT = "mcast_max_groups"


def vlans_there(checked: Checked) -> None:
    """Every VLAN is one that the bridge or a port of it is in, as far as can be told."""
    said = checked.state.of("vlan_global")
    if not said:
        return
    known = {(_bridge_of(vlan, checked), vlan.key[1]) for vlan in vlans_joined(checked.state).values()}
    for key, obj in said.items():
        bridge, vid = checked.attrs(obj.name), key[1]
        if bridge.get("kind") != "bridge" or obj.name in checked.links.known:
            continue
        if key not in known and vid != bridge.get("vlan_default_pvid", DEFAULT_VID):
            told = f"neither {obj.name!r} nor a port of it is in VLAN {vid}"
            hint = f"name it under `vlans` of {obj.name!r}, or of a port"
            checked.report.missing(checked.entry(obj).place("vid"), told, hint)


def _bridge_of(vlan: Object, checked: Checked) -> Value:
    attrs = checked.attrs(vlan.name)
    return vlan.name if attrs.get("kind") == "bridge" else attrs.get("master")


def vlan_states(checked: Checked) -> None:
    """The states of VLANs are told only to a bridge that keeps none by itself."""
    for obj in checked.state.of("bridge_vlan").values():
        if "state" not in obj.attrs:
            continue
        name, place = str(_bridge_of(obj, checked)), checked.entry(obj).place("state")
        bridge, told = checked.attrs(name), f"and takes no state for VLAN {obj.key[1]} of {obj.name!r}"
        if bridge.get("mst_enabled"):
            hint = f"say it of a tree, under `mst` of {obj.name!r}, or leave out mst_enabled of {name!r}"
            checked.report.once(place, f"{name!r} has a state for each spanning tree, {told}", hint)
        elif bridge.get("stp_state"):
            hint = "the kernel refuses that, unless a daemon speaks it instead"
            checked.report.warn(place, f"{name!r} speaks the spanning tree protocol, {told}", hint)


def members(checked: Checked) -> None:
    """What ports have in a VLAN is not said of bridges, nor a limit where no groups are learned."""
    for obj in checked.state.of("bridge_vlan").values():
        if checked.attrs(obj.name).get("kind") == "bridge":
            foreign = [name for name in OF_PORTS if obj.attrs.get(name)]
            if obj.attrs.get("mcast_router") == AS_LONG_AS_ASKED:
                checked.refuse(obj, "mcast_router", f"{obj.name!r} is a bridge, and takes 0, 1 or 2")
            for name in foreign:
                told = f"{obj.name!r} is a bridge, and only its ports have {name!r} in a VLAN"
                checked.refuse(obj, name, told, "say it of a port")
        else:
            _of_port(checked, obj)
        if _LIMIT in obj.attrs:
            _limit(checked, obj)


def _of_port(checked: Checked, obj: Object) -> None:
    """A port maps VLANs to tunnels if it is told to, as one that was there before may have been."""
    entry, attrs, said = checked.entry(obj), checked.attrs(obj.name), "port.vlan_tunnel"
    if obj.attrs.get("mcast_router") == AS_LONG_AS_ASKED:
        told = f"{obj.name!r} has it for some minutes, and is then asked again: the kernel makes it 1"
        checked.report.warn(entry.place("mcast_router"), told, "2 is for good")
    unasked = said not in attrs and attrs.get("kind") and obj.name not in checked.links.known
    if obj.attrs.get("tunnel_id") and (unasked or attrs.get(said) is False):
        told = f"{obj.name!r} maps no VLANs to tunnels, and takes none for VLAN {obj.key[1]}"
        checked.refuse(obj, "tunnel_id", told, "say of it port: {vlan_tunnel: true}")


def _limit(checked: Checked, obj: Object) -> None:
    """A bridge takes a limit where it learns groups for each VLAN, and in this one."""
    name, place = str(_bridge_of(obj, checked)), checked.entry(obj).place(_LIMIT)
    bridge, options = checked.attrs(name), checked.state.of("vlan_global").get((name, obj.key[1]))
    if bridge.get("kind") != "bridge" or name == obj.name:
        return
    takes = f"and takes no number of groups for VLAN {obj.key[1]} of {obj.name!r}"
    for option in ("vlan_filtering", "mcast_vlan_snooping"):
        if bridge.get(option) is False:
            told = f"{name!r} does not learn multicast for each VLAN, {takes}"
            checked.report.once(place, told, f"set {option} of {name!r}")
            return
    if options and options.attrs.get(_SNOOPING) is False:
        hint = f"leave `{_SNOOPING}` out: {checked.report.where(checked.entry(options).place(_SNOOPING))}"
        checked.report.once(place, f"{name!r} sends all multicast of VLAN {obj.key[1]} to all ports, {takes}", hint)
    elif not bridge.get("mcast_vlan_snooping"):
        told = f"no file has {name!r} learn multicast for each VLAN; else it takes no number of groups for one"
        checked.report.warn(place, told, f"the kernel refuses that: set mcast_vlan_snooping of {name!r}")


def unused(checked: Checked) -> None:
    """Options that the bridge takes, and has no use for as it is; and to learn for each VLAN without knowing any."""
    for name, _ in checked.of_kinds(["bridge"]):
        attrs = checked.attrs(name)
        if attrs.get("mcast_vlan_snooping") and not attrs.get("vlan_filtering"):
            told = f"{name!r} is to learn multicast for each VLAN, and does not tell VLANs apart"
            place = checked.links.place(name, "mcast_vlan_snooping")
            tell = checked.report.once if attrs.get("vlan_filtering") is False else checked.report.warn
            tell(place, told, f"the kernel refuses that: set vlan_filtering of {name!r}")
    for obj in checked.state.of("vlan_global").values():
        bridge, entry = checked.attrs(obj.name), checked.entry(obj)
        multicast = [name for name in obj.attrs if name != TREE]
        if bridge.get("kind") != "bridge" or not multicast:
            continue
        if why := _learns_for_no_vlan(obj.name, bridge):
            checked.report.warn(entry.at, *why)
        elif obj.attrs.get(_SNOOPING) is False and (more := [name for name in multicast if name != _SNOOPING]):
            told = f"{obj.name!r} sends all multicast of VLAN {obj.key[1]} to all ports, and has no use for {more[0]!r}"
            checked.report.warn(entry.place(more[0]), told, "leave one of them out")


def _learns_for_no_vlan(name: str, bridge: Attrs) -> tuple[str, str] | None:
    """Why a bridge does not look at what is said of multicast in one VLAN, and what would be right."""
    if bridge.get(_SNOOPING) is False:
        return f"{name!r} sends all multicast to all ports: its 'mcast_snooping' is off", "leave `mcast_snooping` out"
    if bridge.get("mcast_vlan_snooping"):
        return None
    lacking = "mcast_vlan_snooping" if bridge.get("vlan_filtering") else "vlan_filtering and mcast_vlan_snooping"
    return f"{name!r} learns multicast for all VLANs together", f"set {lacking} of {name!r}"
