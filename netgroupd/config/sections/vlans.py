# SPDX-License-Identifier: GPL-2.0-or-later
"""``vlans`` under a bridge or one of its ports -> the VLANs that it is a member of."""

from netgroupd.config.sections.entries import Form, Sink
from netgroupd.config.sections.links import Links, written_under
from netgroupd.model.bridge_vlan import CLASS

FORM = Form.of(CLASS, leave="link", needs=("vid",), main="vid")


def expand_vlans(links: Links, sink: Sink) -> None:
    """Make the memberships of every link that has some."""
    for link, keys, attrs, entry in written_under(links, "vlans", FORM):
        if "vid" not in keys:
            continue
        if not _bridged(links, link):
            hint = "VLANs are those of a bridge or of its ports; a VLAN device is named <link>.<vid>"
            links.report.missing(entry.at, f"{link!r} is neither a bridge nor a port of one", hint)
        said = {name: value for name, value in attrs.items() if name != "member" or value is False}
        if more := sorted(said.keys() - {"member"}) if said.get("member") is False else []:
            links.report.once(
                entry.place(more[0]), f"{link!r} is no member of VLAN {keys['vid']}, and has no {more[0]!r} there"
            )
        sink.join(CLASS, (link, keys["vid"]), said, entry)


def _bridged(links: Links, name: str) -> bool:
    master = links.attrs[name].get("master") if name in links.attrs else None
    there = (name, str(master))
    return any(one in links.known or one in links.unsound or links.kind(one) == "bridge" for one in there)
