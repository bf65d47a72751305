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
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.installed import (
    BUILD,
    ETC,
    LATER,
    MANAGER,
    PATIENCE_S,
    Fresh,
    bridges,
    eventually,
    good,
    install,
    journal,
    later_package,
    login,
    main_pid,
    memory_kib,
    now,
    prop,
    reload,
    run,
)

pytestmark = pytest.mark.vm_systemd("stock")

_STORM = 20_000  # ten times what the socket holds


def test_package_is_enabled_for_the_next_boot_and_starts_nothing(package: Fresh) -> None:
    assert package == Fresh(enabled=["enabled"] * 2, active=["inactive"] * 2, asks_to_be_enabled=False)


def test_reload_waits_until_it_is_done(daemon: None) -> None:
    good(4)
    assert run("systemctl", "reload", "netgroupd").returncode == 0
    assert bridges() == 4


def test_reload_of_a_wrong_file_fails_with_its_line_and_changes_nothing(daemon: None) -> None:
    since = now()
    (ETC / "20-wrong.yaml").write_text("links:\n  tbr-1: {mttu: 3}\n")
    assert run("systemctl", "reload", "netgroupd").returncode != 0
    told = "20-wrong.yaml:2:11: unknown key 'mttu'; did you mean 'mtu'?"
    assert journal(since).count(told) == 1
    status = run("systemctl", "status", "--no-pager", "--lines=20", "netgroupd").stdout
    assert told in status
    assert "Active: active (running)" in status
    assert (bridges(), prop("State")) == (2, "failed")


def test_sighup_reloads(daemon: None) -> None:
    good(3)
    os.kill(main_pid(), signal.SIGHUP)
    eventually(lambda: bridges() == 3)


def test_user_may_ask_and_not_change(daemon: None) -> None:
    assert run("busctl", "call", *MANAGER, "Diff", "a{sv}", "1", "format", "s", "text", user="65534").returncode == 0
    refused = run("busctl", "call", *MANAGER, "Apply", "a{sv}", "0", user="65534")
    assert refused.returncode != 0
    assert "org.netgroup1.change needs an administrator; be root" in refused.stderr


def test_user_is_refused_where_polkit_is_absent(daemon: None) -> None:
    run("systemctl", "mask", "--runtime", "--now", "polkit.service")
    try:
        refused = run("busctl", "call", *MANAGER, "Reload", user="65534")
        allowed = reload()
    finally:
        run("systemctl", "unmask", "--runtime", "polkit.service")
    assert "only root may do this: polkit did not answer" in refused.stderr
    assert allowed.returncode == 0


def test_unconfirmed_change_is_put_back_though_session_and_daemon_were_killed(daemon: None) -> None:
    good(5)
    with login("netgroupctl", "apply", "--confirm", "20"):
        eventually(lambda: prop("State") == "unconfirmed")
        assert bridges() == 5
    os.kill(main_pid(), signal.SIGKILL)
    eventually(lambda: bridges() == 2)
    eventually(lambda: prop("ConfirmBy") == "0")


def test_unconfirmed_change_is_put_back_though_its_session_ends_and_there_is_no_daemon(daemon: None) -> None:
    run("systemctl", "stop", "netgroupd")
    good(5)
    with login("netgroupctl", "apply", "--offline", "--confirm", "10"):
        eventually(lambda: bridges() == 5)
    eventually(lambda: bridges() == 2)
    told = re.compile("apply: 3 to create; .*; it is put back in 10 s .*\n.* was not confirmed in time")
    eventually(lambda: told.search(run("journalctl", "--identifier=netgroupctl", "--output=cat").stdout))


def test_confirmed_change_is_kept(daemon: None) -> None:
    good(6)
    assert run("netgroupctl", "apply", "--confirm", "60").returncode == 0
    assert run("netgroupctl", "confirm").returncode == 0
    assert prop("State") == "idle"
    assert bridges() == 6


def test_daemon_killed_during_a_reload_ends_the_change_one_way_or_the_other(daemon: None) -> None:
    pid, begun = main_pid(), Path("/var/lib/netgroup/journal")
    good(40)
    asked = subprocess.Popen(["systemctl", "reload", "netgroupd"], stderr=subprocess.DEVNULL)
    while not begun.exists() and asked.poll() is None:
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    asked.wait(PATIENCE_S)
    eventually(lambda: run("systemctl", "is-active", "netgroupd").stdout.strip() == "active")
    assert bridges() in (2, 40)
    assert reload().returncode == 0
    assert bridges() == 40


