# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of all links, which a real kernel copies to each, beside those that are said of one."""

import subprocess

import pytest

from netgroupd.errors import KernelError
from tests.engine.universe import state_of
from tests.vm.hosts import EngineIn
from tests.vm.stumbling import Stumbling, ip, there_and_back, told

pytestmark = pytest.mark.vm("stock")  # the messages are the same on both

SECRET = "2001:0db8:0000:0000:0000:0000:0000:000%d"
BEFORE = (
    f"net.ipv6.conf.default.stable_secret={SECRET % 1}",  # none cannot be put back
    "net.ipv6.conf.e0.addr_gen_mode=0",
    "net.ipv4.conf.default.rp_filter=0",
)
# Of all links or of new ones, what it becomes, and what of one link the kernel overwrites: that stays as it was.
COPIED = (
    ("net.ipv6.conf.all.disable_ipv6", 1, "ipv6.disable_ipv6", 0),
    ("net.ipv6.conf.all.forwarding", 1, "ipv6.forwarding", 0),
    ("net.ipv6.conf.all.ignore_routes_with_linkdown", 1, "ipv6.ignore_routes_with_linkdown", 0),
    ("net.ipv6.conf.all.addr_gen_mode", 1, "ipv6.addr_gen_mode", 0),
    ("net.ipv6.conf.default.stable_secret", SECRET % 2, "ipv6.addr_gen_mode", 0),
    ("net.ipv4.ip_forward", 1, "ipv4.forwarding", 0),
    ("net.ipv4.conf.all.forwarding", 1, "ipv4.forwarding", 0),
    ("net.ipv4.conf.default.rp_filter", 2, "ipv4.rp_filter", 0),
)


@pytest.mark.parametrize(("of_all", "value", "of_one", "stays"), COPIED, ids=[case[0] for case in COPIED])
@pytest.mark.parametrize("first", [True, False], ids=["all_first", "link_first"])
def test_setting_of_a_link_stays_when_one_of_all_links_is_copied_to_it(
    kernel: Stumbling, of_all: str, value: object, of_one: str, stays: int, *, first: bool
) -> None:
    for command in ("link add e0 up type dummy", "link add e1 up type dummy"):
        ip(command)
    told("sysctl", "-w", *BEFORE)
    address = "up: true, addresses: ['2001:db8::5/64'], "
    parts = [f"sysctl: {{{of_all}: '{value}'}}", f"links: {{e0: {{{address}sysctl: {{{of_one}: {stays}}}}}}}"]
    goal = state_of("\n".join(parts if first else reversed(parts)), ("e0", "e1"))
    there_and_back(kernel, goal)


@pytest.mark.parametrize("value", ["0", "1"])
def test_setting_of_all_links_is_as_it_was_when_a_wireguard_link_does_not_stay(engine_in: EngineIn, value: str) -> None:
    text = "links: {w0: {kind: wireguard, up: true}, d0: {kind: dummy}}\nroutes: [{to: 10.0.0.0/8, dev: d0}]"
    engine = engine_in("here", text)  # d0 is down
    setting = ["ip", "netns", "exec", "here", "sysctl", "net.ipv4.conf.all.send_redirects"]
    subprocess.run([*setting[:-1], f"{setting[-1]}={value}"], check=True)
    before = subprocess.run(setting, check=True, capture_output=True).stdout
    with pytest.raises(KernelError):
        engine.apply()
    assert subprocess.run(setting, check=True, capture_output=True).stdout == before
