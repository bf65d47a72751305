# SPDX-License-Identifier: GPL-2.0-or-later
"""The section ``nexthops``, by id -> nexthop objects."""

from collections.abc import Sequence

from netgroupd.config.merge import Item
from netgroupd.config.sections.entries import Form, Sink, compile_entry
from netgroupd.config.sections.links import Links
from netgroupd.model.nexthop import CLASS

FORM = Form.of(CLASS, leave="id")
_ID = CLASS.key[0]


def expand_nexthops(items: Sequence[Item], links: Links, sink: Sink) -> None:
    """Make the nexthops; an id may be a range."""
    values = links.values
    for item in items:
        pattern = values.pattern(item.key, item.at)
        entry = compile_entry(item.node, FORM, pattern.ranges, values) if pattern else None
        if pattern is None or entry is None:
            continue
        for text, env in pattern.instances():
            try:
                number = _ID.type.parse(text)
            except ValueError as error:
                links.report.once(item.at, f"the id of a nexthop: {error}, not {text!r}")
                break
            for made in entry.each(values, env, f"nexthop {text}"):
                sink.add("nexthop", (number,), made.attrs, entry)
