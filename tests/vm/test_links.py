# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind × every attribute on a real kernel: made with it, changed, nothing to do after each.

The pipeline itself decides what to send: these tests hold it, the rows and the
kernel to one another.
"""

import base64
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import EVERYTHING
from netgroupd.model.attr import Attr, Change
from netgroupd.model.kinds import KINDS
from netgroupd.model.owner import GROUP_BASE
from netgroupd.model.state import Attrs, Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import same
from netgroupd.plan.step import Op, Step
from tests.config.reading import problems
from tests.vm.link_cases import BASE, KEY_FILES, Case, of_all_links, of_kinds, of_ports
from tests.vm.pipeline import Pipeline

_KINDS = list(of_kinds())
_PORTS = list(of_ports())
_COMMON = [case for case in of_all_links() if case.name != "numrxqueues"]
# Queues are received into where there are processors to receive: one kernel has two, which is as good as the other.
_OF_ONE_KERNEL = [
    *of_all_links(patched=True),
    *(pytest.param(case, marks=pytest.mark.vm(cpus=2)) for case in of_all_links() if case.name == "numrxqueues"),
]
_MASTERS = [case for case in _KINDS if KINDS[case.kind].master and not case.row.silent]


def link(name: str, **attrs: object) -> Object:
    return Object("link", (name,), attrs)  # type: ignore[arg-type]


@pytest.fixture
def pipeline() -> Iterator[Pipeline]:
    """The kernel with the links that the cases stand on."""
    lower = [link(f"low{number}", kind="dummy", up=True) for number in range(4)]
    bridges = [link(f"br{number}", kind="bridge") for number in range(2)]
    for number, path in enumerate(KEY_FILES, 1):
        # Not as `wg genkey` makes them, with some bits set and some not, but any 32 bytes.
        Path(path).write_bytes(base64.b64encode(bytes([9 * number] * 31 + [255])))
    with Kernel() as kernel:
        opened = Pipeline(kernel, EVERYTHING._replace(key_files={"it": KEY_FILES}))
        opened.reach("link", *lower, *bridges)
        yield opened


def _in_place(row: Attr, first: object, second: object) -> bool:
    if row.in_place:
        return row.in_place(first, second)  # type: ignore[arg-type]
    return row.change.name != "RECREATE"


def _up(case: Case) -> Attrs:
    """The link is up unless the kernel changes the attribute only while it is down: that is the planner's to see to."""
    return {} if case.name == "up" else {"up": case.row.change not in (Change.DOWN, Change.EMPTY)}


def _try(pipeline: Pipeline, case: Case, name: str, attrs: Attrs, *others: Object) -> None:
    first = link(name, **{**attrs, case.name: case.first})
    second = link(name, **{**attrs, case.name: case.second})
    created = pipeline.reach("link", *others, first)
    if not case.row.silent and case.name != "external":
        have = pipeline.actual.link(name)
        assert have
        assert same(case.name, case.first, have.attrs.get(case.name))
    assert created or case.name == "active_slave"
    changed = pipeline.reach("link", *others, second)
    if case.first != case.second and _in_place(case.row, case.first, case.second):
        assert {step.op for step in changed} == {Op.CHANGE}
    if case.row.nullable:
        pipeline.reach("link", *others, link(name, **{**attrs, case.name: None}))


