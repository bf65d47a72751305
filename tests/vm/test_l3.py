# SPDX-License-Identifier: GPL-2.0-or-later
"""Every attribute of every class of layer 3 on a real kernel: made, changed, taken away; nothing to do after each."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import Selection
from netgroupd.model import CLASSES
from netgroupd.model.state import Object
from netgroupd.plan.step import Op, Step
from tests.vm.l3_cases import CASES, SETTINGS, SETUP, Case
from tests.vm.pipeline import Pipeline

_SELECTION = Selection(
    classes=frozenset(CLASSES),
    links=frozenset({"p0", "p1", "br0", "vx0", "vx1", "vx2", "p2"}),
    bridges=frozenset({"br0"}),
    tokens=frozenset({"br0"}),
    settings=frozenset(str(case.key[0]) for case in CASES if case.cls == "sysctl"),
)
# What was there before nobody knows, so it is not taken back.
_LASTING = frozenset({"sysctl", "vlan_global", "mst", "token"})
# Traffic control has a list of its own, and so have functions of cards.
_ELSEWHERE = frozenset({"link", "qdisc", "tclass", "action", "chain", "filter"})
_ELSEWHERE |= {"sriov", "vf"}
_TAKES_AWAY = {("bridge_vlan", "member")}  # of what the kernel makes by itself: in test_bridge_vlans_back
# What ``ip`` tells by netgroupd's own names: nothing that netgroupd gets wrong both ways hides from it.
_LISTS = {
    "rule": (("-4", "rule"), ("-6", "rule")),
    "route": (("-d", "-4", "route", "show", "table", "all"), ("-d", "-6", "route", "show", "table", "all")),
}
# A port in a tree of its own, which the ``ip`` and ``bridge`` of Debian 12 cannot make.
TREES = tuple(
    Step(Op.CHANGE, obj, obj, obj.attrs)
    for obj in (
        Object("link", ("br2",), {"kind": "bridge", "mst_enabled": True}),
        Object("link", ("p2",), {"kind": "dummy", "master": "br2"}),
        Object("vlan_global", ("br2", 1), {"msti": 3}),
    )
)


def _is_said_otherwise(case: Case) -> bool:
    spelt = case.name in ("tos", "dscp", "type", "action", "nhid") or case.where.startswith(("mpls", "ipv4-via"))
    return spelt or isinstance(case.first, bool)


def listed(*lists: tuple[str, ...]) -> str:
    """What ``ip`` lists."""
    told = (subprocess.run(["ip", *argv], capture_output=True, text=True, check=True) for argv in lists)
    return "\n".join(one.stdout for one in told)


@contextmanager
def opened() -> Iterator[Pipeline]:
    """The kernel with the links that the cases stand on."""
    subprocess.run(["ip", "-batch", "-"], input="\n".join(SETUP), text=True, check=True)
    for path, value in SETTINGS.items():
        (Path("/proc/sys") / path).write_text(value, encoding="utf-8")
    with Kernel() as kernel:
        assert not kernel.apply(TREES)
        yield Pipeline(kernel, _SELECTION)


@pytest.fixture(scope="module")
def shared(module_netns: None) -> Iterator[Pipeline]:
    with opened() as pipeline:
        yield pipeline


@pytest.fixture
def pipeline() -> Iterator[Pipeline]:
    with opened() as pipeline:
        yield pipeline


def test_every_attribute_of_every_class_has_a_case() -> None:
    tried = {(case.cls, case.name) for case in CASES}
    described = {(name, attr) for name, cls in CLASSES.items() if name not in _ELSEWHERE for attr in cls.attrs}
    assert described - tried == _TAKES_AWAY


@pytest.mark.parametrize("case", [case for case in CASES if case.cls not in _LASTING], ids=lambda case: case.id)
def test_attribute_is_set_changed_and_taken_away(shared: Pipeline, case: Case) -> None:
    before = shared.actual.of(case.cls).keys()
    keys = {case.object(value).key for value in (case.first, case.second)}
    created = shared.reach(case.cls, case.object(case.first))
    assert [step.op for step in created] == [Op.CREATE]
    if case.cls in _LISTS and isinstance(case.first, str | int) and not _is_said_otherwise(case):
        assert f"{case.name} {case.first}" in listed(*_LISTS[case.cls])
    shared.reach(case.cls, case.object(case.second))
    for have in [have for have in shared.actual.of(case.cls).values() if have.key in keys]:
        assert not shared.kernel.apply([Step(Op.DELETE, have, None)])
    assert shared.look().of(case.cls).keys() == before


@pytest.mark.parametrize("case", [case for case in CASES if case.cls in _LASTING], ids=lambda case: case.id)
def test_setting_is_set_and_changed(pipeline: Pipeline, case: Case) -> None:
    for value in (case.first, case.second):
        pipeline.reach(case.cls, case.object(value))
