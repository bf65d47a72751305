# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that starts on a kernel which refuses some of it: something is better than nothing, and it is told."""

import errno
from collections.abc import Callable
from time import thread_time

import pytest

from netgroupd.errors import KernelError, Refusal, RejectedError, VerifyError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model.state import Object, State
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import AnyStep, GroupStep, Op, Step
from netgroupd.service.picture import take
from tests.engine.desk import Desk

CARD = Object("link", ("eth0",), {"kind": "", "up": False, "mtu": 1500, "group": 0})
HYPERVISOR = """
links:
  eth0: {up: true}
  br0: {kind: bridge, ports: eth0, up: true, addresses: [192.0.2.5/24]}
  d0: {kind: dummy}
routes: [{to: default, via: 192.0.2.1}]
"""
STACK = """
groups: {tenants: {drift: repair}}
links:
  eth0: {up: true, addresses: [192.0.2.5/24]}
  eth0.[7-8]: {kind: vlan, link: eth0, id: "{1}", up: true, group: tenants}
  br7: {kind: bridge, up: true, addresses: [10.0.7.1/24], ports: eth0.7}
  q7: {kind: vlan, link: eth0.7, id: 9, up: true, addresses: [10.1.7.1/24]}
nexthops: {1: {via: 10.1.7.2, dev: q7}}
routes:
  - {to: default, via: 192.0.2.1}
  - {to: 10.8.0.0/16, via: 10.1.7.9}
  - {to: 10.9.0.0/16, nhid: 1}
  - {to: 10.7.0.0/16, via: 10.0.7.9}
"""


def refusing(number: int, which: Callable[[Step], bool]) -> Callable[[AnyStep], int]:
    """Refuse steps about some objects, one by one or many at once."""
    return lambda step: number if any(map(which, singles([step]))) else 0


def made(*names: str) -> Callable[[Step], bool]:
    return lambda step: step.op is Op.CREATE and step.object.cls == "link" and step.object.name in names


def links(desk: Desk) -> dict[str, object]:
    return {link.name: link.attrs["up"] for link in desk.kernel.state.of("link").values()}


def routes(desk: Desk) -> set[str]:
    return {str(key[2]) for key in desk.kernel.state.of("route")}


def started(desk: Desk, text: str, refuse: Callable[[AnyStep], int]) -> str:
    """Start a host on a kernel that refuses something; return what is told of it."""
    desk.wants(text)
    desk.kernel = FakeKernel([CARD], refuse=refuse)
    return str(desk.boot().trouble)


def test_step_that_has_nothing_to_do_with_the_network_does_not_take_it_along(desk: Desk) -> None:
    told = started(desk, HYPERVISOR, refusing(errno.EOPNOTSUPP, made("d0")))
    assert f"{desk.config}/all.yaml:5: create link d0: Operation not supported\n" in told
    assert "1 of 5 objects; all the rest is configured" in told
    assert links(desk) == {"eth0": True, "br0": True}
    assert routes(desk) == {"0.0.0.0/0"}
    kept = desk.engine.in_effect()
    assert kept is not None
    assert (kept.number, kept.result) == (1, "applied")
    assert desk.engine.status().differences.startswith("1 to create")
    assert desk.engine.pending() is None
    assert not (desk.paths.state / "journal").exists()


def test_operator_who_applies_has_all_or_nothing(desk: Desk) -> None:
    started(desk, HYPERVISOR, refusing(errno.EOPNOTSUPP, made("d0")))
    with pytest.raises(KernelError):
        desk.engine.apply()
    assert links(desk) == {"eth0": True, "br0": True}
    desk.kernel.refuse = lambda _step: 0
    desk.engine.apply()
    assert not desk.engine.drift().steps


def test_what_stands_on_what_is_refused_waits_and_comes_with_a_repair(desk: Desk) -> None:
    told = started(desk, STACK, refusing(errno.ENOMEM, made("eth0.7")))
    assert "all.yaml:5: create link eth0.7: Cannot allocate memory" in told
    assert told.count("all.yaml") == 1, "the rest follows"
    assert links(desk) == {"eth0": True, "eth0.8": True, "br7": True}
    assert routes(desk) == {"0.0.0.0/0", "10.7.0.0/16"}
    desk.kernel.refuse = lambda _step: 0
    desk.engine.repair(take(desk.engine).broken)
    assert links(desk)["eth0.7"] is True
    desk.engine.apply()
    assert routes(desk) == {"0.0.0.0/0", "10.7.0.0/16", "10.8.0.0/16", "10.9.0.0/16"}


@pytest.mark.parametrize(("refused", "up"), [({"mtu"}, True), ({"mtu", "up"}, False)])
def test_card_stays_without_what_it_was_refused(desk: Desk, refused: set[str], up: bool) -> None:
    text = "links: {eth0: {up: true, mtu: 9999, addresses: [192.0.2.5/24]}}"
    told = started(desk, text, refusing(errno.EINVAL, lambda step: not refused.isdisjoint(step.attrs)))
    assert "change link eth0: Invalid argument" in told
    assert (desk.kernel.state.classes["link"]["eth0",].attrs["mtu"], links(desk)) == (1500, {"eth0": up})
    assert len(desk.kernel.state.of("address")) == 1


def test_addresses_and_settings_that_are_refused_are_left_out_alone(desk: Desk) -> None:
    told = started(
        desk,
        STACK.replace("[10.1.7.1/24]", "[10.1.7.1/24, 'fd00::1/64'], sysctl: {ipv6.accept_ra: 0}"),
        refusing(errno.EACCES, lambda step: step.object.cls == "sysctl" or "fd00::1/64" in step.object.key),
    )
    assert "Permission denied (and 1 more of this line)" in told
    assert len(links(desk)) == 5
    assert len(routes(desk)) == 4


