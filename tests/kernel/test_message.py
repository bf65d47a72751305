# SPDX-License-Identifier: GPL-2.0-or-later
"""Netlink messages to and from bytes."""

import pytest

from netgroupd.kernel.netlink import message
from netgroupd.kernel.netlink.socket import read_error, split


@pytest.mark.parametrize("size", range(9))
def test_attribute_is_padded_to_four_bytes_and_says_its_own_length(size: int) -> None:
    packed = message.attr(7, b"x" * size)
    assert len(packed) % 4 == 0
    assert message.attributes(memoryview(packed)) == {7: b"x" * size}


def test_numbers_have_the_payload_of_their_size() -> None:
    packed = message.u8(1, 2) + message.u16(2, 3) + message.u32(3, 4) + message.u64(4, 5)
    sizes = {kind: len(payload) for kind, payload in message.attributes(memoryview(packed)).items()}
    assert sizes == {1: 1, 2: 2, 3: 4, 4: 8}


@pytest.mark.parametrize("cut", range(1, 12))
def test_attribute_that_is_cut_short_is_left_out(cut: int) -> None:
    packed = message.u32(1, 1) + message.u64(2, 2)
    assert list(message.attributes(memoryview(packed[:-cut]))) == [1]


def test_attribute_of_impossible_length_ends_the_walk() -> None:
    packed = message.u32(1, 1) + b"\3\0\2\0" + message.u32(3, 3)
    assert list(message.attributes(memoryview(packed))) == [1]


def test_offset_of_a_nested_attribute_is_turned_into_its_path() -> None:
    inner = message.u32(4, 0)
    packed = message.request(16, 0, bytes(16), message.u32(27, 7), message.nest(18, message.text(1, "vlan"), inner))
    assert message.path_to(memoryview(packed), packed.index(inner), 32) == (18, 4)


def test_offset_of_no_attribute_has_no_path() -> None:
    packed = message.request(16, 0, bytes(16), message.u32(27, 7))
    assert message.path_to(memoryview(packed), 4, 32) == ()


def _error(number: int, *attributes: bytes) -> tuple[int, memoryview]:
    header = message.HEADER.pack(60, 16, 0, 9, 0)
    body = (-number).to_bytes(4, "little", signed=True) + header + b"".join(attributes)
    packet = message.HEADER.pack(16 + len(body), message.NLMSG_ERROR, 0x300, 9, 0) + body
    ((_, flags, _, payload),) = split(memoryview(packet))
    return flags, payload


def test_refusal_carries_the_sentence_of_the_kernel_and_where_it_points() -> None:
    flags, payload = _error(22, message.text(1, "No such thing"), message.u32(2, 36))
    answer = read_error(payload, flags)
    assert (answer.sequence, answer.errno, answer.sentence, answer.offset) == (9, 22, "No such thing", 36)


def test_end_of_a_dump_carries_a_sentence_where_a_refusal_has_the_request() -> None:
    told = memoryview((-22).to_bytes(4, "little", signed=True) + message.text(1, "Invalid values in header"))
    answer = read_error(told, message.NLM_F_ACK_TLVS, done=True)
    assert (answer.errno, answer.sentence) == (22, "Invalid values in header")


def test_refusal_without_a_sentence_is_told_by_its_number() -> None:
    flags, payload = _error(19)
    assert read_error(payload, flags).sentence == "No such device"
