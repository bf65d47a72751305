# SPDX-License-Identifier: GPL-2.0-or-later
"""The schema and the reference manual are those of the rows, and agree with what is read."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from netgroupd.config import reference, schema
from netgroupd.config.facts import Facts
from netgroupd.config.render import Limits, render
from netgroupd.config.sources import ROOT, read_sources
from tests.config.reading import told

TOP = Path(__file__).parents[2]
EXAMPLES = sorted(
    path
    for path in (*(TOP / "templates").rglob("*.[my]a*"), *(TOP / "tests" / "golden").rglob("template.*"))
    if (path.parent / "desired.txt").exists() or "templates" in path.parts
)


@cache
def validator() -> Any:
    """The schema that is kept, ready to check by."""
    return Draft202012Validator(yaml.safe_load((TOP / "schemas" / "netgroup.schema.json").read_text()))


def complaints(text: str) -> list[str]:
    """What the schema has against a text."""
    return [error.message for error in validator().iter_errors(yaml.safe_load(text))]


def test_schema_that_is_kept_is_that_of_the_rows() -> None:
    want = schema.text()
    assert (TOP / "schemas" / "netgroup.schema.json").read_text() == want, "run `make schema`"


def test_reference_that_is_kept_is_that_of_the_rows() -> None:
    want = reference.text()
    assert (TOP / "docs" / "reference.md").read_text() == want, "run `make schema`"


def test_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema.schema())


def test_every_property_is_described() -> None:
    def bare(node: object, path: str) -> list[str]:
        if isinstance(node, list):
            return [found for item in node for found in bare(item, path)]
        if not isinstance(node, dict):
            return []
        own = [
            f"{path}.{name}"
            for name, value in node.get("properties", {}).items()
            if path.count(".") < 3 and "description" not in value and "const" not in value
        ]
        return own + [found for key, value in node.items() for found in bare(value, f"{path}.{key}")]

    described = schema.schema()
    names = ("link", "vrf", "group", "route", "rule", "nexthop", "filter", "qdisc", "class", "common")
    assert [found for name in names for found in bare(described["$defs"][name], name)] == []  # type: ignore[index]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_example_fits_the_schema(path: Path) -> None:
    sources, _ = read_sources([path], trust=ROOT)
    rendered, problems = render(sources, facts=Facts, templates=[TOP / "templates"], limits=Limits())
    assert not problems
    assert complaints(rendered[0].text) == []


REFUSED = [
    pytest.param("link: {}", id="section"),
    pytest.param("links: {a: {mtuu: 1}}", id="key_of_a_link"),
    pytest.param("links: {a: {kind: dummy, stp: on}}", id="key_of_another_kind"),
    pytest.param("links: {a: {kind: bridge, priority: low}}", id="value_of_a_kind"),
    pytest.param("links: {a: {mtu: many}}", id="value"),
    pytest.param("links: {a: {kind: dumy}}", id="kind"),
    pytest.param("links: {a: {mtu: null}}", id="null"),
    pytest.param("links: {a: {addresses: [{adress: 10.0.0.1/8}]}}", id="key_of_an_address"),
    pytest.param("vrfs: {a: {kind: vrf, table: 5}}", id="kind_of_a_vrf"),
    pytest.param("groups: {a: {mac: 02:00:00:00:00:01}}", id="attribute_that_no_group_has"),
    pytest.param("routes: {to: 10.0.0.0/8}", id="mapping_for_a_list"),
    pytest.param("routes: [{via: 10.0.0.1}]", id="missing_field"),
    pytest.param("mdb: [{port: a, group: 239.1.1.1}]", id="entry_of_a_section_without_its_link"),
    pytest.param("links: {b: {kind: bridge, mdb: [{dev: b, port: a}]}}", id="missing_field_under_a_link"),
    pytest.param("tc: {a: {ingress: [{pref: 1, flowr: {}}]}}", id="classifier"),
    pytest.param("nexthops: {1: }", id="nexthop_of_which_nothing_is_said"),
    pytest.param("tc: {a: }", id="hooks_of_which_nothing_is_said"),
]


@pytest.mark.parametrize("text", REFUSED)
def test_mistake_does_not_fit_the_schema(text: str) -> None:
    assert complaints(text) != []


ACCEPTED = [
    pytest.param("links: {a: {up: on, mtu: '{v}', alias: 1e3, group: 42}}", id="words_and_references"),
    pytest.param("links: {a.5: {reorder_hdr: off}}", id="vlan_by_its_name"),
    pytest.param("links: {a: {alias: null, master: null}}", id="null_where_it_takes_away"),
    pytest.param(
        "links: {br: {kind: bridge, stp: true, ports: 'a[1-2]', vlans: [5, '[6-9]', {vid: 7, pvid: yes}]}}", id="bridge"
    ),
    pytest.param("links: {b: {kind: bridge, mdb: {port: a, group: 239.1.1.1, source_list: ['::1']}}}", id="groups"),
    pytest.param("links: {a: {fdb: [{mac: '02:00:00:00:00:01'}]}}", id="forwarding_entry_under_a_link"),
    pytest.param("links: {a: {neighbours: [{ip: 10.0.0.1, proxy: on}]}}", id="neighbour_under_a_link"),
    pytest.param("vrfs: {red: {table: 5, links: [a, b], group: g, up: true}}", id="vrf"),
    pytest.param("sysctl: {net.ipv4.ip_forward: 1, net: {ipv4: {tcp_rmem: 1 2 3}}}", id="settings"),
    pytest.param("routes: [{to: default, via: '::1', vrf: red, encap: {type: mpls, labels: 5}}]", id="route"),
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_is_right_fits_the_schema(text: str) -> None:
    assert complaints(text) == []


_SECTIONS = ("groups", "links", "vrfs", "nexthops", "sysctl", "actions", "tc", "routes", "rules", "fdb", "mdb")
_UNDER_LINKS = ("ports", "port", "addresses", "vlans", "vlan_global", "sysctl", "ethtool", "fdb", "mdb", "neighbours")
_OF_HOOKS = ("ingress", "egress", "qdiscs", "classes", "chains", "filters")
EMPTY = [
    pytest.param("", id="file"),
    *(pytest.param(f"{name}:\n", id=name) for name in _SECTIONS),
    *(pytest.param(f"links: {{br: {{kind: bridge, {name}: }}}}", id=f"{name}_of_a_link") for name in _UNDER_LINKS),
    *(pytest.param(f"tc: {{lo: {{{name}: }}}}", id=f"{name}_of_a_link") for name in _OF_HOOKS),
    pytest.param("vrfs: {red: {table: 5, up: true, links: }}", id="links_of_a_vrf"),
    pytest.param("groups: {g: }", id="group"),
    pytest.param("links: {lo: }", id="link"),
    pytest.param("links: {lo: {vfs: {0: }, num_vfs: }}", id="function"),
]


@pytest.mark.parametrize("text", EMPTY)
def test_what_is_left_empty_fits_the_schema_and_is_read(text: str) -> None:
    assert (complaints(text), told(text)) == ([], [])
