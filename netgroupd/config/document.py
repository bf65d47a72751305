# SPDX-License-Identifier: GPL-2.0-or-later
"""YAML text -> nodes that know where they stand, or problems.

What people write is nearly always block mappings and sequences with scalars
and flow collections of one line each.  That is read here, line by line, an
order of magnitude faster than a general parser makes nodes of it.  A text with
anything else in it goes to that one as a whole.
"""

import re

from netgroupd.config.block import BlockParser, UncommonError
from netgroupd.config.node import Mapping, Node, Scalar, pack
from netgroupd.config.report import Report

_IFUPDOWN = re.compile(r"(?:auto|allow-\S+|iface|source)\s")


def parse(text: str, number: int, report: Report) -> Mapping:
    """Read the rendered text that is ``number`` in the report: its sections; problems go to the report."""
    node = parse_node(text, number, report)
    if isinstance(node, Mapping):
        return node
    if node is not None and not (isinstance(node, Scalar) and node.null):
        hint = ""
        if isinstance(node, Scalar) and _IFUPDOWN.match(node.text):
            hint = "netgroupctl import ifupdown2 FILE makes a configuration of such a file"
        report.unread(node.at, "expected sections such as `links:` at the top of the file", hint)
    return Mapping({}, pack(number, 1, 1))


def parse_node(text: str, number: int, report: Report) -> Node | None:
    """Read whatever the text is; None when it is nothing, or is no YAML, which is then reported."""
    try:
        return BlockParser(text, number, report).parse()
    except UncommonError:
        from netgroupd.config.events import parse_events  # noqa: PLC0415  # PyYAML is slow to load and seldom needed

        return parse_events(text, number, report)
