# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have attached to links from outside: XDP programs and address labels go with these, and that is told."""

import subprocess

import pytest

from netgroupd.kernel.netns import entered
from tests.vm.bpf_programs import pin
from tests.vm.hosts import EngineIn, here

VXLAN = "links: {{vx: {{kind: vxlan, id: {}, dstport: 4789, local: 127.0.0.1, up: on}}}}\n"
_XDP, _PASS = 6, 2


def attach(link: str) -> None:
    program = pin("passing", _XDP, _PASS)
    with entered("here"):  # `ip -n` hides what is mounted below /sys
        subprocess.run(["ip", "link", "set", "dev", link, "xdpgeneric", "pinned", program], check=True)


@pytest.mark.parametrize("after", [VXLAN.format(8), "links: {}\n"], ids=["made_anew", "goes"])
def test_programs_and_labels_of_others_are_told_before_their_link_goes(engine_in: EngineIn, after: str) -> None:
    engine_in("here", VXLAN.format(7)).apply()
    attach("vx")
    here("ip addrlabel add prefix 2001:db8::/64 dev vx label 99")
    here("ip addrlabel add prefix 2001:db8:1::/64 label 98")
    told = "goes when links go, go down or change their VRF: XDP programs (1), address labels (1) on vx"
    assert f"what is not netgroupd's {told}" in engine_in("here", after).diff().warnings


def test_program_of_others_moves_with_its_link_to_another_namespace(engine_in: EngineIn) -> None:
    subprocess.run(["ip", "netns", "add", "blue"], check=True)
    try:
        engine_in("here", "links: {d: {kind: dummy, up: true}}\n").apply()
        attach("d")
        assert not engine_in("here", "links: {d: {kind: dummy, up: true, netns: blue}}\n").apply().plan.warnings
        assert "prog/xdp" in here("ip link show dev d", "blue")
    finally:
        subprocess.run(["ip", "netns", "del", "blue"], check=True)
