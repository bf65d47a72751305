# SPDX-License-Identifier: GPL-2.0-or-later
"""``ethtool`` under a link -> what its driver is told, part by part.

Several blocks may speak of one part of a link: what they say comes together.
"""

from collections.abc import Iterator, Mapping

from netgroupd.config.node import Mapping as MappingNode
from netgroupd.config.node import Node, Scalar
from netgroupd.config.sections.entries import Compiled, Form, Made, Sink, compile_entry
from netgroupd.config.sections.links import Block, Links, instances, mappings_under
from netgroupd.model.attr import Attr
from netgroupd.model.ethtool import FAMILIES, FEATURES, NAMED, PARTS, SHORT, WORDS, row_of

_EXAMPLE = "a mapping like {rings: {rx: 1024}}"

FORMS: Mapping[str, Form] = {
    part: Form(f"ethtool-{part}", described.attrs, frozenset()) for part, described in PARTS.items()
}


def expand_ethtool(links: Links, sink: Sink) -> None:
    """Make the parts of every link that has some."""
    for block, node in mappings_under(links, "ethtool", _EXAMPLE):
        for part, entry in node.entries.items():
            if part not in PARTS:
                links.values.unknown(part, entry.at, tuple(PARTS))
            elif not (isinstance(entry.value, Scalar) and entry.value.null):
                _expand(part, entry.value, block, links, sink)


def _expand(part: str, node: Node, block: Block, links: Links, sink: Sink) -> None:
    form = _form_of_names(part, node) if part in NAMED else FORMS[part]
    compiled = compile_entry(node, form, block.pattern.ranges, links.values)
    if compiled is None or not links.values.admits(block.pattern.size, node.at, "part"):
        return
    if part == FEATURES:
        _tell_overlaps(compiled, links)
    for name, env in instances(block):
        for made in compiled.each(links.values, env, name):
            _add(part, made, links, sink)


def _form_of_names(part: str, node: Node) -> Form:
    """What may be said where others have the names: whatever can be one."""
    said = node.entries if isinstance(node, MappingNode) else ()
    known = (*WORDS, *FAMILIES) if part == FEATURES else ()
    rows: dict[str, Attr] = {name: row for name in (*said, *known) if (row := row_of(part, name))}
    return FORMS[part]._replace(rows=rows)


def _tell_overlaps(compiled: Compiled, links: Links) -> None:
    """One feature by two words, or by a word for several beside its own name."""
    seen: dict[str, str] = {}
    for written, entry in compiled.entries.items():
        name = SHORT.get(written, written)
        for feature in (name, *FAMILIES.get(name, ())):
            if feature in seen:
                links.report.error(
                    entry.at, f"{written!r} and {seen[feature]!r} speak of one feature", "write one of them"
                )
                break
        seen.update(dict.fromkeys((name, *FAMILIES.get(name, ())), written))


def _add(part: str, made: Made, links: Links, sink: Sink) -> None:
    key = made.link, part
    there = sink.classes.get("ethtool", {}).get(key)
    if there is None:
        if made.attrs:
            sink.add("ethtool", key, made.attrs, made.entry)
        return
    for name in _clashes(there.attrs, made.attrs):
        told = f"{name!r} of {made.link!r} was set to another value"
        links.report.once(made.entry.place(name), told, f"the other is at {there.origin}")
    sink.classes["ethtool"][key] = there._replace(attrs={**made.attrs, **there.attrs})


def _clashes(some: Mapping[str, object], others: Mapping[str, object]) -> Iterator[str]:
    return (name for name, value in others.items() if name in some and some[name] != value)
