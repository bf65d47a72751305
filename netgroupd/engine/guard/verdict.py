# SPDX-License-Identifier: GPL-2.0-or-later
"""(rules of a hook, packet) -> what may become of the packet, as the kernel goes through them.

Rules are asked by preference, chain by chain, until one decides.  One that may
match or not adds what it would do to what may come; those of one preference are
asked in an order that only the kernel knows.  A packet is surely lost if nothing
else may come: what a program, a policer or chance decides is not surely lost,
and neither is what was rewritten and goes to other rules.  Linear in the rules.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from netgroupd.engine.guard.fit import Fit, fit
from netgroupd.engine.guard.packet import LEAST_BYTES, Packet
from netgroupd.engine.guard.rewritten import Action, is_lost
from netgroupd.engine.guard.way import contains
from netgroupd.model.state import Key, Object
from netgroupd.model.tc.action import shared, usual_control
from netgroupd.model.value import Value

LOST = "lost"
"""Dropped, or led away; what is not is in the class that it was put into, "" for none."""
_MOST_RESETS = 16  # so often the kernel begins anew, for a goto or a reclassify
_REWRITING = frozenset({"vlan", "pedit", "mpls", "nat", "tunnel_key", "ct"})
_TAKEN = ("drop", "stolen", "queued")
_FURTHER = ("goto chain ", "reclassify", "continue")


class Places(NamedTuple):
    """What rules refer to: actions that are shared, and whether a packet that is redirected to a link may come back.

    What had a say in that is told.
    """

    actions: Mapping[Key, Object]
    returns: Callable[[str, Packet, list[Key] | None], bool]


class Hook:
    """The rules of one hook, qdisc or class, in the order in which they are asked."""

    def __init__(self, rules: Iterable[Object], places: Places, indev: str = "", link: str = "") -> None:
        chains: dict[Value, list[Object]] = {}
        for rule in rules:
            chains.setdefault(rule.key[2], []).append(rule)
        for chain in chains.values():
            chain.sort(key=_pref)
        self._chains = chains
        self._in_hardware = any(rule.attrs.get("skip_sw") for chain in chains.values() for rule in chain)
        self.places = places
        self.indev = indev
        self.link = link

    def loses(self, packet: Packet, blame: list[Key] | None = None) -> bool:
        """Whether ``packet`` is surely lost; ``blame`` is told what had a say in it."""
        # Where one rule is in hardware alone, all that may be there are, and go first.
        inside = self._in_hardware and _Pass(self, packet, blame, hardware=True).outcomes() == {LOST}
        return inside or self.outcomes(packet, blame) == {LOST}

    def outcomes(self, packet: Packet, blame: list[Key] | None = None) -> frozenset[str]:
        """What may become of ``packet``."""
        return _Pass(self, packet, blame).outcomes()

    def chain(self, number: Value) -> list[Object]:
        """The rules of a chain."""
        return self._chains.get(number, [])


class _Pass:
    """One packet on its way through a hook."""

    def __init__(self, hook: Hook, packet: Packet, blame: list[Key] | None, *, hardware: bool = False) -> None:
        self._hook = hook
        self._packet = packet
        self._blame = blame
        self._hardware = hardware
        self._found: dict[int, frozenset[str]] = {}

    def outcomes(self) -> frozenset[str]:
        return self._of_chain(0, 0)

    def _of_chain(self, number: int, resets: int) -> frozenset[str]:
        if resets > _MOST_RESETS:
            return frozenset({LOST})
        if number not in self._found:
            self._found[number] = frozenset({LOST})  # for who comes round to it: the kernel ends a loop so
            self._found[number] = frozenset(self._asked(number, resets))
        return self._found[number]

    def _asked(self, number: int, resets: int) -> Iterator[str]:
        for _, rules in groupby(self._hook.chain(number), _pref):
            decided = False
            for rule in rules:
                fits = fit(rule, self._packet, self._hook.indev)
                if fits is Fit.NO or bool(rule.attrs.get("skip_hw" if self._hardware else "skip_sw")):
                    continue
                if self._blame is not None:
                    self._blame.append(rule.key)
                found = self._of_rule(rule, resets)
                yield from found - {"continue"}
                decided = decided or (fits is Fit.YES and "continue" not in found)
            if decided:
                return
        yield ""

    def _of_rule(self, rule: Object, resets: int) -> set[str]:
        """What comes of a rule that matches; "continue" where the next is asked."""
        actions = rule.attrs.get("actions") or ()
        assert isinstance(actions, tuple)
        rewritten = any(isinstance(action, Mapping) and action["kind"] in _REWRITING for action in actions)
        unread = self._is_unread(actions)
        through = str(rule.attrs.get("classid") or "")
        found: set[str] = set()
        for control in self._controls(actions):
            if control in _TAKEN or (control == "trap" and not self._hardware):
                found.add(LOST)
            elif rewritten and control.startswith(_FURTHER):
                found.add("")
            elif control == "continue":
                found.add(control)
            elif control == "reclassify":
                found |= self._of_chain(0, resets + 1)
            elif control.startswith("goto"):
                found |= self._of_chain(int(control.rpartition(" ")[2]), resets + 1)
            else:
                found.add(LOST if unread else through)
        return found

    def _is_unread(self, actions: tuple[Value, ...]) -> bool:
        """Whether nobody takes it any more: with other tags or another address than before, or for somebody else."""
        tags: tuple[object, ...] = self._packet.tags
        taken, translated = "host", False
        certain = [*self._certain(actions)]
        for action in certain:
            kind, done = action["kind"], action.get("do")
            if kind in ("vlan", "mpls") and done == "push":
                tags = (kind, *tags)
            elif kind == "vlan" and done == "pop":
                tags = tags[1:]
            elif kind == "skbedit":
                taken = str(action.get("ptype", taken))
            elif kind == "nat":
                translated = translated or self._is_translated(action)
        segment = self._packet.known.get("ip_proto") == "tcp"
        strange = (taken == "otherhost" or (taken != "host" and segment)) and bool(self._hook.indev)
        unread = tags != self._packet.tags or translated or strange
        return unread or is_lost(certain, self._packet, leaving=not self._hook.indev)

    def _certain(self, actions: tuple[Value, ...]) -> Iterator[Action]:
        """The actions that are done one after the other whatever comes of them."""
        for action in actions:
            assert isinstance(action, Mapping)
            if stands := self._standing(action):
                yield stands
            if self._of_action(action) != {"pipe"}:
                break

    def _standing(self, action: Action) -> Action | None:
        """The action itself, or the shared one that is meant, if there is one."""
        if not (place := shared(action["kind"])):
            return action
        if not (stands := self._hook.places.actions.get(place)):
            return None
        if self._blame is not None:
            self._blame.append(place)
        inside = stands.attrs["actions"]
        assert isinstance(inside, tuple)
        assert isinstance(inside[0], Mapping)
        return inside[0]

    def _is_translated(self, nat: Action) -> bool:
        """Whether one end gets another address, by which the other end of what there is knows nobody."""
        side = "src_ip" if nat.get("direction") == "egress" else "dst_ip"
        address = str(self._packet.known.get(side) or "")
        return "." in address and contains(nat["old"], address) and not contains(nat["new"], address)

    def _controls(self, actions: tuple[Value, ...]) -> set[str]:
        """How the actions of a rule may end, one after the other and by jumps."""
        found: set[str] = set()
        waiting, seen = [0], set[int]()
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            if at >= len(actions):
                found.add("pass")
                continue
            action = actions[at]
            assert isinstance(action, Mapping)
            for control in self._of_action(action):
                if control == "pipe":
                    waiting.append(at + 1)
                elif control.startswith("jump"):
                    waiting.append(_target(control, at, len(actions)))
                else:
                    found.add(control)
        return found

    def _of_action(self, action: Action) -> set[str]:
        """What one action may say is next."""
        if (stands := self._standing(action)) is None:
            return {"pass"}
        action = stands
        kind = action["kind"]
        control = str(action.get("control") or usual_control(action))
        if kind == "bpf":
            return {"pass"}
        if kind == "mirred" and control == "stolen" and self._may_return(action):
            return {"pass"}
        if kind == "police":
            within = str(action.get("conform", "pass"))
            return {control} if _is_always_over(action, self._packet.least) else {control, within}
        return _by_chance(control, str(action.get("random") or ""))

    def _may_return(self, action: Action) -> bool:
        """Whether what is redirected may still be received, as what is put into a link's ingress, or sent on."""
        if self._hook.link and action.get("dev") == self._hook.link:
            return False  # it goes back, or round until the kernel ends it
        if "ingress" in action or "dev" not in action:
            return "ingress" in action
        return self._hook.places.returns(str(action["dev"]), self._packet, self._blame)


def _pref(rule: Object) -> int:
    pref = rule.key[3]
    assert isinstance(pref, int)
    return pref


def _target(control: str, at: int, count: int) -> int:
    """Where a jump leads: one that does not lead on is a mistake, with which the kernel lets the packet pass."""
    target = int(control.rpartition(" ")[2])
    return target if target > at else count


def _is_always_over(police: Action, least: int) -> bool:
    """Whether no packet that has at ``least`` so many bytes is within the rate, or hardly one."""
    mtu, burst = police.get("mtu"), police.get("burst") if police.get("rate") else None
    over = (isinstance(mtu, int) and 0 < mtu < least) or (isinstance(burst, int) and burst < least)
    rare = police.get("pkts_rate") == 1 or (police.get("pkts_rate") and not police.get("pkts_burst"))
    return over or is_too_slow(police.get("rate")) or bool(rare)


def is_too_slow(rate: Value) -> bool:
    """Whether the least frame takes more than a second at a rate; 0 is any rate."""
    return isinstance(rate, int) and 0 < rate < LEAST_BYTES


def _by_chance(control: str, said: str) -> set[str]:
    if not said:
        return {control}
    _, other, count = said.split(" ")
    return {other} if int(count) == 1 else {control, other}
