# SPDX-License-Identifier: GPL-2.0-or-later
"""What the links of other network namespaces can have to do with those of this one.

A link can stand on one of another namespace, and a cable can end in two.  All else
must be together; and what belongs to a namespace and to no link of it is beyond
the namespace of this configuration.
"""

from collections.abc import Iterator, Mapping

from netgroupd.config.checked import Checked, named
from netgroupd.config.report import Report
from netgroupd.config.sections.entries import told
from netgroupd.config.sections.links import references_of
from netgroupd.model import CLASSES
from netgroupd.model.link import WITH_LINK
from netgroupd.model.state import Object

_APART = frozenset({"link", "peer"})
_UNTOLD = frozenset({"ipvtap"})  # of these the kernel does not say in which namespace the lower link is
_HOOKED = frozenset({"qdisc", "tclass", "chain", "filter"})
_BY_NAME = ("iif", "oif")  # of rules


def namespaces(checked: Checked) -> None:
    """Nothing reaches over to another namespace that cannot."""
    links = checked.links
    if not any("netns" in block.entries for block in links.blocks):
        return
    away = {name: str(attrs["netns"]) for name, attrs in links.attrs.items() if attrs.get("netns")}
    if "lo" in away:
        checked.report.once(links.place("lo", "netns"), "every network namespace has its own 'lo'", "leave it here")
    _links(checked, away)
    for cls, objects in checked.sink.classes.items():
        for obj in objects.values():
            _object(cls, obj, checked, away)


def _links(checked: Checked, away: Mapping[str, str]) -> None:
    links = checked.links
    for name, attrs in links.attrs.items():
        for key in references_of(str(attrs.get("kind") or "")):
            other = attrs.get(key)
            if other is None or away.get(name) == away.get(str(other)):
                continue
            if key in _APART and attrs.get("kind") not in _UNTOLD:
                continue
            said = f"{key!r} of {name!r}, which lives in {_where(away.get(name))}, cannot be {other!r}"
            checked.report.once(links.place(name, key), said, f"that is in {_where(away.get(str(other)))}")


def _object(cls: str, obj: Object, checked: Checked, away: Mapping[str, str]) -> None:
    own = away.get(obj.name) if cls in WITH_LINK else None
    for field, name in _named(cls, obj):
        if away.get(name) != own:
            place = checked.entry(obj).place(field)
            refuse_away(told(cls, obj.key), away.get(name) or str(own), checked.report, place)


def _named(cls: str, obj: Object) -> Iterator[tuple[str, str]]:
    """The links that an object names, each with the field."""
    described = CLASSES[cls]
    if cls in WITH_LINK | _HOOKED:
        yield "dev", obj.name
    for field in _BY_NAME if cls == "rule" else ():
        if obj.attrs.get(field):
            yield field, str(obj.attrs[field])
    for field, name in named(obj.attrs, [row.name for row in described.attrs.values() if row.type.ref == "link"]):
        yield field, str(name)


def refuse_away(what: str, netns: str, report: Report, place: int) -> None:
    """Say that something belongs to another namespace than the configuration, and where it can be said."""
    hint = f"describe it in files of its own, and apply them with `netgroupctl --netns {netns} --config DIRECTORY`"
    report.once(place, f"{what} belongs to the network namespace {netns!r}", hint)


def _where(netns: str | None) -> str:
    return f"the network namespace {netns!r}" if netns else "this network namespace"
