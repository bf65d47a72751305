# SPDX-License-Identifier: GPL-2.0-or-later
"""What a qdisc or a class is once it is there: what some options say of others, and what the kernel makes of them.

It takes what is too little or too much for the nearest that it has, and tells that.
"""

from collections.abc import Callable, Mapping

from netgroupd.model.attr import Change
from netgroupd.model.state import Attrs, Key, Object, integer
from netgroupd.model.tc import cake, ets, red, taprio
from netgroupd.model.tc.qdisc import KINDS, OF_LEAVES
from netgroupd.model.tc.rates import BURSTS, settled, size_of
from netgroupd.model.tc.units import fine_time, ns_of
from netgroupd.model.value import Value

_OF_TBF = {**BURSTS, "mtu": "peakrate"}  # that of police is bytes
_MOST = 0xFFFFFFFF
_MOST_JITTER_NS = 0x7FFFFFFF
_BOUNDS = {
    "fq_codel": {"quantum": (256, _MOST), "drop_batch": (1, _MOST), "memory_limit": (0, 1 << 31)},
    "fq": {"quantum": (256, 1 << 20)},
    "cake": {"rtt": (1, _MOST), "target": (1, _MOST)},
    "class of drr": {"quantum": (256, 1 << 20)},
    "sfq": {"quantum": (256, _MOST), "depth": (1, 127), "flows": (1, 65408)},
}
# For these 0 is the usual, as if nothing were said.
_UNSAID = {
    "sfq": ("limit", "quantum", "divisor", "flows", "depth"),
    "red": ("limit", "min", "max"),
    "tbf": ("mtu",),
}
_SFQ_USUAL = {"depth": 127, "flows": 128}


def whole(kind: str, attrs: Attrs) -> Attrs:
    """The attributes of a qdisc as the kernel will tell them; raises ValueError("OPTION: expected …")."""
    unsaid = _UNSAID.get(kind, ())
    attrs = {name: value for name, value in attrs.items() if value != 0 or name not in unsaid}
    if kind in _CHECKS:
        _CHECKS[kind](attrs)
    attrs = _bounded(kind, attrs)
    return _WHOLE[kind](attrs) if kind in _WHOLE else attrs


def whole_class(kind: str, attrs: Attrs) -> Attrs:
    """The attributes of a class as the kernel will tell them; raises ValueError("OPTION: expected …")."""
    if kind == "htb" and not attrs.get("rate"):
        raise ValueError("rate: expected one above 0; no class of htb is without")
    if kind == "htb" and attrs.get("ceil") == 0:
        raise ValueError("ceil: expected one above 0; where it is not said it is the rate")
    if kind == "hfsc" and not (attrs.get("rt") or attrs.get("ls")):
        raise ValueError("ls: expected it or rt; no class of hfsc is without both")
    if kind == "htb" and "cburst" in attrs:
        attrs = {"ceil": attrs["rate"], **attrs}  # at which its bytes are held as a time
    return _bounded(f"class of {kind}", settled(attrs))


def cannot_stay(kind: str, said: Attrs, had: Attrs) -> frozenset[str]:
    """The options that a qdisc ``had`` and that, though nothing is said of them, cannot be beside what is."""
    if kind not in _CHECKS and kind not in _WHOLE:
        return frozenset()
    options = {name: row for name, row in KINDS[kind].options.items() if not row.silent}
    stays: dict[str, Value] = {name: value for name, value in said.items() if name in options and value is not None}
    kept = {name: value for name, value in had.items() if name in options and name not in said}
    kept = {name: value for name, value in kept.items() if options[name].change is not Change.RECREATE}
    if _is_right(kind, {**stays, **kept}) or not _is_right(kind, stays):
        return frozenset()
    for name, value in kept.items():
        if _is_right(kind, {**stays, name: value}):
            stays[name] = value
    return frozenset(kept.keys() - stays.keys())


def _is_right(kind: str, attrs: Attrs) -> bool:
    try:
        whole(kind, attrs)
    except ValueError:
        return False
    return True


