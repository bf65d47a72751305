# SPDX-License-Identifier: GPL-2.0-or-later
"""New VLANs of bridges that have lost all of their ports: without these a bridge has no MAC.

A VLAN that is made then has none either, and takes the bridge's later one only once
it is up, which the kernel refuses to a link without a MAC.
"""

from collections.abc import Iterable, Mapping

from netgroupd.model.state import Key, Object
from netgroupd.plan.compare import kind_of
from netgroupd.plan.step import Op, Step


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
