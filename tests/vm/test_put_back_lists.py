# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists that a change has filled are empty again when what was there is put back."""

import json

import pytest

from netgroupd.model.state import State
from tests.engine.universe import state_of
from tests.vm.stumbling import Stumbling, become, there_and_back, to_and_fro, told

pytestmark = pytest.mark.vm("stock")


@pytest.mark.parametrize("kind", ["macvlan", "macvtap"])
def test_what_lists_senders_lists_none_any_more(kernel: Stumbling, kind: str) -> None:
    text = "links: {d: {kind: dummy}, m: {kind: %s, link: d, mode: %s}}"
    before = state_of(text % (kind, "private"))
    become(kernel, before)
    there_and_back(kernel, state_of(text % (kind, "source, macaddr: ['02:00:00:00:00:03']")))
    become(kernel, state_of(text % (kind, "source, macaddr: ['02:00:00:00:00:03']")))
    become(kernel, state_of(text % (kind, "source, macaddr: []")))
    become(kernel, state_of(text % (kind, "bridge, macaddr: []")))


@pytest.mark.parametrize("to", ["10.0.0.0/8", "'2001:db8:9::/48'"])
def test_metrics_of_a_route_are_not_locked_any_more(kernel: Stumbling, to: str) -> None:
    text = "links: {d: {kind: dummy, up: true}}\nroutes: [{to: %s, dev: d, mtu: 1400%s}]\n"
    become(kernel, state_of(text % (to, "")))
    there_and_back(kernel, state_of(text % (to, ", lock: [mtu]")))


@pytest.mark.parametrize(("entries", "after"), [((0,), (5,)), ((0, 5), (5,)), ((5,), (0, 5)), ((6, 0), (5, 6))])
def test_port_forwards_in_one_vlan_and_not_in_all(
    kernel: Stumbling, entries: tuple[int, ...], after: tuple[int, ...]
) -> None:
    def of(vlans: tuple[int, ...]) -> State:
        listed = [{"mac": "02:00:00:00:00:07", "where": "master", "vlan": vlan} for vlan in vlans]
        port = {"kind": "dummy", "master": "br", "vlans": [{"vid": 5}, {"vid": 6}], "fdb": listed}
        return state_of(json.dumps({"links": {"br": {"kind": "bridge", "vlan_filtering": True}, "p": port}}))

    to_and_fro(kernel, of(entries), of(after), lambda: sorted(told("bridge", "fdb", "show", "brport", "p").split("\n")))
