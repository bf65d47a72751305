# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plan says it takes is what is sent: most steps are one message, and these are more or none."""

import pytest

from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import Value
from netgroupd.plan.messages import messages
from netgroupd.plan.step import AnyStep, Op, RangeStep, Step
from netgroupd.plan.without_mac import BY_A_PORT


def _change(cls: str, before: Attrs, after: Attrs) -> Step:
    was, then = (Object(cls, ("e0", 1, 0, 5, ()), attrs) for attrs in (before, after))
    return Step(Op.CHANGE, was, then, {name: value for name, value in after.items() if before.get(name) != value})


def _link(**attrs: Value) -> Object:
    return Object("link", ("d0",), {"kind": "dummy", **attrs})


def _changed(before: Object, **attrs: Value) -> Step:
    return Step(Op.CHANGE, before, before._replace(attrs={**before.attrs, **attrs}), attrs)


def _create(want: Object) -> Step:
    return Step(Op.CREATE, None, want, want.attrs)


_NAMED = _link(altnames=("a", "b"))
_RULE = {"kind": "u32", "protocol": "ip"}
_GONE = Step(Op.DELETE, Object("filter", ("e0", "ingress", 0, 5, ()), _RULE), None)
_STEPS: dict[str, tuple[AnyStep, int]] = {
    "made": (_create(_link(mtu=1400)), 1),
    "made_with_what_is_forgotten": (_create(_link(alias="x", carrier=False)), 2),
    "made_with_names": (_create(_link(altnames=("a", "b"))), 2),
    "made_without_names": (_create(_link(altnames=())), 1),
    "made_with_both": (_create(_link(alias="x", altnames=("a",))), 3),
    "wireguard": (_create(_link(kind="wireguard", listen_port=5)), 2),
    "wireguard_without_options": (_create(_link(kind="wireguard")), 1),
    "option_of_wireguard": (_changed(_link(kind="wireguard"), listen_port=5), 1),
    "alias": (_changed(_link(), alias="x"), 1),
    "another_name": (_changed(_NAMED, altnames=("a", "c")), 2),
    "one_name_more": (_changed(_NAMED, altnames=("a", "b", "c")), 1),
    "one_name_less_and_more": (_changed(_NAMED, altnames=("a",), mtu=1400), 2),
    "deleted": (Step(Op.DELETE, _NAMED, None), 1),
    "filter": (_change("filter", _RULE, {**_RULE, "actions": ()}), 1),
    "filter_with_other_flags": (_change("filter", _RULE, {**_RULE, "skip_hw": True}), 2),
    "matchall": (_change("filter", {"kind": "matchall"}, {"kind": "matchall", "actions": ()}), 2),
    "preference_of_u32": (RangeStep(Op.DELETE, (_GONE, _GONE)), 2),
    "rule": (_change("rule", {"lookup": 254}, {"lookup": 7}), 2),
    "driver_left_alone": (Step(Op.DELETE, Object("ethtool", ("e0", "rings"), {}), None), 0),
    "vlan": (_change("bridge_vlan", {}, {"untagged": True}), 1),
    "vlan_that_goes": (Step(Op.DELETE, Object("bridge_vlan", ("e0", 1), {"tunnel_id": 5}), None), 1),
    "vlan_put_out": (_change("bridge_vlan", {}, {"member": False}), 2),
    "vlan_of_a_tunnel": (_change("bridge_vlan", {}, {"tunnel_id": 5}), 1),
    "vlan_of_another_tunnel": (_change("bridge_vlan", {"tunnel_id": 5}, {"tunnel_id": 6}), 2),
    "vlan_of_no_tunnel": (_change("bridge_vlan", {"tunnel_id": 5}, {"tunnel_id": None}), 2),
    "vlan_of_a_tunnel_that_stays": (_change("bridge_vlan", {"tunnel_id": 5}, {"untagged": True}), 1),
    "vlan_by_a_port": (_change("bridge_vlan", {}, {"untagged": True, BY_A_PORT: True}), 3),
}


@pytest.mark.parametrize(("step", "want"), _STEPS.values(), ids=_STEPS)
def test_step_is_as_many_messages_as_it_takes(step: AnyStep, want: int) -> None:
    assert messages([step, step]) == 2 * want
