# SPDX-License-Identifier: GPL-2.0-or-later
"""What others have on links that a change leaves as they are, and that putting it back makes anew: it is back too."""

import re

import pytest

from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

_TEAM = "links: {t: {kind: team, up: true%s}, d: {kind: dummy, up: true}}\n"
_MADE = {
    "queue": ("tc qdisc add dev t root handle 7: pfifo limit 77", "tc qdisc show dev t"),
    "rule": (
        "tc qdisc add dev t clsact",
        "tc filter add dev t ingress pref 5 protocol ip flower dst_ip 10.0.0.1 action drop",
        "tc filter show dev t ingress",
    ),
    "rule_that_leads_to_it": (
        "tc qdisc add dev d clsact",
        "tc filter add dev d ingress pref 5 protocol ip flower dst_ip 10.0.0.1 action mirred egress redirect dev t",
        "tc filter show dev d ingress",
    ),
    "setting": (
        "ip netns exec here sh -c 'echo 2 > /proc/sys/net/ipv4/conf/t/rp_filter'",
        "ip netns exec here cat /proc/sys/net/ipv4/conf/t/rp_filter",
    ),
    "address": ("ip address add 10.0.0.1/24 dev t", "ip -br address show dev t scope global"),
    "neighbour": ("ip neighbour add 10.0.0.7 lladdr 02:00:00:00:00:07 dev t", "ip neighbour show dev t nud permanent"),
    "route": ("ip route add 10.1.0.0/16 dev t", "ip route show dev t"),
}


def _told(shown: str) -> str:
    return re.sub(r"index \d+", "", here(shown))


@pytest.mark.parametrize("name", _MADE)
def test_is_there_again(engine_in: EngineIn, name: str) -> None:
    engine_in("here", _TEAM % "").apply()
    *commands, shown = _MADE[name]
    for command in commands:
        here(command)
    before = _told(shown)
    assert before
    engine_in("here", _TEAM % ", mode: activebackup").apply(confirm_s=60.0)
    engine_in("here", _TEAM % "").rollback()
    assert _told(shown) == before


def test_nothing_is_said_of_what_goes_for_good_with_links_of_the_change(engine_in: EngineIn) -> None:
    files = "links: {d: {kind: dummy, up: true}%s}\n"
    engine_in("here", files % "").apply()
    engine_in("here", files % ", t: {kind: dummy, up: true}").apply(confirm_s=60.0)
    for *commands, _ in _MADE.values():
        for command in commands:
            here(command)
    assert not engine_in("here", files % "").rollback().plan.warnings


def test_address_that_a_tunnel_has_by_itself_is_nobodys_to_give_back(engine_in: EngineIn) -> None:
    text = "links: {l: {kind: dummy, addresses: [192.0.2.1/24]}, t: {kind: %s, up: true}}"
    engine_in("here", text % "dummy").apply()
    engine_in("here", text % "sit, local: 192.0.2.1, remote: 192.0.2.2").apply(confirm_s=60.0)
    assert "fe80::c000:201/64" in here("ip -br address show dev t")
    engine_in("here", text % "dummy").rollback()
    assert "fe80::c000:201" not in here("ip -br address show dev t")


@pytest.mark.parametrize("ends", ["local: 192.0.2.1", "remote: 192.0.2.2", "local: 192.0.2.1, remote: 192.0.2.2"])
def test_addresses_that_a_tunnel_has_of_ipv4_are_told_of_nobody(engine_in: EngineIn, ends: str) -> None:
    text = "links: {l: {kind: dummy, up: true, addresses: [192.0.2.1/24, 198.51.100.1/24]}, t: {kind: sit, up: true%s}}"
    engine_in("here", text % f", {ends}").apply()
    assert "c000:201" in here("ip -br address show dev t") or "::192.0.2.1" in here("ip -br address show dev t")
    assert not engine_in("here", text % f", {ends}, mode: any").diff().warnings
    here("ip address flush dev l")  # of which it keeps what it was given
    captured = engine_in("here", "{}").capture()
    assert not [begin for begin in ('"::', "fe80:") if begin in captured]
    here("ip address add fd00::5/64 dev t")
    assert "addresses (1) on t" in str(engine_in("here", text % f", {ends}, mode: any").diff().warnings)


@pytest.mark.parametrize(
    ("was", "kind"),
    [
        ("dummy", "sit, local: 192.0.2.1, remote: 192.0.2.2, isatap: true"),
        ("sit, local: 192.0.2.1, remote: 192.0.2.2", "sit, local: 192.0.2.1, remote: 192.0.2.2, isatap: true"),
        ("dummy", "ip6tnl, local: '2001:db8::1', remote: '2001:db8::2'"),
    ],
    ids=["sit", "isatap", "ip6tnl"],
)
def test_settings_that_a_link_of_another_kind_has_by_itself_are_not_given_to_it(
    engine_in: EngineIn, was: str, kind: str
) -> None:
    text = "links: {t: {kind: %s, up: true}}\n"
    places = " ".join(f"/proc/sys/net/{family}/conf/t" for family in ("ipv4", "ipv6"))
    settings = f"ip netns exec here grep -r --exclude=stable_secret . {places}"
    engine_in("here", text % was).apply()
    before = here(settings)
    engine_in("here", text % kind).apply(confirm_s=60.0)
    engine_in("here", text % was).rollback()
    assert here(settings) == before