def test_matrix_has_every_kind_and_attribute(record_property: Callable[[str, object], None]) -> None:
    assert {case.kind for case in _KINDS} == {name for name, kind in KINDS.items() if kind.attrs}
    record_property("attributes", len(_KINDS) + len(_PORTS) + len(_COMMON) + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_kind_is_made_with_no_more_than_it_needs(pipeline: Pipeline, kind: str) -> None:
    others = [link(f"low{number}", kind="dummy") for number in range(4)]
    pipeline.reach("link", *others, link("it", kind=kind, **BASE.get(kind, {})))


@pytest.mark.parametrize("case", _KINDS, ids=str)
def test_attribute_of_kind_is_set_and_changed(pipeline: Pipeline, case: Case) -> None:
    if case.kind == "bond" and case.name in ("primary", "active_slave"):
        ports = [link(name, kind="dummy", master="it") for name in ("p1", "p2")]
        pipeline.reach("link", link("it", kind="bond", **case.attrs), *ports)
        _try(pipeline, case, "it", {"kind": case.kind, **case.attrs, "up": True}, *ports)
        return
    _try(pipeline, case, "it", {"kind": case.kind, **case.attrs, **_up(case)})


@pytest.mark.parametrize("case", _MASTERS, ids=str)
def test_attribute_of_master_is_changed_while_it_is_up_and_has_ports(pipeline: Pipeline, case: Case) -> None:
    ports = [link(name, kind="dummy", up=True, master="it") for name in ("p1", "p2")]
    attrs = {"kind": case.kind, "group": GROUP_BASE, "up": True, **case.attrs}
    for value in (case.first, case.second, case.first):
        pipeline.become(link("it", **{**attrs, case.name: value}), *ports)


@pytest.mark.parametrize("case", _PORTS, ids=str)
def test_attribute_of_port_is_set_and_changed(pipeline: Pipeline, case: Case) -> None:
    told = {name: value for name, value in case.attrs.items() if name.startswith("port.")}
    master = link("it", kind=case.kind, up=True, **{name: case.attrs[name] for name in case.attrs.keys() - told.keys()})
    ports = [link(name, kind="dummy", master="it") for name in ("p1", "p2")]
    pipeline.reach("link", master, *ports)
    _try(pipeline, case, "p0", {"kind": "dummy", "master": "it", **told, **_up(case)}, master, *ports)


@pytest.mark.parametrize("case", _COMMON, ids=str)
def test_attribute_of_any_link_is_set_and_changed(pipeline: Pipeline, case: Case) -> None:
    _try(pipeline, case, "it", {**case.attrs, **_up(case)})


@pytest.mark.vm("patched")
@pytest.mark.parametrize("case", _OF_ONE_KERNEL, ids=str)
def test_attribute_of_any_link_on_the_patched_kernel_is_set_and_changed(pipeline: Pipeline, case: Case) -> None:
    _try(pipeline, case, "it", case.attrs)


_TO_ANY = ("gre", "gretap", "erspan", "ip6gre", "ip6gretap", "ip6erspan", "ipip", "ip6tnl")


@pytest.mark.parametrize("external", [True, False])
@pytest.mark.parametrize("kind", _TO_ANY)
def test_tunnel_with_no_other_end_changes_in_place(pipeline: Pipeline, kind: str, external: bool) -> None:
    attrs = {"kind": kind, "external": external, "up": True}
    if "erspan" in kind and not external:
        attrs |= {"ikey": 5, "okey": 5}
    pipeline.reach("link", link("it", **attrs, encap_sport=5))
    changed = pipeline.reach("link", link("it", **attrs, encap_sport=6))
    assert [step.op for step in changed if step.object.name == "it"] == [Op.CHANGE]
    found = pipeline.actual.link("it")
    assert found
    assert found.attrs["external"] is external


@pytest.mark.parametrize("kind", ["gre", "gretap", "erspan"])
def test_tunnel_that_ignores_the_bit_discovers_the_mtu_again(pipeline: Pipeline, kind: str) -> None:
    attrs = {"kind": kind, **BASE[kind], "ttl": 0}
    pipeline.reach("link", link("it", **attrs, pmtudisc=False, ignore_df=True))
    pipeline.reach("link", link("it", **attrs, pmtudisc=True, ignore_df=False))


@pytest.mark.parametrize("before", [{}, {"ttl": 7}, {"ttl_inherit": True}])
def test_geneve_has_the_ttl_that_it_says_and_says_to_inherit_none(pipeline: Pipeline, before: Attrs) -> None:
    attrs = {"kind": "geneve", **BASE["geneve"]}
    pipeline.reach("link", *([link("it", **attrs, **before)] if before else []))
    pipeline.reach("link", link("it", **attrs, ttl=9, ttl_inherit=False))
    found = pipeline.actual.link("it")
    assert found
    assert (found.attrs["ttl"], found.attrs["ttl_inherit"]) == (9, False)
    pipeline.reach("link", link("it", **attrs, ttl_inherit=True))


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("geneve", {"external": True, "df": "unset"}, {"external": True, "df": "set"}),
        ("xfrm", {"external": True}, {"if_id": 7}),
    ],
)
def test_external_tunnel_that_the_kernel_does_not_change_is_made_anew(
    pipeline: Pipeline, kind: str, first: Attrs, second: Attrs
) -> None:
    numbers = []
    for attrs in (first, second, {**second, "mtu": 1400}):
        pipeline.become(link("it", kind=kind, group=GROUP_BASE, **attrs))
        numbers.append(pipeline.kernel.names.index("it"))
    assert numbers[0] != numbers[1] == numbers[2]


