# SPDX-License-Identifier: GPL-2.0-or-later
"""What a qdisc is once it is there: what some options say of others, and what the kernel makes of them."""

from netgroupd.model.state import Attrs
from netgroupd.model.tc.rates import BURSTS, settled

_OF_TBF = {**BURSTS, "mtu": "peakrate"}  # that of police is bytes


def whole(kind: str, attrs: Attrs) -> Attrs:
    """The attributes of a qdisc as the kernel will tell them."""
    if kind == "netem" and attrs.get("reorder") and "gap" not in attrs:
        attrs = {**attrs, "gap": 1}  # without one, none overtakes
    return settled(attrs, _OF_TBF if kind == "tbf" else BURSTS)
