# SPDX-License-Identifier: GPL-2.0-or-later
"""Every template that is shipped expands without a complaint to exactly what it says."""

import os
from pathlib import Path

import pytest

from netgroupd.config import Desired, load
from netgroupd.config.facts import Facts
from netgroupd.config.render import shipped_templates
from netgroupd.config.sources import Trust
from netgroupd.errors import ConfigError

TRUST = Trust.of_user(os.getuid(), os.getgid())
SHIPPED = shipped_templates()
COUNTS = {
    "ip-aliases.mako": {"link": 1, "address": 256},
    "tc-policies.mako": {"link": 8, "qdisc": 8, "tclass": 6, "filter": 6 * 1017},
    "vlan-aware-bridge.mako": {"link": 31, "address": 22, "bridge_vlan": 86},
    "vlan-bridges.mako": {"link": 706, "address": 100},
    "vrf-tenants.mako": {"link": 302, "address": 100, "route": 300, "rule": 2},
    "vxlan-gateway.mako": {"link": 19, "bridge_vlan": 107, "fdb": 24},
    "stacks/traditional-bridge.yaml": {"link": 270_396},
    "stacks/vlan-filtering-bridge.yaml": {"link": 8_381, "bridge_vlan": 65 * 4094},
    "stacks/vxlan-gateway.yaml": {"link": 526_045},
    "stacks/vrf-per-vlan.yaml": {"link": 528_254, "rule": 2},
}


def desired(path: Path) -> Desired:
    return load([path], facts=Facts, trust=TRUST)


def counts(got: Desired) -> dict[str, int]:
    return {name: len(objects) for name, objects in got.state.classes.items() if objects}


def names(got: Desired, kind: str = "") -> set[str]:
    links = got.state.classes["link"].values()
    return {str(link.key[0]) for link in links if not kind or link.attrs.get("kind") == kind}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path / "10-test.mako"


def test_every_shipped_file_is_counted_here() -> None:
    assert sorted(str(path.relative_to(SHIPPED)) for path in SHIPPED.rglob("*.*")) == sorted(COUNTS)


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_shipped_file_expands_to_what_it_says(name: str) -> None:
    got = desired(SHIPPED / name)
    assert got.problems == ()
    assert {key: counts(got).get(key) for key in COUNTS[name]} == COUNTS[name]


def test_last_of_ten_shares_is_the_default(written: Path) -> None:
    shares = ", ".join(f"c{number}='1mbit'" for number in range(10))
    written.write_text(
        f'<%namespace name="policy" file="tc-policies.mako"/>\ntc:\n  lo:\n${{policy.share("1gbit", {shares})}}\n'
    )
    got = desired(written)
    assert got.problems == ()
    assert got.state.of("qdisc")["lo", "root"].attrs["default"] == 0xA
    assert {key[1] for key in got.state.of("tclass")} == {"1:ffff", *(f"1:{number:x}" for number in range(1, 11))}


def test_slides_loop_and_the_range_make_what_ifupdown2_would(written: Path) -> None:
    loop = """links:
  swp[1-6]: {}
%for v in range(1000,1100):
  br-${v}:
    kind: bridge
    ports: swp[1-6].${v}
    stp: true
%endfor
"""
    written.write_text(loop)
    by_loop = desired(written)
    written.write_text('links:\n  swp[1-6]: {}\n  br-[v=1000-1099]: {kind: bridge, ports: "swp[1-6].{v}", stp: true}\n')
    by_range = desired(written)
    assert names(by_loop, "bridge") == {f"br-{vid}" for vid in range(1000, 1100)}
    assert names(by_loop, "vlan") == {f"swp{port}.{vid}" for vid in range(1000, 1100) for port in range(1, 7)}
    assert {key: link.attrs for key, link in by_loop.state.classes["link"].items()} == {
        key: link.attrs for key, link in by_range.state.classes["link"].items()
    }


