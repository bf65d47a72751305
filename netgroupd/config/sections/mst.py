# SPDX-License-Identifier: GPL-2.0-or-later
"""``mst`` under a port of a bridge -> its states in spanning trees."""

from netgroupd.config.sections.entries import Form, Sink
from netgroupd.config.sections.links import Links, written_under
from netgroupd.model.mst import CLASS

FORM = Form.of(CLASS, leave="link", needs=("msti", "state"))


def expand_mst(links: Links, sink: Sink) -> None:
    """Make the states of every port that has some."""
    for link, keys, attrs, entry in written_under(links, "mst", FORM):
        if "msti" not in keys:
            continue
        master = str(links.attrs[link].get("master")) if link in links.attrs else ""
        there = links.kind(master) == "bridge" or bool({master, link} & links.unsound)
        if not there and master not in links.known and link not in links.known:
            hint = "its ports have states in spanning trees, and nothing else has"
            links.report.missing(entry.at, f"{link!r} is no port of a bridge", hint)
        sink.add("mst", (link, keys["msti"]), attrs, entry)
