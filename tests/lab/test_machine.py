# SPDX-License-Identifier: GPL-2.0-or-later
"""Booting a guest from here: commands, files, limits, and every way it can die."""

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from netgroupd.errors import LabError
from netgroupd.lab import machine as lab
from netgroupd.lab.boot import Guest, Image, Way
from netgroupd.lab.kernel import CHECKOUT
from netgroupd.lab.machine import Machine
from netgroupd.lab.ways import pc_image, user_mode_image
from tests.apart import apart
from tests.waiting import eventually

_PROVOKE = "/sys/kernel/debug/provoke-crash/DIRECT"


_GUEST = Guest(CHECKOUT, cpus=1, memory_mib=512)


def _image(way: str) -> Image:
    if way == "on a PC":
        return pc_image("stock", _GUEST)
    return user_mode_image("stock", _GUEST) or pytest.skip("this host cannot run a kernel as a process")


def _machine(image: Image, *, lifetime_s: float = 600.0) -> Machine:
    return Machine(_GUEST, image, lifetime_s=lifetime_s)


@pytest.fixture(scope="module", params=["on a PC", "as a process"])
def image(request: pytest.FixtureRequest) -> Image:
    return _image(request.param)


@pytest.fixture(scope="module")
def machine(image: Image) -> Iterator[Machine]:
    with _machine(image) as booted:
        yield booted


def _run(machine: Machine, script: str, stdin: bytes = b"") -> tuple[int, str, str]:
    return machine.run(["sh", "-c", script], stdin=stdin, timeout_s=60)


def test_status_and_both_outputs_come_back(machine: Machine) -> None:
    assert _run(machine, "echo out; echo err >&2; exit 3") == (3, "out\n", "err\n")


def test_checkout_may_have_a_blank_in_its_path(image: Image, tmp_path: Path) -> None:
    checkout = tmp_path / "a checkout"
    checkout.symlink_to(CHECKOUT)
    with Machine(_GUEST._replace(python_path=checkout), image, lifetime_s=600.0) as machine:
        assert _run(machine, "true")[0] == 0


def test_command_reads_what_it_is_given(machine: Machine) -> None:
    assert _run(machine, "tr a-z A-Z", b"some words") == (0, "SOME WORDS", "")


def test_command_that_is_not_there_ends_with_127(machine: Machine) -> None:
    assert machine.run(["no-such-command"], timeout_s=60) == (127, "", "no-such-command: No such file or directory\n")


def test_command_killed_by_a_signal_has_its_negative_number(machine: Machine) -> None:
    assert _run(machine, "kill -9 $$")[0] == -9


def test_two_commands_run_at_once(machine: Machine) -> None:
    first = machine.start(["sh", "-c", "while [ ! -e /run/go ]; do sleep 0.1; done; echo gone"])
    assert _run(machine, "touch /run/go")[0] == 0
    assert b"".join(frame.payload for frame in first.output(60)) == b"gone\n"


def test_daemon_left_behind_does_not_hold_up_its_parent(machine: Machine) -> None:
    assert _run(machine, "sleep 1000 & echo started") == (0, "started\n", "")


def test_file_of_many_frames_goes_in_and_comes_out(machine: Machine) -> None:
    content = bytes(range(256)) * 4096
    machine.put("/tmp/blob", content)
    assert machine.get("/tmp/blob") == content


def test_absent_file_says_so(machine: Machine) -> None:
    with pytest.raises(LabError, match=r"/nonexistent: No such file or directory"):
        machine.get("/nonexistent")


def test_command_beyond_its_time_is_ended_and_the_guest_lives_on(machine: Machine) -> None:
    argv = ["sh", "-c", "echo before; touch /run/printed; sleep 1000"]
    process = machine.start(argv)
    assert _run(machine, "while [ ! -e /run/printed ]; do sleep 0.1; done")[0] == 0  # however long that takes
    with pytest.raises(LabError, match=r"(?s)sleep 1000: the time is up\nbefore"):
        machine._collect(process, argv, 0)
    assert _run(machine, "echo alive") == (0, "alive\n", "")


