# SPDX-License-Identifier: GPL-2.0-or-later
"""What the daemon tells systemd and the journal goes out when hardly anything else does."""

import resource
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from gi.repository import Gio

from netgroupd.service import notify as sending
from netgroupd.service.notify import long_silence, notify, send_datagram
from tests.apart import apart


def test_datagrams_go_out_when_no_descriptor_is_left(tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(path)
        assert send_datagram(path, b"READY=1")

        def without_descriptors() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, 1 << 10))
            assert send_datagram(path, b"WATCHDOG=1")

        apart(without_descriptors)
        assert [listener.recv(64) for _ in range(2)] == [b"READY=1", b"WATCHDOG=1"]


def test_nobody_who_listens_is_no_error(tmp_path: Path) -> None:
    assert not send_datagram(str(tmp_path / "gone"), b"READY=1")


def test_who_listens_and_does_not_read_is_waited_for_once_and_heard_again_when_they_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[bytes] = []
    send = sending._sent

    def sent(address: Gio.UnixSocketAddress, payload: bytes) -> bool | None:
        tries.append(payload)
        return send(address, payload)

    monkeypatch.setattr(sending, "_PATIENCE_S", 0.1)
    monkeypatch.setattr(sending, "_sent", sent)
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(path)
        while send_datagram(path, b"x"):
            pass
        assert tries[-2:] == [b"x", b"x"]  # of which one was for the wait
        tries.clear()
        assert not any(send_datagram(path, b"y") for _ in range(100))
        assert len(tries) == 100
        listener.recv(64)
        assert send_datagram(path, b"z")


def test_status_is_never_longer_than_systemd_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(path)
        notify(STATUS="ä" * 4000)
        got = listener.recv(10_000)
    assert len(got) <= 4096  # NOTIFY_BUFFER_MAX
    assert got.decode().startswith("STATUS=ää")
    assert got.decode().endswith("ä …")


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        pytest.param(
            {"WATCHDOG_USEC": "60000000"}, ["WATCHDOG_USEC=1800000000", "WATCHDOG_USEC=60000000"], id="watched"
        ),
        pytest.param({}, [], id="not_watched"),
        pytest.param({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, [], id="another_is_watched"),
    ],
)
def test_systemd_bears_a_longer_silence_while_the_kernel_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], told: list[str]
) -> None:
    path, got = str(tmp_path / "notify"), list[str]()
    for name, value in {"NOTIFY_SOCKET": path, **environment}.items():
        monkeypatch.setenv(name, value)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(path)
        listener.setblocking(False)

        def hear() -> None:
            with suppress(BlockingIOError):
                got.append(listener.recv(64).decode())

        with long_silence():
            hear()
        hear()
    assert got == told
