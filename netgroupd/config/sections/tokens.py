# SPDX-License-Identifier: GPL-2.0-or-later
"""``token`` under a link -> the lower half of the addresses that it makes of what routers tell."""

from netgroupd.config.sections.entries import Form, Sink
from netgroupd.config.sections.links import Links, written_under
from netgroupd.model.token import CLASS

_FORM = Form.of(CLASS, leave="link", main="token")


def expand_tokens(links: Links, sink: Sink) -> None:
    """Make the token of every link that has one."""
    for link, _, attrs, entry in written_under(links, "token", _FORM):
        if attrs:
            sink.add("token", (link,), attrs, entry)
