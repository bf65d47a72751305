# SPDX-License-Identifier: GPL-2.0-or-later
"""``neighbours``, under a link or with ``dev`` in a section of its own -> neighbours."""

from collections.abc import Iterable, Sequence
from itertools import chain

from netgroupd.config.merge import Item
from netgroupd.config.sections.entries import Form, Made, Sink, compile_items
from netgroupd.config.sections.links import Links, written_under
from netgroupd.model.attr import Attr
from netgroupd.model.neighbour import CLASS
from netgroupd.model.value import LINK

_DEV = Attr("dev", LINK, "The link that it is reached by.")
UNDER_LINK = Form.of(CLASS, leave="link", needs=("ip",))
FORM = Form.of(CLASS, _DEV, leave="link", needs=("ip", "dev"))._replace(what="neighbour with dev")


def expand_neighbours(items: Sequence[Item], links: Links, sink: Sink) -> None:
    """Make the neighbours of both places."""
    listed: Iterable[Made] = compile_items(items, FORM, links.values)
    for link, keys, attrs, entry in chain(listed, written_under(links, "neighbours", UNDER_LINK)):
        if "ip" in keys and (link or "dev" in keys):
            key = (link or str(keys["dev"]), keys["ip"], bool(keys.get("proxy", False)))
            sink.add("neighbour", key, attrs, entry)
