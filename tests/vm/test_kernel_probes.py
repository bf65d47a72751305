# SPDX-License-Identifier: GPL-2.0-or-later
"""The harmless messages that tell a patched kernel from a stock one: both answers."""

import errno
import socket
import struct
from collections.abc import Iterator

import pytest

from tests.vm.kernel_netlink import (
    AF_SPEC,
    BATCHTFILTER,
    BULK,
    DELLINK,
    DUMP,
    EXT_MASK,
    GETLINK,
    GROUP,
    GROUP_ADDRESS,
    GROUP_INHERIT,
    GROUP_MASK,
    IFA_GROUP,
    IFA_LOCAL,
    LIGHT,
    NEW_GROUP,
    NEWADDR,
    NEWLINK,
    STATS64,
    Netlink,
    attr,
)

NOBODY = attr(GROUP, 0x7FFFFFF0)
NEW_ATTRS = [GROUP_MASK, NEW_GROUP, GROUP_ADDRESS, GROUP_INHERIT, LIGHT]


@pytest.fixture
def nl() -> Iterator[Netlink]:
    """A socket in the test's network namespace."""
    with Netlink() as opened:
        yield opened


@pytest.fixture
def patched(lab_kernel: str) -> bool:
    """Which answer is due."""
    return lab_kernel == "patched"


@pytest.mark.parametrize("kind", NEW_ATTRS)
def test_truncated_attribute_is_an_error_to_a_kernel_that_knows_it(nl: Netlink, patched: bool, kind: int) -> None:
    reply = nl.link(NEWLINK, NOBODY, attr(kind, b"abc"))
    assert bool(reply.error) == patched
    assert (2 in reply.tlvs) == patched


def test_dump_by_group_is_an_error_to_a_kernel_that_can_not(nl: Netlink, patched: bool) -> None:
    reply = nl.link(GETLINK, NOBODY, flags=DUMP)
    assert reply.error == (0 if patched else errno.EINVAL)
    assert not reply.messages


@pytest.mark.parametrize(("bit", "missing"), [(31, STATS64), (30, AF_SPEC)])
def test_skip_bit_takes_its_attribute_away(nl: Netlink, patched: bool, bit: int, missing: int) -> None:
    assert (missing in nl.get(1, attr(EXT_MASK, 1 << bit))) != patched


def test_address_for_nobody_is_an_error_to_a_kernel_that_can_not(nl: Netlink, patched: bool) -> None:
    local = attr(IFA_LOCAL, b"\x0a\0\0\1")
    reply = nl.address(NEWADDR, socket.AF_INET, 24, attr(IFA_GROUP, 0x7FFFFFF0), local)
    assert reply.error == (0 if patched else errno.ENODEV)


def test_bulk_delete_of_nobody(nl: Netlink, patched: bool) -> None:
    assert nl.link(DELLINK, NOBODY, flags=BULK).error == (errno.ENODEV if patched else errno.EOPNOTSUPP)


def test_empty_batch_of_filters(nl: Netlink, patched: bool) -> None:
    assert nl.ask(BATCHTFILTER, 0, struct.pack("=BBHQ", 0, 0, 0, 0)).error == (0 if patched else errno.EOPNOTSUPP)
