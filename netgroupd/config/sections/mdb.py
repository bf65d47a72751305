# SPDX-License-Identifier: GPL-2.0-or-later
"""``mdb``, under a bridge or with ``dev`` in a section of its own -> the multicast groups of its ports."""

from collections.abc import Iterable, Sequence
from itertools import chain

from netgroupd.config.merge import Item
from netgroupd.config.sections.entries import Form, Made, Sink, compile_items
from netgroupd.config.sections.links import Links, written_under
from netgroupd.model.attr import Attr
from netgroupd.model.mdb import CLASS
from netgroupd.model.value import LINK

_DEV = Attr("dev", LINK, "The bridge.")
_NEEDS = ("port", "group")
UNDER_LINK = Form.of(CLASS, leave="link", needs=_NEEDS)
FORM = Form.of(CLASS, _DEV, leave="link", needs=(*_NEEDS, "dev"))


def expand_mdb(items: Sequence[Item], links: Links, sink: Sink) -> None:
    """Make the entries of both places."""
    listed: Iterable[Made] = compile_items(items, FORM, links.values)
    for link, keys, attrs, entry in chain(listed, written_under(links, "mdb", UNDER_LINK)):
        if keys.keys() >= {*_NEEDS} and (link or "dev" in keys):
            key = (link or keys["dev"], keys["port"], keys["group"], keys.get("vid", 0), keys.get("src"))
            sink.add("mdb", key, attrs, entry)