def test_change_that_stands_still_is_told_with_whose_it_is(daemon: None) -> None:
    begun, since = Path("/var/lib/netgroup/journal"), now()
    good(300)
    with subprocess.Popen(["netgroupctl", "apply", "--offline"], stdout=subprocess.DEVNULL) as command:
        while not begun.exists():
            time.sleep(0.001)
        command.send_signal(signal.SIGSTOP)  # as Ctrl-Z does
        try:
            who = f"netgroupctl, process {command.pid}"
            assert f"another change is running: {who}\n" in reload().stderr
            assert f"a change is being made by {who}\n" in run("netgroupctl", "status").stdout
            run("systemctl", "restart", "--no-block", "netgroupd")
            eventually(lambda: f"waiting for the change of {who} to end\n" in journal(since))
            run("systemctl", "stop", "netgroupd")  # which would ask for half an hour if the change were its own
            assert run("systemctl", "show", "-P", "Result", "netgroupd").stdout == "success\n"
            command.send_signal(signal.SIGTERM)
        finally:
            command.send_signal(signal.SIGCONT)
    assert (command.returncode, bridges()) == (130, 2)


def test_change_from_outside_is_repaired(daemon: None) -> None:
    run("ip", "link", "set", "tbr-1", "mtu", "1300")
    run("ip", "link", "del", "tbr-2")
    mtu = Path("/sys/class/net/tbr-1/mtu")
    eventually(lambda: mtu.read_text() == "9000\n" and bridges() == 2)


def test_hardware_that_comes_later_is_configured_when_it_comes(daemon: None) -> None:
    (ETC / "20-card.yaml").write_text(
        "groups: {spare: {online: false}}\n"
        "links:\n  card0: {up: true, mtu: 1400}\n  card0.7: {addresses: [192.0.2.1/24]}\n"
        "  card1: {up: true, group: spare}\n"
    )
    assert reload().returncode == 0
    run("systemctl", "start", "--no-block", "netgroup-wait-online")
    eventually(lambda: prop("Online") == "false")  # as the next picture has it
    assert "it waits for card0" in run("netgroupctl", "status", "--wait-online", "0").stderr
    run("ip", "link", "add", "card0", "type", "dummy")  # by somebody else
    eventually(lambda: "192.0.2.1" in run("ip", "address", "show", "dev", "card0.7").stdout)
    assert Path("/sys/class/net/card0/mtu").read_text() == "1400\n"
    eventually(lambda: run("systemctl", "is-active", "netgroup-wait-online").stdout == "active\n")
    since = now()
    run("ip", "link", "del", "card0")
    eventually(lambda: "not there any more, and configured when it comes again: card0\n" in journal(since))


def test_storm_of_notifications_is_survived(daemon: None, tmp_path: Path) -> None:
    pid = main_pid()
    before = memory_kib(pid, "VmRSS")
    storm = "".join(f"link set storm0 mtu {1400 + number % 2}\n" for number in range(_STORM))
    run("ip", "link", "add", "storm0", "type", "dummy")
    batch = tmp_path / "storm"
    batch.write_text(storm)
    source = subprocess.Popen(["ip", "-batch", str(batch)])
    while source.poll() is None:
        assert run("busctl", "call", *MANAGER, "History").returncode == 0
    assert source.returncode == 0
    run("ip", "link", "del", "tbr-2")
    eventually(lambda: bridges() == 2)
    assert main_pid() == pid
    assert memory_kib(pid, "VmHWM") - before < 32 * 1024
    run("ip", "link", "del", "storm0")


def test_clock_that_jumps_moves_no_deadline(daemon: None) -> None:
    good(5)
    assert run("busctl", "call", *MANAGER, "Apply", "a{sv}", "1", "confirm", "u", "600").returncode == 0
    eventually(lambda: prop("State") == "unconfirmed")
    run("date", "--set", "+2 days")
    try:
        assert run("busctl", "call", *MANAGER, "Status").returncode == 0
        assert (prop("State"), bridges()) == ("unconfirmed", 5)
    finally:
        run("date", "--set", "-2 days")
    assert run("busctl", "call", *MANAGER, "Rollback", "a{sv}", "0").returncode == 0
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


def test_journal_that_hangs_holds_up_no_change_and_no_deadline(daemon: None) -> None:
    pid, hung = main_pid(), int(run("systemctl", "show", "-P", "MainPID", "systemd-journald").stdout)
    os.kill(hung, signal.SIGSTOP)
    try:
        wrong = ETC / "20-wrong.yaml"
        for _ in range(7):  # a line of the log for each problem, more than the socket holds
            wrong.write_text("links:\n" + "".join(f"  tbr-{number}: {{mttu: 3}}\n" for number in range(90)))
            assert "unknown key" in reload().stderr
        wrong.unlink()
        good(5)
        assert run("busctl", "call", *MANAGER, "Apply", "a{sv}", "1", "confirm", "u", "5").returncode == 0
        eventually(lambda: bridges() == 5)
        eventually(lambda: (bridges(), prop("State")) == (2, "idle"))
    finally:
        os.kill(hung, signal.SIGCONT)
    assert main_pid() == pid
    since = now()
    good(3)
    assert reload().returncode == 0
    assert "1 to create" in journal(since)


def test_template_that_hangs_is_ended(daemon: None) -> None:
    (ETC / "20-hang.mako").write_text("<%\nwhile True:\n    pass\n%>\n")
    refused = reload()
    assert "20-hang.mako" in refused.stderr
    assert refused.returncode == 1
    assert bridges() == 2