def _bounded(kind: str, attrs: Attrs) -> Attrs:
    bounds = _BOUNDS.get(kind, {})
    said = {name: value for name in bounds if isinstance(value := attrs.get(name), int)}
    return {**attrs, **{name: min(max(value, bounds[name][0]), bounds[name][1]) for name, value in said.items()}}


def _whole_netem(attrs: Attrs) -> Attrs:
    if attrs.get("reorder") and "gap" not in attrs:
        attrs = {**attrs, "gap": 1}  # without one, none overtakes
    if "jitter" in attrs:
        attrs = {**attrs, "jitter": fine_time(min(ns_of(attrs["jitter"]), _MOST_JITTER_NS))}
    for model, other in (_LOSS_MODELS, _LOSS_MODELS[::-1]):
        if attrs.get(model):
            attrs = {other: None, **attrs}  # there is one, which takes the place of the other
    return attrs


def _with_room(attrs: Attrs) -> Attrs:
    """Sfq: no more flows than its hash tells apart and than packets may wait, and no more of these than have room."""
    numbers = {name: value for name, value in attrs.items() if isinstance(value, int)}
    depth, flows = (numbers.get(name, usual) for name, usual in _SFQ_USUAL.items())
    flows = min(flows, numbers.get("divisor", flows))
    limit = min(numbers.get("limit", _MOST), depth * flows)
    room = {"limit": limit, "flows": min(flows, limit) if "limit" in numbers else flows}
    return {**attrs, **{name: value for name, value in room.items() if name in numbers}}


def _whole_tbf(attrs: Attrs) -> Attrs:
    attrs = settled(attrs, _OF_TBF)
    _check_tbf(attrs)
    return attrs if attrs.get("peakrate") != 0 else {**attrs, "peakrate": None}  # none is what takes one away


def _whole_red(attrs: Attrs) -> Attrs:
    return red.lasting(red.whole(attrs))


def _check_tbf(attrs: Attrs) -> None:
    for name, other in (("mtu", "peakrate"), ("peakrate", "mtu")):
        if attrs.get(name) and not attrs.get(other):
            raise ValueError(f"{name}: expected {other} beside it")
    rate, peak = (integer(attrs, name) for name in ("rate", "peakrate"))
    if 0 < peak <= rate:
        raise ValueError("peakrate: expected more than the rate")
    for name, speed in (("burst", rate), ("mtu", peak)):
        if attrs.get(name) == 0 and speed:
            raise ValueError(f"{name}: expected at least {size_of(1, speed)}; with less nothing is let through")


def _check_queues(attrs: Attrs) -> None:
    classes, queues = integer(attrs, "num_tc", 1), attrs.get("queues")
    if isinstance(queues, tuple) and len(queues) != 2 * classes:
        wanted = f"{2 * classes} numbers, count and offset of each of num_tc {classes}"
        raise ValueError(f"queues: expected {wanted}, not {len(queues)}")


def _check_mqprio(attrs: Attrs) -> None:
    _check_queues(attrs)
    classes = integer(attrs, "num_tc", 1)
    for name, other in _OF_HARDWARE.items():
        if name in attrs and not attrs.get("hw"):
            raise ValueError(f"{name}: expected hw: true beside it; only hardware has one")
        if attrs.get(name) == "bw_rlimit" and attrs.get("mode") != "channel":
            raise ValueError("shaper: expected mode: channel beside bw_rlimit")
        if other and name in attrs and attrs.get("shaper") != other:
            raise ValueError(f"{name}: expected shaper: {other} beside it")
        said = attrs.get(name)
        if isinstance(said, tuple) and len(said) != classes:
            raise ValueError(f"{name}: expected {classes}, one for each of num_tc {classes}, not {len(said)}")


