# SPDX-License-Identifier: GPL-2.0-or-later
"""Policers that rules have without actions, as other programs still make them: rules like any other."""

import pytest

from tests.vm.by_hand_cases import Host
from tests.vm.hosts import EngineIn, here
from tests.vm.test_capture_by_hand import adopted

_ALONE = Host(
    """
    ip link add e0 up type dummy
    ip link add e1 up type dummy
    tc qdisc add dev e0 handle ffff: ingress
    tc filter add dev e0 ingress protocol ip prio 50 u32 match ip src 0/0 police rate 1mbit burst 10k drop flowid :1
    tc filter add dev e0 ingress protocol all prio 51 u32 match u32 0 0 police rate 8mbit burst 1024k mtu 64kb drop
    tc filter add dev e0 ingress protocol ip prio 52 handle 5 fw police rate 1mbit burst 10k conform-exceed drop/pipe
    tc filter add dev e0 ingress protocol ip prio 53 basic police rate 3mbit burst 10k overhead 4 continue
    tc qdisc add dev e1 root handle 1: prio
    tc filter add dev e1 parent 1: protocol ip prio 4 handle 7 flow map key dst addend 1 police rate 3mbit burst 10k
    tc filter add dev e1 parent 1: protocol ip prio 5 bpf bytecode '1,6 0 0 9' police rate 3mbit burst 10k classid 1:1
    tc actions add action police rate 5mbit burst 20k index 9
    tc filter add dev e1 parent 1: protocol ip prio 6 u32 match ip dst 10.0.0.1 police index 9 flowid 1:2
    """,
    (
        '{pref: 50, u32: {match: ["0x00000000/0x00000000 at 12"]}, parent: ingress, protocol: ip, classid: "0:1", '
        'action: [{police: {control: drop, rate: "1mbit", burst: 10240}}]}',
        'action: [{police: {control: drop, rate: "8mbit", burst: 1048576, mtu: 65536}}]}',
        'protocol: ip, action: [{police: {control: drop, rate: "1mbit", burst: 10240, conform: pipe}}]}',
        'action: [{police: {control: continue, overhead: 4, rate: "3mbit", burst: 10240}}]}',
        '{pref: 4, flow: {addend: 1, keys: [dst], mode: map}, parent: "1:", protocol: ip, '
        'action: [{police: {rate: "3mbit", burst: 10240}}]}',
        'classid: "1:1", action: [{police: {rate: "3mbit", burst: 10240}}]}',
        'classid: "1:2", action: ["police 9"]}',
    ),
)
_MEASURED = Host(
    """
    ip link add e0 up type dummy
    tc qdisc add dev e0 root handle 1: prio
    tc filter add dev e0 parent 1: protocol ip estimator 1sec 8sec prio 1 u32 match ip dst 10.0.0.2 police avrate 5mbit
    """,
)


@pytest.mark.vm("stock")  # what is read is what any kernel tells
def test_policers_without_actions_are_adopted_and_come_again(engine_in: EngineIn) -> None:
    _made(engine_in, _ALONE)
    adopted(engine_in, _ALONE)


def _made(engine_in: EngineIn, host: Host) -> None:
    engine_in("here", "{}")
    for command in filter(None, map(str.strip, host.made.splitlines())):
        here(command)


@pytest.mark.vm("stock")
def test_policer_by_a_rate_that_the_kernel_measures_is_told_to_be_left_out(engine_in: EngineIn) -> None:
    _made(engine_in, _MEASURED)
    comment, *rest = engine_in("here", "{}").capture().splitlines()
    assert comment.startswith("# left out (there is no action police avrate in a configuration")
    assert comment.endswith(": filter e0 1: pref 1 match 0x0a000002/0xffffffff at 16")
    assert "police" not in "".join(rest)
