# SPDX-License-Identifier: GPL-2.0-or-later
"""What was there before a change, for a goal that gives it back: the MTU that ports have lent their bridges."""

from netgroupd.engine.kept.giving_back import Return
from netgroupd.engine.kept.lent import ALONE
from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan.owned import Owned


def link(name: str, **attrs: Value) -> Object:
    return Object("link", (name,), attrs)


def given_back(bridges: int, *links: Object, desired: State) -> dict[str, Value]:
    """The MTU that bridges get back which lost the one of their ports to one that they were told."""
    was = [link(f"br{number}", mtu=None) for number in range(bridges)]
    made = [link(bridge.name, mtu=1300) for bridge in was]
    actual = State([*(link(bridge.name, kind="bridge", mtu=1300, group=0) for bridge in was), *links])
    found = Return(was, made, desired, actual, Owned()).objects()
    return {obj.name: obj.attrs["mtu"] for obj in found}


def test_bridge_gets_back_the_least_mtu_of_the_ports_that_it_will_have() -> None:
    ports = [link("a", master="br0", mtu=1400), link("b", master="br0", mtu=1350), link("c", master="br1", mtu=1310)]
    desired = State([link("b", master="br1"), link("a", mtu=1420)])
    assert given_back(3, *ports, desired=desired) == {"br0": 1420, "br1": 1310, "br2": ALONE}