def _check_prio(attrs: Attrs) -> None:
    bands, priomap = integer(attrs, "bands", 3), attrs.get("priomap", (2,))  # so many has the usual map
    assert isinstance(priomap, tuple)
    highest = max(band for band in priomap if isinstance(band, int))
    if highest >= bands:
        hint = "the usual one has band 2" if "priomap" not in attrs else "the bands are counted from 0"
        raise ValueError(f"priomap: expected none above {bands - 1} of {bands} bands, not {highest}; {hint}")


def _check_red(attrs: Attrs) -> None:
    high = integer(attrs, "max", integer(attrs, "limit", 60000) // 4)
    low = integer(attrs, "min")
    if low > high:
        raise ValueError(f"min: expected at most {high}, which is max; where that is not said it is a quarter of limit")
    if attrs.get("nodrop") and not attrs.get("ecn"):
        raise ValueError("nodrop: expected ecn beside it; what is not dropped is marked")


def _check_netem(attrs: Attrs) -> None:
    if all(map(attrs.get, _LOSS_MODELS)):
        raise ValueError("loss_state: expected none beside loss_gemodel; one of them says what is lost")
    slot = attrs.get("slot")
    if isinstance(slot, tuple):
        first, last = (time for time in slot if isinstance(time, int))
        if not first <= last or not last:
            raise ValueError("slot: expected a second time that is above 0 and not below the first")
    for name in ("slot_packets", "slot_bytes"):
        if attrs.get(name) and not slot:
            raise ValueError(f"{name}: expected slot beside it")


def _check_sfq(attrs: Attrs) -> None:
    divisor = integer(attrs, "divisor", 1)
    if divisor > _MOST_DIVISOR or divisor & (divisor - 1):
        raise ValueError(f"divisor: expected a power of 2 up to {_MOST_DIVISOR}")
    if named := [name for name in _EARLY if name in attrs]:
        low, high = (integer(attrs, name) for name in ("min", "max"))
        if not 0 < low <= high:
            raise ValueError(f"{named[0]}: expected min and max beside it, both above 0, min at most max")
        red.whole(attrs)


_OF_HARDWARE = {"mode": "", "shaper": "", "min_rate": "bw_rlimit", "max_rate": "bw_rlimit", "fp": ""}
_EARLY = ("min", "max", "ewma", "scell_log", "probability", "ecn", "harddrop")
_MOST_DIVISOR = 1 << 16
_LOSS_MODELS = ("loss_gemodel", "loss_state")
_CHECKS: Mapping[str, Callable[[Attrs], None]] = {
    "mqprio": _check_mqprio,
    "netem": _check_netem,
    "prio": _check_prio,
    "red": _check_red,
    "sfq": _check_sfq,
    "taprio": _check_queues,
}
_WHOLE: Mapping[str, Callable[[Attrs], Attrs]] = {
    "cake": cake.whole,
    "ets": ets.whole,
    "netem": _whole_netem,
    "red": _whole_red,
    "sfq": _with_room,
    "taprio": taprio.whole,
    "tbf": _whole_tbf,
}


def leave_to_leaves(classes: dict[Key, Object]) -> None:
    """Forget what classes of htb with others below them do not use: the kernel leaves it as it was."""
    above: set[Key] = {(key[0], tclass.attrs["parent"]) for key, tclass in classes.items()}
    for key in above & classes.keys():
        tclass = classes[key]
        if tclass.attrs["kind"] == "htb":
            kept = {name: value for name, value in tclass.attrs.items() if name not in OF_LEAVES}
            classes[key] = tclass._replace(attrs=kept)


def settle(found: dict[str, dict[Key, Object]]) -> None:
    """Make of all that is said by class what the kernel will have of it."""
    leave_to_leaves(found.get("tclass", {}))
    qdiscs = found.get("qdisc", {})
    told = [one for one in qdiscs.values() if one.attrs["kind"] == "ingress" and "ingress_block" not in one.attrs]
    ruled = {key[0] for cls in ("filter", "chain") for key in found.get(cls, {}) if key[1] == "ingress"} if told else ()
    for one in told:
        if one.name in ruled:  # as with clsact: its rules are the link's own, unless a block is said
            qdiscs[one.key] = one.having({"ingress_block": None})
