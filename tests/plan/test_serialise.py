# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects and plans go through JSON and come back as they were."""

import json

from netgroupd.model.state import Object, Origin, State
from netgroupd.plan.assemble import assemble
from netgroupd.plan.owned import Owned
from netgroupd.plan.serialise import objects_from, objects_to
from tests.engine.universe import state_of
from tests.plan.reading_back import read_back

STACK = """
groups: {tenants: {id: 5, mtu: 9000, up: true}}
links:
  swp[1-6]: {kind: dummy, up: true, mtu: 9216}
  br-[v=1000-1099]: {kind: bridge, ports: "swp[1-6].{v}", group: tenants}
"""


def link(name: str, **attrs: object) -> Object:
    return Object("link", (name,), {"kind": "dummy", "group": 0x4E47_0000, "up": False, **attrs})  # type: ignore[dict-item]


def test_objects_that_are_alike_go_through_json_without_loss() -> None:
    nested = ({"via": "192.0.2.1", "dev": None},)
    objects = (
        link("d1", mtu=1500, alias=None, altnames=("a", "b"), hops=nested),
        link("d2", mtu=9000, alias="x", altnames=(), hops=nested),
        link("d3", mtu=1500, altnames=("a", "b")),
        link("d4", mtu=1500, alias=None, altnames=("a", "b"), hops=())._replace(origin=Origin("a.yaml", 7)),
        Object("address", ("d1", "192.0.2.1/24", None), {"scope": "global"}),
    )
    assert objects_from(json.loads(json.dumps(objects_to(objects)))) == objects


def test_plan_goes_through_json_without_loss() -> None:
    there = State((link("swp1", up=True), link("old"), link("old.1", kind="vlan", link="old", id=1)))
    plan = assemble(state_of(STACK), there, Owned())
    assert len(plan.steps) > len(there)
    assert read_back(plan) == plan.steps
