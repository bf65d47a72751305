# SPDX-License-Identifier: GPL-2.0-or-later
"""The model's rows -> the JSON Schema of a configuration, for editors to complete and check by.

``python -m netgroupd.config.schema`` prints what schemas/netgroup.schema.json holds.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from netgroupd.config.sections import table as sections
from netgroupd.config.sections.entries import Form
from netgroupd.config.sections.ethtool import FORMS
from netgroupd.config.sections.links import rows_of
from netgroupd.config.sections.table import Part
from netgroupd.model.attr import Attr
from netgroupd.model.ethtool import FAMILIES, FEATURES, NAMED, PARTS, WORDS, row_of
from netgroupd.model.kinds import KINDS
from netgroupd.model.link import COMMON
from netgroupd.model.tc import qdisc
from netgroupd.model.token import CLASS as TOKEN
from netgroupd.model.value import FLAG
from netgroupd.model.vf import COUNT

Json: TypeAlias = dict[str, object]

_EXPRESSION: Json = {
    "description": "A text with ranges like [1-6] or references like {v}.",
    "type": "string",
    "pattern": r"[\[{]",
}
_FLAG: Json = {
    "description": "true or false.",
    "anyOf": [{"type": "boolean"}, {"enum": ["true", "false", "yes", "no", "on", "off", 0, 1]}],
}
_NAMES: Json = {
    "description": "Names of links, which may have ranges.",
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
}


_PARTS = (sections.GROUPS, *sections.LISTS, *sections.HOOKS)
_ON_LINK = "link-"  # there no entry says which link it is on


def schema() -> Json:
    """Build the whole schema."""
    parts = {part.name: _section(part) for part in (sections.GROUPS, *sections.LISTS)}
    tables = {
        "links": _keyed(sections.LINKS, _or_nothing(_ref("link"))),
        "vrfs": _keyed(sections.VRFS, _or_nothing(_ref("vrf"))),
        "sysctl": {"description": sections.SYSCTL, **_or_nothing(_ref("settings"))},
        "actions": _actions(),
        "tc": _keyed(sections.TC, _ref("hooks")),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "netgroupd configuration",
        "description": "What a file in /etc/netgroup holds, after its template has run.",
        "type": ["object", "null"],
        "properties": {**parts, **tables},
        "additionalProperties": False,
        "$defs": {
            "expression": _EXPRESSION,
            "flag": _FLAG,
            "names": _NAMES,
            "settings": _settings(),
            "ethtool": _ethtool(),
            **{part.form.what: _entry(part.form) for part in _PARTS},
            **{_ON_LINK + part.form.what: _entry(part.form) for part in sections.UNDER_LINK},
            "qdisc": _by_kind(sections.QDISC_FORMS),
            "class": _by_kind(sections.CLASS_FORMS),
            "common": {"properties": _common()},
            "link": _link(),
            "vrf": _vrf(),
            "hooks": _hooks(),
            **{f"kind-{kind}": _kind(kind) for kind in sorted(KINDS)},
        },
    }


def _ref(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}


def _or_nothing(described: Json) -> Json:
    """What may be left empty, as when all of it is in comments."""
    return {"anyOf": [described, {"type": "null"}]}


def _keyed(doc: str, value: Json) -> Json:
    return {"description": doc, "type": ["object", "null"], "additionalProperties": value}


def value_schema(row: Attr) -> Json:
    """What one attribute accepts in a file: its type's values, and texts that stand for them."""
    accepted: list[object] = [_loose(row.type.schema), _ref("expression")]
    if row.nullable:
        accepted.append({"type": "null"})
    return {"description": row.doc, "anyOf": accepted}


def _any_of(rows: Sequence[Attr]) -> Json:
    """What several rows of one name accept together."""
    if all(row.type.schema == rows[0].type.schema for row in rows):
        return value_schema(rows[0])
    return {"description": rows[0].doc, "anyOf": [value_schema(row) for row in rows]}


def _loose(described: object) -> object:
    """Take what a YAML reader may have made of a word: 022 is a number to some, and on a truth value."""
    if isinstance(described, list):
        return [_loose(item) for item in described]
    if not isinstance(described, Mapping):
        return described
    if described.get("type") == "boolean":
        return _ref("flag")
    if described.get("type") == "string" and "pattern" not in described:
        return {**described, "type": ["string", "number"]}
    # A value can fit several types loosely, and that is no mistake.
    return {("anyOf" if key == "oneOf" else key): _inside(key, value) for key, value in described.items()}


def _inside(key: str, described: object) -> object:
    """What stands under ``key`` of a type; fields and items can refer to ranges as whole values do."""
    if key == "properties" and isinstance(described, Mapping):
        return {name: _or_expression(field) for name, field in described.items()}
    if key in ("items", "additionalProperties") and isinstance(described, Mapping):
        return _or_expression(described)
    return _loose(described)


def _or_expression(described: object) -> Json:
    return {"anyOf": [_loose(described), _ref("expression")]}


def _properties(rows: Mapping[str, Attr]) -> Json:
    return {name: value_schema(row) for name, row in rows.items()}


def _entry(form: Form) -> Json:
    """One entry: a mapping of its fields, or the main field alone."""
    mapping: Json = {
        "type": "object",
        "properties": _properties(form.rows),
        "required": sorted(form.required),
        "additionalProperties": False,
    }
    return {"anyOf": [value_schema(form.rows[form.main]), mapping]} if form.main else mapping


