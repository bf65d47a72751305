# SPDX-License-Identifier: GPL-2.0-or-later
"""What a qdisc or a class is once it is there: what some options say of others, and what the kernel makes of them.

It takes what is too little or too much for the nearest that it has, and tells that.
"""

from netgroupd.model.state import Attrs
from netgroupd.model.tc.rates import BURSTS, settled

_OF_TBF = {**BURSTS, "mtu": "peakrate"}  # that of police is bytes
_MOST = 0xFFFFFFFF
_BOUNDS = {
    "fq_codel": {"quantum": (256, _MOST), "drop_batch": (1, _MOST), "memory_limit": (0, 1 << 31)},
    "fq": {"quantum": (256, 1 << 20)},
    "sfq": {"quantum": (256, _MOST), "depth": (1, 127), "flows": (1, 65408)},
}
# For these 0 is the usual, as if nothing were said.
_UNSAID = {
    "sfq": ("limit", "quantum", "divisor", "flows", "depth"),
    "red": ("limit", "min", "max"),
    "tbf": ("peakrate", "mtu"),
}
_SFQ_USUAL = {"depth": 127, "flows": 128}


def whole(kind: str, attrs: Attrs) -> Attrs:
    """The attributes of a qdisc as the kernel will tell them; raises ValueError("OPTION: expected …")."""
    unsaid = _UNSAID.get(kind, ())
    attrs = {name: value for name, value in attrs.items() if value != 0 or name not in unsaid}
    if kind == "tbf":
        _check_tbf(attrs)
        return settled(attrs, _OF_TBF)
    if kind == "mqprio":
        _check_mqprio(attrs)
    if kind == "netem" and attrs.get("reorder") and "gap" not in attrs:
        return {**attrs, "gap": 1}  # without one, none overtakes
    if kind == "red" and attrs.get("adaptive"):  # what it begins with is soon another, and no difference
        return {name: value for name, value in attrs.items() if name != "probability"}
    attrs = _bounded(kind, attrs)
    return _with_room(attrs) if kind == "sfq" else attrs


def whole_class(kind: str, attrs: Attrs) -> Attrs:
    """The attributes of a class as the kernel will tell them; raises ValueError("OPTION: expected …")."""
    if kind == "htb" and not attrs.get("rate"):
        raise ValueError("rate: expected one above 0; no class of htb is without")
    if kind == "hfsc" and not (attrs.get("rt") or attrs.get("ls")):
        raise ValueError("ls: expected it or rt; no class of hfsc is without both")
    return settled(attrs)


def _bounded(kind: str, attrs: Attrs) -> Attrs:
    bounds = _BOUNDS.get(kind, {})
    said = {name: value for name in bounds if isinstance(value := attrs.get(name), int)}
    return {**attrs, **{name: min(max(value, bounds[name][0]), bounds[name][1]) for name, value in said.items()}}


def _with_room(attrs: Attrs) -> Attrs:
    """Sfq: no more flows than its hash tells apart and than packets may wait, and no more of these than have room."""
    numbers = {name: value for name, value in attrs.items() if isinstance(value, int)}
    depth, flows = (numbers.get(name, usual) for name, usual in _SFQ_USUAL.items())
    flows = min(flows, numbers.get("divisor", flows))
    limit = min(numbers.get("limit", _MOST), depth * flows)
    room = {"limit": limit, "flows": min(flows, limit) if "limit" in numbers else flows}
    return {**attrs, **{name: value for name, value in room.items() if name in numbers}}


def _check_tbf(attrs: Attrs) -> None:
    for name, other in (("mtu", "peakrate"), ("peakrate", "mtu")):
        if attrs.get(name) and not attrs.get(other):
            raise ValueError(f"{name}: expected {other} beside it")


def _check_mqprio(attrs: Attrs) -> None:
    classes, queues = attrs.get("num_tc", 1), attrs.get("queues")
    assert isinstance(classes, int)
    if isinstance(queues, tuple) and len(queues) != 2 * classes:
        wanted = f"{2 * classes} numbers, count and offset of each of num_tc {classes}"
        raise ValueError(f"queues: expected {wanted}, not {len(queues)}")
