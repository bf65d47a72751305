# SPDX-License-Identifier: GPL-2.0-or-later
"""(applied, actual, links) -> a goal that brings back these links and leaves everything else as it is."""

from netgroupd.model.state import Object, State


def link_of(obj: Object) -> str:
    """The link that an object is or belongs to; "" where it belongs to none."""
    if obj.cls in ("route", "nexthop"):
        return str(obj.attrs.get("dev") or "")
    if obj.cls == "sysctl":
        parts = obj.name.split("/")
        return parts[3] if len(parts) > 4 else ""
    return "" if obj.cls == "rule" else obj.name


_ALWAYS = ("kind", "group", "link", "master")


def _as_it_is(obj: Object, applied: State) -> Object:
    """``obj``, but of a link what nobody asks for: that may follow from links which are brought back."""
    if obj.cls != "link":
        return obj
    said = applied.link(obj.name)
    names = said.attrs if said else _ALWAYS
    return obj._replace(attrs={name: obj.attrs[name] for name in names if name in obj.attrs})


def only(applied: State, actual: State, links: frozenset[str]) -> State:
    """What was applied where it is about ``links``, and elsewhere what there is."""
    goal = State((_as_it_is(obj, applied) for obj in actual if link_of(obj) not in links), applied.groups)
    for obj in applied:
        if link_of(obj) in links:
            goal.add(obj)
    return goal
