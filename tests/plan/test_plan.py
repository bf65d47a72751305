# SPDX-License-Identifier: GPL-2.0-or-later
"""Plans as operators read them, and their messages in the order in which they run."""

import pytest

from netgroupd.errors import ConfigError
from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan import present
from netgroupd.plan.assemble import assemble
from netgroupd.plan.coalesce import SCRATCH, SCRATCH_MASTERS, Abilities
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import AnyStep, GroupStep, Op, Plan, RangeStep, Step, classes_of
from tests.engine.universe import state_of

OURS = 0x4E47_0000


def link(name: str, kind: str = "", group: int = OURS, **attrs: object) -> Object:
    """A link as the kernel reports it."""
    there = {"kind": kind, "group": group, "up": False, "mtu": 1500, **attrs}
    return Object("link", (name,), there)  # type: ignore[arg-type]


def planned(text: str, *actual: Object, owned: frozenset[int] = frozenset(), new_group: bool = False) -> Plan:
    """What it takes to get from the actual objects to a configuration."""
    return assemble(state_of(text), State(actual), Owned(owned), Abilities(new_group))


def brief(step: AnyStep) -> str:
    """A message in a few words."""
    assert not isinstance(step, RangeStep)
    said = " ".join(f"{name}={value}" for name, value in step.attrs.items() if name not in ("kind", "link", "id"))
    if isinstance(step, GroupStep):
        return f"{step.op} group {step.group & 0xFFFF:x} {said}".rstrip()
    return f"{step.op} {step.object.cls} {step.object.key[0]} {said}".rstrip()


def messages(plan: Plan) -> list[str]:
    return [brief(step) for step in plan.steps]


HOPS = tuple({"via": f"10.0.0.{number}", "dev": "e0", "weight": number, "onlink": False} for number in (1, 2))
STACK = """
groups: {tenants: {id: 5, mtu: 9000, up: true}}
links:
  swp[1-6]: {kind: dummy, up: true, mtu: 9216}
  br-[v=1000-1099]: {kind: bridge, ports: "swp[1-6].{v}", group: tenants}
"""


def test_reasons_that_name_one_link_each_are_one_line() -> None:
    actual = [link(f"d{number}", "dummy") for number in range(1, 51)]
    actual += [Object("address", (each.name, "2001:db8::1/64", None), {}) for each in actual]
    text = """
    links: {"d[v=1-50]": {kind: dummy, master: "t{v+100}", addresses: ["2001:db8::1/64"]}}
    vrfs: {"t[v=101-150]": {table: "{v}"}}
    """
    assert present.text(planned(text, *actual)).splitlines()[-2:] == [
        "~ address d[1-50]  2001:db8::1/64 (50)  # d{1} enters t101…150",
        "50 to create, 100 to change; 150 messages",
    ]


def peer(letter: str, **attrs: Value) -> dict[str, Value]:
    return {"public_key": letter * 42 + "A=", "allowed_ips": (), "persistent_keepalive": 0, **attrs}


def test_peer_of_wireguard_has_what_is_said_of_it_and_its_last_endpoint() -> None:
    others = peer("B", allowed_ips=("10.2.0.0/16",), endpoint="192.0.2.2:1")
    secret = peer("A", allowed_ips=("10.1.0.0/16",), endpoint="192.0.2.1:1", preshared_key_file="")
    text = f"""
    links:
      w: {{kind: wireguard, peers: [
        {{public_key: {secret["public_key"]}, allowed_ips: 10.1.0.0/16}},
        {{public_key: {others["public_key"]}, allowed_ips: 10.2.0.0/16}}]}}
    """
    assert present.text(planned(text, link("w", "wireguard", peers=(secret, others)))).splitlines() == [
        "~ wireguard w  peers (public_key AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= allowed_ips 10.1.0.0/16"
        " persistent_keepalive 0 endpoint 192.0.2.1:1 preshared_key_file unknown) -> "
        "(public_key AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= allowed_ips 10.1.0.0/16)",
        "1 to change; 1 message",
    ]
    del secret["preshared_key_file"]
    assert not planned(text, link("w", "wireguard", peers=(secret, others))).steps


def test_text_that_is_empty_is_no_key_of_somebody() -> None:
    was = Object("sysctl", ("net/ipv4/ip_local_reserved_ports",), {"value": ""})
    text = "sysctl: {net.ipv4.ip_local_reserved_ports: 8080}"
    assert "unknown" not in present.text(planned(text, was))


