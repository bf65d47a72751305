# SPDX-License-Identifier: GPL-2.0-or-later
"""Deleting links by conditions on the patched kernel: all of them hold, and none is left out."""

import errno
import struct
from collections.abc import Iterator

import pytest

from tests.vm.kernel_netlink import (
    BULK,
    DELLINK,
    ECHO,
    GROUP,
    IFNAME,
    INFO_DATA,
    INFO_KIND,
    LINKINFO,
    MASTER,
    MTU,
    NEWLINK,
    Netlink,
    attr,
    nest,
)
from tests.vm.test_kernel_groups import by_group, dummies

pytestmark = pytest.mark.vm("patched")


@pytest.fixture
def nl() -> Iterator[Netlink]:
    """A socket in the test's network namespace."""
    with Netlink() as opened:
        yield opened


def test_bulk_delete_takes_all_conditions_together(nl: Netlink) -> None:
    bridge = nl.add_link("br9", "bridge")
    goes = dummies(nl, 2, 5, attr(MASTER, bridge))
    stays = [
        *dummies(nl, 1, 5, prefix="e"),
        *dummies(nl, 1, 6, attr(MASTER, bridge), prefix="f"),
        nl.add_link("i9", "ifb", attr(GROUP, 5), attr(MASTER, bridge)),
    ]
    kind = nest(LINKINFO, attr(INFO_KIND, "dummy"))
    assert nl.link(DELLINK, *by_group(5), attr(MASTER, bridge), kind, flags=BULK).error == 0
    left = nl.links()
    assert not set(goes) & set(left)
    assert set(stays) <= set(left)


def test_group_delete_without_bulk_looks_at_the_group_alone(nl: Netlink) -> None:
    bridge = nl.add_link("br9", "bridge")
    dummies(nl, 2, 5)
    assert nl.link(DELLINK, *by_group(5), attr(MASTER, bridge)).error == 0
    assert nl.links(*by_group(5)) == {}


@pytest.mark.parametrize(
    ("attrs", "code", "text"),
    [
        pytest.param((), errno.EINVAL, "Bulk delete needs a group, a master or a kind", id="nothing"),
        pytest.param((attr(GROUP, 0),), errno.EPERM, "The default group can not be deleted", id="default_group"),
        pytest.param((attr(GROUP, 77),), errno.ENODEV, "No device selected", id="empty_group"),
        pytest.param((attr(MASTER, 4711),), errno.ENODEV, "Master does not exist", id="no_master"),
        pytest.param((nest(LINKINFO, attr(INFO_KIND, "nokind")),), errno.ENODEV, "No device of this kind", id="kind"),
        pytest.param((nest(LINKINFO),), errno.EINVAL, "Bulk delete needs a kind in the link info", id="no_kind"),
        pytest.param((attr(GROUP, 5), attr(IFNAME, "d0")), errno.EINVAL, "Bulk delete of a single device", id="name"),
    ],
)
def test_bulk_delete_refuses_with_a_sentence(nl: Netlink, attrs: tuple[bytes, ...], code: int, text: str) -> None:
    dummies(nl, 2, 5)
    before = set(nl.links())
    reply = nl.link(DELLINK, *attrs, flags=BULK)
    assert (reply.error, reply.text) == (code, text)
    assert set(nl.links()) == before


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(attr(MTU, 1500), id="of_links"),
        pytest.param(attr(200, 1), id="of_a_later_kernel"),
        pytest.param(nest(LINKINFO, attr(INFO_KIND, "dummy"), attr(INFO_DATA, b"")), id="of_a_kind"),
        pytest.param(nest(LINKINFO, attr(INFO_KIND, "dummy"), attr(100, 1)), id="of_a_later_kind"),
    ],
)
def test_bulk_delete_refuses_a_condition_it_does_not_know(nl: Netlink, condition: bytes) -> None:
    members = dummies(nl, 2, 5)
    reply = nl.link(DELLINK, *by_group(5), condition, flags=BULK)
    assert reply.error == errno.EINVAL
    assert reply.text in ("Attribute is no condition of a bulk delete", "Unknown attribute type")
    assert set(nl.links(*by_group(5))) == set(members)


def test_bulk_delete_names_the_link_that_can_not_go_and_keeps_the_others(nl: Netlink) -> None:
    dummies(nl, 2, 5)
    assert nl.link(NEWLINK, attr(GROUP, 5), index=1).error == 0
    reply = nl.link(DELLINK, *by_group(5), flags=BULK)
    assert (reply.error, reply.text, reply.cookie) == (errno.EOPNOTSUPP, "Device lo can not be deleted", 1)
    assert len(nl.links(*by_group(5))) == 3


def test_bulk_delete_echoes_what_it_deleted(nl: Netlink) -> None:
    members = dummies(nl, 3, 5)
    reply = nl.link(DELLINK, *by_group(5), flags=BULK | ECHO)
    assert sorted(struct.unpack_from("i", one.body, 4)[0] for one in reply.messages if one.type == DELLINK) == members
