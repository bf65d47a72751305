# SPDX-License-Identifier: GPL-2.0-or-later
"""What has its MAC by its ports, and what is made on it: when they have come.

A bridge that has lost all of its ports has no MAC.  A link that is made for a VLAN of it
then has none either, and takes the bridge's later one only once it is up, which the kernel
refuses to a link without a MAC.  So it refuses to have the bridge itself in another VLAN,
where a new bridge without ports, which draws a MAC, may be.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from netgroupd.model.state import Key, Object
from netgroupd.model.value import NO_MAC, Value
from netgroupd.plan.compare import kind_of
from netgroupd.plan.default_vlan import DEFAULT
from netgroupd.plan.depth import named_by
from netgroupd.plan.fate import FOLLOWS_MTU, TEAMING
from netgroupd.plan.made import Made
from netgroupd.plan.step import Op, Step

BY_A_PORT = "by_a_port"
"""The mark of a VLAN that its bridge takes while it has a port, which is made for that and deleted at once."""


def marked(vlans: Sequence[Step], others: Iterable[Step], links: Mapping[Key, Object]) -> list[Step]:
    """The steps about ``vlans``, those marked that need it, where ``others`` are done to ``links`` before."""
    names = {step.object.name for step in vlans if step.op is Op.CREATE}
    alone = _alone([name for name in names if kind_of(links.get((name,))) == "bridge"], others, links)
    return [
        step._replace(attrs={**step.attrs, BY_A_PORT: True})
        if step.op is Op.CREATE and step.object.name in alone
        else step
        for step in vlans
    ]


def is_by_a_port(step: Step) -> bool:
    """Whether a step is one for which a bridge without a MAC has a port: a marked one, or to another VLAN by itself."""
    have = step.before if step.object.cls == "link" and step.attrs.get(DEFAULT) else None
    return BY_A_PORT in step.attrs or (have is not None and have.attrs.get("mac") == NO_MAC)


def _alone(bridges: Iterable[str], steps: Iterable[Step], links: Mapping[Key, Object]) -> set[str]:
    """Those of the bridges that have no MAC, unless they were given one: no port stays or comes."""
    alone = set(bridges)
    if not alone:
        return alone
    had = {key: link.attrs.get("master") for key, link in links.items()}
    have: dict[Key, Value] = dict(had)
    for step in steps:
        if step.object.cls != "link":
            continue
        key, attrs = step.object.key, step.object.attrs if step.op is Op.CREATE else step.attrs
        if step.op is Op.DELETE or "netns" in step.attrs:
            have.pop(key, None)
        elif "master" in attrs:
            have[key] = attrs["master"]
        if step.op is not Op.CHANGE:
            alone.discard(step.object.name)  # a new one draws a MAC
    return nameless(alone.difference(map(str, have.values())), links)


def nameless(bridges: Collection[str], links: Mapping[Key, Object]) -> set[str]:
    """Those of ``bridges`` without ports that have no MAC: one that has never had a port has drawn its own."""
    masters = {link.attrs.get("master") for link in links.values()} if bridges else ()
    return {name for name in bridges if name in masters or links[name,].attrs.get("mac") == NO_MAC}


def bare(steps: Iterable[Step], new: Made, links: Mapping[Key, Object], released: Iterable[str]) -> frozenset[str]:
    """The bridges for which something of a VLAN is to come, and that have no port until others come.

    ``steps`` are those of links, of which ``links`` are there; the ``released`` leave their masters before any comes.
    """
    leaving, about = set(released), set[str]()
    on_bridges = any(kind_of(links.get((lower,))) == "bridge" for lower in new.lowers)
    for step in steps if on_bridges else new.told:
        if step.op is Op.DELETE or "netns" in step.attrs:
            leaving.add(step.object.name)
        elif step.op is Op.CREATE and step.after and step.after.attrs.get("kind") == "vlan":
            about.add(str(step.after.attrs["link"]))
        elif step.attrs.get(DEFAULT):
            about.add(step.object.name)
    bridges = {name for name in about if kind_of(links.get((name,))) == "bridge"} - leaving
    for port in links.values() if bridges else ():
        if port.name not in leaving:
            bridges.discard(str(port.attrs.get("master")))
    return frozenset(bridges)


def secured(steps: Collection[Step], new: Made, wants: Mapping[Key, Object], haves: Mapping[Key, Object]) -> set[str]:
    """The new MACsecs above bonds and teams that ports join: their channel has the MAC from below, and keeps it.

    That is a port's from when the first one comes.
    """
    made = (step.object for step in steps if step.op is Op.CREATE) if "macsec" in new.kinds else ()
    macsecs = [link for link in made if kind_of(link) == "macsec"]
    joined = {step.object.attrs.get("master") for step in steps if step.op is not Op.DELETE} if macsecs else ()
    found = set[str]()
    for macsec in macsecs:
        below: Object | None = macsec
        while below and kind_of(below) in ("macsec", "vlan"):
            name = below.attrs.get("link")
            below = wants.get((name,)) or haves.get((name,))
        if below and kind_of(below) in TEAMING and below.name in joined:
            found.add(macsec.name)
    return found


def made_late(steps: Iterable[Step], bridges: Set[str], macsecs: Set[str]) -> frozenset[str]:
    """Those of the new links that have to wait until ports of ``bridges`` come, ``macsecs``, and what is on them."""
    made = [step.object for step in steps if step.op is Op.CREATE] if bridges or macsecs else []
    on_bridges = {link.name for link in made if link.attrs.get("link") in bridges and kind_of(link) in FOLLOWS_MTU}
    late = found = on_bridges | macsecs
    above = {link.name: named_by(link) for link in made if link.name not in found} if found else {}
    while found:  # as often as links are stacked
        found = {name for name, named in above.items() if not named.isdisjoint(found)} - late
        late = late | found
    return frozenset(late)
