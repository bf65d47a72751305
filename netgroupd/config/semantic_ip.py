# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes, rules and nexthops whose values are right one by one, and which the kernel refuses as a whole."""

from collections import Counter

from netgroupd.config.checked import Checked, records
from netgroupd.config.entries import told
from netgroupd.model.route import family_of
from netgroupd.model.value import Value

_CALLED = {"inet": "IPv4", "inet6": "IPv6"}


def routes(checked: Checked) -> None:
    """The addresses of a route are of its protocol; only a gateway of IPv4 routes can be of the other."""
    for obj in checked.state.of("route").values():
        family = str(obj.key[0])
        if family not in _CALLED:
            continue
        named: list[tuple[str, Value]] = [("src", obj.attrs.get("src"))]
        if family == "inet6":
            named.append(("via", obj.attrs.get("via")))
            named += (("nexthops", hop.get("via")) for hop in records(obj.attrs, "nexthops"))
        for field, address in named:
            if address is not None and family_of(str(address)) != family:
                what = f"{told('route', obj.key)} is one of {_CALLED[family]}, and {address} is not"
                checked.report.once(checked.entry(obj).place(field), what)


def rules(checked: Checked) -> None:
    """The networks of a rule are of its protocol, and it goes only forward."""
    for obj in checked.state.of("rule").values():
        family, pref = str(obj.key[0]), obj.key[1]
        for field in ("from", "to"):
            network = obj.attrs.get(field)
            if network not in (None, "default") and family_of(str(network)) != family:
                what = f"this rule is one of {_CALLED[family]}, and {network} is not"
                checked.report.once(checked.entry(obj).place(field), what, "write a rule for each protocol")
        target = obj.attrs.get("goto")
        if isinstance(target, int) and isinstance(pref, int) and target <= pref:
            what = f"a rule at {pref} cannot go to {target}"
            checked.report.once(checked.entry(obj).place("goto"), what, "the kernel goes only to a larger pref")


def nexthops(checked: Checked) -> None:
    """A nexthop leads somewhere; a group has members, each once, and none that is a group."""
    described = checked.state.of("nexthop")
    for obj in described.values():
        attrs, entry = obj.attrs, checked.entry(obj)
        name = f"nexthop {obj.key[0]}"
        if "group" not in attrs or attrs["group"] is None:
            if not any(attrs.get(way) for way in ("dev", "blackhole", "fdb")) and entry.record.whole:
                checked.report.once(entry.at, f"{name} does not say where to", "give it dev, blackhole or group")
            continue
        members = [member.get("id") for member in records(attrs, "group")]
        if not members:
            checked.report.once(entry.place("group"), f"the group of {name} has no members")
        for number, times in Counter(members).items():
            if times > 1:
                checked.report.once(entry.place("group"), f"{name} has {number} in its group twice", "use weight")
            other = described.get((number,))
            if other and other.attrs.get("group"):
                what = f"{name} cannot have {number} in its group: that is a group itself"
                checked.report.once(entry.place("group"), what)
