# SPDX-License-Identifier: GPL-2.0-or-later
"""One link or VRF is shown as among all others, without these being read."""

import pytest

from netgroupd.cli.show import _brief, _choose
from netgroupd.model.state import State
from netgroupd.plan.present import objects_text
from tests.vm.hosts import EngineIn, here

pytestmark = pytest.mark.vm

VRFS = """
links:
  d[n=1-9]: {kind: dummy, up: true, addresses: ["10.0.{n}.1/24", "fd0{n}::1/64"]}
vrfs:
  red: {table: 7, up: true, links: "d[1-2]"}
  blue: {table: 8, up: true, links: d3}
routes:
  - {to: 10.9.0.0/16, via: 10.0.1.2, vrf: red}
  - {to: "2001:db8::/32", via: "fd02::2", vrf: red}
  - {to: 10.9.0.0/16, via: 10.0.3.2, vrf: blue}
  - {to: 10.9.0.0/16, via: 10.0.4.2}
neighbours:
  - {dev: d2, ip: 10.0.2.2, lladdr: "02:00:00:00:00:02"}
  - {dev: d2, ip: 10.0.2.3, proxy: true}
  - {dev: d3, ip: 10.0.3.2, lladdr: "02:00:00:00:00:03"}
"""


def shown(what: str, name: str, state: State) -> list[tuple[object, ...]]:
    return sorted((*obj[:2], obj.attrs) for obj in _choose(what, name, state, {}))


@pytest.mark.parametrize(("what", "name", "links"), [("link", "d3", 1), ("vrf", "red", 3)])
def test_what_is_shown_alone_is_all_that_is_read(engine_in: EngineIn, what: str, name: str, links: int) -> None:
    engine = engine_in("here", VRFS)
    engine.apply()
    here("ip link add theirs master red type dummy")
    alone = engine.looked_after(what, name)
    assert len(alone.of("link")) == links
    assert shown(what, name, alone) == shown(what, name, engine.looked_after())
    assert {key[1] for key in alone.of("route")} <= {7}
    assert {key[0] for cls in ("address", "neighbour") for key in alone.of(cls)} <= {"d1", "d2"}


@pytest.mark.parametrize(("what", "name"), [("link", "theirs"), ("link", "nobody"), ("vrf", "d1"), ("vrf", "nobody")])
def test_what_is_not_to_be_shown_is_looked_for_among_all(engine_in: EngineIn, what: str, name: str) -> None:
    engine = engine_in("here", VRFS)
    engine.apply()
    here("ip link add theirs type dummy")
    assert len(engine.looked_after(what, name).of("link")) == 11


def test_queues_that_the_kernel_numbers_are_one_line_and_actions_are_as_they_were_said(engine_in: EngineIn) -> None:
    queue = "{kind: tbf, rate: 8mbit, burst: 5k, limit: 9k}"
    rule = "{pref: 1, matchall: {}, action: {police: {rate: 8mbit, burst: 5k, control: drop}}}"
    text = f"links: {{'d[1-40]': {{kind: dummy}}}}\ntc: {{'d[1-40]': {{qdiscs: {queue}, ingress: {rule}}}}}\n"
    engine = engine_in("here", text)
    engine.apply()
    applied, there = engine.applied(), engine.looked_after()
    told = [objects_text((_brief(obj, applied) for obj in there.of(cls).values()), {}) for cls in ("qdisc", "filter")]
    assert "\n".join(told).splitlines() == [
        "qdisc d[1-40]  root  kind tbf  rate 8mbit  burst 5120  limit 9216 (40)",
        "qdisc d[1-40]  clsact  kind clsact (40)",
        "filter d[1-40] ingress pref 1  kind matchall  protocol all"
        "  actions (kind police control drop rate 8mbit burst 5120) (40)",
    ]
