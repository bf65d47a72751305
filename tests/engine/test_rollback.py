# SPDX-License-Identifier: GPL-2.0-or-later
"""Going back: what later generations changed and the earlier one does not mention is given back too."""

import errno
from collections.abc import Mapping, Sequence

import pytest

from netgroupd.config import Desired, desired_from
from netgroupd.config.known import Known
from netgroupd.config.render import Rendered
from netgroupd.engine.kept.replaced import Replaced
from netgroupd.engine.record.generations import Generations
from netgroupd.errors import GuardError, KernelError
from netgroupd.kernel.layer3.ways import Route
from netgroupd.model.state import Object, State
from netgroupd.model.value import Value
from netgroupd.plan.owned import Owned
from netgroupd.plan.step import Step
from tests.engine.desk import Desk
from tests.engine.universe import state_of

BEFORE = "links: {eth7: {alias: uplink}, br0: {kind: bridge}}"
AFTER = """
links:
  eth7: {alias: uplink, up: false, mtu: 1300, master: br0, sysctl: {ipv4.rp_filter: 1, ipv6.disable_ipv6: 1}}
  br0: {kind: bridge, up: false, stp: true}
"""
NOTHING = "links: {}"
NUMBERED = "links: {eth7: {alias: number %d}}"
FILTER, DISABLE = "net/ipv4/conf/eth7/rp_filter", "net/ipv6/conf/eth7/disable_ipv6"


def given(desk: Desk, name: str, **attrs: Value) -> None:
    """Another program gives a link something, or makes it."""
    link = desk.kernel.state.link(name)
    desk.kernel.state.add(Object("link", (name,), {**(link.attrs if link else {"group": 0}), **attrs}))


def setting(desk: Desk, path: str, value: str) -> None:
    desk.kernel.state.add(Object("sysctl", (path,), {"value": value}))


def applied(desk: Desk, *texts: str) -> None:
    for text in texts:
        desk.wants(text)
        desk.engine.apply()


def eth7(desk: Desk) -> Mapping[str, Value]:
    return desk.kernel.state.classes["link"]["eth7",].attrs


@pytest.fixture
def host(desk: Desk) -> Desk:
    """A host with a card of its own."""
    given(desk, "eth7", up=True, mtu=1500)
    setting(desk, FILTER, "0")
    setting(desk, DISABLE, "0")
    return desk


def bridge_comes_up(host: Desk) -> None:
    """Apply the first configuration, and have somebody bring its bridge up."""
    applied(host, BEFORE)
    given(host, "br0", up=True, stp_state=False)


def test_what_is_not_mentioned_is_as_it_was_and_is_nobodys_wish(host: Desk) -> None:
    bridge_comes_up(host)
    before = host.there()
    applied(host, AFTER)
    assert host.there() != before
    host.engine.rollback()
    assert host.there() == before
    assert (host.engine.status().differences, host.engine.drift().steps) == ("", ())
    given(host, "eth7", mtu=1400, up=False)
    setting(host, FILTER, "2")
    assert (host.engine.status().differences, host.engine.drift().steps) == ("", ())
    host.wants(BEFORE)
    assert host.engine.apply().plan.steps == ()


@pytest.mark.parametrize("others", [(), (BEFORE, AFTER.replace("1300", "1400"))])
def test_going_back_to_nothing_gives_hardware_what_it_had(host: Desk, others: tuple[str, ...]) -> None:
    before = host.there()
    applied(host, AFTER, *others)
    host.engine.rollback(0)
    assert host.there() == before
    assert host.engine.status().differences == ""


def test_what_others_changed_meanwhile_is_theirs(host: Desk) -> None:
    bridge_comes_up(host)
    applied(host, AFTER)
    given(host, "eth7", mtu=1280)
    setting(host, FILTER, "2")
    host.engine.rollback()
    assert (eth7(host)["mtu"], eth7(host)["up"]) == (1280, True)
    assert host.kernel.state.of("sysctl")[FILTER,].attrs["value"] == "2"
    assert host.kernel.state.of("sysctl")[DISABLE,].attrs["value"] == "0"


def test_the_value_before_the_earliest_change_counts_and_what_the_text_mentions_comes_first(host: Desk) -> None:
    applied(host, BEFORE, *(f"links: {{eth7: {{mtu: {mtu}}}, br0: {{kind: bridge}}}}" for mtu in (1400, 1300, 1200)))
    host.engine.rollback(3)
    assert eth7(host)["mtu"] == 1300
    host.engine.rollback(1)
    assert (eth7(host)["mtu"], eth7(host)["alias"]) == (1500, "uplink")
    host.engine.rollback(2)
    host.engine.rollback()
    assert eth7(host)["mtu"] == 1500


