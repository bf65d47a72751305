# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of which no two may be alike, that take over what others give up, on a real kernel."""

import pytest

from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import look
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.transaction import plan_for, plan_now
from tests.engine.universe import state_of
from tests.vm.stumbling import MINE, Stumbling, become, there

pytestmark = pytest.mark.vm("stock")  # the messages are the same on both

_IPV4 = "local: 192.0.2.1, remote: 10.0.0.{}"
_IPV6 = "local: '2001:db8::1', remote: '2001:db8::f:{}'"
UNIQUE = {
    **dict.fromkeys(("gre", "gretap", "ipip", "sit", "vti"), _IPV4),
    **dict.fromkeys(("ip6gre", "ip6gretap", "ip6tnl", "vti6"), _IPV6),
    "erspan": f"ikey: 5, okey: 5, {_IPV4}",
    "ip6erspan": f"ikey: 5, okey: 5, {_IPV6}",
    "gre key": "local: 192.0.2.1, remote: 10.0.0.1, ikey: {0}, okey: {0}",
    "gre local": "local: 192.0.2.{}, remote: 10.0.0.1",
    "xfrm": "if_id: {}",
    "wireguard": "listen_port: 5182{}",
    "vxlan": "id: {}, dstport: 4789",
    "geneve": "id: {}, remote: 192.0.2.1",
    "geneve remote": "id: 7, remote: 192.0.2.{}",
    "bareudp": "dstport: 663{}, ethertype: mpls_uc",
    "vrf": "table: 100{}",
    "vlan": "link: low, id: {}",
    "macvlan": "link: low, mac: '02:00:00:00:00:0{}'",
}


def _links(name: str, values: tuple[int, ...]) -> str:
    kind = name.partition(" ")[0]
    links = [f"t{n}: {{kind: {kind}, up: true, {UNIQUE[name].format(value)}}}" for n, value in enumerate(values)]
    return "links: {low: {kind: dummy, up: true}, " + ", ".join(links) + "}"


SHIFTED, EXCHANGED, IN_A_CIRCLE = (2, 3, 4), (2, 1, 3), (2, 3, 1)


@pytest.mark.parametrize("name", UNIQUE)
def test_links_take_over_what_others_give_up(kernel: Stumbling, name: str) -> None:
    become(kernel, state_of(_links(name, (1, 2, 3))))
    for values in (SHIFTED, EXCHANGED, IN_A_CIRCLE):
        goal = state_of(_links(name, values))
        actual = look(kernel, goal, MINE)
        plan, before = plan_for(kernel, goal, actual, MINE), there(kernel, goal)
        become(kernel, goal)
        assert not plan_now(kernel, goal, MINE)[0].steps
        put_back(kernel, Snapshot.of(plan, actual), MINE)
        assert there(kernel, goal) == before
