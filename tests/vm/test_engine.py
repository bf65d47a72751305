# SPDX-License-Identifier: GPL-2.0-or-later
"""The universe of the fake kernel on the real one: every pair of configurations, there and back after a refusal."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import pytest

from netgroupd.config.semantic import checks
from netgroupd.engine.kept.snapshot import Snapshot
from netgroupd.engine.observe import look
from netgroupd.engine.putting_back import put_back
from netgroupd.engine.transaction import converge, plan_for, plan_now
from netgroupd.errors import KernelError
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.links.seen import Seen
from netgroupd.kernel.netlink.message import NLM_F_CREATE, NLM_F_EXCL, nest, request, text
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.model.kinds import KINDS
from netgroupd.model.kinds.pair import PAIRS
from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.state import Object, State
from netgroupd.model.value import NO_MAC
from netgroupd.plan import present
from netgroupd.plan.step import Plan
from tests.engine.universe import BORROWED, FORWARDED, FURTHER_NAMES, LOSING, NEXTHOPS, ROUTES, UNIVERSE, state_of
from tests.vm.link_cases import BASE
from tests.vm.meanwhile import repeatedly
from tests.vm.stumbling import MINE, Stumbling, become, ip, refused_and_back, there, told

_TURNS = 5
# Where the patched kernel is sent other messages than the stock one.
BY_GROUP = ("nothing", "vlans", "vlans_larger", "vlans_in_another_group", "vrf", "layer_3")


def along(names: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Each name with some of those after it, round the circle, so that every pair is there once."""
    half = len(names) // 2
    for place, name in enumerate(names):
        after = [names[(place + step) % len(names)] for step in range(1, half + 1)]
        # Of an even number the one opposite is opposite twice.
        yield name, after[:-1] if len(names) % 2 == 0 and place >= half else after


def left(seen: Seen, goal: State) -> Plan:
    """What there is to do, as the next call of an engine sees it first."""
    with Kernels("engine") as kernel:
        kernel.remember(seen)
        return plan_for(kernel, goal, look(kernel, goal, MINE, briefly=True), MINE)


@pytest.mark.parametrize(("one", "others"), [*along(tuple(UNIVERSE))], ids=UNIVERSE)
def test_every_configuration_follows_every_other_one(kernel: Stumbling, one: str, others: Sequence[str]) -> None:
    for other in others:
        for name in (one, other):
            goal = state_of(UNIVERSE[name])
            become(kernel, goal)
            left = plan_for(kernel, goal, look(kernel, goal, MINE), MINE)
            assert not left.steps, f"{name} between {one} and {other}: {present.text(left)}"
    become(kernel, state_of(UNIVERSE[one]))
    become(kernel, State())


_FAR = (1, 2, 4, 7, 11)  # each configuration comes before five others and after five; on the fake kernel, all


@pytest.mark.vm("stock")
@pytest.mark.parametrize("old", UNIVERSE)
def test_a_refusal_half_way_leaves_the_kernel_as_it_was(kernel: Stumbling, old: str) -> None:
    names = [*UNIVERSE]
    refused_half_way(kernel, old, [names[(names.index(old) + far) % len(names)] for far in _FAR])


@pytest.mark.vm("patched")
@pytest.mark.parametrize("old", BY_GROUP)
def test_a_refusal_between_messages_for_groups_does_so_too(kernel: Stumbling, old: str) -> None:
    refused_half_way(kernel, old, BY_GROUP)


def refused_half_way(kernel: Stumbling, old: str, others: Iterable[str]) -> None:
    """Be refused half way from ``old`` to each other one, and put back what was."""
    become(kernel, state_of(UNIVERSE[old]))
    for new in others:
        if new == old:
            continue
        goal = state_of(UNIVERSE[new])
        mine = kernel.keep(goal)
        actual = look(kernel, goal, mine)
        before = there(kernel, goal)
        plan = plan_for(kernel, goal, actual, mine)
        snapshot = Snapshot.of(plan, actual)
        kernel.stumbles_at = len(plan.steps) // 2
        with pytest.raises(KernelError):
            converge(kernel, plan, goal, mine)
        put_back(kernel, snapshot, mine)
        assert there(kernel, goal) == before, f"{old} after half of {new}"