def test_thousand_equal_changes_are_one_line() -> None:
    assert present.text(planned(STACK)).splitlines() == [
        "+ dummy swp[1-6]  up  mtu 9216 (6)",
        "+ bridge br-[1000-1099]  group tenants  mtu 9000  up (100)",
        "+ vlan swp[1-6].[1000-1099]  group tenants  master br-{2}  mtu 9000  up (600)",
        "706 to create; 808 messages",
    ]


def test_no_difference_is_said_so() -> None:
    assert present.text(planned("{}")) == "no differences"


def test_port_rides_into_its_bridge_while_down_and_comes_up_last() -> None:
    plan = planned(
        "links: {br0: {kind: bridge, ports: d0, up: true}, d0: {kind: dummy, up: true, addresses: [10.0.0.1/8]}}"
    )
    assert messages(plan) == [
        f"create link br0 group={OURS}",
        f"create link d0 master=br0 group={OURS}",
        "create address d0",
        "change group 0 up=True",
    ]


def test_links_that_are_up_go_down_to_enter_a_vrf_and_lose_nothing() -> None:
    plan = planned(
        "vrfs: {red: {table: 7, links: 'd[1-2]', up: true}}\n"
        "links: {'d[1-2]': {up: true, kind: dummy, addresses: ['fd00:{1}::1/64']}}",
        *(link(f"d{number}", "dummy", up=True) for number in (1, 2)),
        *(Object("address", (f"d{number}", f"fd00:{number}::1/64", None), {}) for number in (1, 2)),
    )
    assert messages(plan) == [
        "change group 0 up=False",
        f"create link red table=7 group={OURS}",
        "change link d1 master=red",
        "change link d2 master=red",
        "change address d1",
        "change address d2",
        "change group 0 up=True",
    ]
    assert "~ address d[1-2]  fd00:1::1…fd00:2::1/64 (2)  # d{1} enters red" in present.text(plan)


def test_immutable_attribute_recreates_with_the_reason_and_what_stands_on_it() -> None:
    plan = planned(
        "links: {d0: {kind: dummy}, a: {kind: vlan, link: d0, id: 6}, a.7: {addresses: [10.0.0.1/8]}}",
        link("d0", "dummy"),
        link("a", "vlan", link="d0", id=5),
        link("a.7", "vlan", link="a", id=7),
        Object("address", ("a.7", "10.0.0.1/8", None), {}),
    )
    text = present.text(plan)
    assert "-/+ vlan a  # vlan id cannot change in place" in text.replace("  id 6", "").replace("  link d0", "")
    assert "-/+ vlan a.7  # it goes with a" in text
    assert "address a.7" in text


UNICAST, FLOOD = "02:00:00:00:00:05", "00:00:00:00:00:00"
AT: dict[str, Value] = {"dst": "192.0.2.1"}


@pytest.mark.parametrize(
    ("mac", "have", "said", "want"),
    [
        pytest.param(UNICAST, AT, "dst: 192.0.2.2", ["~ dst 192.0.2.1 -> 192.0.2.2"], id="moves"),
        pytest.param(UNICAST, AT, "dst: 192.0.2.1, port: 7", ["~ port none -> 7"], id="has_another_port"),
        pytest.param(UNICAST, AT, "nhid: 3", ["-/+ nhid 3"], id="gets_a_nexthop"),
        pytest.param(FLOOD, AT, "dst: 192.0.2.2", ["- dst 192.0.2.1", "+ dst 192.0.2.2"], id="is_one_of_several"),
        pytest.param(FLOOD, AT, "dst: 192.0.2.1, vni: 7", ["-/+ dst 192.0.2.1 vni 7"], id="is_one_of_several_by_vni"),
    ],
)
def test_forwarding_entry_leads_elsewhere_in_one_step_unless_its_receiver_is_one_of_several(
    mac: str, have: dict[str, Value], said: str, want: list[str]
) -> None:
    several = mac == FLOOD
    key = ("vx", mac, 0, "self", have["dst"] if several else None, None)
    plan = planned(
        f"links: {{vx: {{kind: vxlan, id: 5}}}}\nfdb: [{{dev: vx, mac: '{mac}', {said}}}]",
        *(link("vx", "vxlan", id=5), Object("fdb", key, {} if several else have)),
    )
    told = [line.partition("  #")[0].split() for line in present.text(plan).splitlines()[:-1]]
    assert [" ".join((sign, *rest)) for sign, _, _, _, _, *rest in told] == want


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(("10.0.0.1/24", None), ("10.0.0.2/24", None), id="one_subnet"),
        pytest.param(("10.0.0.1/32", "10.5.0.1"), ("10.1.0.2/32", "10.5.0.1"), id="one_peer"),
    ],
)
def test_address_that_would_go_with_the_first_one_stays_and_with_it_the_routes(
    first: tuple[str, str | None], second: tuple[str, str | None]
) -> None:
    there = [Object("address", ("a", *address), {}) for address in (first, second)]
    route = Object("route", ("inet", 254, "10.9.0.0/16", 0, 0), {"via": "10.0.0.9", "dev": "a", "onlink": True})
    actual = State([link("a", up=True), *there, route])
    plan = assemble(State([link("a", up=True), there[1]._replace(), route._replace()]), actual, Owned())
    told = present.text(plan).splitlines()
    assert told[0].endswith(f"# it goes with {first[0]}")  # if nobody says that it stays, as this step does
    assert told[1].split()[:4] == ["-", "address", "a", first[0]]
    assert told[2:] == ["1 to change, 1 to delete; 2 messages"]


