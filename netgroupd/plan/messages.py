# SPDX-License-Identifier: GPL-2.0-or-later
"""steps -> how many messages they are, as far as a plan tells: what others have in the way can make more of them."""

from collections.abc import Callable, Iterable, Mapping

from netgroupd.model.bridge_vlan import is_out
from netgroupd.model.kinds import KINDS
from netgroupd.model.link import SAID_AFTERWARDS, said_afterwards
from netgroupd.model.state import NOTHING, Attrs
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import AnyStep, GroupStep, Op, RangeStep, Step
from netgroupd.plan.tc.anew import takes_two
from netgroupd.plan.without_mac import BY_A_PORT

_BY_ANOTHER_FAMILY = frozenset({"team", "wireguard"})
_NAMES = "altnames"
_MORE = frozenset({_NAMES, "mtu"}).union(SAID_AFTERWARDS, *(KINDS[kind].attrs for kind in _BY_ANOTHER_FAMILY))
"""What may take a message more of a link that is made."""


def messages(steps: Iterable[AnyStep]) -> int:
    """How many messages, or settings that are written, all of them are."""
    return sum(map(_messages_of, steps))


def _messages_of(step: AnyStep) -> int:
    if isinstance(step, GroupStep):
        return 1
    first = step.steps[0] if isinstance(step, RangeStep) else step
    if first.object.cls == "filter":
        # Of u32 a preference may go by itself with its last rule.
        return 1 + (takes_two(step) or (first is not step and kind_of(first.object) == "u32"))
    count = _COUNTS.get(first.object.cls)
    return count(first) if count else 1


def _of_link(step: Step) -> int:
    attrs = step.attrs
    if step.op is Op.DELETE or (step.op is Op.CREATE and _MORE.isdisjoint(attrs)):  # as nearly every link
        return 1
    kind = kind_of(step.object)
    elsewhere = attrs.keys() & KINDS[kind].attrs.keys() if kind in _BY_ANOTHER_FAMILY else frozenset[str]()
    count = int(bool(elsewhere))
    if _NAMES in attrs:
        count += _renamings(step.before.attrs if step.before else NOTHING, attrs)
    if step.op is Op.CREATE:
        return count + 1 + (not said_afterwards(kind, attrs).isdisjoint(attrs))
    return count + bool(attrs.keys() - elsewhere - {_NAMES})


def _renamings(have: Attrs, attrs: Attrs) -> int:
    """One takes all names away that go, and one gives all that come."""
    old, new = _names(have), _names(attrs)
    return bool(old - new) + bool(new - old)


def _names(attrs: Attrs) -> frozenset[str]:
    names = attrs.get(_NAMES)
    return frozenset(map(str, names)) if isinstance(names, tuple) else frozenset()


def _of_vlan(step: Step) -> int:
    """One that a port is to be out of comes first, and one that goes to another tunnel leaves the last before."""
    if step.op is Op.DELETE or is_out(step.object):
        return 1 + (step.op is not Op.DELETE)
    had = step.before.attrs.get("tunnel_id") if step.before else None
    tunnel = step.attrs.get("tunnel_id", had if step.after is None else step.after.attrs.get("tunnel_id", had))
    return 1 + (had not in (None, tunnel)) + 2 * bool(step.attrs.get(BY_A_PORT))


_COUNTS: Mapping[str, Callable[[Step], int]] = {
    "link": _of_link,
    "bridge_vlan": _of_vlan,
    "rule": lambda step: 1 + (step.op is Op.CHANGE),
    "ethtool": lambda step: int(step.op is not Op.DELETE),
}