@pytest.mark.parametrize("texts", [FURTHER_NAMES, NEXTHOPS, ROUTES, FORWARDED], ids=["names", "nexthop", "way", "fdb"])
def test_what_follows_what_needs_one_run_there_and_back(kernel: Stumbling, texts: Sequence[str]) -> None:
    goals = [*map(state_of, texts)]
    become(kernel, goals[0])
    for old, new in pairwise(goals):
        mine = kernel.keep(new)
        actual = look(kernel, new, mine)
        before = there(kernel, new)
        plan = plan_for(kernel, new, actual, mine)
        become(kernel, new)
        put_back(kernel, Snapshot.of(plan, actual), mine)
        assert not plan_for(kernel, old, look(kernel, old, mine), mine).steps
        assert there(kernel, new) == before
        become(kernel, new)
    become(kernel, State())


@pytest.mark.parametrize("texts", [*LOSING.values(), *BORROWED.values()], ids=[*LOSING, *BORROWED])
def test_what_the_kernel_takes_away_with_something_comes_back(kernel: Stumbling, texts: Sequence[str]) -> None:
    kernel.confined = True
    goals = [*map(state_of, texts)]
    become(kernel, goals[0])
    for old, new in ((goals[0], goals[1]), (goals[1], goals[0])):
        mine = kernel.keep(new)
        steps = len(plan_for(kernel, new, look(kernel, new, mine), mine).steps)
        for place in sorted({1, steps // 2, steps - 1} - {0, steps}):
            actual = look(kernel, new, mine)
            before = there(kernel, new)
            plan = plan_for(kernel, new, actual, mine)
            kernel.stumbles_at = place
            with pytest.raises(KernelError):
                converge(kernel, plan, new, mine)
            put_back(kernel, Snapshot.of(plan, actual), mine)
            assert there(kernel, new) == before, f"after {place} of {present.text(plan)}"
            assert not plan_for(kernel, old, look(kernel, old, mine), mine).steps
        become(kernel, new, at_once=texts not in BORROWED.values())
        assert not plan_for(kernel, new, look(kernel, new, mine), mine).steps
    become(kernel, State())


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"netdevsim"}))  # which is of the host's own namespace
def test_link_of_any_kind_is_made_again_out_of_what_was_read(kernel: Stumbling, kind: str) -> None:
    kernel.confined = True
    others = [Object("link", (f"low{number}",), {"kind": "dummy", "group": GROUP_BASE}) for number in range(2)]
    there_too = [Object("link", ("other",), {"kind": kind, "peer": "it", "group": GROUP_BASE})] * (kind in PAIRS)
    one = Object("link", ("it",), {"kind": kind, "group": GROUP_BASE, **BASE.get(kind, {})})
    goal, less = State([*others, *there_too, one]), State(others)
    become(kernel, goal)
    before, actual = there(kernel, goal), look(kernel, less, MINE)
    plan = plan_for(kernel, less, actual, MINE)
    assert plan.steps
    converge(kernel, plan, less, MINE)
    put_back(kernel, Snapshot.of(plan, actual), MINE)
    assert there(kernel, goal) == before


LAYERS = """
groups: {mine: {mtu: 1500}}
links:
  low: {kind: dummy, up: true, arp: true, alias: low, group: mine, sysctl: {ipv4.forwarding: 0}, addresses: 10.0.0.1/24}
  low.5: {up: true, reorder_hdr: true, group: mine}
  card.7: {up: true}
  br: {kind: bridge, ports: [low.5], stp_state: false}
"""
DONE_BY_OTHERS = (
    "link set low down",
    "link set low arp off",
    "link set low mtu 1400",
    "link set low alias other",
    "link set low.5 nomaster",
    "link set low.5 type vlan reorder_hdr off",
    "link set low group 9",
    "link set dev br type bridge stp_state 1",
    "link set low.5 name gone",
    "link del gone",
    "link del dev br",
    "addr del 10.0.0.1/24 dev low",
    "netns exec engine sysctl -qw net.ipv4.conf.low.forwarding=1",
)