def test_repairs_and_what_failed_or_was_not_confirmed_do_not_count(host: Desk) -> None:
    applied(host, BEFORE, AFTER)
    given(host, "eth7", mtu=1280)
    host.engine.repair(frozenset({"eth7"}))
    assert eth7(host)["mtu"] == 1300
    host.wants(AFTER.replace("1300", "1200"))
    host.engine.apply(confirm_s=60)
    host.engine.rollback()
    host.kernel.refuse = lambda _step: errno.EBUSY
    with pytest.raises(KernelError):
        host.engine.apply()
    host.kernel.refuse = lambda _step: 0
    host.engine.rollback()
    assert (eth7(host)["mtu"], eth7(host)["up"]) == (1500, True)


def test_the_generation_before_is_the_last_that_said_something_else(host: Desk) -> None:
    applied(host, BEFORE, AFTER)
    given(host, "eth7", mtu=1500, up=True)  # as after a start of the host
    applied(host, AFTER)
    assert host.engine.history()[0].number == 3
    host.engine.rollback()
    assert (eth7(host)["mtu"], "master" in eth7(host)) == (1500, False)


def test_what_was_confirmed_counts(host: Desk) -> None:
    applied(host, BEFORE)
    host.wants(AFTER)
    host.engine.apply(confirm_s=60)
    host.engine.confirm()
    host.engine.rollback()
    assert (eth7(host)["mtu"], eth7(host)["up"]) == (1500, True)


def test_members_of_a_group_get_back_what_each_of_them_had(desk: Desk) -> None:
    links = "links: {'eth[1-3]': {group: cards}}"
    for number in (1, 2, 3):
        given(desk, f"eth{number}", up=number != 2, mtu=1400 + number)
    before = desk.there()
    applied(desk, "groups: {cards: {}}\n" + links)
    grouped = desk.there()
    applied(desk, "groups: {cards: {mtu: 1300, up: false}}\n" + links)
    desk.engine.rollback()
    assert desk.there() == grouped
    desk.engine.rollback(0)
    assert desk.there() == before


def test_link_that_was_there_before_is_let_go_and_one_that_was_made_is_deleted(desk: Desk) -> None:
    given(desk, "docker0", kind="bridge", up=True, mtu=1500)
    before = desk.there()
    applied(desk, "links: {docker0: {mtu: 1400}, docker0.5: {kind: vlan, link: docker0, id: 5}, d0: {kind: dummy}}")
    desk.engine.rollback(0)
    assert desk.there() == before


def test_master_that_is_gone_is_not_asked_for(host: Desk) -> None:
    given(host, "docker0", kind="bridge", up=True, mtu=1500)
    given(host, "eth7", master="docker0")
    applied(host, BEFORE.replace("}, br0", ", mtu: 1500}, br0"))
    applied(host, AFTER)
    assert eth7(host)["master"] == "br0"
    host.engine.rollback()
    assert eth7(host)["master"] == "docker0"
    applied(host, AFTER)
    del host.kernel.state.classes["link"]["docker0",]
    host.engine.rollback()
    assert ("master" in eth7(host), eth7(host)["up"]) == (False, True)


def test_port_that_others_put_into_a_bridge_that_is_described_stays_there(host: Desk) -> None:
    applied(host, BEFORE)
    given(host, "eth7", master="br0")
    applied(host, BEFORE.replace("alias: uplink", "mtu: 1300"))
    assert eth7(host)["master"] == "br0"
    host.engine.rollback()
    assert (eth7(host)["master"], eth7(host)["mtu"]) == ("br0", 1500)
    assert (host.engine.status().differences, host.engine.drift().steps) == ("", ())


def test_attributes_of_other_objects_come_back(desk: Desk) -> None:
    text = "links: {d0: {kind: dummy, up: true, addresses: [%s]}}\nroutes: [{to: 10.9.0.0/16, via: 10.0.0.2%s}]"
    applied(desk, text % ("10.0.0.1/24", ""))
    key = "d0", "10.0.0.1/24", None
    address = desk.kernel.state.of("address")[key]
    desk.kernel.state.add(address._replace(attrs={**address.attrs, "valid_lft": "forever", "preferred_lft": "forever"}))
    before = desk.there()
    lasting = "{address: 10.0.0.1/24, valid_lft: 600, preferred_lft: 300}"
    applied(desk, text % (lasting, ", mtu: 1300"))
    address = desk.kernel.state.of("address")[key]
    assert address.attrs["valid_lft"] == 600
    desk.kernel.state.add(address._replace(attrs={**address.attrs, "valid_lft": 500, "preferred_lft": 200}))
    desk.engine.rollback()
    assert desk.there() == before


