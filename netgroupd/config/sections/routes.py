# SPDX-License-Identifier: GPL-2.0-or-later
"""The section ``routes`` -> routes."""

from collections.abc import Mapping, Sequence

from netgroupd.config.merge import Item
from netgroupd.config.sections.entries import Compiled, Fields, Form, Sink, compile_items
from netgroupd.config.sections.links import Links
from netgroupd.config.sections.namespaces import refuse_away
from netgroupd.model.attr import Attr
from netgroupd.model.route import CLASS, MAIN_TABLE, WAY, as_kept, family_of, key
from netgroupd.model.state import Attrs
from netgroupd.model.value import LINK

VRF = Attr("vrf", LINK, "The VRF whose table is meant.")
FORM = Form.of(CLASS, VRF, needs=("to",))


def expand_routes(items: Sequence[Item], links: Links, sink: Sink) -> None:
    """Make the routes."""
    for _, keys, attrs, entry in compile_items(items, FORM, links.values):
        if "to" not in keys:
            continue
        table = _table(keys, links, entry)
        family = _family(keys, attrs, links, entry)
        if table is None or not family:
            continue
        tos, metric = keys.get("tos", 0), keys.get("metric")
        assert isinstance(tos, int)
        assert metric is None or isinstance(metric, int)
        route = key(str(keys["to"]), family=family, table=table, tos=tos, metric=metric)
        kept = as_kept(attrs)
        if kept is not attrs:  # what is said of that way has the place of the list
            places = {**dict.fromkeys(WAY, entry.entries["nexthops"]), **entry.entries}
            entry = entry._replace(entries=places)  # noqa: PLW2901
        sink.add("route", route, kept, entry)


def vrf_table(name: str, links: Links, at: int) -> int | None:
    """The table of a VRF that a file describes; another one is reported."""
    attrs = links.attrs.get(name, {})
    if attrs.get("netns"):
        refuse_away(f"the table of VRF {name!r}", str(attrs["netns"]), links.report, at)
        return None
    if attrs.get("kind") == "vrf":
        table = attrs.get("table")
        return table if isinstance(table, int) else None  # which is told where the VRF is
    if name in links.unsound:
        return None
    # Each of a million routes may come here: nobody looks through the links before a guess is made.
    vrfs = (other for other, given in links.attrs.items() if given.get("kind") == "vrf")
    hint = links.report.nearest(name, vrfs) or "describe it under `vrfs`"
    links.report.missing(at, f"there is no VRF {name!r}", hint)
    return None


def _table(keys: Fields, links: Links, entry: Compiled) -> int | None:
    given = keys.get("table")
    if not keys.get("vrf"):
        return given if isinstance(given, int) else MAIN_TABLE
    table = vrf_table(str(keys["vrf"]), links, entry.place("vrf"))
    if table is not None and given not in (None, table):
        told = f"VRF {keys['vrf']!r} has table {table}, not {given}"
        links.report.once(entry.place("table"), told, "leave out `table` or `vrf`")
    return table


def _family(keys: Fields, attrs: Attrs, links: Links, entry: Compiled) -> str:
    destination = str(keys["to"])
    given = str(keys.get("family") or "")
    if destination == "default":
        if given == "mpls":
            links.report.once(
                entry.place("to"), "MPLS has no default route", "its destinations are labels, such as 100"
            )
            return ""
        return given or ("inet6" if _speaks_ip6(attrs) else "inet")
    family = family_of(destination)
    if given and given != family:
        links.report.once(entry.place("family"), f"{destination} is a destination of {family}, not {given}")
        return ""
    return family


def _speaks_ip6(attrs: Attrs) -> bool:
    """Whether what a default route says is about IPv6."""
    nexthops = attrs.get("nexthops") or ()
    assert isinstance(nexthops, tuple)
    gateways = [attrs.get("via"), attrs.get("src"), *(hop.get("via") for hop in nexthops if isinstance(hop, Mapping))]
    return any(":" in str(gateway) for gateway in gateways)
