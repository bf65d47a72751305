# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of virtual functions that a link does not have, or that a driver would refuse."""

from netgroupd.config.checked import Checked
from netgroupd.model.state import Object
from netgroupd.model.value import NO_MAC, Value

_SIMULATED = "netdevsim"


def cards(checked: Checked) -> None:
    """Only network cards have functions, and those from 0 up to their number."""
    for cls in ("sriov", "vf"):
        for obj in checked.state.of(cls).values():
            kind = checked.attrs(obj.name).get("kind")
            if kind not in (None, "", _SIMULATED) and obj.name not in checked.links.unsound:
                told = f"{obj.name!r} is a {kind}, and has no virtual functions"
                checked.refuse(obj, "", told, "these are of network cards")
    numbers = checked.state.of("sriov")
    for obj in checked.state.of("vf").values():
        said = numbers.get((obj.name,))
        number, count = obj.key[1], said.attrs.get("num_vfs") if said else None
        if isinstance(count, int) and isinstance(number, int) and number >= count and said:
            hint = f"its num_vfs is at {checked.report.where(checked.entry(said).at)}"
            has = f"functions 0 to {count - 1}, and no {number}" if count else f"no functions, and so no {number}"
            checked.refuse(obj, "", f"{obj.name!r} has {has}", hint)


def functions(checked: Checked) -> None:
    """What one function has fits together, and no two of a card have one MAC."""
    seen: dict[tuple[str, Value], Value] = {}
    for obj in checked.state.of("vf").values():
        attrs = obj.attrs
        mac, least, most = (attrs.get(name) for name in ("mac", "min_tx_rate", "max_tx_rate"))
        if mac and int(str(mac)[:2], 16) & 1:
            checked.refuse(obj, "mac", f"{mac} of function {obj.key[1]} is a multicast address")
        elif mac and mac != NO_MAC and (other := seen.setdefault((obj.name, mac), obj.key[1])) != obj.key[1]:
            told = f"{mac} is that of function {other} of {obj.name!r} too"
            checked.refuse(obj, "mac", told, 'count it up: "[v=0-7]": {mac: "{02:00:00:00:00:00 + v}"}')
        if isinstance(least, int) and isinstance(most, int) and 0 < most < least:
            told = f"function {obj.key[1]} may send {least} Mbit/s at least and {most} at most"
            checked.refuse(obj, "min_tx_rate", told)
        if attrs.get("vlan") == 0 or "vlan" not in attrs:
            _untagged(checked, obj)


def _untagged(checked: Checked, obj: Object) -> None:
    """Without a VLAN there is no tag to have a priority."""
    if obj.attrs.get("qos"):
        told = f"function {obj.key[1]} of {obj.name!r} is in no VLAN that a file says, and 'qos' is of its tag"
        checked.report.warn(checked.entry(obj).place("qos"), told, "drivers refuse that: say its `vlan` too")