RULES = """
links: {eth0: {up: true, addresses: [192.0.2.5/24]}}
tc:
  eth0:
    ingress:
      - {pref: 1, matchall: {}, action: pass}
      - {pref: 2, protocol: ip, flower: {dst_ip: 10.0.0.1}, action: drop}
      - {pref: 3, protocol: ip, flower: {dst_ip: "10.0.1.[1-40]"}, action: drop}
"""


@pytest.mark.parametrize(
    ("refuse", "left"),
    [
        (lambda step: step.object.cls == "filter" and step.object.attrs.get("kind") == "flower", 1),
        (lambda step: step.object.cls == "qdisc", 0),
    ],
    ids=["kind_of_rule", "hook"],
)
def test_rules_that_are_refused_are_left_out(desk: Desk, refuse: Callable[[Step], bool], left: int) -> None:
    told = started(desk, RULES, refusing(errno.ENOENT, refuse))
    assert "No such file or directory" in told
    assert len(desk.kernel.state.of("filter")) == left
    assert links(desk) == {"eth0": True}


@pytest.mark.parametrize("lines", [1, 400], ids=["of_one_line", "of_a_line_each"])
def test_very_many_refusals_do_not_take_very_many_attempts(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    many = 2000 // lines
    text = "".join(f"  v{line}-[1-{many}]: {{kind: macvlan, link: eth0}}\n" for line in range(lines))
    before_s = thread_time()
    told = started(
        desk,
        f"links:\n  eth0: {{up: true, addresses: [192.0.2.5/24]}}\n  d0: {{kind: dummy}}\n{text}",
        refusing(errno.EOPNOTSUPP, lambda step: step.op is Op.CREATE and step.object.attrs.get("kind") == "macvlan"),
    )
    assert thread_time() - before_s < 30
    assert "2,000 of 2,003 objects" in told
    assert links(desk) == {"eth0": True, "d0": False}


def test_group_message_that_is_refused_leaves_its_members(desk: Desk) -> None:
    refuse: Callable[[AnyStep], int] = lambda step: (  # noqa: E731
        errno.EOPNOTSUPP if isinstance(step, GroupStep) and "mtu" in step.attrs else 0
    )
    text = "groups: {g: {mtu: 1400, up: true}}\nlinks: {'eth[0-9]': {group: g}, 'd[0-9]': {kind: dummy, group: g}}"
    desk.wants(text)
    desk.kernel = FakeKernel([CARD._replace(key=(f"eth{number}",)) for number in range(10)], refuse=refuse)
    desk.boot()
    assert [*links(desk).values()] == [True] * 20


def test_what_the_kernel_takes_and_does_not_do_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf(FakeKernel):
        def _other(self, step: Step) -> None:
            if step.object.cls != "sysctl":
                super()._other(step)

    desk.wants("links: {eth0: {up: true, addresses: [192.0.2.5/24], sysctl: {ipv4.rp_filter: 2}}}")
    desk.kernel = Deaf([CARD])
    assert isinstance(desk.boot().trouble, VerifyError)
    assert links(desk) == {"eth0": True}
    assert len(desk.kernel.state.of("address")) == 1


def test_what_is_in_effect_comes_back_in_part_where_the_files_were_rejected(desk: Desk) -> None:
    desk.kernel = FakeKernel([CARD])
    desk.wants(HYPERVISOR)
    desk.engine.apply()
    desk.wants("{}")
    desk.engine.apply(confirm_s=0.0)
    desk.engine.expire()
    desk.kernel = FakeKernel([CARD], refuse=refusing(errno.EOPNOTSUPP, made("d0")))
    trouble = desk.boot().trouble
    assert isinstance(trouble, RejectedError)
    assert "create link d0: Operation not supported" in str(trouble)
    assert links(desk) == {"eth0": True, "br0": True}


def test_repair_brings_the_bridge_of_a_port_and_the_link_below_a_vlan_back(desk: Desk) -> None:
    desk.wants(
        "groups: {mended: {drift: repair}}\n"
        "links: {eth0: {group: mended}, d0: {kind: dummy, up: true}, d0.5: {up: true, group: mended}, "
        "br0: {kind: bridge, ports: eth0, addresses: [192.0.2.5/24]}, br1: {kind: bridge, ports: br0.7}}"
    )
    desk.kernel = FakeKernel([CARD])
    desk.engine.apply()
    desk.kernel = FakeKernel([CARD])
    desk.engine.repair(frozenset({"eth0", "d0.5"}))
    assert links(desk).keys() == {"eth0", "d0", "d0.5", "br0"}
    assert len(desk.kernel.state.of("address")) == 1


def test_host_whose_kernel_cannot_be_read_any_more_keeps_what_was_done(desk: Desk) -> None:
    class Mute(FakeKernel):
        def dump(self, selection: Selection) -> State:
            if self.has_link("d0"):
                raise KernelError([Refusal("read the links", errno.ENOMEM, "Cannot allocate memory")])
            return super().dump(selection)

    desk.kernel = Mute([CARD])
    desk.wants(HYPERVISOR)
    assert str(desk.boot().trouble).startswith("read the links: Cannot allocate memory")
    assert links(desk) == {"eth0": True, "br0": True, "d0": False}
    kept = desk.engine.in_effect()
    assert kept is not None
    assert kept.result == "applied"
