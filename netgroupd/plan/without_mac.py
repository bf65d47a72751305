# SPDX-License-Identifier: GPL-2.0-or-later
"""New VLANs of bridges that have lost all of their ports: without these a bridge has no MAC.

A link that is made for a VLAN then has none either, and takes the bridge's later one only
once it is up, which the kernel refuses to a link without a MAC.  So it refuses to have the
bridge itself in another VLAN, where a new bridge without ports, which draws a MAC, may be.
"""

from collections.abc import Iterable, Mapping, Sequence

from netgroupd.model.state import Key, Object
from netgroupd.model.value import NO_MAC, Value
from netgroupd.plan.compare import kind_of
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
    alone.difference_update(map(str, have.values()))
    left = set(had.values())
    return {name for name in alone if name in left or links[name,].attrs.get("mac") == NO_MAC}


def made_late(steps: Iterable[Step], links: Mapping[Key, Object], released: Iterable[str]) -> frozenset[str]:
    """Those of the new links, and what is stacked on them, that have to wait until ports have come.

    ``steps`` are those of links, of which ``links`` are there; the ``released`` leave their masters before any comes.
    """
    made: dict[str, Object] = {}
    leaving = set(released)
    for step in steps:
        if step.op is Op.CREATE:
            made[step.object.name] = step.object
        elif step.op is Op.DELETE or "netns" in step.attrs:
            leaving.add(step.object.name)
    lower = {name: str(link.attrs["link"]) for name, link in made.items() if link.attrs.get("link")}
    vlans = {name for name in lower if kind_of(made[name]) == "vlan"}
    bridges = {below for name in vlans if kind_of(links.get(((below := lower[name]),))) == "bridge"} - made.keys()
    for port in links.values() if bridges else ():
        if port.name not in leaving:
            bridges.discard(str(port.attrs.get("master")))
    late = found = {name for name in vlans if lower[name] in bridges}
    while found:  # as often as links are stacked
        found = {name for name, below in lower.items() if below in found}
        late = late | found
    return frozenset(late)