def test_link_that_was_made_anew_is_made_anew_as_it_was(desk: Desk) -> None:
    applied(desk, "links: {d0: {kind: dummy, alias: x}}")
    given(desk, "d0", numtxqueues=1, up=True)
    before = desk.there()
    applied(desk, "links: {d0: {kind: dummy, alias: x, numtxqueues: 4, mtu: 1300, up: false}}")
    desk.engine.rollback()
    assert desk.there() == before


def test_what_no_file_says_of_a_link_that_was_made_anew_comes_back(desk: Desk) -> None:
    applied(desk, "links: {x0: {kind: vxlan, id: 7, remote: 192.0.2.9}}", "links: {x0: {kind: vxlan, id: 7}}")
    before = desk.there()
    applied(desk, "links: {x0: {kind: vxlan, id: 8}}")
    assert desk.there() != before
    desk.engine.rollback()
    assert desk.there() == before


def test_link_of_another_kind_gets_nothing_of_what_another_one_had_in_its_place(desk: Desk) -> None:
    applied(desk, "links: {d0: {kind: dummy}}")
    before = desk.there()
    applied(desk, "links: {d0: {kind: bridge}}")
    given(desk, "d0", mtu=9000)
    applied(desk, "links: {d0: {kind: bridge, mtu: 1300}}")
    desk.engine.rollback(1)
    assert desk.there() == before


def test_what_no_file_says_of_a_link_comes_back_when_another_one_was_in_its_place(desk: Desk) -> None:
    text = "links: {x0: {kind: vxlan, id: 7%s}}"
    applied(desk, text % ", alias: x, remote: 192.0.2.9", text % "")
    before = desk.there()
    applied(desk, "links: {x0: {kind: dummy}}", "links: {x0: {kind: dummy, alias: y}}")
    desk.engine.rollback(2)
    assert desk.there() == before


def test_kind_that_no_file_says_any_more_comes_back(desk: Desk) -> None:
    applied(desk, "links: {d0: {kind: dummy}}")
    applied(desk, "links: {d0: {alias: x}}")
    before = desk.there()
    applied(desk, "links: {d0: {kind: bridge, alias: x}}")
    desk.engine.rollback(2)
    assert desk.there() == before


def test_links_above_one_that_became_smaller_grow_again(host: Desk) -> None:
    given(host, "theirs", kind="vlan", link="eth7", id=9, up=True, mtu=1400)
    given(host, "small", kind="vlan", link="eth7", id=8, up=True, mtu=1280)
    text = "links: {eth7: {%s}, mine: {kind: vlan, link: eth7, id: 5}}"
    applied(host, text % "alias: uplink")
    before = host.there()
    applied(host, text % "alias: uplink, mtu: 1300")
    assert [link.attrs["mtu"] for link in host.kernel.state.of("link").values()] == [1300, 1300, 1280, 1300]
    host.engine.rollback()
    assert host.there() == before


def test_what_cannot_be_given_back_does_not_keep_the_rest_from_coming_back(host: Desk) -> None:
    applied(host, BEFORE, AFTER)
    host.kernel.refuse = lambda step: (
        errno.EINVAL if isinstance(step, Step) and step.object.name == "eth7" and "mtu" in step.attrs else 0
    )
    warning = host.engine.rollback().plan.warnings[0]
    assert warning.startswith("some of what later generations changed beside this one could not be given back: ")
    assert "Invalid argument" in warning
    assert ("master" in eth7(host), eth7(host)["mtu"]) == (False, 1300)
    assert {one.attrs["value"] for one in host.kernel.state.of("sysctl").values()} == {"0"}
    assert host.engine.status().differences == ""


def test_guard_looks_at_what_is_given_back_too(host: Desk) -> None:
    given(host, "eth7", up=False)
    applied(host, BEFORE, "links: {eth7: {alias: uplink, up: true}}")
    host.kernel.ways["192.0.2.1"] = Route("eth7", "10.0.0.5")
    with pytest.raises(GuardError, match="eth7"):
        host.engine.rollback()
    host.engine.rollback(allow=frozenset({"eth7"}))
    assert eth7(host)["up"] is False


def test_generations_of_an_older_version_know_nothing_of_it(host: Desk) -> None:
    applied(host, BEFORE, AFTER)
    for path in (host.paths.state / "generations").glob("*.replaced"):
        path.unlink()
    host.engine.rollback()
    assert ("master" in eth7(host), eth7(host)["mtu"]) == (False, 1300)


