# SPDX-License-Identifier: GPL-2.0-or-later
"""What a configuration will cost, and what is advised instead."""

import pytest

from netgroupd.engine.estimate import estimated
from netgroupd.kernel.usual import Sample
from netgroupd.model.state import State
from tests.engine.universe import state_of


def test_cost_is_per_device_and_entry_and_hardware_costs_nothing() -> None:
    estimate = estimated(state_of("links: {lo: {addresses: ['10.0.0.[1-10]/32']}, 'd[1-4]': {kind: dummy}}"), State())
    assert estimate.bytes == 4 * 44_400 + 10 * 400
    assert {cost.kind: cost.links for cost in estimate.costs} == {"dummy": 4, "address": 10}


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        pytest.param(
            "links: {s: {kind: dummy}, 'b[v=1-100]': {kind: bridge, ports: 's.{v}'}}",
            "vlan_filtering",
            id="vlan_bridges",
        ),
        pytest.param("links: {'v[a=1-20]': {kind: vxlan, id: '{a}', remote: 192.0.2.1}}", "external", id="tunnels"),
        pytest.param("links: {'d[1-1200]': {kind: dummy}}", "lightweight", id="heavy_devices"),
        pytest.param("links: {lo: {addresses: ['10.[0-39].[0-255].1/32']}}", "type: local", id="aliases"),
    ],
)
def test_advice_is_given_where_something_else_costs_less(text: str, advice: str) -> None:
    assert advice in "\n".join(estimated(state_of(text), State()).advice)


def test_no_advice_for_a_modest_host() -> None:
    assert estimated(state_of("links: {'d[1-9]': {kind: dummy}}"), State()).advice == ()


SAMPLES = {"dummy": Sample(1000, 0.01), "bridge": Sample(5000, 0.5)}


def test_time_is_that_of_samples_on_this_kernel() -> None:
    desired = state_of("links: {lo: {addresses: ['10.0.0.[1-10]/32']}, 'd[1-4]': {kind: dummy}, b: {kind: bridge}}")
    measured, emulated = estimated(desired, State(), SAMPLES, "6.12.1"), estimated(desired, State())
    assert measured.seconds == pytest.approx(4 * 0.01 + 0.5 + 10 * 0.001)
    assert emulated.seconds == pytest.approx(5 * 0.0006 + 10 * 0.00006, abs=0.001)
    assert "this kernel, 6.12.1" in measured.rate
    assert "emulated" in emulated.rate


def test_what_was_measured_on_this_kernel_counts_and_is_said() -> None:
    desired = state_of("links: {'d[1-4]': {kind: dummy}, b: {kind: bridge}, 'v[v=1-2]': {kind: vrf, table: '{v}'}}")
    costs = {cost.kind: cost for cost in estimated(desired, State(), SAMPLES, "6.12.1").costs}
    assert (costs["dummy"].bytes, costs["bridge"].bytes, costs["vrf"].bytes) == (4000, 5000, 2000)
    assert costs["bridge"].source == "measured on this kernel, 6.12.1"
    assert costs["vrf"].source.startswith("a dummy, measured on this kernel, 6.12.1")


RULES = """
links: {'d[1-2]': {kind: dummy}}
actions: {"police [1-3]": {rate: 1mbit, burst: 10k, control: drop}}
tc:
  d1:
    ingress: [{pref: 10, protocol: ip, flower: {dst_ip: "10.0.[0-3].[1-250]"}, action: drop}]
    qdiscs: [{kind: htb, handle: "1:"}, {kind: fq_codel, parent: "1:10", handle: "10:"}]
    classes: [{classid: "1:10", rate: 1mbit}]
"""


def test_traffic_control_costs_what_was_measured_of_it() -> None:
    estimate = estimated(state_of(RULES), State())
    costs = {cost.kind: (cost.links, cost.bytes) for cost in estimate.costs}
    assert costs["filter"] == (1000, 2_000_000)
    assert costs["qdisc"] == (3, 9_000 + 6_400 + 72_800)
    assert (costs["action"], costs["tclass"]) == ((3, 2_100), (1, 3_600))
    assert estimate.seconds > 1000 * 0.0001


def test_what_is_there_already_is_not_to_be_added() -> None:
    desired = state_of(RULES)
    there = State(obj for obj in desired if obj.cls != "filter" and obj.name != "d2")
    estimate = estimated(desired, there)
    assert estimate.bytes_to_add == 1000 * 2_000 + 44_400
    assert 0 < estimate.seconds_to_add < estimate.seconds
    assert estimated(desired, desired).bytes_to_add == 0