def test_peer_of_wireguard_loses_the_key_that_is_not_said_any_more(pipeline: Pipeline) -> None:
    peer = {"public_key": "A" * 43 + "=", "endpoint": "192.0.2.1:51820", "allowed_ips": ("192.0.2.0/24",)}
    pipeline.reach("link", link("it", kind="wireguard", peers=({**peer, "preshared_key_file": KEY_FILES[0]},)))
    pipeline.reach("link", link("it", kind="wireguard", peers=({"public_key": peer["public_key"]},)))
    found = pipeline.actual.link("it")
    assert found
    assert found.attrs["peers"] == ({**peer, "allowed_ips": (), "persistent_keepalive": 0},)


def test_peer_of_wireguard_has_more_networks_than_fit_into_one_attribute(pipeline: Pipeline) -> None:
    for count in (5000, 4000):
        networks = tuple(sorted(f"10.{number >> 8}.{number & 255}.0/24" for number in range(count)))
        peer = {"public_key": "A" * 43 + "=", "allowed_ips": networks, "persistent_keepalive": 25}
        pipeline.reach("link", link("it", kind="wireguard", peers=(peer,)))


@pytest.mark.vm("patched", cpus=2)
@pytest.mark.parametrize("kind", ["bond", "team"])
def test_light_link_has_the_queues_it_asks_for_or_one(pipeline: Pipeline, kind: str) -> None:
    light = {"kind": kind, "lightweight": True}
    pipeline.reach("link", link("one", **light), link("more", **light, numtxqueues=4), link("whole", kind=kind))
    found = pipeline.actual.of("link").values()
    queues = {made.name: (made.attrs["numtxqueues"], made.attrs["numrxqueues"]) for made in found}
    assert (queues["one"], queues["more"], queues["whole"]) == ((1, 1), (4, 1), (16, 16))


_MODES = ("balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb")
_LOOKING = [*((mode, 0) for mode in _MODES), ("active-backup", 100)]


def test_of_what_a_bond_can_have_in_a_mode_files_and_kernel_say_the_same(pipeline: Pipeline) -> None:
    of_bonds = [case for case in _KINDS if case.kind == "bond" and case.name not in ("mode", "miimon", "active_slave")]
    different = []
    for number, ((mode, miimon), case) in enumerate(product(_LOOKING, of_bonds)):
        value = "low0" if case.name == "primary" else case.first
        attrs: dict[str, Value] = {"kind": "bond", "mode": mode, "miimon": miimon, case.name: value}
        bond = link(f"b{number}", **attrs)
        refused = pipeline.kernel.apply([Step(Op.CREATE, None, bond, bond.attrs)])
        told = problems(f"links:\n  {bond.name}: {json.dumps(attrs)}\n", known=("low0",))
        if bool(refused) != bool(told):
            different.append((attrs, refused, told))
    assert not different
