# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on links that stay, which goes with a MAC or a protocol of these: told, and given back."""

import subprocess
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


_ADDRESSED = "links: {e0: {kind: dummy, up: true, addresses: [%s]}%s}\n"
_SENDING = {
    "ipv4": ("10.0.0.5/24, 10.1.0.6/24", "10.0.0.5/25, 10.1.0.6/24", "10.9.{}.0/24", "10.0.0.5"),
    "ipv6": ('"2001:db8::5/64"', '"2001:db8::5/65"', "2001:db8:{}::/48", "2001:db8::5"),
}


@pytest.mark.parametrize(("was", "then", "to", "source"), _SENDING.values(), ids=_SENDING)
def test_routes_of_others_stay_when_the_address_that_they_send_from_is_made_anew(
    engine_in: EngineIn, was: str, then: str, to: str, source: str
) -> None:
    engine_in("here", _ADDRESSED % (was, "")).apply()
    for number, proto in ((1, "static"), (2, "bird")):
        here(f"ip route add {to.format(number)} dev e0 src {source} proto {proto}")
    text = _ADDRESSED % (then, ", z0: {kind: dummy, up: true}")
    engine = engine_in("here", text)
    when = "what is not netgroupd's goes with the addresses that it sends from"
    assert engine.diff().warnings == (
        f"{when}: routes of proto bird (1) on e0",
        f"{when} for a moment, and is given back: routes of proto static (1) on e0",
    )
    shown = f"ip {'-6' if ':' in source else '-4'} route show proto static"
    before = here(shown)
    _refuse_last(engine_in, text)
    assert here(shown) == before
    engine.apply()
    assert here(shown) == before


@pytest.mark.parametrize("stays", ["10.0.0.6/24", "10.1.0.6/24"], ids=["of_its_subnet", "of_another"])
def test_routes_of_others_that_send_from_an_address_that_goes_are_told(engine_in: EngineIn, stays: str) -> None:
    engine_in("here", _ADDRESSED % (f"10.0.0.5/24, {stays}", "")).apply()
    here("ip route add 10.9.1.0/24 dev e0 src 10.0.0.5 proto static")
    result = engine_in("here", _ADDRESSED % (stays, "")).apply()
    (told,) = result.plan.warnings
    assert told.endswith(": routes of proto static (1) on e0")
    assert "given back" not in told


def test_neighbour_that_a_link_without_arp_has_by_itself_has_its_new_mac(engine_in: EngineIn) -> None:
    engine_in("here", "{}")
    for command in ("link add e0 address 02:00:00:00:00:01 up type dummy", "address add 192.0.2.1/24 dev e0"):
        here(f"ip {command}")
    send = ["ip", "netns", "exec", "here", "bash", "-c", "echo > /dev/udp/192.0.2.9/9"]
    subprocess.run(send, check=True)
    assert "lladdr 02:00:00:00:00:01 NOARP" in here("ip neighbour show nud all")
    engine = engine_in("here", "links: {e0: {mac: 02:00:00:00:00:02}}")
    assert not engine.diff().warnings
    engine.apply()
    subprocess.run(send, check=True)
    assert "lladdr 02:00:00:00:00:02 NOARP" in here("ip neighbour show nud all")
