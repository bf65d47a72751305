# SPDX-License-Identifier: GPL-2.0-or-later
"""Every attribute reads whatever is written for it, or refuses it, however deep the wrong part lies."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

from netgroupd.config.groups import ROWS as GROUP_ROWS
from netgroupd.config.links import rows_of
from netgroupd.config.sections import CLASS_FORMS, HOOKS, LISTS, QDISC_FORMS, UNDER_LINK
from netgroupd.model.attr import Attr
from netgroupd.model.kinds import KINDS

STRANGE: tuple[Any, ...] = (None, True, -1, 1e3, "", "x", "[", "1:1", [], {}, [[]], [{}], {"x": {}}, [{"x": []}])


def rows() -> Iterator[tuple[str, Attr]]:
    """Every attribute that can be written, with where."""
    for kind in ("", *KINDS):
        for name, row in rows_of(kind).items():
            yield f"{kind or 'link'}-{name}", row
        for name, row in KINDS[kind].port.items() if kind else ():
            yield f"{kind}-port-{name}", row
    for name, row in GROUP_ROWS.items():
        yield f"group-{name}", row
    parts = ((part.name, part.form) for part in (*UNDER_LINK, *LISTS, *HOOKS))
    for where, form in (*parts, *QDISC_FORMS.items(), *CLASS_FORMS.items()):
        for name, row in form.rows.items():
            yield f"{where}-{name}", row


EVERY = {row.type.parse: (name, row) for name, row in rows()}


def nearly(schema: Mapping[str, Any]) -> Iterator[Any]:
    """What has the shape that is asked for, but for one part."""
    yield from STRANGE
    for other in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from nearly(other)
    for each in nearly(schema["items"]) if isinstance(schema.get("items"), Mapping) else ():
        yield [each]
    properties: Mapping[str, Any] = schema.get("properties", {})
    good = {name: one["const"] for name, one in properties.items() if "const" in one}
    for name, one in properties.items():
        for each in nearly(one):
            yield {**good, name: each}


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in EVERY.values()])
def test_anything_is_read_or_refused(row: Attr) -> None:
    for raw in nearly(row.type.schema):
        with suppress(ValueError):
            row.type.parse(raw)