@pytest.mark.parametrize("after", [(2000, 1000, 3000), (2000, 3000, 1000), (2000, 3000, 4000)])
def test_links_of_wireguard_that_are_up_take_over_ports(kernel: Stumbling, after: Sequence[int]) -> None:
    for ports in ((1000, 2000, 3000), after):
        links = (f"  wg{n}: {{kind: wireguard, listen_port: {port}, up: true}}\n" for n, port in enumerate(ports))
        become(kernel, state_of("links:\n" + "".join(links)))


ROUTE_OF_THE_KERNEL = """
links: {d1: {kind: dummy, up: true, addresses: [10.1.0.1/24], master: %s}, t1: {kind: vrf, table: 101}}
routes: [%s]
"""


def test_route_that_the_kernel_makes_again_by_itself_is_in_nobodys_way(kernel: Stumbling) -> None:
    before = state_of(ROUTE_OF_THE_KERNEL % ("null", ""))
    become(kernel, before)
    goal = state_of(ROUTE_OF_THE_KERNEL % ("t1", "{to: 10.1.0.0/24, dev: d1}"))
    actual = look(kernel, goal, MINE)
    plan = plan_for(kernel, goal, actual, MINE)
    become(kernel, goal)
    put_back(kernel, Snapshot.of(plan, actual), MINE)
    assert not plan_for(kernel, before, look(kernel, before, MINE), MINE).steps
    assert "proto kernel scope link src 10.1.0.1" in told("ip", "route")


def test_what_others_change_is_seen_whatever_is_remembered(kernel: Stumbling) -> None:
    ip("link add card up type dummy")
    goal = state_of(LAYERS, ("card",))
    become(kernel, goal)
    seen = Seen()
    before = left(seen, goal)
    assert not before.steps
    for change in DONE_BY_OTHERS:
        ip(change)
        after = left(seen, goal)
        assert after.steps != before.steps, change
        before = after
    converge(kernel, plan_now(kernel, goal, MINE)[0], goal, MINE)
    assert not left(seen, goal).steps


def test_bridge_that_lost_its_last_port_is_given_a_mac_before_a_vlan_of_its_own(kernel: Stumbling) -> None:
    for port in ("{kind: dummy, master: b}", "{kind: dummy}"):
        become(kernel, state_of(f"links: {{p: {port}, b: {{kind: bridge}}}}"))
    bridge = "{kind: bridge, mac: '02:00:00:00:00:05', vlan_filtering: true, vlan_default_pvid: 7}"
    goal = state_of(f"links: {{p: {{kind: dummy}}, b: {bridge}}}")
    actual = look(kernel, goal, MINE)
    assert actual.of("link")["b",].attrs["mac"] == NO_MAC
    plan = plan_for(kernel, goal, actual, MINE)
    become(kernel, goal)
    put_back(kernel, Snapshot.of(plan, actual), MINE)  # but for the MAC, which nothing takes away
    assert look(kernel, goal, MINE).of("link")["b",].attrs["vlan_default_pvid"] == 1


@pytest.mark.parametrize("promotes", ["0", "1"])
def test_addresses_of_others_outlive_the_first_one_of_their_subnet(kernel: Stumbling, promotes: str) -> None:
    def becomes(addresses: str) -> str:
        become(kernel, state_of(f"links: {{d0: {{kind: dummy, up: true, addresses: [{addresses}]}}}}"))
        return told("ip", "-4", "-oneline", "address", "show", "dev", "d0")

    setting = "/proc/sys/net/ipv4/conf/d0/promote_secondaries"
    becomes("10.0.0.1/24, 10.0.0.2/24")
    told("sh", "-c", f"echo {promotes} > {setting}")
    ip("address add 10.0.0.9/24 dev d0")
    assert "10.0.0.9/24" in becomes("10.0.0.2/24, 10.0.0.5/24")
    assert "10.0.0.9/24" in becomes("")
    assert told("cat", setting) == f"{promotes}\n"