def test_mtu_grows_below_first_and_shrinks_above_first() -> None:
    have = [link("d0", "dummy", mtu=1500), link("d0.1", "vlan", link="d0", id=1, mtu=1500, group=OURS + 1)]
    grown = planned(
        "groups: {g: {id: 1313275905}}\nlinks: {d0: {kind: dummy, mtu: 9000}, d0.1: {mtu: 9000, group: g}}", *have
    )
    assert messages(grown) == ["change link d0 mtu=9000", "change link d0.1 mtu=9000"]
    shrunk = planned(
        "groups: {g: {id: 1313275905}}\nlinks: {d0: {kind: dummy, mtu: 1400}, d0.1: {mtu: 1400, group: g}}", *have
    )
    assert messages(shrunk) == ["change link d0.1 mtu=1400", "change link d0 mtu=1400"]


def test_group_message_is_used_only_where_every_member_wants_the_value() -> None:
    have = [link(f"d{number}", "dummy") for number in range(4)]
    assert messages(planned("links: {'d[0-3]': {kind: dummy, mtu: 1400}}", *have)) == ["change group 0 mtu=1400"]
    some = planned("links: {'d[0-2]': {kind: dummy, mtu: 1400}, d3: {kind: dummy}}", *have)
    assert messages(some) == [f"change link d{number} mtu=1400" for number in range(3)]
    rest = [*have[:3], link("d3", "dummy", mtu=1400)]
    assert messages(planned("links: {'d[0-2]': {kind: dummy, mtu: 1400}, d3: {kind: dummy}}", *rest)) == [
        "change group 0 mtu=1400"
    ]


def test_both_ends_of_a_pair_that_is_made_anew_are_told() -> None:
    pair = [link("v", "veth", peer="w", numtxqueues=1), link("w", "veth", peer="v")]
    plan = planned("links: {v: {kind: veth, peer: w, numtxqueues: 2}, w: {kind: veth, peer: v}}", *pair)
    assert present.text(plan).splitlines() == [
        "-/+ veth w  peer v  # it goes with v",
        "-/+ veth v  peer w  numtxqueues 2  # veth numtxqueues cannot change in place",
        "2 to recreate; 3 messages",
    ]


def test_doomed_links_are_deleted_in_one_message_and_ports_before_their_vrf() -> None:
    have = [link(f"d{number}", "dummy", master="red") for number in range(9)]
    plan = planned("links: {d8: {kind: dummy, master: null}}", *have, link("red", "vrf", table=7))
    assert messages(plan) == [
        *(f"change link d{number} group={SCRATCH}" for number in reversed(range(8))),
        "delete group ffff",
        "delete link red",
        "change link d8 master=None",
    ]
    assert present.summary(plan) == "1 to change, 9 to delete; 11 messages"


