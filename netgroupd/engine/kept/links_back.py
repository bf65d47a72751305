# SPDX-License-Identifier: GPL-2.0-or-later
"""A link as it was -> what brings it back: no more than that takes, and nothing that the kernel tells but not takes."""

from collections.abc import Iterator, Mapping

from netgroupd.engine.kept.inherited import flags_of_lower
from netgroupd.kernel.usual import Likeness, Usual
from netgroupd.model.attr import Change
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.bond import MODES_OF, PORT_MODES_OF, WITH_CARRIERS, told_before
from netgroupd.model.kinds.macvlan import IPVLANS
from netgroupd.model.state import NOTHING, Attrs, Key, Object
from netgroupd.model.value import NO_MAC, Value
from netgroupd.plan.compare import hardest, kind_of
from netgroupd.plan.led_away import is_outgrown

# Reported of links, and refused where the link's driver has no say in them or at all.
_REPORTED: Mapping[str, tuple[Value, ...]] = {
    "protodown": (False,),
    "lightweight": (False,),
    "l2only": (False,),
    "mac": (NO_MAC,),
}
_CARRIER = "carrier"
# These are not reported only, where they have changed: two of them by making the link anew.
_GIVEN = frozenset({"lightweight", "l2only", "protodown"})
# Without these no link is what it was.
_CORE = frozenset({"kind", "link", "master", "group", "netns", "up", "mtu", "mac"})
_WITH_MODE = dict.fromkeys(IPVLANS, frozenset({"arp"}))  # which another mode sets


def told(
    link: Object, was: Attrs, now: Attrs, links: Mapping[Key, Object], usual: Usual
) -> tuple[dict[str, Value], frozenset[str]]:
    """What to tell of what it ``was``, and what not to tell at all; ``links`` are those around it."""
    was = {
        name: value
        for name, value in was.items()
        if value not in _REPORTED.get(name, ()) or (name in _GIVEN and now.get(name))
    }
    master = links.get((link.attrs.get("master"),))
    if _CARRIER in was and (kind_of(link) != (now.get("kind") or "") or was[_CARRIER] == now.get(_CARRIER)):
        del was[_CARRIER]  # few kinds can be told
    refused = frozenset(_refused(was, now, link, master, links.get((link.attrs.get("dev"),))))
    by_itself = usual.get(Likeness.of(link, master), NOTHING)
    kind = KINDS.get(kind_of(link))
    kept = _CORE | (kind.required if kind else frozenset()) | flags_of_lower(kind_of(link))
    kept |= _WITH_MODE.get(kind_of(link), frozenset())
    found = {
        name: value
        for name, value in was.items()
        if name not in refused and (name in kept or by_itself.get(name) != value or now.get(name, value) != value)
    }
    return found, refused


def unfit(bond: Attrs, now: Attrs) -> Iterator[str]:
    """What is reported of a bond, and refused in its mode and that of ``now``, or where it looks at no carriers."""
    changed = {name: value for name, value in bond.items() if now.get(name) != value}
    stays = now.get("kind") == "bond" and hardest(Object("link", (), now), changed, now)[0] is not Change.RECREATE
    before = told_before(bond, now) if stays else ()
    yield from (name for name, modes in MODES_OF.items() if bond.get("mode") not in modes and name not in before)
    if not bond.get("miimon"):
        yield from WITH_CARRIERS


def _refused(was: Attrs, now: Attrs, link: Object, master: Object | None, dev: Object | None) -> Iterator[str]:
    """What is reported of a link, and cannot be told."""
    if kind_of(link) == "bond":
        yield from unfit(was, now)
    if master and kind_of(master) == "bond":
        mode = str(master.attrs.get("mode"))
        yield from (name for name, modes in PORT_MODES_OF.items() if mode not in modes)
    if len(str(was.get("mac"))) != len(NO_MAC):
        yield "mac"  # of a tunnel of IP packets: its local address
    if kind_of(link) == "vxlan" and dev and is_outgrown(link, dev):
        yield "mtu"
