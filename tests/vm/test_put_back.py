# SPDX-License-Identifier: GPL-2.0-or-later
"""What a refused change leaves: links, addresses and nexthops as they were, also where the kernel took more along."""

import pytest

from netgroupd.kernel.request import Selection
from tests.engine.universe import state_of
from tests.vm.stumbling import Stumbling, become, refused_and_back, there_and_back, told

_ANOTHER = "b: {kind: dummy, alias: b}"
_PORT = "a: {kind: dummy, master: br%s}, br: {kind: bridge}"
BEFORE_AND_AFTER = {
    "what_light_ones_were": ("links: {a: {kind: dummy}}", "links: {a: {kind: dummy, lightweight: true}, %s}"),
    "what_those_without_ip_were": ("links: {a: {kind: dummy}}", "links: {a: {kind: dummy, l2only: true}, %s}"),
    "nexthop_to_send_to_instead": (
        "links: {%s}" % (_PORT % ""),
        "links: {%s, %%s}" % (_PORT % ", port: {backup_nhid: 3}"),
    ),
}


@pytest.mark.vm("patched")
@pytest.mark.parametrize("name", BEFORE_AND_AFTER)
def test_comes_back_after_any_refusal(kernel: Stumbling, name: str) -> None:
    before, after = BEFORE_AND_AFTER[name]
    become(kernel, state_of(before))
    there_and_back(kernel, state_of(after % _ANOTHER), refused=True)


_RING = "links: {a: {kind: dummy, mac: '02:00:00:00:00:0%s'}, b: {kind: dummy}, c: %s}"
_FOLLOWING = {
    "mac_of_a_ring": _RING % ("%s", "{kind: hsr, slave1: a, slave2: b}"),
    "mac_of_an_ipvlan": _RING % ("%s", "{kind: ipvlan, link: a}"),
}


@pytest.mark.vm("stock")
@pytest.mark.parametrize("name", _FOLLOWING)
def test_what_is_never_told_follows(kernel: Stumbling, name: str) -> None:
    become(kernel, state_of(_FOLLOWING[name] % 1))
    there_and_back(kernel, state_of(_FOLLOWING[name] % 2))


@pytest.mark.vm("stock")
def test_forwarding_entry_leads_through_a_link_that_is_made_again(kernel: Stumbling) -> None:
    text = """
    links: {a: {kind: %s}, x: {kind: vxlan, id: 7, dstport: 4789}}
    fdb: [{dev: x, mac: '02:00:00:00:00:07', where: self, dst: 192.0.2.9, via: a}]
    """
    become(kernel, state_of(text % "dummy"))
    there_and_back(kernel, state_of(text % "ifb"), refused=True)


@pytest.mark.vm("stock")
def test_bond_gets_another_mac_when_its_last_port_leaves(kernel: Stumbling) -> None:
    text = "links: {d: {kind: dummy, master: %s}, b: {kind: bond, mac: '02:00:00:00:00:0%s'}}"
    become(kernel, state_of(text % ("b", 1)))
    there_and_back(kernel, state_of(text % ("null", 2)), refused=True)


_IPVLANS = "links: {a: {kind: dummy}, b: {kind: ipvlan, link: a, mode: %s}, c: {kind: ipvlan, link: a, mode: %s}%s}"


@pytest.mark.vm("stock")
@pytest.mark.parametrize("more", ["", ", d: {kind: ipvtap, link: a, mode: l2}"])
def test_mode_of_all_ipvlans_of_a_link_is_as_it_was(kernel: Stumbling, more: str) -> None:
    become(kernel, state_of(_IPVLANS % ("l3", "l3", "")))
    there_and_back(kernel, state_of(_IPVLANS % ("l2", "l2", more)), refused=True)


@pytest.mark.vm("stock")
def test_addresses_of_a_link_that_was_made_again_come_back_in_their_order(kernel: Stumbling) -> None:
    addresses = "addresses: ['fd00::1/64', 'fd00::2/64', 10.0.0.2/24, 10.0.0.1/24]"
    become(kernel, state_of(f"links: {{a: {{kind: dummy, up: true, {addresses}}}}}"))

    def listed() -> list[str]:
        return [line.split()[3] for line in told("ip", "-o", "address", "show", "scope", "global").splitlines()]

    there_and_back(kernel, state_of("links: {a: {kind: ifb, up: true}, b: {kind: dummy}}"), listed, refused=True)


@pytest.mark.vm("stock")
def test_group_whose_only_nexthop_was_to_go_without_it_comes_back(kernel: Stumbling) -> None:
    group = "4: {group: [{id: 3}], fdb: true}"
    become(kernel, state_of(f"nexthops: {{3: {{via: 192.0.2.8, fdb: true}}, {group}}}"))
    goal = state_of(f"nexthops: {{{group}}}")
    refused_and_back(kernel, goal)


_OWN_MACS = {"a": "02:00:00:00:00:01", "b": "02:00:00:00:00:02"}


@pytest.mark.vm("stock")
@pytest.mark.parametrize("kind", ["bond, mode: 802.3ad", "bond, mode: active-backup, primary: a", "team"])
def test_ports_have_their_own_macs_when_they_leave_what_was_to_be_changed(kernel: Stumbling, kind: str) -> None:
    said = [f"{name}: {{kind: dummy, mac: '{mac}'}}" for name, mac in _OWN_MACS.items()]
    become(kernel, state_of(f"links: {{{', '.join(said)}}}"))
    ports = "a: {kind: dummy%s}, b: {kind: dummy%s}"
    within, half, without = (ports % masters for masters in ((", master: m",) * 2, (", master: m", ""), ("", "")))
    become(kernel, state_of(f"links: {{{within}, m: {{kind: {kind}}}}}"))
    there_and_back(kernel, state_of(f"links: {{{half}, m: {{kind: bond, mode: balance-xor}}}}"), refused=True)
    become(kernel, state_of(f"links: {{{without}}}"))
    links = kernel.dump(Selection(links=frozenset(_OWN_MACS))).of("link")
    assert {link.name: link.attrs["mac"] for link in links.values()} == _OWN_MACS
