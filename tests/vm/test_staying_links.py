# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on links that stay, which goes with a MAC or a protocol of these: told, and given back."""

from functools import partial

import pytest

from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn, here
from tests.vm.stumbling import Stumbling

pytestmark = pytest.mark.vm("stock")  # the messages are the same on both

_MADE = (
    "ip link add e0 address 02:00:00:00:00:01 up type dummy",
    "ip link add b0 up type bridge",
    "ip link set e0 master b0",
)
_ANOTHER_MAC = {
    "its_own": ("e0", "links: {e0: {mac: 02:00:00:00:00:02}, z0: {kind: dummy, up: true}}"),
    "that_of_its_port": ("b0", "links: {e0: {mac: 02:00:00:00:00:02}, z0: {kind: dummy, up: true}}"),
    "that_of_a_port_that_comes": ("b0", "links: {e1: {kind: dummy, mac: 00:00:00:00:00:01, master: b0}}"),
    "none_for_arp": ("e0", "links: {e0: {arp: true}}"),
}


def _stumbling(at: int, netns: str | None) -> Stumbling:
    kernel = Stumbling(netns)
    kernel.stumbles_at = at
    return kernel


def _refuse_last(engine_in: EngineIn, text: str) -> None:
    last = len(engine_in("here", text).diff().steps) - 1
    with pytest.raises(KernelError):
        engine_in("here", text, partial(_stumbling, last)).apply()


@pytest.mark.parametrize(("where", "text"), _ANOTHER_MAC.values(), ids=_ANOTHER_MAC)
def test_neighbours_of_others_stay_when_a_link_gets_another_mac(engine_in: EngineIn, where: str, text: str) -> None:
    engine_in("here", "{}")  # makes the namespace
    for command in (*_MADE, f"ip neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 dev {where} proto static"):
        here(command)
    before = here("ip neighbour show nud permanent")
    engine = engine_in("here", text)
    (told,) = engine.diff().warnings
    assert told == (
        "what is not netgroupd's may go with the MAC that links have for a moment, and is given back: "
        f"neighbours of proto static (1) on {where}"
    )
    _refuse_last(engine_in, text)
    assert here("ip neighbour show nud permanent") == before
    engine.apply()
    assert here("ip neighbour show nud permanent") == before


_ON_E0 = (
    "ip address add 2001:db8::5/64 dev e0 nodad",
    "ip -6 route add 2001:db8:1::/48 via 2001:db8::1 dev e0",
    "ip -6 neighbour add 2001:db8::9 lladdr 02:00:00:00:00:09 dev e0 proto static",
    "ip address add 10.0.0.5/24 dev e0",
    "ip route add 10.9.0.0/16 via 10.0.0.1 dev e0",
)
_NO_IPV6 = {
    "by_a_setting": "links: {e0: {sysctl: {ipv6.disable_ipv6: 1}}, z0: {kind: dummy, up: true}}",
    "by_its_mtu": "links: {e0: {mtu: 1000}, z0: {kind: dummy, up: true}}",
}


def _theirs() -> list[str]:
    shown = ("-6 -o address show scope global", "-6 route show proto boot", "route show")
    return [here(f"ip {what} dev e0") for what in shown]


@pytest.mark.parametrize("text", _NO_IPV6.values(), ids=_NO_IPV6)
def test_what_others_have_goes_with_ipv6_and_comes_back_after_a_refusal(engine_in: EngineIn, text: str) -> None:
    engine_in("here", "{}")  # makes the namespace
    for command in (_MADE[0], *_ON_E0):
        here(command)
    before = _theirs()
    engine = engine_in("here", text)
    (told,) = engine.diff().warnings
    what = "addresses (1), neighbours of proto static (1), routes of proto boot (1) on e0"
    assert told == f"what is not netgroupd's goes with IPv6 on links: {what}"
    _refuse_last(engine_in, text)
    assert _theirs() == before
    engine.apply()
    assert "10.9.0.0/16" in here("ip route")
