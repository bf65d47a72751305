# SPDX-License-Identifier: GPL-2.0-or-later
"""``vnis`` under a VXLAN -> the networks that it takes."""

from netgroupd.config.entries import Form, Sink
from netgroupd.config.links import Links, written_under
from netgroupd.model.vni import CLASS

FORM = Form.of(CLASS, leave="link", needs=("vni",), main="vni")


def expand_vnis(links: Links, sink: Sink) -> None:
    """Make the networks of every VXLAN that lists some."""
    for link, keys, attrs, entry in written_under(links, "vnis", FORM):
        if "vni" not in keys:
            continue
        of_link = links.attrs.get(link, {})
        if link not in links.known and link not in links.unsound and not of_link.get("vnifilter"):
            hint = "networks are listed for a VXLAN: {kind: vxlan, external: true, vnifilter: true}"
            links.report.missing(entry.at, f"{link!r} takes networks without a list", hint)
        sink.add("vni", (link, keys["vni"]), attrs, entry)