SPEAKING_IPV6 = """
links:
  b0: {kind: bridge, up: true, mtu: %s, addresses: ["fd01::1/64"], sysctl: {ipv6.accept_ra: 0, ipv6.disable_ipv6: %s}}
  b0.5: {kind: vlan, link: b0, id: 5, up: true, mtu: %s, addresses: ["fd05::1/64"], sysctl: {ipv6.accept_ra: 0}}
routes: [{to: "2001:db8::/32", via: "fd01::2", dev: b0}]
neighbours: [{dev: b0, ip: "fd01::9", lladdr: "02:00:00:00:00:09"}]
"""


# The VLAN becomes as small as the bridge.
SMALL = """
links:
  b0: {kind: bridge, up: true, mtu: 1200}
  b0.5: {kind: vlan, link: b0, id: 5, up: true, addresses: ["fd05::1/64"]}
"""


@pytest.mark.parametrize("goal", [SMALL, SPEAKING_IPV6 % (1500, 1, 1500)], ids=["mtu", "setting"])
def test_what_a_link_lost_with_ipv6_comes_back(kernel: Stumbling, monkeypatch: pytest.MonkeyPatch, goal: str) -> None:
    monkeypatch.setattr(checks, "_CHECKS", ())  # which tell it before, where nobody else has a hand in it
    become(kernel, state_of(SPEAKING_IPV6 % (1500, 0, 1500)))
    refused_and_back(kernel, state_of(goal))


def flicker(socket: Socket, turns: list[int]) -> None:
    """Make a link, rename it and remove it, as another program might."""
    index, kind = 4711, nest(18, text(1, "dummy"))
    of_index = struct.pack("=BxHiII", 0, 0, index, 0, 0)
    made = socket.ask(request(16, NLM_F_CREATE | NLM_F_EXCL, of_index, text(3, "theirs"), kind))[0]
    renamed = socket.ask(request(16, 0, of_index, text(3, f"theirs{len(turns) % 9}")))[0]
    removed = socket.ask(request(17, 0, of_index))[0]
    turns.append(made.errno or renamed.errno or removed.errno)


def test_others_who_make_rename_and_remove_links_all_the_time_are_in_nobodys_way(kernel: Stumbling) -> None:
    turns: list[int] = []
    with Socket("engine") as socket, repeatedly(partial(flicker, socket, turns)):
        for name in ("vlans", "ports_moved", "vrf", "names_swapped", "nothing") * 20:
            goal = state_of(UNIVERSE[name])
            converge(kernel, plan_now(kernel, goal, MINE)[0], goal, MINE)
            assert not plan_now(kernel, goal, MINE)[0].steps, name
            if name == "nothing" and len(turns) >= _TURNS:  # or else it was them who were never in the way
                break
    assert len(turns) >= _TURNS
    assert set(turns) == {0}


def test_what_is_remembered_is_not_read_again(kernel: Stumbling) -> None:
    goal = state_of("links: {'d[1-3]': {kind: dummy, mtu: 1400}}")
    become(kernel, goal)
    seen = Seen()
    assert not left(seen, goal).steps
    before = seen.last
    assert before
    assert not left(seen, goal).steps
    assert seen.last is before
    ip("link set d2 alias other")
    assert not left(seen, goal).steps
    assert seen.last
    read = [new.name for new, old in zip(seen.last.links, before.links, strict=True) if new is not old]
    assert "d2" in read
    assert "d1" not in read


@pytest.mark.vm("stock")
def test_tun_that_cannot_have_what_it_is_told_goes_again(kernel: Stumbling) -> None:
    goal = state_of("links: {t: {kind: tun, mode: tun, mac: '02:00:00:00:00:01'}}")
    actual = look(kernel, goal, MINE)
    plan = plan_for(kernel, goal, actual, MINE)
    with pytest.raises(KernelError):
        converge(kernel, plan, goal, MINE)
    put_back(kernel, Snapshot.of(plan, actual), MINE)
    assert not kernel.has_link("t")
