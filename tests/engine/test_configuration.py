# SPDX-License-Identifier: GPL-2.0-or-later
"""What the engine keeps of the configuration that it expanded last."""

from pathlib import Path

import pytest

from netgroupd.config import Desired
from netgroupd.config.known import Known
from netgroupd.config.sources import Trust
from netgroupd.engine import configuration

HARDWARE = Known(("eth0",))
VLAN = "links: {eth0.5: {up: true}}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path / "all.yaml"


def read(file: Path, text: str, known: Known = HARDWARE) -> Desired:
    file.write_text(text)
    status = file.stat()
    return configuration.read((file,), known, Trust.of_user(status.st_uid, status.st_gid))


def test_the_same_text_on_the_same_links_is_expanded_once(file: Path) -> None:
    assert read(file, VLAN).state is read(file, VLAN).state


def test_another_text_is_expanded_anew(file: Path) -> None:
    read(file, VLAN)
    assert read(file, "links: {eth0.6: {up: true}}").state.link("eth0.6")


def test_a_line_further_down_is_another_origin(file: Path) -> None:
    read(file, VLAN)
    link = read(file, f"# moved\n{VLAN}").state.link("eth0.5")
    assert link
    assert link.origin
    assert link.origin.line == 2


@pytest.mark.parametrize(
    ("first", "then", "kind"),
    [
        pytest.param(HARDWARE, Known(("eth0", "eth0.5")), None, id="it_came"),
        pytest.param(Known(("eth0", "eth0.5")), HARDWARE, "vlan", id="it_went"),
        pytest.param(
            Known(("eth0", "eth0.5")), Known(("eth0", "eth0.5"), ours={"eth0.5"}), "vlan", id="it_became_netgroupds"
        ),
    ],
)
def test_a_link_that_somebody_else_makes_or_removes_counts(
    file: Path, first: Known, then: Known, kind: str | None
) -> None:
    read(file, VLAN, first)
    link = read(file, VLAN, then).state.link("eth0.5")
    assert link
    assert link.attrs.get("kind") == kind


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("tc: {lo: {ingress: {pref: 1, matchall: {}, action: {mirred: {dev: eth0}}}}}", id="action"),
        pytest.param("actions: {mirred 5: {dev: eth0}}", id="shared_action"),
        pytest.param("links: {v: {kind: vxlan, id: 5, dev: eth0}}", id="tunnel"),
        pytest.param("routes: [{to: 192.0.2.0/24, nexthops: [{dev: eth0}, {dev: lo}]}]", id="nexthop"),
    ],
)
def test_a_generation_that_leads_to_links_it_does_not_describe_is_brought_back(file: Path, text: str) -> None:
    wanted = read(file, text)
    assert [*configuration.bring_back(configuration.content_of(wanted)).state] == [*wanted.state]
