# SPDX-License-Identifier: GPL-2.0-or-later
"""``addresses`` under a link -> addresses."""

from netgroupd.config.sections.entries import Form, Sink
from netgroupd.config.sections.links import Links, written_under
from netgroupd.model.address import CLASS

FORM = Form.of(CLASS, leave="link", needs=("address",), main="address")


def expand_addresses(links: Links, sink: Sink) -> None:
    """Make the addresses of every link that has some."""
    for link, keys, attrs, entry in written_under(links, "addresses", FORM):
        if "address" in keys:
            peer = keys.get("peer")
            if peer == str(keys["address"]).partition("/")[0]:
                peer = None  # as the kernel tells it
            sink.join(CLASS, (link, keys["address"], peer), attrs, entry)
