# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames survive being cut anywhere."""

import pytest

from netgroupd.lab.channel import Command, Decoder, Frame, Kind, encode, pack_command, unpack_command

FRAMES = [Frame(1, Kind.STDOUT, b"one"), Frame(2, Kind.EXIT, b"0"), Frame(70000, Kind.STDERR, bytes(range(256)))]
STREAM = b"".join(map(encode, FRAMES))


@pytest.mark.parametrize("size", [1, 2, 8, 9, 10, len(STREAM)])
def test_frames_cut_into_pieces_come_out_whole(size: int) -> None:
    decoder = Decoder()
    pieces = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    assert [frame for piece in pieces for frame in decoder.feed(piece)] == FRAMES


def test_empty_payload_is_a_frame() -> None:
    assert list(Decoder().feed(encode(Frame(0, Kind.HELLO)))) == [Frame(0, Kind.HELLO)]


@pytest.mark.parametrize("terminal", [None, (24, 80)], ids=["pipes", "terminal"])
def test_command_and_its_input_come_back(terminal: tuple[int, int] | None) -> None:
    command = Command(("sh", "-c", "exit 3"), "/tmp", {"NAME": "ü=1"}, terminal)
    assert unpack_command(pack_command(command, b"\0stdin")) == (command, b"\0stdin")
