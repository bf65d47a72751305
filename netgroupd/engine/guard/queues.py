# SPDX-License-Identifier: GPL-2.0-or-later
"""(qdiscs, classes and filters of a link, packet) -> whether the packet is surely lost on its way out.

That is where a qdisc has room for nothing or loses everything, or all that has no time, where hfsc or drr
knows no class for the packet, and where the rules of the tree drop it.
"""

from collections.abc import Iterable, Mapping

from netgroupd.engine.guard.packet import Packet
from netgroupd.engine.guard.verdict import LOST, Hook, Places, is_too_slow
from netgroupd.model.state import NOTHING, Key, Object, integers
from netgroupd.model.tc.lists import USUAL_PRIOMAP
from netgroupd.model.tc.taprio import opened
from netgroupd.model.tc.units import SHARES, ns_of, parts_of
from netgroupd.model.value import Value
from netgroupd.plan.tc.hooks import ROOT

# With none of one of these nothing gets through, nor with less than a packet has where they are bytes.
_ROOM = {**dict.fromkeys(("pfifo", "bfifo", "fq", "fq_codel", "codel", "netem"), ("limit",)), "tbf": ("limit", "burst")}
_IN_BYTES = frozenset({"bfifo", "tbf"})
# Who is asked thrice for a neighbour, a second each, has given up then.
_LONGEST_NS = 3 * 10**9
_RATES = {"tbf": "rate", "netem": "rate", "cake": "bandwidth"}
_WITH_CLASSES = frozenset({"htb", "hfsc", "drr"})
_WITH_BANDS = frozenset({"prio", "ets"})
_ONE_CHILD = frozenset({"tbf", "cbs", "netem", "red"})
_DEEPEST = 16


class Tree:
    """The tree of one link."""

    def __init__(self, objects: Iterable[Object], places: Places) -> None:
        self._qdiscs: dict[str, Object] = {}
        self._classes: dict[str, Object] = {}
        self._inner: set[str] = set()
        self._rules: dict[str, list[Object]] = {}
        self._places = places
        for obj in objects:
            at = str(obj.key[1])
            if obj.cls == "qdisc":
                self._qdiscs[at] = obj
            elif obj.cls == "filter":
                self._rules.setdefault(at, []).append(obj)
            elif obj.cls == "tclass":
                self._classes[at] = obj
                self._inner.add(str(obj.attrs.get("parent")))

    def loses(self, packet: Packet, blame: list[Key] | None = None) -> bool:
        """Whether ``packet`` is surely lost; ``blame`` is told what had a say in it."""
        return self._loses(ROOT, packet, blame, 0)

    def _loses(self, parent: str, packet: Packet, blame: list[Key] | None, depth: int) -> bool:
        qdisc = self._qdiscs.get(parent)
        if qdisc is None or depth > _DEEPEST:
            return False
        if blame is not None:
            blame.append(qdisc.key)
        kind, major = str(qdisc.attrs.get("kind")), str(qdisc.attrs.get("handle") or "")
        if _loses_all(kind, qdisc.attrs, packet.least):
            return True
        if kind in _ONE_CHILD:
            return self._loses(f"{major}1", packet, blame, depth + 1)
        if kind not in _WITH_CLASSES | _WITH_BANDS:
            return False
        places = set[str]()
        for outcome in self._outcomes(major, packet, blame):
            places |= {outcome} if outcome == LOST else self._classified(outcome, qdisc, packet, blame)
        return all(place == LOST or self._loses(place, packet, blame, depth + 1) for place in places)

    def _outcomes(self, parent: str, packet: Packet, blame: list[Key] | None) -> frozenset[str]:
        return Hook(self._rules.get(parent, ()), self._places).outcomes(packet, blame)

    def _classified(self, outcome: str, qdisc: Object, packet: Packet, blame: list[Key] | None) -> set[str]:
        """The classes that a packet may get into that the rules have put into one, or into none."""
        kind, major = qdisc.attrs["kind"], str(qdisc.attrs.get("handle") or "")
        if kind in _WITH_BANDS:
            bands = qdisc.attrs.get("priomap") or USUAL_PRIOMAP
            assert isinstance(bands, tuple)
            return {outcome} if outcome else {f"{major}{int(str(band)) + 1:x}" for band in bands}
        found, waiting = set[str](), {outcome}
        for _ in range(_DEEPEST):
            inner = {place for place in waiting if place in self._inner and place in self._classes}
            found |= {place if place in self._classes else self._default(qdisc) for place in waiting - inner - {LOST}}
            found |= waiting & {LOST}
            waiting = {next_ for place in inner for next_ in self._outcomes(place, packet, blame)}
        return {LOST if self._is_starved(place) else place for place in found}

    def _is_starved(self, place: str) -> bool:
        """Whether a class of htb has no rate to speak of."""
        attrs = self._classes[place].attrs if place in self._classes else NOTHING
        return is_too_slow(attrs.get("rate")) and is_too_slow(attrs.get("ceil", attrs.get("rate")))

    def _default(self, qdisc: Object) -> str:
        """Where packets go that no rule knows: with htb past the classes if it may, else nowhere, unless to a class."""
        number = qdisc.attrs.get("default")
        place = f"{qdisc.attrs.get('handle') or ''}{number:x}" if isinstance(number, int) and number else ""
        if place in self._classes and place not in self._inner:
            return place
        return "" if qdisc.attrs["kind"] == "htb" and qdisc.attrs.get("direct_qlen") != 0 else LOST


def _loses_all(kind: str, attrs: Mapping[str, Value], least: int) -> bool:
    """Whether a qdisc lets nothing of at ``least`` so many bytes through, whatever is below it."""
    if kind == "netem" and (_is_all_lost(attrs) or _is_late(attrs)):
        return True
    if is_too_slow(attrs.get(_RATES.get(kind, ""))):
        return True
    if kind == "taprio":
        return opened(attrs).isdisjoint(integers(attrs, "map"))
    return kind == "etf" or _has_no_room(kind, attrs, least if kind in _IN_BYTES else 1)


def _has_no_room(kind: str, attrs: Mapping[str, Value], least: int) -> bool:
    return any(isinstance(have := attrs.get(name), int) and have < least for name in _ROOM.get(kind, ()))


def _is_late(attrs: Mapping[str, Value]) -> bool:
    """Whether netem holds each packet back until nobody waits for it."""
    delay, jitter = (ns_of(attrs.get(name) or 0) for name in ("delay", "jitter"))
    return delay - jitter > _LONGEST_NS


def _is_all_lost(attrs: Mapping[str, Value]) -> bool:
    """Whether netem loses or spoils each packet, and does not double it."""
    if attrs.get("duplicate"):
        return False
    if model := attrs.get("loss_gemodel"):
        assert isinstance(model, tuple)
        lost = model[2:]  # in either of its two states
    else:
        lost = () if attrs.get("loss_state") else (attrs.get("loss"),)
    # ECN spares few: neither ARP nor who has not agreed on it yet.
    all_lost = bool(lost) and all(share is not None and parts_of(share) == SHARES for share in lost)
    return all_lost or parts_of(attrs.get("corrupt") or "0%") == SHARES