USES = [
    pytest.param(
        '<%namespace name="t" file="vlan-bridges.mako"/>\\\nlinks:\n  swp[1-2]: {}\n  bond0: {kind: bond, up: true}\n'
        '${t.bridges("swp[1-2] bond0", "5,7-8")}${t.bridges("swp1", "9", prefix="b")}',
        {"br-5", "br-7", "br-8", "b9", "swp1.9", "bond0"}
        | {f"{port}.{vid}" for port in ("swp1", "swp2", "bond0") for vid in (5, 7, 8)}
        | {"swp1", "swp2"},
        id="bridges",
    ),
    pytest.param(
        '<%namespace name="t" file="vlan-aware-bridge.mako"/>\\\nlinks:\n${t.bridge("sw", "swp1 swp2", "2-3")}'
        '${t.access("swp3", 2, bridge="sw")}${t.gateways("sw", "2-3", "10.0.{v}.1/24")}',
        {"sw", "swp1", "swp2", "swp3", "sw.2", "sw.3"},
        id="vlan_aware",
    ),
    pytest.param(
        '<%namespace name="t" file="vxlan-gateway.mako"/>\\\nlinks:\n'
        '${t.gateway("sw", "swp1", "2-3", "192.0.2.1", device="vx")}',
        {"sw", "swp1", "vx"},
        id="vxlan",
    ),
    pytest.param(
        '<%namespace name="t" file="vrf-tenants.mako"/>\\\nlinks: {swp1: {}}\nvrfs:\n'
        '${t.vrfs("t[t=1-2]", "100+t", "swp1.{t}")}routes:\n${t.routes(1, 2, prefix="t")}',
        {"swp1", "swp1.1", "swp1.2", "t1", "t2"},
        id="tenants",
    ),
]


@pytest.mark.parametrize(("template", "want"), USES)
def test_definitions_serve_other_files(written: Path, template: str, want: set[str]) -> None:
    written.write_text(template)
    got = desired(written)
    assert got.problems == ()
    assert names(got) == want


@pytest.mark.parametrize("taken", ["bridges", "*", "members , bridges"])
def test_definitions_can_be_taken_out_of_another_file(written: Path, taken: str) -> None:
    (written.parent / "lib.mako").write_text(
        '<%def name="bridges(n)">\\\n  br${n}: {kind: bridge}\n</%def>\\\n<%def name="members()"></%def>\\\n'
    )
    written.write_text(f'<%namespace file="lib.mako" import="{taken}"/>\\\nlinks:\n${{bridges(5)}}')
    assert names(desired(written)) == {"br5"}


NOT_TAKEN = [
    pytest.param("bridges", "brdges", "3:3: unknown name 'brdges'; did you mean 'bridges'?", id="misspelt"),
    pytest.param("*", "brdges", "3:3: unknown name 'brdges'", id="misspelt_beside_all"),
    pytest.param("brdges", "brdges", "1:1: the namespace has no member 'brdges' (AttributeError)", id="not_there"),
]


@pytest.mark.parametrize(("taken", "used", "want"), NOT_TAKEN)
def test_definition_that_was_not_taken_is_told(written: Path, taken: str, used: str, want: str) -> None:
    (written.parent / "lib.mako").write_text('<%def name="bridges()"></%def>')
    written.write_text(f'<%namespace file="lib.mako" import="{taken}"/>\nlinks:\n${{{used}()}}')
    with pytest.raises(ConfigError) as caught:
        desired(written)
    assert str(caught.value) == f"{written}:{want}"


def test_definition_that_is_named_and_not_called_is_told(written: Path) -> None:
    written.write_text('<%def name="port(n)">swp${n}</%def>\nlinks:\n  ${port}: {}\n')
    with pytest.raises(ConfigError) as caught:
        desired(written)
    assert str(caught.value) == f"{written}:3:3: 'port' has no text before it is called; write ${{port(…)}} (TypeError)"


def test_argument_that_a_definition_lacks_is_told(written: Path) -> None:
    written.write_text('<%def name="br(v, mtu)"></%def>\nlinks:\n${br(1)}')
    with pytest.raises(ConfigError) as caught:
        desired(written)
    assert str(caught.value) == f"{written}:3:1: br() missing 1 required positional argument: 'mtu' (TypeError)"


def test_definition_can_be_buffered(written: Path) -> None:
    written.write_text('<%def name="f()" buffered="True">\\\n  d0: {kind: dummy}\n</%def>\\\nlinks:\n${f()}\n')
    assert names(desired(written)) == {"d0"}


def test_tenants_never_reach_the_main_table() -> None:
    routes = desired(SHIPPED / "vrf-tenants.mako").state.classes["route"]
    last = [key for key, route in routes.items() if route.attrs.get("type") == "unreachable"]
    assert {key[:2] for key in last} == {(f, table) for f in ("inet", "inet6") for table in range(1001, 1101)}
    assert {key[4] for key in last} == {4278198272}