@pytest.mark.parametrize(("vrfs", "gone"), [(1, ["delete link red0"]), (9, ["delete group fffe"])])
def test_vrfs_leave_the_group_that_goes_with_their_ports(vrfs: int, gone: list[str]) -> None:
    ports = [link(f"d{number}", "dummy", master=f"red{number % vrfs}") for number in range(10)]
    plan = planned("{}", *ports, *(link(f"red{number}", "vrf", table=7 + number) for number in range(vrfs)))
    aside = sorted(f"change link red{number} group={SCRATCH_MASTERS}" for number in range(vrfs))
    assert (sorted(messages(plan)[:vrfs]), messages(plan)[vrfs:]) == (aside, ["delete group 0", *gone])


def test_vrfs_stay_in_a_group_that_does_not_go() -> None:
    ports = [link(f"d{number}", "dummy", master="red") for number in range(10)]
    plan = planned("links: {d9: {kind: dummy, master: null}}", *ports, link("red", "vrf", table=7))
    assert messages(plan)[-3:] == ["delete group ffff", "delete link red", "change link d9 master=None"]


def test_whole_group_moves_in_one_message_where_the_kernel_can() -> None:
    have = [link(f"d{number}", "dummy", group=5) for number in range(3)]
    text = "groups: {h: {id: 6}}\nlinks: {'d[0-2]': {kind: dummy, group: h}}"
    plan = planned(text, *have, owned=frozenset({5}), new_group=True)
    assert messages(plan) == ["change group 5 group=6"]
    assert len(planned(text, *have, owned=frozenset({5})).steps) == 3


def test_hardware_is_let_go_and_never_deleted() -> None:
    assert messages(planned("{}", link("eth1"))) == ["change link eth1 group=0"]


def test_link_of_somebody_else_is_never_recreated() -> None:
    foreign = link("br0", "bridge", group=0)
    with pytest.raises(ConfigError, match="not netgroupd's"):
        planned("links: {br0: {kind: dummy}}", foreign)


def test_taking_over_says_what_changes_and_nothing_else() -> None:
    theirs = (
        Object("route", ("inet", 254, "10.9.0.0/16", 0, 0), {"nexthops": HOPS, UNOWNED: 4}),
        Object("address", ("e0", "10.0.0.5/24", None), {"valid_lft": 600, "preferred_lft": 300, UNOWNED: 0}),
        Object("address", ("e0", "fd01::7/128", None), {"valid_lft": 600, "preferred_lft": 300, UNOWNED: 0}),
    )
    plan = planned(
        'links: {e0: {addresses: [10.0.0.5/24, "fd01::7/64"]}}\n'
        "routes: [{to: 10.9.0.0/16, nexthops: [{via: 10.0.0.1}, {via: 10.0.0.2, weight: 2}]}]",
        link("e0", group=0),
        *theirs,
    )
    told = [" ".join(line.split()) for line in present.text(plan).splitlines()]
    assert [line for line in told if not line.startswith("~ link")][:-1] == [
        "- address e0 fd01::7/128 # it is there, and in the way of what is wanted",
        "~ address e0 10.0.0.5/24 valid_lft 600 -> forever preferred_lft 300 -> forever "
        "# it is there, and becomes netgroupd's",
        "+ address e0 fd01::7/64",
        "~ route 10.9.0.0/16 # it is there, and becomes netgroupd's",
    ]


def test_all_problems_are_told_whatever_differs_before_them() -> None:
    desired = state_of("links: {d0: {kind: dummy, mtu: 1400}, br0: {kind: dummy}, br1: {kind: dummy}}")
    foreign = [link(name, "bridge", group=0) for name in ("br0", "br1")]
    assert assemble(desired, State([link("d0", "dummy"), *foreign]), Owned(), whole=False).steps
    with pytest.raises(ConfigError) as caught:
        assemble(desired, State([link("d0", "dummy", mtu=1400), *foreign]), Owned(), whole=False)
    assert len(caught.value.problems) == 2


def test_macs_of_stacked_links_are_exchanged_by_way_of_another() -> None:
    one, two = "02:00:00:00:00:01", "02:00:00:00:00:02"
    plan = planned(
        f"links:\n  d0: {{kind: dummy}}\n  a: {{kind: macvlan, link: d0, mac: '{two}'}}\n"
        f"  b: {{kind: macvlan, link: d0, mac: '{one}'}}\n",
        link("d0", "dummy"),
        link("a", "macvlan", link="d0", mac=one),
        link("b", "macvlan", link="d0", mac=two),
    )
    assert [brief(step).split("mac=")[1] for step in plan.steps][-2:] == [two, one]
    assert len(plan.steps) == 4


