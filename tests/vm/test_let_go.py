# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that others have made and that a file describes without their kind: they are let go, and never made anew."""

import json

import pytest

from netgroupd.errors import ConfigError
from netgroupd.plan import present
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

OF_OTHERS = "links: {virbr0: {mtu: 1400, addresses: [192.0.2.1/24]}}\n"
WITH_OURS = """links:
  virbr0: {mtu: 1400, addresses: [192.0.2.1/24]}
  virbr0.7: {kind: vlan, link: virbr0, id: 7}
  dum0: {kind: dummy, master: virbr0}
"""


@pytest.fixture(autouse=True)
def virbr0(engine_in: EngineIn) -> None:
    """A bridge of somebody else's."""
    engine_in("here", "{}")  # makes the namespace
    here("ip link add virbr0 up type bridge")


def _links() -> dict[str, str]:
    return {link["ifname"]: link["group"] for link in json.loads(here("ip -j link")) if link["ifname"] != "lo"}


@pytest.mark.parametrize("text", [OF_OTHERS, WITH_OURS])
def test_link_whose_kind_no_file_says_is_let_go_with_its_line(engine_in: EngineIn, text: str) -> None:
    engine_in("here", text).apply()
    assert _links()["virbr0"] != "default"
    engine = engine_in("here", "{}\n")
    assert "~ bridge virbr0  group netgroupd -> 0" in present.text(engine.diff())
    engine.apply()
    assert _links() == {"virbr0": "default"}
    assert "192.0.2.1" not in here("ip address show dev virbr0")
    assert not engine.drift().steps


def test_link_whose_kind_a_file_says_is_deleted_with_its_line(engine_in: EngineIn) -> None:
    engine_in("here", OF_OTHERS).apply()
    engine_in("here", "links: {virbr0: {kind: bridge, mtu: 1400}}\n").apply()
    engine_in("here", "{}\n").apply()
    assert not _links()


def test_link_whose_kind_no_file_says_is_not_made_anew(engine_in: EngineIn) -> None:
    engine_in("here", OF_OTHERS).apply()
    engine_in("other", "{}")  # makes the namespace
    here("ip link add bond0 type bond")  # which no namespace takes
    engine_in("here", "links: {bond0: {mtu: 1400}, virbr0: {mtu: 1400}}\n").apply()
    with pytest.raises(ConfigError, match=r"bond0.* is a link of kind bond that is not netgroupd's"):
        engine_in("here", "links: {bond0: {mtu: 1400, netns: other}, virbr0: {mtu: 1400}}\n").apply()


def test_link_of_netgroupd_whose_kind_no_file_says_any_more_is_deleted_with_its_line(engine_in: EngineIn) -> None:
    for text in ("links: {d0: {kind: dummy}}\n", "links: {d0: {alias: x}}\n", "links: {d0: {alias: y}}\n", "{}\n"):
        engine_in("here", text).apply()
    assert _links() == {"virbr0": "default"}
