# SPDX-License-Identifier: GPL-2.0-or-later
"""(entry of a bridge or VXLAN, or a macvlan; MAC of a neighbour) -> whether it is sent to where it is, and heard."""

from collections.abc import Iterable
from typing import TypeAlias

from netgroupd.model.state import NOTHING, Attrs, Key, Object, State
from netgroupd.model.value import NO_MAC, Value
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import Plan, Step

_Entries: TypeAlias = dict[Key, list[Object]]

# With one of these a bridge does not pass on to a port by which a neighbour of IPv6 is asked for; for an address of
# IPv4 it answers itself, where that is on the same host.
_UNASKED = {"port.mcast_flood": False, "port.neigh_suppress": True}


class Receivers:
    """Where VXLANs send what is for a neighbour, as they are told now and in the end.

    That is what an entry of its MAC tells, or else those for all, or the other end that the VXLAN has by itself.
    """

    def __init__(self, around: State, plan: Plan) -> None:
        steps = [step for step in singles(plan.steps) if step.object.cls == "fdb"]
        now = around.of("fdb")
        gone = {step.object.key for step in steps if step.after is None}
        made = {step.object.key: step.object.having({**_had(step), **step.object.attrs}) for step in steps}
        then = {key: entry for key, entry in {**now, **made}.items() if key not in gone}
        self._now, self._then = (_by_mac(entries.values()) for entries in (now, then))

    def are_missed(self, vxlan: Object, lladdr: str) -> bool:
        """Whether none of before is left; one that a VXLAN learns it knows as long as it is told nothing else."""
        own, now = (self._told(entries, vxlan, lladdr) for entries in (self._then, self._now))
        learns = vxlan.attrs.get("learning") is not False
        left = own if own or learns else self._told(self._then, vxlan, NO_MAC)
        now = now or self._told(self._now, vxlan, NO_MAC)
        return bool(now) and now.isdisjoint(left) and bool(left or not learns)

    def _told(self, entries: _Entries, vxlan: Object, mac: str) -> frozenset[tuple[Value, ...]]:
        usual = {"vni": vxlan.attrs.get("id"), "port": vxlan.attrs.get("dstport"), "via": None, "nhid": None}
        found = {
            (entry.key[4] or entry.attrs.get("dst"), *(entry.attrs.get(name) or usual[name] for name in usual))
            for entry in entries.get((vxlan.name, mac), ())
        }
        if mac == NO_MAC and vxlan.attrs.get("remote"):
            found.add((vxlan.attrs["remote"], *usual.values()))
        return frozenset(found)


def _had(step: Step) -> Attrs:
    return step.before.attrs if step.before else NOTHING


def _by_mac(entries: Iterable[Object]) -> _Entries:
    found: _Entries = {}
    for entry in entries:
        if entry.key[3] == "self":
            found.setdefault((entry.name, entry.key[1]), []).append(entry)
    return found


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
