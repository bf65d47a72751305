# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon as its users have it: the package installed, real systemd, the system bus, polkit, busctl.

The tests run in order in one guest.  Each leaves the configuration as ``good``
makes it, with the daemon running.
"""

import os
import re
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.vm_systemd("stock")

_CHECKOUT = Path(__file__).parents[2]
_ETC = Path("/etc/netgroup")
_MANAGER = ("org.netgroup1", "/org/netgroup1", "org.netgroup1.Manager")
_PATIENCE_S = 280
_STORM = 20_000  # ten times what the socket holds
_BRIDGES = (
    "groups: {{tenants: {{mtu: 9000, drift: repair}}}}\n"
    "links:\n  tbr-[1-{count}]: {{kind: bridge, group: tenants, up: true}}\n"
)


def run(*argv: str, user: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command, as root or as ``user``."""
    asked = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *argv] if user else [*argv]
    return subprocess.run(asked, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)


def good(count: int) -> None:
    """Make the configuration one of ``count`` bridges."""
    for path in _ETC.iterdir():
        path.unlink()
    (_ETC / "10-bridges.yaml").write_text(_BRIDGES.format(count=count))


def bridges() -> int:
    """How many of them there are."""
    return sum(name.startswith("tbr-") for name in os.listdir("/sys/class/net"))  # noqa: PTH208 - names suffice


def prop(name: str) -> str:
    """A property of the daemon, as busctl prints it, without its type."""
    return run("busctl", "get-property", *_MANAGER, name).stdout.strip().partition(" ")[2].strip('"')


def reload() -> subprocess.CompletedProcess[str]:
    """Reload by way of the bus; a start of netgroupctl takes seconds here."""
    return run("busctl", "call", "--timeout=280", *_MANAGER, "Reload")


def eventually(condition: Callable[[], object]) -> None:
    """Wait until ``condition`` holds."""
    end = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < end, run("journalctl", "-u", "netgroupd", "-n", "30", "-o", "cat").stdout
        time.sleep(0.2)


def main_pid() -> int:
    return int(run("systemctl", "show", "-P", "MainPID", "netgroupd").stdout)


def journal(since: str) -> str:
    """What the journal has of the unit since then, what systemd says of it too."""
    run("journalctl", "--sync")
    return run("journalctl", "--unit=netgroupd", f"--since={since}", "--output=cat").stdout


def now() -> str:
    """The time as journalctl takes it."""
    return time.strftime("%Y-%m-%d %H:%M:%S")


