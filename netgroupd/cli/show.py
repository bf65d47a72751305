# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl show``: objects, equal ones folded into ranges."""

import difflib
from argparse import Namespace
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from netgroupd.cli.command import CommandLineError
from netgroupd.cli.parser import singular
from netgroupd.cli.target import engine_of, files_of
from netgroupd.cli.terminal import Terminal
from netgroupd.errors import UsageError
from netgroupd.model import CLASSES
from netgroupd.model.state import NOTHING, Group, Object, State, called
from netgroupd.plan.compare import group_of, kind_of
from netgroupd.plan.fate import hangs_on
from netgroupd.plan.fold import fold_names
from netgroupd.plan.present import as_asked, objects_text

if TYPE_CHECKING:
    from netgroupd.engine.files import Files

_CLASSES = {
    "link": ("link",),
    "group": ("link",),
    "vrf": (),  # what is in it, of several classes
    "address": ("address",),
    "route": ("route",),
    "rule": ("rule",),
    "neighbour": ("neighbour",),
    "nexthop": ("nexthop",),
    "fdb": ("fdb",),
    "mdb": ("mdb",),
    "tc": ("qdisc", "tclass", "action", "chain", "filter"),
    "vlan": ("bridge_vlan", "vlan_global", "mst"),
    "vni": ("vni",),
    "ethtool": ("ethtool",),
    "vf": ("sriov", "vf"),
    "setting": ("sysctl",),
    "token": ("token",),
    "": tuple(CLASSES),
}
# What its lines begin with will do as well.
_WORDS = {called(cls): (cls,) for cls in CLASSES} | _CLASSES
_AS_ASKED = frozenset({"ethtool", "qdisc", "tclass"})
_ALWAYS = frozenset({"kind", "link", "id", "master", "group", "up", "mtu", "table"})


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print what was asked for."""
    what = arguments.what or ""
    named = singular(what) in _WORDS
    if named:
        what = singular(what)
    elif arguments.name:
        raise CommandLineError(f"{what!r} is not among what can be listed: {', '.join(filter(None, _CLASSES))}")
    files: Files
    if arguments.desired:
        files = files_of(arguments)
        state = files.desired()
    else:
        files = engine = engine_of(arguments)
        state = engine.looked_after(what, arguments.name or "")
    groups = state.groups or files.applied().groups
    names = {group.id: group.name for group in groups.values()}
    holders = _holders(groups.values())
    chosen = _choose(what, arguments.name, state, holders) if named else _on_link(what, state)
    if terminal.as_json:
        terminal.answer([_plain(obj) for obj in chosen])
        return 0
    if what in ("group", "vrf") and not arguments.name:
        _overview(what, chosen, holders, terminal)
        return 0
    wanted = state if arguments.desired else files.applied()
    terminal.write(objects_text((_brief(obj, wanted) for obj in chosen), names))
    return 0


def _holders(groups: Iterable[Group]) -> dict[int, tuple[str, ...]]:
    """For the id of each group its name and those of the groups that it is in, directly or not."""
    known = {group.name: group for group in groups}
    holders = {}
    for group in known.values():
        found = dict.fromkeys((group.name,))
        for name in (waiting := [group.name]):
            outer = [each for each in known[name].within if each in known and each not in found]
            found.update(dict.fromkeys(outer))
            waiting += outer
        holders[group.id] = tuple(found)
    return holders


def _groups_of(link: Object, holders: Mapping[int, tuple[str, ...]]) -> tuple[str, ...]:
    number = group_of(link)
    return holders.get(number, (str(number),))


def _choose(what: str, name: str | None, state: State, holders: Mapping[int, tuple[str, ...]]) -> list[Object]:
    if what == "vrf":
        return _of_vrf(name, state)
    found = [obj for cls in _WORDS[what] for obj in state.of(cls).values()]
    if name is None:
        return found
    if what == "group":
        chosen = [obj for obj in found if name in _groups_of(obj, holders)]
        if any(name == names[0] for names in holders.values()):
            return chosen
    else:
        chosen = [obj for obj in found if obj.name == name or (what != "link" and obj.attrs.get("dev") == name)]
    if not chosen:
        raise UsageError(f"there is no {what} {name!r} that is owned or configured")
    return chosen


def _on_link(name: str, state: State) -> list[Object]:
    link = state.link(name)
    if link and kind_of(link) == "vrf":
        return _of_vrf(name, state)
    found = [obj for cls in CLASSES for obj in state.of(cls).values() if name in hangs_on(obj)]
    if not found:
        near = difflib.get_close_matches(name, [word for word in _CLASSES if word], 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"there is no link {name!r} that is owned or configured{hint}")
    return found


def _of_vrf(name: str | None, state: State) -> list[Object]:
    links = state.of("link").values()
    if name is None:
        vrfs = {link.name for link in links if link.attrs.get("kind") == "vrf"}
        return [link for link in links if link.name in vrfs or link.attrs.get("master") in vrfs]
    vrf = state.link(name)
    if vrf is None or vrf.attrs.get("kind") != "vrf":
        raise UsageError(f"there is no VRF {name!r} that is owned or configured")
    inside = {name, *(link.name for link in links if link.attrs.get("master") == name)}
    return [
        *(link for link in links if link.name in inside),
        *(address for address in state.of("address").values() if address.name in inside),
        *(route for route in state.of("route").values() if route.key[1] == vrf.attrs.get("table")),
        *(neighbour for neighbour in state.of("neighbour").values() if neighbour.name in inside),
    ]


def _overview(what: str, links: Iterable[Object], holders: Mapping[int, tuple[str, ...]], terminal: Terminal) -> None:
    members: dict[str, list[str]] = {names[0]: [] for names in holders.values()} if what == "group" else {}
    for link in links:
        if what == "group":
            for name in _groups_of(link, holders):
                members.setdefault(name, []).append(link.name)
        elif link.attrs.get("kind") == "vrf":
            members.setdefault(link.name, [])
        else:
            members.setdefault(str(link.attrs["master"]), []).append(link.name)
    rows = [(name, len(inside), " ".join(fold_names(inside))) for name, inside in members.items()]
    terminal.table((what.upper(), "LINKS", "MEMBERS"), rows)


def _brief(obj: Object, wanted: State) -> Object:
    """``obj`` with what was asked of it, or of a link that nobody asked for what matters most."""
    if obj.cls == "filter":
        rule = wanted.of("filter").get(obj.key)
        said = rule.attrs if rule else NOTHING
        # The kernel counts handles in the order in which rules come: they would keep apart what is one range.
        shown = obj.attrs if "handle" in said else obj.without("handle").attrs
        return obj._replace(attrs={name: as_asked(name, value, said.get(name)) for name, value in shown.items()})
    if obj.cls in _AS_ASKED and (told := wanted.of(obj.cls).get(obj.key)):
        return obj.only(told.attrs)
    if obj.cls != "link":
        return obj
    asked = wanted.link(obj.name)
    names = _ALWAYS | asked.attrs.keys() if asked else _ALWAYS
    return obj.only(names)


def _plain(obj: Object) -> dict[str, object]:
    return {"class": obj.cls, "key": list(obj.key), "attrs": dict(obj.attrs)}
