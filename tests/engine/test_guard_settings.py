# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of the kernel by which nobody is found any more, or that end a learned route: refused where they would."""

import pytest

from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.state import Object
from tests.engine.desk import Desk
from tests.engine.test_guard import LOCAL, refused


@pytest.mark.parametrize(
    ("accepts", "said", "cut"),
    [
        pytest.param("1", "{net.ipv6.conf.all.forwarding: 1}", True, id="of_all"),
        pytest.param("1", "{net.ipv6.conf.eth2.forwarding: 1}", True, id="of_another_link"),
        pytest.param("1", "{net.ipv6.conf.default.forwarding: 1}", False, id="of_links_to_come"),
        pytest.param("1", "{net.ipv6.conf.eth2.forwarding: 0}", False, id="that_ends"),
        pytest.param("1", "{net.ipv4.conf.all.forwarding: 1}", False, id="of_the_other_protocol"),
        pytest.param("2", "{net.ipv6.conf.all.forwarding: 1}", False, id="kept_already"),
        pytest.param("0", "{net.ipv6.conf.all.forwarding: 1}", False, id="learned_by_another_program"),
        pytest.param("1", "{net.ipv6.conf.all.forwarding: 1, net.ipv6.conf.eth1.accept_ra: 2}", False, id="kept"),
    ],
)
def test_forwarding_that_ends_the_route_of_an_advertisement_is_refused(
    desk: Desk, accepts: str, said: str, cut: bool
) -> None:
    was = {"accept_ra": accepts, "forwarding": "0"}
    there = [Object("sysctl", (f"net/ipv6/conf/eth1/{name}",), {"value": value}) for name, value in was.items()]
    told = refused(desk, there, Route("eth1", LOCAL, learned=True), f"sysctl: {said}")
    assert ("give 'eth1' the sysctl ipv6.accept_ra: 2, or --allow eth1 says that it is meant" in told) == cut
    assert refused(desk, there, Route("eth1", LOCAL), f"sysctl: {said}") == ""


@pytest.mark.parametrize(
    ("accepts", "said", "cut"),
    [
        pytest.param("1", "{net.ipv6.conf.eth1.accept_ra: 0}", True, id="to_nothing_any_more"),
        pytest.param("2", "{net.ipv6.conf.eth1.accept_ra: 0}", True, id="to_nothing_any_more_though_it_forwards"),
        pytest.param("1", "{net.ipv6.conf.eth1.accept_ra_defrtr: 0}", True, id="to_no_router"),
        pytest.param("0", "{net.ipv6.conf.eth1.accept_ra_defrtr: 0}", False, id="learned_by_another_program"),
        pytest.param("1", "{net.ipv6.conf.eth2.accept_ra: 0}", False, id="of_another_link"),
        pytest.param("1", "{net.ipv6.conf.all.accept_ra: 0}", False, id="of_all_which_the_kernel_does_not_ask"),
    ],
)
def test_link_that_no_longer_listens_to_the_router_that_it_has_its_route_from_is_refused(
    desk: Desk, accepts: str, said: str, cut: bool
) -> None:
    was = {"accept_ra": accepts, "accept_ra_defrtr": "1"}
    there = [Object("sysctl", (f"net/ipv6/conf/eth1/{name}",), {"value": value}) for name, value in was.items()]
    told = refused(desk, there, Route("eth1", LOCAL, learned=True), f"sysctl: {said}")
    assert ("would cut the way of your session" in told) == cut
    assert refused(desk, there, Route("eth1", LOCAL), f"sysctl: {said}") == ""


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        pytest.param("{net.ipv4.conf.eth1.arp_ignore: 8}", True, id="nothing_of_this_link"),
        pytest.param("{net.ipv4.conf.all.arp_ignore: 8}", True, id="nothing_of_any_link"),
        pytest.param("{net.ipv4.conf.eth1.arp_ignore: 1}", False, id="only_what_asks_for_addresses_of_the_link"),
        pytest.param("{net.ipv4.conf.eth2.arp_ignore: 8}", False, id="of_another_link"),
        pytest.param("{net.ipv4.conf.default.arp_ignore: 8}", False, id="of_links_to_come"),
        pytest.param("{net.ipv6.conf.eth1.router_solicitations: 8}", False, id="another_setting_of_that_value"),
    ],
)
def test_link_that_is_to_answer_no_arp_is_refused(desk: Desk, said: str, cut: bool) -> None:
    there = [Object("link", ("eth1",), {"up": True})]
    assert ("would cut the way of" in refused(desk, there, Route("eth1", LOCAL), f"sysctl: {said}")) == cut
    there = [Object("link", ("eth1",), {"up": True, "arp": False})]  # nobody asks for it
    assert refused(desk, there, Route("eth1", LOCAL), f"sysctl: {said}") == ""