def test_guest_reads_more_files_than_a_shell_may_hold_open(tmp_path: Path) -> None:
    for number in range(1500):
        (tmp_path / str(number)).touch()
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, usual[1]))
    try:
        with _machine(_image("as a process")) as machine:
            assert _run(machine, f"cat {tmp_path}/*; date >/dev/null") == (0, "", "")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)


def test_nothing_that_the_guest_writes_reaches_the_host(machine: Machine, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.write_text("host")
    assert _run(machine, f"cat {here}; echo guest >{here}; cat {here}") == (0, "hostguest\n", "")
    assert here.read_text() == "host"


def test_shell_on_a_terminal_has_the_size_asked_for(machine: Machine) -> None:
    shell = machine.start(["sh"], terminal=(33, 77))
    shell.type(b"stty size; exit 5\n")
    shown = b"".join(frame.payload for frame in shell.output(60))
    assert b"33 77" in shown
    assert shell.status == 5


def test_warning_fails_the_command_during_which_it_came(image: Image) -> None:
    with _machine(image) as machine:
        with pytest.raises(LabError, match=r"the guest's kernel reports: WARNING: CPU: 0"):
            _run(machine, f"echo WARNING >{_PROVOKE}")
        assert _run(machine, "true")[0] == 0
        machine._lifetime_s = 0
        assert "WARNING: CPU: 0" in machine.why_it_died()  # ended at its limit, it would be silent about it


def test_panic_ends_the_guest_and_shows_the_console(image: Image) -> None:
    with _machine(image) as machine, pytest.raises(LabError, match=r"(?s)the guest ended after .* s\n.*Kernel panic"):
        _run(machine, f"echo PANIC >{_PROVOKE}")


def test_guest_ends_at_its_hard_limit(image: Image) -> None:
    with pytest.raises(LabError, match="the guest was ended after its 1 s"), _machine(image, lifetime_s=1.0) as machine:
        _run(machine, "sleep 1000")


def test_guests_share_no_processor_as_long_as_one_has_none() -> None:
    def all_taken() -> None:
        lab._binding = threading.Lock()  # a thread of the other process may have had it
        lab._bound.clear()
        processors = os.sched_getaffinity(0)
        with ExitStack() as held:
            assert {held.enter_context(lab._a_processor()) for _ in processors} == processors
            assert set(lab._bound.values()) == {1}
        assert set(lab._bound.values()) == {0}

    apart(all_taken)


def test_absent_qemu_names_its_package() -> None:
    machine = _machine(_image("on a PC"))

    def without_path() -> None:
        os.environ["PATH"] = "/nonexistent"
        with pytest.raises(LabError, match="apt-get install qemu-system-x86"), machine:
            pass

    apart(without_path)


def test_kernel_that_is_not_there_is_said_in_qemus_words(tmp_path: Path) -> None:
    machine = _machine(Image(tmp_path / "none", Way.EMULATED))
    with pytest.raises(LabError, match="could not open kernel file"), machine:
        pass


@pytest.mark.parametrize(("way", "command"), [("on a PC", "qemu"), ("as a process", "vmlinux")])
def test_guest_does_not_outlive_a_killed_host_process(way: str, command: str) -> None:
    _image(way)  # built, and known to work
    program = (
        "from tests.lab.test_machine import _image, _machine\n"
        f"with _machine(_image({way!r})) as machine:\n"
        "    print(machine.pid, flush=True)\n"
        "    machine.run(['sleep', '1000'], timeout_s=600)"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout
        session = host.stdout.readline().strip()
        assert any(command in line for line in _commands(session))
        host.kill()
    eventually(lambda: not _commands(session))  # until they are reaped


def _commands(session: str) -> list[str]:
    listed = ["ps", "--sid", session, "--format", "args", "--no-headers"]
    return subprocess.run(listed, capture_output=True, text=True, check=False).stdout.splitlines()
