# SPDX-License-Identifier: GPL-2.0-or-later
"""``vnis`` under a VXLAN -> the networks that it takes."""

from netgroupd.config.sections.entries import Form, Sink
from netgroupd.config.sections.links import Links, written_under
from netgroupd.model.vni import CLASS

FORM = Form.of(CLASS, leave="link", needs=("vni",), main="vni")


def expand_vnis(links: Links, sink: Sink) -> None:
    """Make the networks of every VXLAN that lists some."""
    for link, keys, attrs, entry in written_under(links, "vnis", FORM):
        if "vni" not in keys:
            continue
        if not _filters(links, link):
            hint = "networks are listed for a VXLAN: {kind: vxlan, external: true, vnifilter: true}"
            links.report.missing(entry.at, f"{link!r} takes networks without a list", hint)
        sink.join(CLASS, (link, keys["vni"]), attrs, entry)


def _filters(links: Links, name: str) -> bool:
    """Whether a link takes only what is listed, as far as can be told."""
    if name in links.known or name in links.unsound:
        return True
    written = any("vnifilter" in block.entries for block in links.blocks_of(name))
    return bool(links.attrs.get(name, {}).get("vnifilter", written))  # written and not there: it could not be read