def _several(entry: Json) -> Json:
    return {"anyOf": [{"type": "array", "items": entry}, entry, {"type": "null"}]}


def _section(part: Part) -> Json:
    entry = _ref(part.form.what)
    if part.key:
        return _keyed(part.doc, _or_nothing(entry) if part is sections.GROUPS else entry)
    return {"description": part.doc, **_or_nothing({"type": "array", "items": entry})}


def _nested(parts: Iterable[Part], where: str = "") -> Json:
    return {part.name: _under(part, _ref(where + part.form.what)) for part in parts}


def _under(part: Part, entry: Json) -> Json:
    return _keyed(part.doc, _or_nothing(entry)) if part.key else {"description": part.doc, **_several(entry)}


def _settings() -> Json:
    value: Json = {"type": ["string", "number", "boolean", "array"]}
    return {"type": "object", "additionalProperties": {"anyOf": [value, _ref("settings")]}}


def _ethtool() -> Json:
    """By part; the kernel or a driver has the names of some."""
    parts: Json = {}
    for name, form in FORMS.items():
        rows = {word: row for word in (*WORDS, *FAMILIES) if (row := row_of(name, word))} if name == FEATURES else {}
        others = _or_expression(FLAG.schema) if name in NAMED else False
        properties = _properties(rows or form.rows)
        of_part: Json = {"type": "object", "properties": properties, "additionalProperties": others}
        parts[name] = {"description": PARTS[name].doc, "anyOf": [of_part, {"type": "null"}]}
    return {"type": ["object", "null"], "properties": parts, "additionalProperties": False}


def _described(name: str, value: Json) -> Json:
    return {"description": sections.LINK_KEYS[name], **value}


def _common() -> Json:
    """What every link can have."""
    kind: Json = {"description": COMMON["kind"].doc, "enum": sorted(KINDS)}
    ports = {name: [kind.port[name] for kind in KINDS.values() if name in kind.port] for name in _port_names()}
    port: Json = {
        "type": "object",
        "properties": {name: _any_of(rows) for name, rows in ports.items()},
        "additionalProperties": False,
    }
    return {
        **_properties({name: row for name, row in COMMON.items() if name != "kind"}),
        "kind": kind,
        "ports": _described("ports", _or_nothing(_ref("names"))),
        "port": _described("port", _or_nothing(port)),
        "num_vfs": _described("num_vfs", _or_nothing(value_schema(COUNT.attrs["num_vfs"]))),
        "token": _described("token", _or_nothing(value_schema(TOKEN.attrs["token"]))),
        "sysctl": _described("sysctl", _or_nothing(_ref("settings"))),
        "ethtool": _described("ethtool", _ref("ethtool")),
        **_nested(sections.UNDER_LINK, _ON_LINK),
    }


def _port_names() -> list[str]:
    return sorted({name for kind in KINDS.values() for name in kind.port})


def _own(kind: str) -> Json:
    """What a kind adds."""
    return _properties({name: row for name, row in rows_of(kind).items() if name not in COMMON})


def _kind(kind: str) -> Json:
    own = _own(kind)
    if kind == "vrf":
        own["links"] = _described("links", _or_nothing(_ref("names")))
    return {"description": KINDS[kind].doc, "properties": own}


def _link() -> Json:
    """What is common, and what the kind adds; without one it may be a VLAN by its name, or add to another link."""
    conditions: list[Json] = [
        {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": _ref(f"kind-{kind}")}
        for kind in sorted(KINDS)
    ]
    any_kind = [_ref(f"kind-{kind}") for kind in sorted(KINDS)]
    conditions.append({"if": {"not": {"required": ["kind"]}}, "then": {"anyOf": any_kind}})
    return {"type": "object", "allOf": [_ref("common"), *conditions], "unevaluatedProperties": False}


def _vrf() -> Json:
    whole = [_ref("common"), _ref("kind-vrf"), {"not": {"required": ["kind"]}}]
    return {"type": "object", "allOf": whole, "unevaluatedProperties": False}


def _by_kind(forms: Mapping[str, Form]) -> Json:
    """Entries whose fields depend on their kind."""
    rows: dict[str, list[Attr]] = {}
    for form in forms.values():
        for name, row in form.rows.items():
            rows.setdefault(name, []).append(row)
    properties = {name: _any_of(found) for name, found in rows.items()}
    required = sorted(frozenset.intersection(*(form.required for form in forms.values())))
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _actions() -> Json:
    """By kind and index, which may be a range."""
    kinds = {f"^{kind} ": _entry(form) for kind, form in sections.ACTION_FORMS.items()}
    return {
        "description": sections.ACTIONS,
        "type": ["object", "null"],
        "patternProperties": kinds,
        "additionalProperties": False,
    }


def _hooks() -> Json:
    queues: Json = {
        "qdiscs": {"description": "Queueing disciplines.", **_several(_ref("qdisc"))},
        "classes": {"description": "Classes of qdiscs.", **_several(_ref("class"))},
    }
    blocks = {name: value_schema(qdisc.CLASS.attrs[name]) for name in qdisc.BLOCKS}
    properties = {**_nested(sections.HOOKS), **queues, **blocks}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def text() -> str:
    """The schema as it is kept."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
