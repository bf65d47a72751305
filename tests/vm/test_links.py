# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind × every attribute on a real kernel: made with it, changed, nothing to do after each.

The pipeline itself decides what to send: these tests hold it, the rows and the
kernel to one another.
"""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.request import EVERYTHING
from netgroupd.model.attr import Attr
from netgroupd.model.kinds import KINDS
from netgroupd.model.state import Attrs, Object, State
from netgroupd.plan.compare import same
from netgroupd.plan.diff import diff
from netgroupd.plan.link import Owned
from netgroupd.plan.step import Op, Step
from tests.vm.link_cases import BASE, KEY_FILES, Case, of_all_links, of_kinds, of_ports

_KINDS = list(of_kinds())
_PORTS = list(of_ports())
_COMMON = list(of_all_links())


def link(name: str, **attrs: object) -> Object:
    return Object("link", (name,), attrs)  # type: ignore[arg-type]


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    """The kernel with the links that the cases stand on."""
    lower = [link(f"low{number}", kind="dummy", up=True) for number in range(4)]
    bridges = [link(f"br{number}", kind="bridge") for number in range(2)]
    for number, path in enumerate(KEY_FILES, 1):
        # Not as `wg genkey` makes them, with some bits set and some not, but any 32 bytes.
        Path(path).write_bytes(base64.b64encode(bytes([9 * number] * 31 + [255])))
    with Kernel() as opened:
        _reach(opened, *lower, *bridges)
        yield opened


def _pending(kernel: Kernel, *wanted: Object) -> tuple[Step, ...]:
    selection = EVERYTHING._replace(key_files={"it": KEY_FILES})
    return diff(State(wanted), kernel.dump(selection), Owned()).steps


def _reach(kernel: Kernel, *wanted: Object) -> tuple[Step, ...]:
    steps = _pending(kernel, *wanted)
    refused = kernel.apply(steps)
    assert not refused, [str(one.refusal) for one in refused]
    assert [(step.op, step.object.name, dict(step.attrs)) for step in _pending(kernel, *wanted)] == []
    return steps


def _in_place(row: Attr, first: object, second: object) -> bool:
    if row.in_place:
        return row.in_place(first, second)  # type: ignore[arg-type]
    return row.change.name != "RECREATE"


def _try(kernel: Kernel, case: Case, name: str, attrs: Attrs, *others: Object) -> None:
    first = link(name, **{**attrs, case.name: case.first})
    second = link(name, **{**attrs, case.name: case.second})
    created = _reach(kernel, *others, first)
    if not case.row.silent and case.name != "external":
        have = kernel.dump(EVERYTHING._replace(key_files={"it": KEY_FILES})).link(name)
        assert have
        assert same(case.name, case.first, have.attrs.get(case.name))
    assert created or case.name == "active_slave"
    changed = _reach(kernel, *others, second)
    if case.first != case.second and _in_place(case.row, case.first, case.second):
        assert {step.op for step in changed} == {Op.CHANGE}
    if case.row.nullable:
        _reach(kernel, *others, link(name, **{**attrs, case.name: None}))


def test_matrix_has_every_kind_and_attribute(record_property: Callable[[str, object], None]) -> None:
    assert {case.kind for case in _KINDS} == {name for name, kind in KINDS.items() if kind.attrs}
    record_property("attributes", len(_KINDS) + len(_PORTS) + len(_COMMON))


@pytest.mark.parametrize("kind", KINDS)
def test_kind_is_made_with_no_more_than_it_needs(kernel: Kernel, kind: str) -> None:
    others = [link(f"low{number}", kind="dummy") for number in range(4)]
    _reach(kernel, *others, link("it", kind=kind, **BASE.get(kind, {})))


@pytest.mark.parametrize("case", _KINDS, ids=str)
def test_attribute_of_kind_is_set_and_changed(kernel: Kernel, case: Case) -> None:
    if case.kind == "bond" and case.name in ("primary", "active_slave"):
        ports = [link(name, kind="dummy", master="it") for name in ("p1", "p2")]
        _reach(kernel, link("it", kind="bond", **case.attrs), *ports)
        _try(kernel, case, "it", {"kind": case.kind, **case.attrs, "up": True}, *ports)
        return
    _try(kernel, case, "it", {"kind": case.kind, **case.attrs})


@pytest.mark.parametrize("case", _PORTS, ids=str)
def test_attribute_of_port_is_set_and_changed(kernel: Kernel, case: Case) -> None:
    told = {name: value for name, value in case.attrs.items() if name.startswith("port.")}
    master = link("it", kind=case.kind, up=True, **{name: case.attrs[name] for name in case.attrs.keys() - told.keys()})
    ports = [link(name, kind="dummy", master="it") for name in ("p1", "p2")]
    _reach(kernel, master, *ports)
    _try(kernel, case, "p0", {"kind": "dummy", "master": "it", **told}, master, *ports)


@pytest.mark.parametrize("case", _COMMON, ids=str)
def test_attribute_of_any_link_is_set_and_changed(kernel: Kernel, case: Case) -> None:
    _try(kernel, case, "it", case.attrs)


@pytest.mark.vm("patched")
@pytest.mark.parametrize("case", list(of_all_links(patched=True)), ids=str)
def test_attribute_of_the_patched_kernel_is_set_and_changed(kernel: Kernel, case: Case) -> None:
    _try(kernel, case, "it", case.attrs)


@pytest.mark.vm("patched")
@pytest.mark.parametrize("kind", ["bond", "team"])
def test_light_link_has_the_queues_it_asks_for_or_one(kernel: Kernel, kind: str) -> None:
    light = {"kind": kind, "lightweight": True}
    _reach(kernel, link("one", **light), link("more", **light, numtxqueues=4), link("whole", kind=kind))
    found = kernel.dump(EVERYTHING).of("link").values()
    queues = {made.name: (made.attrs["numtxqueues"], made.attrs["numrxqueues"]) for made in found}
    assert (queues["one"], queues["more"], queues["whole"]) == ((1, 1), (4, 1), (16, 16))
