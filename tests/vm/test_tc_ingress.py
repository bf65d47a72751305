# SPDX-License-Identifier: GPL-2.0-or-later
"""The qdisc ingress in the place of clsact: the kernel tells its rules under whichever hook it is asked for."""

import pytest

from tests.vm.hosts import EngineIn, here

_LINK = "links: {d: {kind: dummy, up: true}}\n"
_RULE = 'protocol: ip, flower: {dst_ip: "10.0.0.[1-3]"}, action: drop}'
_INGRESS = f"{_LINK}tc: {{d: {{qdiscs: {{kind: ingress}}, filters: [{{parent: ingress, pref: 4, {_RULE}]}}}}\n"


@pytest.mark.parametrize("hook", ["ingress", "egress"])
def test_rules_of_ingress_take_the_place_of_those_of_clsact(engine_in: EngineIn, hook: str) -> None:
    clsact = f"{_LINK}tc: {{d: {{{hook}: [{{pref: 5, {_RULE}]}}}}\n"
    for text in (clsact, _INGRESS, clsact):
        engine_in("here", text).apply()
        assert not engine_in("here", text).diff().steps
        assert here("tc filter show dev d ingress").count("dst_ip") == (0 if (text, hook) == (clsact, "egress") else 3)