def test_configuration_that_is_gone_is_refused(daemon: None) -> None:
    ETC.rename("/etc/netgroup.away")
    try:
        assert reload().returncode == 1
        ETC.write_text("not a directory\n")
        assert reload().returncode == 1
        assert bridges() == 2
    finally:
        ETC.unlink(missing_ok=True)
        Path("/etc/netgroup.away").rename(ETC)


def test_upgrade_carries_over_what_waits_and_does_not_touch_the_network(daemon: None, tmp_path: Path) -> None:
    package = later_package(tmp_path)
    good(1)
    # A link that is new goes on changing by itself: its addresses are looked for elsewhere first.
    eventually(lambda: "tentative" not in run("ip", "address").stdout)
    assert run("busctl", "call", *MANAGER, "Apply", "a{sv}", "1", "confirm", "u", "3600").returncode == 0
    eventually(lambda: prop("State") == "unconfirmed")
    before, pid = prop("Generation"), main_pid()
    with (tmp_path / "changes").open("wb") as changes, subprocess.Popen(["ip", "monitor"], stdout=changes) as watcher:
        try:
            install(package)
        finally:
            watcher.terminate()
    assert (tmp_path / "changes").read_text() == ""
    assert main_pid() != pid
    eventually(lambda: (prop("Version"), prop("State"), prop("Generation")) == (LATER, "unconfirmed", before))
    assert run("busctl", "call", *MANAGER, "Confirm").returncode == 0
    assert (prop("State"), bridges()) == ("idle", 1)


def test_nexthops_come_back_with_the_carrier_that_took_them_away(daemon: None) -> None:
    run("ip", "link", "add", "cable0", "type", "veth", "peer", "cable1")
    text = "links: {cable0: {up: true, addresses: [192.0.2.1/24]}}\nnexthops: {7: {via: 192.0.2.9, dev: cable0}}\n"
    (ETC / "20-cable.yaml").write_text(f"{text}routes: [{{to: 198.51.100.0/24, nhid: 7}}]\n")
    try:
        assert reload().returncode == 0
        for _ in range(2):
            run("ip", "link", "set", "cable1", "up")
            eventually(lambda: "via 192.0.2.9 dev cable0" in run("ip", "route", "show", "198.51.100.0/24").stdout)
            run("ip", "link", "set", "cable1", "down")
            eventually(lambda: not run("ip", "nexthop").stdout)
    finally:
        (ETC / "20-cable.yaml").unlink()
        run("ip", "link", "del", "cable0")
    good(1)


def test_bus_that_is_restarted_has_the_daemon_again(daemon: None) -> None:
    run("systemctl", "restart", "dbus.service")
    eventually(lambda: prop("State") in ("idle", "failed"))
    assert bridges() == 2


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[None]:
    """The system bus is dbus-broker's, for one test."""
    found = list(BUILD.glob("dbus-broker_*.deb"))
    if not found:
        pytest.skip("dbus-broker could not be fetched")
    subprocess.run(["dpkg-deb", "--extract", str(found[0]), str(tmp_path)], check=True)
    for program in (tmp_path / "usr/bin").iterdir():
        shutil.copy(program, "/usr/bin")
    instead = Path("/run/systemd/system/dbus.service.d/broker.conf")
    instead.parent.mkdir(parents=True)
    instead.write_text("[Service]\nExecStart=\nExecStart=/usr/bin/dbus-broker-launch --scope system\nExecReload=\n")
    _restart_bus()
    yield
    shutil.rmtree(instead.parent)
    _restart_bus()


def _restart_bus() -> None:
    run("systemctl", "daemon-reload")
    assert run("systemctl", "restart", "dbus.service").returncode == 0


def test_dbus_broker_does_as_well(daemon: None, broker: None) -> None:
    bus = run("systemctl", "show", "-P", "MainPID", "dbus").stdout.strip()
    assert Path(f"/proc/{bus}/comm").read_text().startswith("dbus-broker")
    eventually(lambda: prop("State") == "idle")
    good(3)
    assert reload().returncode == 0
    assert bridges() == 3
    refused = run("busctl", "call", *MANAGER, "Reload", user="65534")
    assert "org.netgroup1.change needs an administrator" in refused.stderr
    run("systemctl", "stop", "netgroupd")
    eventually(lambda: run("busctl", "call", *MANAGER, "Status").returncode == 0)


def test_restart_and_stop_leave_the_network(daemon: None) -> None:
    index = Path("/sys/class/net/tbr-1/ifindex").read_text()
    assert run("systemctl", "restart", "netgroupd").returncode == 0
    assert run("systemctl", "stop", "netgroupd").returncode == 0
    assert Path("/sys/class/net/tbr-1/ifindex").read_text() == index


def test_nothing_of_all_this_left_a_trace_of_the_program_in_the_journal(package: Fresh) -> None:
    said = run("journalctl", "--unit=netgroupd", "--output=cat").stdout
    assert "netgroupd 99.0 is ready" in said
    assert re.findall("(?:Traceback|.*has a defect)(?:.*\n){,30}", said) == []