def test_aliases_are_labelled_as_ifconfig_does() -> None:
    addresses = desired(SHIPPED / "ip-aliases.mako").state.classes["address"]
    assert addresses[("eth1", "192.168.2.254/32", None)].attrs["label"] == "eth1:254"
    assert "label" not in addresses[("eth1", "192.168.1.1/16", None)].attrs


def test_networks_of_the_gateway_follow_from_the_vlans() -> None:
    state = desired(SHIPPED / "vxlan-gateway.mako").state
    assert state.classes["bridge_vlan"][("vxlan0", 20)].attrs["tunnel_id"] == 10020
    assert state.classes["link"][("vni210",)].attrs["id"] == 10210
    assert {key[5] for key in state.classes["fdb"]} == {*range(10010, 10021), 10100}


def test_policies_write_rates_in_bytes_per_second() -> None:
    classes = desired(SHIPPED / "tc-policies.mako").state.classes["tclass"]
    rates = {one.attrs["rate"] for key, one in classes.items() if key[0] == "swp7"}
    assert rates == {125_000_000, 75_000_000, 50_000_000}


def test_later_directory_replaces_what_templates_include_too(tmp_path: Path) -> None:
    for place, mtu in (("usr", 1400), ("etc", 9000)):
        (tmp_path / place / "vars").mkdir(parents=True)
        (tmp_path / place / "vars" / "site.yaml").write_text(f"mtu: {mtu}\n")
    (tmp_path / "usr" / "10-a.mako").write_text(
        "links:\n  d0: {kind: dummy, mtu: ${variables('vars/site.yaml')['mtu']}}\n"
    )
    got = load([tmp_path / "usr", tmp_path / "etc"], facts=Facts, trust=TRUST)
    assert got.state.classes["link"][("d0",)].attrs["mtu"] == 9000


def test_directory_that_is_absent_lends_its_parent_to_nobody(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "secret.yaml").write_text("x: 1\n")
    (tmp_path / "there" / "10-a.mako").write_text("${variables('secret.yaml')}")
    with pytest.raises(ConfigError, match=r"there is no file 'secret\.yaml' to include"):
        load([tmp_path / "absent", tmp_path / "there"], facts=Facts, trust=TRUST)


@pytest.mark.parametrize(("name", "want"), [("plain.yaml", 0), ("template.mako", 1)])
def test_host_is_looked_at_for_templates_only(tmp_path: Path, name: str, want: int) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / name).write_text("links: {d0: {kind: dummy}}\n")
    looks = []

    def look() -> Facts:
        looks.append(1)
        return Facts()

    load([tmp_path], facts=look, trust=TRUST)
    assert len(looks) == want


def test_file_alone_includes_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "vars").mkdir()
    (tmp_path / "vars" / "site.yaml").write_text("mtu: 1400\n")
    (tmp_path / "a.mako").write_text("links: {d0: {kind: dummy, mtu: ${variables('vars/site.yaml')['mtu']}}}\n")
    assert desired(tmp_path / "a.mako").state.classes["link"][("d0",)].attrs["mtu"] == 1400


BAD_VARIABLES = [
    pytest.param(
        "a: 1\nb: [\n", "3:1: the variables file is not YAML: did not find expected node content", id="no_yaml"
    ),
    pytest.param(
        "é: 1\né: \x07\n", "2:4: the variables file is not YAML: unacceptable character #x0007", id="character"
    ),
    pytest.param("a: 2024-13-01\n", "1:1: the variables file is not YAML: month must be in 1..12", id="no_date"),
]


@pytest.mark.parametrize(("text", "want"), BAD_VARIABLES)
def test_mistake_in_a_variables_file_is_told_there(written: Path, text: str, want: str) -> None:
    variables = written.parent / "vars.yaml"
    variables.write_text(text)
    written.write_text("links:\n  d0: {mtu: ${variables('vars.yaml')['mtu']}}\n")
    with pytest.raises(ConfigError) as caught:
        desired(written)
    [problem] = caught.value.problems
    assert str(problem).startswith(f"{variables}:{want}")
    assert problem.hint == f"included from {written}:2"


def test_mistake_in_the_use_of_a_definition_is_at_the_users_line(written: Path) -> None:
    written.write_text('<%namespace name="t" file="vlan-bridges.mako"/>\nlinks:\n${t.bridge("swp1", "2")}\n')
    with pytest.raises(ConfigError, match=r"10-test\.mako:3:1: .*bridge"):
        desired(written)