@pytest.mark.parametrize(("there", "steps"), [(1500, 0), (1499, 0), (1498, 1), (1501, 1)])
def test_time_that_lost_a_hundredth_in_the_kernels_ticks_is_no_difference(there: int, steps: int) -> None:
    text = "links: {br0: {kind: bridge, forward_delay: 1500}}"
    assert len(planned(text, link("br0", "bridge", forward_delay=there)).steps) == steps


@pytest.mark.parametrize(("there", "steps"), [(4998, 0), (5003, 0), (4990, 1), (5010, 1)])
def test_lifetime_told_by_a_busy_host_is_no_difference(there: int, steps: int) -> None:
    text = "links: {lo: {addresses: [{address: 192.0.2.1/24, valid_lft: 5000}]}}"
    address = Object("address", ("lo", "192.0.2.1/24", None), {"valid_lft": there})
    assert len(planned(text, link("lo"), address).steps) == steps


def test_link_that_moves_to_another_namespace_arrives_down_and_bare() -> None:
    text = """
links:
  br: {kind: bridge, netns: blue}
  d: {kind: dummy, up: true, mtu: 1400, netns: blue, master: br, addresses: [10.0.0.1/24], sysctl: {ipv4.rp_filter: 2}}
"""
    there = [obj for obj in state_of(text) if obj.cls != "link"]
    plan = planned(text, link("d", "dummy", up=True), link("br", "bridge", netns="blue"), *there)
    assert messages(plan) == [
        "change link d up=False",
        "change link d netns=blue",
        "change link d mtu=1400",
        "change link d master=br",
        "change sysctl net/ipv4/conf/d/rp_filter value=2",
        "change address d",
        "change link d up=True",
    ]
    assert "# d moves to blue" in present.text(plan)


def test_link_of_which_no_namespace_is_named_any_more_comes_back() -> None:
    have = (link("d", "dummy", netns="blue"), link("br", "bridge", netns="blue"), link("eth0", netns="blue"))
    plan = planned("links: {d: {kind: dummy}, br: {kind: bridge}}", *have)
    assert messages(plan) == [
        "change link eth0 group=0",
        "delete link br",
        "change link eth0 netns=None",
        "change link d netns=None",
        "create link br group=1313275904",
    ]
    assert "# bridge netns cannot change in place" in present.text(plan)


def test_message_for_a_group_is_about_its_members_here() -> None:
    text = """
groups: {g: {id: 7, up: true}}
links: {"d[1-4]": {kind: dummy, group: g}, "e[1-2]": {kind: dummy, group: g, netns: blue}}
"""
    here = [link(f"d{number}", "dummy", 7) for number in range(1, 5)]
    away = [link(f"e{number}", "dummy", 7, netns="blue") for number in (1, 2)]
    plan = planned(text, *here, *away)
    assert messages(plan) == ["change group 7 up=True", "change link e1 up=True", "change link e2 up=True"]
    plan = planned("{}", *here, *away, link("e3", "dummy", 8), owned=frozenset({7}))
    assert "delete group 7" not in messages(plan)


@pytest.mark.parametrize(("address", "want"), [("10.9.0.1", {}), ("10.9.0.2", {"src": None})], ids=["stays", "goes"])
def test_route_that_is_lost_keeps_a_source_that_nobody_mentions_while_it_is_there(
    address: str, want: dict[str, Value]
) -> None:
    made = "links: {{d: {{kind: {}, addresses: [{}/32]}}}}\nroutes: [{{to: 10.8.0.0/16, dev: d{}}}]\n"
    before = state_of(made.format("dummy", "10.9.0.1", ", src: 10.9.0.1"))
    plan = assemble(state_of(made.format("bridge", address, "")), before, Owned(frozenset({OURS})))
    (step,) = [step for step in plan.steps if isinstance(step, Step) and step.object.cls == "route"]
    assert step.attrs == {"dev": "d", **want}


def test_classes_of_steps_are_those_of_each() -> None:
    made = Step(Op.CREATE, None, Object("filter", ("d1",), {}))
    gone = Step(Op.DELETE, Object("rule", (1,), {}), None)
    many = GroupStep(Op.DELETE, OURS, {}, (Step(Op.DELETE, link("d1"), None),))
    assert classes_of([made, made]) == {"filter"}
    assert classes_of([made, gone, many]) == {"filter", "rule", "link"}
