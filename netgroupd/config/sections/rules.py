# SPDX-License-Identifier: GPL-2.0-or-later
"""The section ``rules`` -> policy routing rules."""

from collections.abc import Sequence

from netgroupd.config.merge import Item
from netgroupd.config.sections.entries import Form, Sink, compile_items
from netgroupd.config.sections.links import Links
from netgroupd.config.sections.routes import VRF, vrf_table
from netgroupd.model.rule import CLASS, key, without_whole
from netgroupd.model.state import Attrs

FORM = Form.of(CLASS, VRF, leave="selectors", needs=("pref",))


def expand_rules(items: Sequence[Item], links: Links, sink: Sink) -> None:
    """Make the rules; ``vrf`` stands for looking in its table."""
    for _, keys, attrs, entry in compile_items(items, FORM, links.values):
        pref = keys.get("pref")
        if not isinstance(pref, int):
            continue
        if keys.get("vrf"):
            table = vrf_table(str(keys["vrf"]), links, entry.place("vrf"))
            if table is None:
                continue
            if attrs.get("lookup", table) != table:
                links.report.once(entry.place("lookup"), f"VRF {keys['vrf']!r} has table {table}")
            attrs = {**attrs, "lookup": table}  # noqa: PLW2901  # shared by the instances, so a new one
        family = str(keys.get("family") or _family(attrs))
        idle = not any(attrs.get(name) for name in ("lookup", "l3mdev", "goto"))
        idle = idle and attrs.get("action", "lookup") == "lookup"  # for which the kernel would take any empty table
        if idle and entry.record.whole:
            links.report.once(entry.at, "this rule does nothing", "give it lookup, vrf, l3mdev, goto or action")
        sink.add("rule", key(family, pref, attrs), without_whole(attrs), entry)


def _family(attrs: Attrs) -> str:
    return "inet6" if any(":" in str(attrs.get(name)) for name in ("from", "to")) else "inet"
