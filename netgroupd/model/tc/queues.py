# SPDX-License-Identifier: GPL-2.0-or-later
"""What a qdisc is once it is there: what some options say of others, and what the kernel makes of them."""

from netgroupd.model.state import Attrs
from netgroupd.model.tc.rates import BURSTS, settled

_OF_TBF = {**BURSTS, "mtu": "peakrate"}  # that of police is bytes


def whole(kind: str, attrs: Attrs) -> Attrs:
    """The attributes of a qdisc as the kernel will tell them; raises ValueError("OPTION: expected …")."""
    if kind == "mqprio":
        _check_mqprio(attrs)
    if kind == "netem" and attrs.get("reorder") and "gap" not in attrs:
        attrs = {**attrs, "gap": 1}  # without one, none overtakes
    return settled(attrs, _OF_TBF if kind == "tbf" else BURSTS)


def _check_mqprio(attrs: Attrs) -> None:
    classes, queues = attrs.get("num_tc", 1), attrs.get("queues")
    assert isinstance(classes, int)
    if isinstance(queues, tuple) and len(queues) != 2 * classes:
        wanted = f"{2 * classes} numbers, count and offset of each of num_tc {classes}"
        raise ValueError(f"queues: expected {wanted}, not {len(queues)}")
