# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel takes for links of some kinds, and refuses of others, or forgets."""

from netgroupd.config.checked import Checked
from netgroupd.config.semantic.links import WITHOUT_ETHERNET
from netgroupd.model.kinds import KINDS, RING_PORTS, WITHOUT_OWN_MAC

_ONLY_OF = {
    "protodown": (("macvlan", "macvtap", "vxlan"), "be held down by a protocol"),
    "carrier": (("dummy", "team", "tun"), "be told whether it has a carrier"),
}
_NO_RING = WITHOUT_ETHERNET | {"hsr", "ipvlan", "ipvtap", "macvtap", "vlan", "vrf"}


def of_other_kinds(checked: Checked) -> None:
    """Few kinds can be held down, or told of a carrier."""
    for field, (kinds, what) in _ONLY_OF.items():
        for name, attrs in checked.saying(field):
            kind, value = attrs.get("kind"), attrs[field]
            unasked = value is None or (value is False and field == "protodown")
            if kind in KINDS and kind not in kinds and not unasked:
                told = f"{name!r} cannot have {field!r}: it is a {kind}"
                checked.refuse_link(name, field, told, f"{', '.join(kinds)} can {what}, and some hardware")


def macs(checked: Checked) -> None:
    """What sends no frames has no MAC, and some have none of their own."""
    for name, attrs in checked.saying("mac", sorted(WITHOUT_OWN_MAC)):
        if attrs["mac"]:
            told = f"{name!r} cannot have a MAC of its own: it is of kind {attrs['kind']}, and has that of a link below"
            checked.refuse_link(name, "mac", told, "leave it out")
    for name, attrs in checked.saying("mac", sorted(WITHOUT_ETHERNET)):
        if attrs["mac"]:
            told = f"{name!r} cannot have a MAC: it is a {attrs['kind']}, and sends packets without frames"
            checked.refuse_link(name, "mac", told, "leave it out")


def rings(checked: Checked) -> None:
    """A ring has two links of Ethernet, each of its own."""
    links = checked.links
    for name, attrs in checked.of_kinds(["hsr"]):
        if attrs.get("slave1") and attrs.get("slave1") == attrs.get("slave2"):
            told = f"both ends of the ring {name!r} are {attrs['slave1']!r}"
            checked.refuse_link(name, "slave2", told, "give it two links")
        if attrs.get("interlink") and attrs["interlink"] in (attrs.get("slave1"), attrs.get("slave2")):
            told = f"{attrs['interlink']!r} is in the ring {name!r}, and cannot lead to another one"
            checked.refuse_link(name, "interlink", told, "name a third link")
        for field in RING_PORTS:
            slave = str(attrs.get(field))
            kind = "loopback device" if slave == "lo" else links.kind(slave)
            if slave == "lo" or kind in _NO_RING:
                checked.refuse_link(name, field, f"{slave!r} cannot be in the ring {name!r}: it is a {kind}")


def backups(checked: Checked) -> None:
    """What a port is backed up by is another port of its bridge."""
    links = checked.links
    for name, attrs in checked.saying("port.backup_port"):
        backup = attrs["port.backup_port"]
        if not backup or "master" not in attrs:
            continue
        other = checked.attrs(str(backup))
        if backup == name or (links.kind(str(backup)) and other.get("master") != attrs["master"]):
            told = f"{name!r} cannot be backed up by {backup!r}: that is no other port of its bridge"
            checked.refuse_link(name, "port", told)


def loopback(checked: Checked) -> None:
    """The loopback device is in no bridge, and none itself."""
    for cls in ("bridge_vlan", "vlan_global", "mst", "mdb"):
        for key, obj in checked.state.of(cls).items() if "lo" in checked.links.attrs else ():
            if "lo" in (key[0], key[1]):
                checked.refuse(obj, "", "'lo' is no bridge, and can be no port of one")
