# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes and groups of several ways that are put back when one of the ways is dead by then: by the others they lead."""

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.errors import KernelError
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm("stock")

_LINK = "  {}: {{kind: dummy, up: on, addresses: [10.{}.0.1/24, {{address: '2001:db8:{}::1/64', nodad: on}}]}}\n"
LINKS = "links:\n" + "".join(_LINK.format(name, number, number) for name, number in (("wa", 7), ("wb", 8), ("wc", 9)))
WAYS = """routes:
  - {to: 10.2.0.0/16, nexthops: [{via: 10.7.0.9, dev: wa}, {via: 10.8.0.9, dev: wb}, {via: 10.9.0.9, dev: wc}]}
  - to: 2001:db8:2::/48
    nexthops: [{via: "2001:db8:7::9", dev: wa}, {via: "2001:db8:8::9", dev: wb}, {via: "2001:db8:9::9", dev: wc}]
"""
NEXTHOPS = """nexthops:
  1: {via: 10.7.0.9, dev: wa}
  2: {via: 10.8.0.9, dev: wb}
  3: {via: 10.9.0.9, dev: wc}
  9: {group: [{id: 1}, {id: 2, weight: 3}, {id: 3}]}
routes: [{to: 10.2.0.0/16, nhid: 9}]
"""
BY_HAND = (
    "address add 10.6.0.1/24 dev wb",
    "route add 10.2.0.0/16 proto static nexthop via 10.7.0.9 dev wa nexthop via 10.6.0.9 dev wb onlink"
    " nexthop via 10.9.0.9 dev wc",
    "nexthop add id 1 via 10.7.0.9 dev wa",
    "nexthop add id 2 via 10.6.0.9 dev wb onlink",
    "nexthop add id 9 group 1/2,3",
    "route add 10.3.0.0/16 nhid 9",
)
DYING = {"down": "link set wb down", "without_a_network": "address flush dev wb", "gone": "link delete wb"}


def ways() -> list[list[str]]:
    """By which links the routes lead."""
    shown = here("ip -4 route show root 10.2.0.0/15"), here("ip -6 route show 2001:db8:2::/48")
    return [[word for word in text.split() if word in ("wa", "wb", "wc")] for text in shown]


def said(engine: Engine) -> str:
    try:
        return str(engine.expire())
    except KernelError as error:
        return str(error)


@pytest.mark.parametrize("dying", DYING.values(), ids=DYING)
@pytest.mark.parametrize("leading", [WAYS, NEXTHOPS], ids=["ways", "nexthops"])
def test_what_led_by_a_dead_way_too_leads_by_the_others(engine_in: EngineIn, dying: str, leading: str) -> None:
    engine_in("here", LINKS + leading).apply()
    engine = engine_in("here", LINKS)
    engine.apply(confirm_s=0.0)
    here(f"ip {dying}")
    told = said(engine)
    if "flush" in dying:  # the kernel keeps such a nexthop, and such a way
        assert ways() == [["wa", "wb", "wc"], ["wa", "wb", "wc"] if leading is WAYS else []]
        assert "10.8.0.9" not in told
        return
    assert ways() == [["wa", "wc"], ["wa", "wc"] if leading is WAYS else []]
    assert ("route 10.2.0.0/16" if leading is WAYS else "nexthop 2") in told


@pytest.mark.vm("stock", "patched")
@pytest.mark.parametrize("leading", [WAYS, NEXTHOPS], ids=["ways", "nexthops"])
def test_host_that_starts_with_a_dead_way_leads_by_the_others(engine_in: EngineIn, leading: str) -> None:
    engine = engine_in("here", LINKS.replace("wb: {kind: dummy, up: on", "wb: {kind: dummy, up: off") + leading)
    trouble = str(engine.apply(in_part=True).trouble)
    assert ways() == [["wa", "wc"], ["wa", "wc"] if leading is WAYS else []]
    assert ("create route 10.2.0.0/16 via 10.8.0.9 dev wb: " if leading is WAYS else "create nexthop 2: ") in trouble


def test_what_others_led_by_a_dead_way_too_leads_by_the_others(engine_in: EngineIn) -> None:
    engine_in("here", LINKS).apply()
    for command in BY_HAND:
        here(f"ip {command}")
    engine = engine_in("here", LINKS.replace("up: on", "up: off"))
    engine.apply(confirm_s=0.0)
    assert ways() == [[], []]
    here("ip address add 10.6.0.9/24 dev wb")  # no way leads to oneself
    told = said(engine)
    assert ways() == [["wa", "wc", "wa"], []]
    assert "not netgroupd's could not be given back: " in told
    assert "route 10.2.0.0/16 via 10.6.0.9 dev wb: Nexthop has invalid gateway" in told


def test_way_that_was_dead_before_a_refused_change_is_one_again(engine_in: EngineIn) -> None:
    engine_in("here", LINKS + WAYS).apply()
    here("ip link set wb down")
    before = ways()
    assert before == [["wa", "wb", "wc"]] * 2
    engine = engine_in("here", f"{LINKS}{WAYS}nexthops: {{1: {{via: 192.0.2.1, dev: wa}}}}")
    with pytest.raises(KernelError, match="nexthop 1") as error:
        engine.apply()
    assert "put back" not in str(error.value)
    assert ways() == before