def memory_kib(pid: int, which: str) -> int:
    """A figure of /proc/PID/status."""
    found = re.search(rf"^{which}:\s+([0-9]+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


@pytest.fixture(scope="module")
def package() -> Iterator[None]:
    """The Debian package, installed; its dependencies come from where this test has them."""
    version = sysconfig.get_python_version()
    local = Path(f"/usr/local/lib/python{version}/dist-packages")
    local.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", sysconfig.get_path("purelib"), str(local)], check=True)
    shutil.rmtree("/var/lib/netgroup", ignore_errors=True)
    (package,) = (_CHECKOUT / "build").glob("*.deb")
    # The trigger of man-db reads every manual page of the machine, which takes minutes here.
    install = ["dpkg", "--no-triggers", "--force-depends", "--install", str(package)]
    subprocess.run(install, check=True, capture_output=True)
    yield
    subprocess.run(["umount", str(local)], check=True)


@pytest.fixture
def daemon(package: None) -> Iterator[None]:
    """A daemon that runs, with two bridges."""
    good(2)
    run("systemctl", "reset-failed", "netgroupd")
    assert run("systemctl", "start", "netgroupd").returncode == 0
    assert reload().returncode == 0
    yield
    good(2)


def test_exposure_is_at_most_two(package: None) -> None:
    said = run("systemd-analyze", "security", "--no-pager", "netgroupd.service").stdout
    found = re.search(r"exposure level for netgroupd.service: ([0-9.]+)", said)
    assert found
    assert float(found[1]) <= 2.0


def test_reload_waits_until_it_is_done(daemon: None) -> None:
    good(4)
    assert run("systemctl", "reload", "netgroupd").returncode == 0
    assert bridges() == 4


def test_reload_of_a_wrong_file_fails_with_its_line_and_changes_nothing(daemon: None) -> None:
    (_ETC / "20-wrong.yaml").write_text("links:\n  tbr-1: {mttu: 3}\n")
    assert run("systemctl", "reload", "netgroupd").returncode != 0
    status = run("systemctl", "status", "--no-pager", "--lines=20", "netgroupd").stdout
    assert "20-wrong.yaml:2:11: unknown key 'mttu'; did you mean 'mtu'?" in status
    assert "Active: active (running)" in status
    assert (bridges(), prop("State")) == (2, "failed")


def test_sighup_reloads(daemon: None) -> None:
    good(3)
    os.kill(main_pid(), signal.SIGHUP)
    eventually(lambda: bridges() == 3)


def test_user_may_ask_and_not_change(daemon: None) -> None:
    assert run("busctl", "call", *_MANAGER, "Diff", "a{sv}", "1", "format", "s", "text", user="65534").returncode == 0
    refused = run("busctl", "call", *_MANAGER, "Apply", "a{sv}", "0", user="65534")
    assert refused.returncode != 0
    assert "org.netgroup1.change needs an administrator" in refused.stderr


def test_user_is_refused_where_polkit_is_absent(daemon: None) -> None:
    run("systemctl", "mask", "--runtime", "--now", "polkit.service")
    try:
        refused = run("busctl", "call", *_MANAGER, "Reload", user="65534")
        allowed = reload()
    finally:
        run("systemctl", "unmask", "--runtime", "polkit.service")
    assert "only root may do this: polkit did not answer" in refused.stderr
    assert allowed.returncode == 0


def test_unconfirmed_change_is_put_back_though_the_daemon_was_killed(daemon: None) -> None:
    good(5)
    assert run("busctl", "call", *_MANAGER, "Apply", "a{sv}", "1", "confirm", "u", "20").returncode == 0
    eventually(lambda: prop("State") == "unconfirmed")
    assert bridges() == 5
    os.kill(main_pid(), signal.SIGKILL)
    eventually(lambda: bridges() == 2)
    eventually(lambda: prop("ConfirmBy") == "0")


def test_confirmed_change_is_kept(daemon: None) -> None:
    good(6)
    assert run("netgroupctl", "apply", "--confirm", "60").returncode == 0
    assert run("netgroupctl", "confirm").returncode == 0
    assert prop("State") == "idle"
    assert bridges() == 6


@pytest.mark.parametrize("delay_s", [0.5, 2.0])
def test_daemon_killed_during_a_reload_ends_the_change_one_way_or_the_other(daemon: None, delay_s: float) -> None:
    good(40)
    asked = subprocess.Popen(["systemctl", "reload", "netgroupd"], stderr=subprocess.DEVNULL)
    time.sleep(delay_s)
    os.kill(main_pid(), signal.SIGKILL)
    asked.wait(_PATIENCE_S)
    eventually(lambda: run("systemctl", "is-active", "netgroupd").stdout.strip() == "active")
    assert bridges() in (2, 40)
    assert reload().returncode == 0
    assert bridges() == 40


def test_change_from_outside_is_repaired(daemon: None) -> None:
    run("ip", "link", "set", "tbr-1", "mtu", "1300")
    run("ip", "link", "del", "tbr-2")
    mtu = Path("/sys/class/net/tbr-1/mtu")
    eventually(lambda: mtu.read_text() == "9000\n" and bridges() == 2)


def test_hardware_that_comes_later_is_configured_when_it_comes(daemon: None) -> None:
    (_ETC / "20-card.yaml").write_text(
        "links:\n  card0: {up: true, mtu: 1400}\n  card0.7: {addresses: [192.0.2.1/24]}\n"
    )
    assert reload().returncode == 0
    run("systemctl", "start", "--no-block", "netgroup-wait-online")
    assert prop("Online") == "false"
    run("ip", "link", "add", "card0", "type", "dummy")  # by somebody else
    eventually(lambda: "192.0.2.1" in run("ip", "address", "show", "dev", "card0.7").stdout)
    assert Path("/sys/class/net/card0/mtu").read_text() == "1400\n"
    eventually(lambda: run("systemctl", "is-active", "netgroup-wait-online").stdout == "active\n")
    run("ip", "link", "del", "card0")


def test_storm_of_notifications_is_survived(daemon: None, tmp_path: Path) -> None:
    pid = main_pid()
    before = memory_kib(pid, "VmRSS")
    storm = "".join(f"link set storm0 mtu {1400 + number % 2}\n" for number in range(_STORM))
    run("ip", "link", "add", "storm0", "type", "dummy")
    batch = tmp_path / "storm"
    batch.write_text(storm)
    source = subprocess.Popen(["ip", "-batch", str(batch)])
    while source.poll() is None:
        assert run("busctl", "call", *_MANAGER, "History").returncode == 0
    assert source.returncode == 0
    run("ip", "link", "del", "tbr-2")
    eventually(lambda: bridges() == 2)
    assert main_pid() == pid
    assert memory_kib(pid, "VmHWM") - before < 32 * 1024
    run("ip", "link", "del", "storm0")


def test_clock_that_jumps_moves_no_deadline(daemon: None) -> None:
    good(5)
    assert run("busctl", "call", *_MANAGER, "Apply", "a{sv}", "1", "confirm", "u", "600").returncode == 0
    eventually(lambda: prop("State") == "unconfirmed")
    run("date", "--set", "+2 days")
    try:
        assert run("busctl", "call", *_MANAGER, "Status").returncode == 0
        assert (prop("State"), bridges()) == ("unconfirmed", 5)
    finally:
        run("date", "--set", "-2 days")
    assert run("busctl", "call", *_MANAGER, "Rollback", "a{sv}", "0").returncode == 0
    eventually(lambda: prop("State") == "idle")
    assert bridges() == 2


def test_daemon_without_descriptors_refuses_and_says_why(daemon: None) -> None:
    pid, since = main_pid(), now()
    run("prlimit", f"--pid={pid}", "--nofile=3:65536")
    good(3)
    refused = reload()
    assert "Too many open files" in refused.stderr
    assert "Too many open files" in journal(since)
    assert bridges() == 2
    run("prlimit", f"--pid={pid}", "--nofile=65536:65536")
    assert reload().returncode == 0
    assert (bridges(), main_pid()) == (3, pid)


def test_daemon_at_its_memory_limit_is_ended_and_comes_back(daemon: None) -> None:
    pid, since = main_pid(), now()
    limit = memory_kib(pid, "VmRSS") + 8 * 1024
    run("systemctl", "set-property", "--runtime", "netgroupd", f"MemoryMax={limit}K")
    good(500_000)
    run("systemctl", "reload", "netgroupd")
    run("systemctl", "set-property", "--runtime", "netgroupd", "MemoryMax=infinity")
    eventually(lambda: prop("State") == "idle" and main_pid() != pid)
    assert "killed by the OOM killer" in journal(since)
    assert bridges() == 2


def test_template_that_hangs_is_ended(daemon: None) -> None:
    (_ETC / "20-hang.mako").write_text("<%\nwhile True:\n    pass\n%>\n")
    refused = reload()
    assert "20-hang.mako" in refused.stderr
    assert refused.returncode == 1
    assert bridges() == 2


def test_configuration_that_is_gone_is_refused(daemon: None) -> None:
    _ETC.rename("/etc/netgroup.away")
    try:
        assert reload().returncode == 1
        _ETC.write_text("not a directory\n")
        assert reload().returncode == 1
        assert bridges() == 2
    finally:
        _ETC.unlink(missing_ok=True)
        Path("/etc/netgroup.away").rename(_ETC)


def test_bus_that_is_restarted_has_the_daemon_again(daemon: None) -> None:
    run("systemctl", "restart", "dbus.service")
    eventually(lambda: prop("State") in ("idle", "failed"))
    assert bridges() == 2


def test_restart_and_stop_leave_the_network(daemon: None) -> None:
    index = Path("/sys/class/net/tbr-1/ifindex").read_text()
    assert run("systemctl", "restart", "netgroupd").returncode == 0
    assert run("systemctl", "stop", "netgroupd").returncode == 0
    assert Path("/sys/class/net/tbr-1/ifindex").read_text() == index


def test_call_starts_the_daemon(package: None) -> None:
    run("systemctl", "stop", "netgroupd")
    # The bus gives up waiting after 25 s, and the daemon comes all the same.
    eventually(lambda: run("busctl", "call", *_MANAGER, "Status").returncode == 0)
    assert run("systemctl", "is-active", "netgroupd").stdout.strip() == "active"


def test_package_goes_and_leaves_the_network_and_the_configuration(package: None) -> None:
    good(2)
    assert run("dpkg", "--no-triggers", "--remove", "netgroupd").returncode == 0
    left = run(
        "find", "/usr/lib/python3/dist-packages/netgroupd", "/usr/bin/netgroupctl", "/run/netgroup", "/var/lib/netgroup"
    )
    assert left.stdout == ""
    assert (_ETC / "10-bridges.yaml").exists()
    assert bridges() >= 2
    for number in range(1, 41):
        run("ip", "link", "del", f"tbr-{number}")
