# SPDX-License-Identifier: GPL-2.0-or-later
"""Every attribute reads whatever is written for it, or refuses it, however deep the wrong part lies."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

from netgroupd.config.sections.groups import ROWS as GROUP_ROWS
from netgroupd.config.sections.links import rows_of
from netgroupd.config.sections.table import CLASS_FORMS, HOOKS, LISTS, QDISC_FORMS, UNDER_LINK
from netgroupd.model.attr import Attr
from netgroupd.model.kinds import KINDS
from tests.config.reading import told

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


KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
DEEP = [
    pytest.param("  b:\n    kind: bond\n    arp_ip_target:\n    - 10.0.0.1\n    - 10.0.0\n",
                 "6:7: arp_ip_target: expected an IPv4 address, not the text '10.0.0'", id="item"),
    pytest.param(f"  w:\n    kind: wireguard\n    peers:\n    - public_key: {KEY}\n    - public_key: x\n",
                 "6:19: public_key: expected a public key of 44 characters, not the text 'x'", id="field_of_an_item"),
    pytest.param(f"  w:\n    kind: wireguard\n    peers:\n    - public_key: {KEY}\n      allowed_ips: ['::/0', x]\n",
                 "6:29: allowed_ips: expected an IPv4 or IPv6 address, not the text 'x'",
                 id="item_of_a_field_of_an_item"),
    pytest.param(f"  w:\n    kind: wireguard\n    peers: {{public_key: {KEY}, allowed_ips: [default]}}\n",
                 "4:85: allowed_ips: expected a network like 10.0.0.0/8; that of all is 0.0.0.0/0 or ::/0",
                 id="network_of_no_family"),
    pytest.param(f"  w:\n    kind: wireguard\n    peers: {{public_key: {KEY}, allowed_ips: [x]}}\n",
                 "4:85: allowed_ips: expected an IPv4 or IPv6 address, not the text 'x'", id="item_alone"),
    pytest.param("  w:\n    kind: wireguard\n    peers:\n"
                 f"    - {{public_key: {KEY}, allowed_ips: ['::/0', 10.1.0.0/16]}}\n"
                 f"    - {{public_key: B{KEY[1:]}, allowed_ips: [10.1.0.0/16, 10.1.0.0/16]}}\n",
                 "5:5: peers: expected peers with different allowed_ips; 10.1.0.0/16 are those of two",
                 id="network_of_two_peers"),
    pytest.param("  b[v=1-2]:\n    kind: bond\n    arp_ip_target:\n    - 10.0.0.{v}\n    - 10.0.{v}\n",
                 "6:7: arp_ip_target: expected an IPv4 address, in b1", id="item_that_follows_a_range"),
    pytest.param("  b:\n    kind: bond\n    arp_ip_target:\n    - 10.0.0.[1-5]\n    - 10.0.0\n",
                 "5:5: arp_ip_target: expected an IPv4 address, in b", id="list_with_a_range"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), DEEP)
def test_mistake_inside_a_value_is_told_where_it_is(text: str, want: str) -> None:
    assert told(f"links:\n{text}") == [f"a.yaml:{want}"]
