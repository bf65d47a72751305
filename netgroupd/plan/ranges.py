# SPDX-License-Identifier: GPL-2.0-or-later
"""VLANs and their options, and VNIs of VXLANs, without a gap and told alike: one message for each range of them.

After every message the kernel lists all VLANs of the port to whoever listens, so a
message for each VLAN costs the square of their number.  Linear.
"""

from collections.abc import Sequence

from netgroupd.model.state import NOTHING, Attrs, Object
from netgroupd.plan.step import AnyStep, Op, RangeStep, Step

RANGED = frozenset({"bridge_vlan", "vlan_global", "vni"})


def range_steps(steps: Sequence[Step]) -> list[AnyStep]:
    """The steps about VLANs or VNIs, all of one phase, by link and number, with those of ranges drawn together."""
    by_link: dict[str, list[Step]] = {}
    for step in steps:
        by_link.setdefault(step.object.name, []).append(step)
    drawn: list[AnyStep] = []
    for found in by_link.values():
        found.sort(key=_number)
        first = 0
        for end in range(1, len(found) + 1):
            if end == len(found) or not _goes_on(found[end - 1], found[end]):
                drawn.append(RangeStep(found[first].op, tuple(found[first:end])) if end - first > 1 else found[first])
                first = end
    return drawn


def _number(step: Step) -> int:
    number = step.object.key[1]
    assert isinstance(number, int)
    return number


def _goes_on(one: Step, other: Step) -> bool:
    """Whether the message that tells of ``one`` can go on to ``other``."""
    if _number(one) + 1 != _number(other) or one.op is not other.op:
        return False
    if one.op is Op.DELETE:
        return True
    return (
        _counts_up(one.attrs, other.attrs)
        and _counts_up(_attrs(one.after), _attrs(other.after))
        and _counts_up(_attrs(one.before), _attrs(other.before))
    )


def _attrs(obj: Object | None) -> Attrs:
    return obj.attrs if obj else NOTHING


def _counts_up(one: Attrs, other: Attrs) -> bool:
    """Whether ``other`` is what a range that begins with ``one`` says of the next VLAN.

    The kernel takes no PVID in a range, and counts tunnels up.
    """
    if other.get("pvid"):
        return False
    tunnel = one.get("tunnel_id")
    if not isinstance(tunnel, int):
        return one is other or one == other
    return other.get("tunnel_id") == tunnel + 1 and {**one, "tunnel_id": tunnel + 1} == other
