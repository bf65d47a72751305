# SPDX-License-Identifier: GPL-2.0-or-later
"""A draft -> YAML as a person would write it: ranges, short entries on one line, remarks as comments."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from netgroupd.config.importer.draft import Draft
from netgroupd.config.importer.fold import Body, fold_entries, fold_names

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z_/][\w./+-]*|\d+(?:\.\d+){3}(?:/\d+)?|\d+")
_PLAIN_NAME = re.compile(r"\w[\w./+=,\[\]{}-]*")  # anything else may be a comment to YAML, or not text
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null", "none"})


def write(draft: Draft) -> str:
    """Write all sections that have something."""
    lines: list[str] = []
    for section, entries in (("links", draft.links), ("vrfs", draft.vrfs)):
        if entries:
            folded = fold_entries([(name, _ready(body)) for name, body in entries.items()])
            lines += [f"{section}:", *(line for name, body in folded for line in _mapping(name, body))]
    for section, items in draft.lists.items():
        if items:
            lines += [f"{section}:", *(f"  - {_flow(item)}" for item in _folded(items))]
    if draft.sysctl:
        lines += ["sysctl:", *(f"  {_name(path)}: {_flow(value)}" for path, value in draft.sysctl.items())]
    if remarks := draft.remarks():
        lines += ["# Not taken over:", *(f"# {remark}" for remark in remarks)]
    return "\n".join(lines) + "\n" if lines else ""


def _ready(body: Body) -> Body:
    """Put ranges into what a link lists, and leave out lists of one."""
    ready = dict(body)
    if "ports" in ready:
        ports = fold_names(ready["ports"])
        ready["ports"] = ports[0] if len(ports) == 1 else ports
    return ready


def _folded(items: list[Body]) -> Iterator[Body]:
    """Join the entries that are the same for several links or VRFs."""
    for about in ("dev", "vrf", ""):
        own = [item for item in items if about == next((key for key in ("dev", "vrf") if key in item), "")]
        if about:
            named = [(item[about], {key: value for key, value in item.items() if key != about}) for item in own]
            yield from ({about: name, **body} for name, body in fold_entries(named))
        else:
            yield from own


def _mapping(name: str, body: Body) -> Iterator[str]:
    line = f"  {_name(name)}: {_flow(body)}"
    if len(line) <= _WIDTH and len(body) <= 4:
        yield line
        return
    yield f"  {_name(name)}:"
    for key, value in body.items():
        line = f"    {key}: {_flow(value)}"
        if len(line) <= _WIDTH or not isinstance(value, list):
            yield line
        else:
            yield from (f"    {key}:", *(f"      - {_flow(item)}" for item in value))


def _name(text: str) -> str:
    return text if _PLAIN_NAME.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        return value if plain else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)
