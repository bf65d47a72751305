# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel is told of neighbours, and which of what it tells counts."""

import pytest

from netgroupd.kernel.features import Features
from netgroupd.kernel.layer3 import neighbours
from netgroupd.kernel.names import Names
from netgroupd.kernel.netlink.generic import Generic
from netgroupd.kernel.netlink.message import HEADER_LEN
from netgroupd.kernel.netlink.request import Context
from netgroupd.kernel.netlink.socket import Socket
from netgroupd.model.owner import PROTO
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.step import Op, Step

_KEY = ("d0", "192.0.2.9", False)


@pytest.fixture
def context() -> Context:
    """A namespace that has one link, and no socket to it."""
    names = Names()
    names.note("d0", 2)
    return Context(Socket.__new__(Socket), names, Features(), None, Generic.__new__(Generic))


def _read(context: Context, step: Step, *, foreign: bool = False) -> Object | None:
    """What the kernel is told with a step, read back."""
    (request,) = neighbours.encode(step, context)
    assert isinstance(request, bytes)
    return neighbours._decode(memoryview(request)[HEADER_LEN:], context.names, PROTO, foreign=foreign)


@pytest.mark.parametrize(
    ("attrs", "want"),
    [
        pytest.param({"managed": True}, ["managed"], id="managed"),
        pytest.param({"lladdr": "02:00:00:00:00:01", "state": "reachable"}, None, id="learnt"),
        pytest.param({"lladdr": "02:00:00:00:00:01"}, [], id="for_good"),
        pytest.param({"lladdr": "02:00:00:00:00:01", "state": "noarp"}, [], id="without_arp"),
        pytest.param({"lladdr": "ff:ff:ff:ff:ff:ff", "state": "noarp"}, None, id="broadcast"),
    ],
)
def test_neighbour_of_others_counts_where_it_lasts(
    context: Context, attrs: dict[str, Value], want: list[str] | None
) -> None:
    step = Step(Op.CREATE, None, Object("neighbour", _KEY, {**attrs, UNOWNED: 4}))
    found = _read(context, step, foreign=True)
    assert (found and [name for name, value in found.attrs.items() if value is True]) == want


_FOUND: dict[str, Value] = {"lladdr": "02:00:00:00:00:07", "state": "permanent"}


@pytest.mark.parametrize(
    ("before", "said", "want"),
    [
        pytest.param({"managed": True}, _FOUND, {"managed": False, **_FOUND}, id="no_more"),
        pytest.param({"managed": True}, {"router": True}, {"managed": True, "router": True}, id="still"),
        pytest.param({"managed": False, **_FOUND}, {"managed": True}, {"managed": True}, id="from_now_on"),
    ],
)
def test_neighbour_is_managed_or_has_what_is_said(
    context: Context, before: dict[str, Value], said: dict[str, Value], want: dict[str, Value]
) -> None:
    step = Step(Op.CHANGE, Object("neighbour", _KEY, before), Object("neighbour", _KEY, said), said)
    read = _read(context, step)
    assert read
    assert {"router": False, "extern_learn": False, **want} == read.attrs


def test_managed_neighbour_is_read_without_what_the_kernel_finds_out(context: Context) -> None:
    found: dict[str, Value] = {"lladdr": "02:00:00:00:00:07", "state": "noarp"}
    step = Step(Op.CREATE, None, Object("neighbour", _KEY, {"managed": True, **found}))
    read = _read(context, step)
    assert read
    assert not read.attrs.keys() & found.keys()
