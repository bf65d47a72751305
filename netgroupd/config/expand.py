# SPDX-License-Identifier: GPL-2.0-or-later
"""Sections -> the desired state: every range expanded, every reference resolved.

A value costs what it differs by: links of one range share one mapping of
attributes as far as they agree.
"""

from collections.abc import Mapping

from netgroupd.config.known import Known
from netgroupd.config.merge import Item
from netgroupd.config.report import Report
from netgroupd.config.sections.actions import expand_actions
from netgroupd.config.sections.addresses import expand_addresses
from netgroupd.config.sections.entries import Sink
from netgroupd.config.sections.ethtool import expand_ethtool
from netgroupd.config.sections.fdb import expand_fdb
from netgroupd.config.sections.groups import DEFAULT, OF_MADE, expand_groups
from netgroupd.config.sections.links import Links
from netgroupd.config.sections.mdb import expand_mdb
from netgroupd.config.sections.mst import expand_mst
from netgroupd.config.sections.neighbours import expand_neighbours
from netgroupd.config.sections.nexthops import expand_nexthops
from netgroupd.config.sections.ports import Ports
from netgroupd.config.sections.routes import expand_routes
from netgroupd.config.sections.rules import expand_rules
from netgroupd.config.sections.sysctl import expand_sysctl
from netgroupd.config.sections.tc import expand_tc
from netgroupd.config.sections.tokens import expand_tokens
from netgroupd.config.sections.vfs import expand_vfs
from netgroupd.config.sections.vlan_global import expand_vlan_global
from netgroupd.config.sections.vlans import expand_vlans
from netgroupd.config.sections.vnis import expand_vnis
from netgroupd.config.semantic.checks import check
from netgroupd.config.values import Values
from netgroupd.model.state import Group, Object, State
from netgroupd.model.value import Value

_new = tuple.__new__  # without the checks of the arguments' names, for this is done for every link that files have


def expand(sections: Mapping[str, list[Item]], known_links: Known, report: Report) -> State:
    """Make the state that the sections describe; ``known_links`` are there without being described."""
    values = Values(report)
    groups = expand_groups(sections["groups"], values)
    links = Links(values, known_links)
    links.read(sections["links"])
    links.read(sections["vrfs"], vrfs=True)
    links.expand()
    Ports(links).join()
    sink = Sink(report)
    values.objects = len(links.attrs)
    expand_addresses(links, sink)
    expand_vlans(links, sink)
    expand_vlan_global(links, sink)
    expand_mst(links, sink)
    expand_vnis(links, sink)
    expand_ethtool(links, sink)
    expand_vfs(links, sink)
    expand_neighbours(sections["neighbours"], links, sink)
    expand_fdb(sections["fdb"], links, sink)
    expand_mdb(sections["mdb"], links, sink)
    expand_nexthops(sections["nexthops"], links, sink)
    expand_routes(sections["routes"], links, sink)
    expand_rules(sections["rules"], links, sink)
    expand_tokens(links, sink)
    expand_sysctl(sections["sysctl"], links, sink)
    expand_actions(sections["actions"], links, sink)
    expand_tc(sections["tc"], links, sink)
    state = State(groups=groups)
    state.classes["link"] = _finish(links, groups)
    state.classes.update(sink.classes)
    check(state, links, sink)
    return state


def _finish(links: Links, groups: Mapping[str, Group]) -> dict[tuple[Value, ...], Object]:
    """Add what the groups say, and put the group's number for its name."""
    objects: dict[tuple[Value, ...], Object] = {}
    places, asked, origin = links.places, -1, None
    for name, attrs in links.attrs.items():
        if type(attrs.get("group")) is not int:  # a number: done, with another link that shares the mapping
            _grouped(name, attrs, links, groups)
        if (at := places[name]) != asked:  # many of one range are in a row
            asked, origin = at, links.report.origin(at)
        key = (name,)
        objects[key] = _new(Object, ("link", key, attrs, origin))
    return objects


def _grouped(name: str, attrs: dict[str, Value], links: Links, groups: Mapping[str, Group]) -> None:
    """Complete attributes where they are: no object has them yet, and a copy would double a million."""
    wanted = str(attrs.get("group", DEFAULT))
    group = groups.get(wanted)
    if group:
        for key, value in group.attrs.items():
            if key not in OF_MADE or attrs.get("kind"):
                attrs.setdefault(key, value)
        attrs["group"] = group.id
    elif wanted.isascii() and wanted.isdecimal() and int(wanted) < 1 << 32:
        attrs["group"] = int(wanted)
    elif any(links.blocks_of(name)):  # a link made for another has that one's group, which is told there
        hint = links.report.nearest(wanted, groups) or "describe it under `groups`"
        if wanted.isdigit():  # which names none, so none can be meant
            hint = "a number goes from 0 to 4294967295"
        elif attrs.get("kind") == "vxlan" and (":" in wanted or wanted.count(".") == 3):
            hint = "the multicast group that it sends to is its 'remote'"
        links.report.missing(links.place(name, "group"), f"there is no group {wanted!r}", hint)
