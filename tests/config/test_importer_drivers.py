# SPDX-License-Identifier: GPL-2.0-or-later
"""What drivers are told in the files of ifupdown2, of Debian's ethtool, and by ethtool's own command line."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.config.importing import Import, importing_in
from tests.config.reading import told


@pytest.fixture
def imported(tmp_path: Path) -> Import:
    return importing_in(tmp_path)


def stanza(*lines: str) -> str:
    return "".join(("auto eth0\niface eth0\n", *(f"  {line}\n" for line in lines)))


TAKEN = [
    pytest.param("link-speed 1000", {"link_modes": {"speed": 1000}}, id="speed"),
    pytest.param("link-duplex full", {"link_modes": {"duplex": "full"}}, id="duplex"),
    pytest.param("link-autoneg no", {"link_modes": {"autoneg": False}}, id="autoneg"),
    pytest.param("ethernet-autoneg on", {"link_modes": {"autoneg": True}}, id="autoneg_of_debian"),
    pytest.param("link-fec rs", {"fec": {"auto": False, "modes": ["rs"]}}, id="fec"),
    pytest.param("link-fec auto", {"fec": {"auto": True}}, id="fec_auto"),
    *(
        pytest.param(f"{word}-offload off", {"features": {word: False}}, id=f"{word}_offload")
        for word in ("gro", "lro", "gso", "tso", "ufo", "tx", "rx")
    ),
    pytest.param("offload-sg on", {"features": {"sg": True}}, id="offload_of_debian"),
    pytest.param("offload-rx-vlan-filter off", {"features": {"rx-vlan-filter": False}}, id="offload_by_its_name"),
    pytest.param("ethernet-pause-rx on", {"pause": {"rx": True}}, id="pause"),
    pytest.param("ethernet-wol ug", {"wol": {"modes": ["magic", "ucast"]}}, id="wol"),
    pytest.param("ethernet-wol d", {"wol": {"modes": []}}, id="no_wol"),
    pytest.param("hardware-dma-ring-rx-mini 64", {"rings": {"rx_mini": 64}}, id="ring"),
    pytest.param("hardware-irq-coalesce-adaptive-rx off", {"coalesce": {"adaptive_rx": False}}, id="adaptive"),
    pytest.param("hardware-irq-coalesce-rx-usecs 50", {"coalesce": {"rx_usecs": 50}}, id="coalesce"),
    pytest.param("post-up ethtool -K eth0 tso off gro off", {"features": {"tso": False, "gro": False}}, id="features"),
    pytest.param(
        "up /sbin/ethtool --offload $IFACE generic-receive-offload on tx-gso-partial off",
        {"features": {"gro": True, "tx-gso-partial": False}},
        id="features_by_other_names",
    ),
    pytest.param("pre-up ethtool -G $IFACE rx 4096 tx 512", {"rings": {"rx": 4096, "tx": 512}}, id="rings"),
    pytest.param("up ethtool -L $IFACE combined 8", {"channels": {"combined": 8}}, id="channels"),
    pytest.param(
        "up ethtool -C $IFACE adaptive-rx off rx-usecs 50",
        {"coalesce": {"adaptive_rx": False, "rx_usecs": 50}},
        id="coalesced",
    ),
    pytest.param("up ethtool -A $IFACE autoneg off rx on", {"pause": {"autoneg": False, "rx": True}}, id="paused"),
    pytest.param(
        "up ethtool -s $IFACE speed 100 duplex half autoneg off wol g",
        {"link_modes": {"speed": 100, "duplex": "half", "autoneg": False}, "wol": {"modes": ["magic"]}},
        id="changed",
    ),
    pytest.param("up ethtool --set-fec $IFACE encoding baser", {"fec": {"auto": False, "modes": ["baser"]}}, id="enc"),
    pytest.param(
        "up ethtool --set-priv-flags $IFACE link-down-on-close on",
        {"private_flags": {"link-down-on-close": True}},
        id="private",
    ),
]


@pytest.mark.parametrize(("line", "want"), TAKEN)
def test_line_is_taken_over(imported: Import, line: str, want: dict[str, Any]) -> None:
    got = imported(stanza(line))
    assert got.problems == ()
    assert yaml.safe_load(got.text)["links"] == {"eth0": {"up": True, "ethtool": want}}
    assert told(got.text, known=("eth0",)) == []


LEFT = [
    pytest.param("hardware-dma-ring-huge 3", "hardware-dma-ring-huge 3 has no equivalent", id="ring"),
    pytest.param("link-duplex both", "'both' is no value of link-duplex", id="value"),
    pytest.param("link-fec strong", "'strong' is no value of link-fec", id="fec"),
    pytest.param("up ethtool -X $IFACE equal 2", "up ethtool -X $IFACE equal 2", id="another_verb"),
    pytest.param("up ethtool $IFACE", "up ethtool $IFACE", id="nothing_said"),
    pytest.param("up ethtool -K $IFACE gro", "up ethtool -K $IFACE gro", id="no_value"),
    pytest.param("up ethtool -G $IFACE rx 1 huge 3", "up ethtool -G $IFACE rx 1 huge 3", id="half_known"),
]


@pytest.mark.parametrize(("line", "want"), LEFT)
def test_rest_is_listed_with_its_line_and_nothing_of_it_is_taken(imported: Import, line: str, want: str) -> None:
    got = imported(stanza(line))
    (problem,) = got.problems
    assert (problem.line, problem.message) == (3, f"eth0: {want}")
    assert "ethtool" not in yaml.safe_load(got.text)["links"]["eth0"]


def test_second_value_is_listed(imported: Import) -> None:
    got = imported(stanza("gro-offload off", "post-up ethtool -K eth0 generic-receive-offload on"))
    (problem,) = got.problems
    assert (problem.message, problem.hint) == ("eth0: features gro is off already", "on is left out")
