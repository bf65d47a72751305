# SPDX-License-Identifier: GPL-2.0-or-later
"""``num_vfs`` and ``vfs`` under a network card -> how many virtual functions it has, and what is said of each.

What several entries say of one function comes together, as what several say of one link.
"""

from collections.abc import Iterator

from netgroupd.config.node import Entry, Mapping, Node, Scalar
from netgroupd.config.sections.entries import Form, Made, Sink, compile_entry
from netgroupd.config.sections.links import Links, instances, mappings_under, written_under
from netgroupd.model.vf import CLASS, COUNT

FORM = Form(CLASS.name, CLASS.attrs, frozenset())
_NUMBERED = Form.of(CLASS, leave="link")
_COUNT = Form.of(COUNT, leave="link", main="num_vfs")
_KEY = CLASS.key[1].name


def expand_vfs(links: Links, sink: Sink) -> None:
    """Make what is said of the functions of every card."""
    for link, _, attrs, entry in written_under(links, "num_vfs", _COUNT):
        if attrs:
            sink.add("sriov", (link,), attrs, entry)
    for link, keys, attrs, entry in _written(links):
        if _KEY in keys:
            sink.join(CLASS, (link, keys[_KEY]), attrs, entry)


def _written(links: Links) -> Iterator[Made]:
    """What all links have under ``vfs``."""
    for block, node in mappings_under(links, "vfs", "a mapping by the numbers of functions"):
        read = ((key, entry, _body(links, key, entry)) for key, entry in node.entries.items())
        entries = [
            compiled
            for _, _, body in read
            if body and (compiled := compile_entry(body, _form_of(body), block.pattern.ranges, links.values))
        ]
        for name, env in instances(block):
            for entry in entries:
                yield from entry.each(links.values, env, name)


def _form_of(body: Node) -> Form:
    return _NUMBERED if isinstance(body, Mapping) else FORM


def _body(links: Links, key: str, entry: Entry) -> Node | None:
    """What is said of the functions that ``key`` stands for, with that as one of its fields."""
    body = entry.value
    if isinstance(body, Scalar) and body.null:
        body = Mapping({}, body.at)
    if not isinstance(body, Mapping):
        return body
    if _KEY in body.entries:
        links.report.error(body.entries[_KEY].at, f"unknown key {_KEY!r}", "the number stands in front: vfs: {0: …}")
        return None
    return Mapping({_KEY: Entry(entry.at, Scalar(key, entry.at)), **body.entries}, entry.at)
