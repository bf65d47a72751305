# SPDX-License-Identifier: GPL-2.0-or-later
"""``vlan_global`` under a bridge -> what it does in its VLANs."""

from netgroupd.config.sections.entries import Form, Sink
from netgroupd.config.sections.links import Links, written_under
from netgroupd.model.vlan_global import CLASS

FORM = Form.of(CLASS, leave="link", needs=("vid",))


def expand_vlan_global(links: Links, sink: Sink) -> None:
    """Make the options of the VLANs of every bridge that has some."""
    for link, keys, attrs, entry in written_under(links, "vlan_global", FORM):
        if "vid" not in keys:
            continue
        kind = links.kind(link)
        if kind != "bridge" and (kind or link not in links.known) and link not in links.unsound:
            hint = "what holds for all ports in a VLAN is said of their bridge"
            links.report.missing(entry.at, f"{link!r} is no bridge", hint)
        sink.join(CLASS, (link, keys["vid"]), attrs, entry)