def test_what_generations_changed_that_are_dropped_is_handed_on(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netgroupd.engine.record.generations._MOST", 3)
    applied(host, BEFORE, AFTER, *(NUMBERED % number for number in range(4)))
    assert [each.number for each in host.engine.history()] == [6, 5, 4]
    kept = {path.name for path in (host.paths.state / "generations").iterdir()}
    assert kept == {"index", *(f"{number}{name}" for number in (4, 5, 6) for name in ("", ".replaced"))}
    host.engine.rollback(0)
    assert (eth7(host)["mtu"], eth7(host)["up"], eth7(host)["group"], "alias" in eth7(host)) == (1500, True, 0, False)


def test_what_would_take_too_much_is_not_kept_and_that_is_told(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netgroupd.engine.record.generations._MOST_REPLACED", 10)
    applied(host, BEFORE)
    host.wants(AFTER)
    assert any("no rollback gives it back" in each for each in host.engine.apply().plan.warnings)
    assert not Generations(host.paths.state).replaced(2).was
    assert not [*(host.paths.state / "generations").glob("*.replaced")]


def test_way_in_which_a_group_of_nexthops_spreads_flows_is_as_it_was(host: Desk) -> None:
    text = "nexthops: {1: {blackhole: true, family: inet}, 10: {group: [{id: 1}]%s}}"
    applied(host, text % "")
    usual = {"group_type": "mpath", **host.kernel.state.of("nexthop")[10,].attrs}
    host.kernel.state.add(Object("nexthop", (10,), usual))
    applied(host, text % ", group_type: resilient, buckets: 32")
    host.engine.rollback()
    assert host.kernel.state.of("nexthop")[10,].attrs["group_type"] == "mpath"


def test_way_in_which_a_group_of_nexthops_spread_flows_comes_back_with_it(desk: Desk) -> None:
    text = "nexthops: {1: {blackhole: true, family: inet}, 10: {%s}}"
    applied(desk, text % "group: [{id: 1}], group_type: resilient, buckets: 32", text % "group: [{id: 1}]")
    before = desk.there()
    applied(desk, text % "blackhole: true, family: inet")
    after = desk.there()
    applied(desk, text % "group: [{id: 1}], group_type: resilient, buckets: 8")
    desk.engine.rollback(3)
    assert desk.there() == after
    desk.engine.rollback(2)
    assert desk.there() == before


def test_options_are_given_back_to_vlans_that_stay() -> None:
    desired = state_of(
        "links: {br: {kind: bridge, vlan_filtering: on, vlans: [10]}, p1: {kind: dummy, master: br, vlans: [12]}}"
    )
    ours: dict[str, Value] = {"group": 0x4E47_0000}
    links = {"br": {"kind": "bridge"}, "p1": {"kind": "dummy", "master": "br"}, "p2": {"kind": "dummy", "master": "br"}}
    members = [("br", 1), ("br", 10), ("br", 11), ("br", 12), ("p1", 11), ("p2", 13)]
    actual = State(
        (
            *(Object("link", (name,), {**attrs, **ours}) for name, attrs in links.items()),
            *(Object("bridge_vlan", key, {}) for key in members),
            *(Object("vlan_global", ("br", vid), {"mcast_querier": True}) for vid in (1, 10, 11, 12, 13)),
        )
    )
    was = tuple(obj._replace(attrs={"mcast_querier": False}) for obj in actual.of("vlan_global").values())
    replaced = Replaced(was, tuple(actual.of("vlan_global").values()))
    found = replaced.given_back(desired, actual, Owned(frozenset({0x4E47_0000}))).of("vlan_global")
    assert {key[1]: dict(obj.attrs) for key, obj in found.items()} == {
        vid: {"mcast_querier": False} for vid in (1, 10, 12)
    }


def test_generation_and_files_are_expanded_once_each(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("10.0.0.1/24", "10.0.0.2/24"):
        host.wants(f"links: {{eth7: {{addresses: [{address}]}}}}")
        host.engine.apply()
    expanded: list[Sequence[Rendered]] = []

    def counted(rendered: Sequence[Rendered], known: Known) -> Desired:
        expanded.append(rendered)
        return desired_from(rendered, known)

    monkeypatch.setattr("netgroupd.engine.configuration.desired_from", counted)
    assert "the files still ask for generation 2" in host.engine.rollback().plan.warnings[-1]
    assert len(expanded) == 2
