# SPDX-License-Identifier: GPL-2.0-or-later
"""The unit as systemd has it: what starts the daemon, what it waits for, and what its sandbox lets it do."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm import bpf_programs
from tests.vm.installed import (
    ETC,
    MANAGER,
    Fresh,
    bridges,
    eventually,
    good,
    journal,
    main_pid,
    memory_kib,
    now,
    reload,
    run,
)

pytestmark = pytest.mark.vm_systemd("stock")

_KEY = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="


@pytest.mark.parametrize("unit", ["netgroupd", "netgroup-deadline", "netgroup-wait-online"])
def test_exposure_is_at_most_two(package: Fresh, unit: str) -> None:
    said = run("systemd-analyze", "security", "--no-pager", f"{unit}.service").stdout
    found = re.search(rf"exposure level for {unit}.service: ([0-9.]+)", said)
    assert found
    assert float(found[1]) <= 2.0


def test_daemon_waits_for_the_firewall(package: Fresh) -> None:
    assert "network-pre.target" in run("systemctl", "show", "-P", "After", "netgroupd").stdout.split()


def test_call_starts_a_daemon_that_is_enabled(package: Fresh) -> None:
    run("systemctl", "stop", "netgroupd")
    # The bus gives up waiting after 25 s, and the daemon comes all the same.
    eventually(lambda: run("busctl", "call", *MANAGER, "Status").returncode == 0)
    eventually(lambda: run("systemctl", "is-active", "netgroupd").stdout.strip() == "active")  # once it has applied


def test_call_starts_no_daemon_that_is_disabled(daemon: None) -> None:
    run("systemctl", "disable", "--now", "netgroupd")
    try:
        refused = run("netgroupctl", "check", user="65534")
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr == "error: the daemon does not run; `systemctl start netgroupd` starts it\n"
        assert run("netgroupctl", "status").stdout.endswith("       daemon  does not run\n")
        assert run("systemctl", "is-active", "netgroupd").stdout == "inactive\n"
    finally:
        run("systemctl", "enable", "netgroupd")


def test_user_who_has_still_the_home_of_root_is_shown_what_there_is(daemon: None) -> None:
    shown = run("env", "HOME=/root", "netgroupctl", "show", "links", user="65534")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "bridge tbr-[1-2]" in shown.stdout


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("links:\n  a0: {kind: tun, mode: tap}\n", id="device_file"),
        pytest.param("links:\n  a0: {kind: netdevsim, id: 7, num_vfs: 2}\n", id="files_in_sysfs"),
        pytest.param(
            "links:\n  a0: {kind: wireguard, private_key_file: /etc/wireguard/a0, listen_port: 443, up: true}\n",
            id="key_file_and_port_below_1024",
        ),
        pytest.param(
            "links:\n  a0: {kind: dummy}\n"
            "tc:\n  a0: {ingress: [{pref: 1, bpf: {pinned: /sys/fs/bpf/rule}, action: drop}]}\n",
            id="pinned_program",
        ),
        pytest.param("links:\n  a0: {kind: dummy, sysctl: {ipv4.rp_filter: 2}}\n", id="kernel_setting"),
    ],
)
def test_sandbox_lets_the_daemon_make_what_takes_more_than_netlink(daemon: None, text: str) -> None:
    bpf_programs.pin("rule", bpf_programs.CLASSIFIER, 0)
    key = ETC.parent / "wireguard/a0"
    key.parent.mkdir(exist_ok=True)
    key.write_text(f"{_KEY}\n")
    key.chmod(0o600)
    (ETC / "20-more.yaml").write_text(text)
    got = reload()
    assert (got.returncode, got.stderr) == (0, "")
    good(2)
    assert reload().returncode == 0


def test_stop_lets_a_change_that_has_begun_come_to_its_end(daemon: None) -> None:
    less = Path("/run/systemd/system/netgroupd.service.d/less.conf")
    less.parent.mkdir(parents=True)
    less.write_text("[Service]\nTimeoutStopSec=1\n")
    run("systemctl", "daemon-reload")
    begun = Path("/var/lib/netgroup/journal")
    good(1500)
    try:
        with subprocess.Popen(["busctl", "call", "--timeout=280", *MANAGER, "Reload"], stderr=subprocess.DEVNULL):
            eventually(lambda: begun.exists() and bridges() > 10)
            assert bridges() < 1500
            run("systemctl", "stop", "netgroupd")
        assert run("systemctl", "show", "-P", "Result", "netgroupd").stdout == "success\n"
        assert (bridges(), begun.exists()) == (1500, False)
    finally:
        shutil.rmtree(less.parent)
        run("systemctl", "daemon-reload")
        run("systemctl", "start", "netgroupd")


def test_silence_is_borne_longer_while_a_change_runs(daemon: None) -> None:
    def borne() -> str:
        return run("systemctl", "show", "-P", "WatchdogUSec", "netgroupd").stdout

    assert borne() == "1min\n"
    (ETC / "20-hang.mako").write_text("<%\nwhile True:\n    pass\n%>\n")
    with subprocess.Popen(["busctl", "call", "--timeout=280", *MANAGER, "Reload"], stderr=subprocess.DEVNULL):
        eventually(lambda: borne() == "30min\n")
    eventually(lambda: borne() == "1min\n")


def test_unconfirmed_change_is_put_back_though_the_daemon_is_stopped_for_good(daemon: None) -> None:
    good(5)
    assert run("netgroupctl", "apply", "--confirm", "60").returncode == 0
    run("systemctl", "stop", "netgroupd")
    assert bridges() == 5
    eventually(lambda: bridges() == 2)
    eventually(lambda: run("systemctl", "is-active", "netgroup-deadline").stdout == "inactive\n")
    assert run("systemctl", "is-active", "netgroupd").stdout == "inactive\n"


def test_daemon_that_starts_again_takes_over_the_wait_for_a_confirmation(daemon: None) -> None:
    good(5)
    assert run("netgroupctl", "apply", "--confirm", "600").returncode == 0
    run("systemctl", "stop", "netgroupd")
    eventually(lambda: run("systemctl", "is-active", "netgroup-deadline").stdout == "active\n")
    begun = now()
    for again in ("start", "restart"):
        assert run("systemctl", again, "netgroupd").returncode == 0
        eventually(lambda: run("systemctl", "is-active", "netgroup-deadline").stdout == "inactive\n")
        assert run("systemctl", "is-active", "netgroupd").stdout == "active\n"
    assert "Failed to enqueue" not in journal(begun)
    assert bridges() == 5
    assert run("netgroupctl", "rollback").returncode == 0
    assert bridges() == 2


def test_stop_with_nothing_that_waits_starts_nothing(daemon: None) -> None:
    run("systemctl", "stop", "netgroupd")
    eventually(lambda: run("systemctl", "show", "-P", "ConditionResult", "netgroup-deadline").stdout == "no\n")
    assert run("systemctl", "is-active", "netgroup-deadline").stdout == "inactive\n"


def test_template_that_takes_the_memory_of_all_is_ended_alone(daemon: None) -> None:
    pid = main_pid()
    limit = memory_kib(pid, "VmRSS") + 128 * 1024
    run("systemctl", "set-property", "--runtime", "netgroupd", f"MemoryMax={limit}K")
    (ETC / "20-much.mako").write_text("<% much = b'x' * (600 << 20) %>\n")
    refused = reload()
    run("systemctl", "set-property", "--runtime", "netgroupd", "MemoryMax=infinity")
    assert "20-much.mako:1:1: the template takes more processor time or memory than it is given" in refused.stderr
    assert (bridges(), main_pid()) == (2, pid)


def test_names_of_groups_are_there_where_iproute2_has_no_folder(daemon: None) -> None:
    folder, away = Path("/etc/iproute2"), Path("/etc/iproute2.away")
    good(3)  # something to apply
    shutil.move(folder, away)
    try:
        run("systemd-tmpfiles", "--create", "netgroupd.conf")
        run("systemctl", "restart", "netgroupd")
        assert reload().returncode == 0
        assert "\ttenants\n" in (folder / "group").read_text()
    finally:
        (folder / "group").unlink(missing_ok=True)
        folder.rmdir()
        shutil.move(away, folder)
        run("systemctl", "restart", "netgroupd")


@pytest.fixture
def networkd() -> Iterator[None]:
    """systemd-networkd, which has a link of its own to look after, beside the daemon."""
    run("ip", "link", "add", "dn0", "type", "dummy")
    link = Path("/run/systemd/network/dn0.network")
    unit = Path("/run/systemd/system/systemd-networkd.service.d/sys.conf")
    for path in (link, unit):
        path.parent.mkdir(parents=True, exist_ok=True)
    link.write_text("[Match]\nName=dn0\n[Network]\nAddress=192.0.2.1/24\n")
    unit.write_text("[Service]\nReadOnlyPaths=/sys\n")  # it takes this to mean that there is no udev to wait for
    run("systemctl", "daemon-reload")
    yield
    run("systemctl", "stop", "systemd-networkd.socket", "systemd-networkd.service")
    shutil.rmtree(unit.parent)
    link.unlink()
    run("systemctl", "daemon-reload")
    run("ip", "link", "del", "dn0")


def _dn0_is_configured() -> bool:
    return "configured" in run("networkctl", "--no-legend", "list", "dn0").stdout.split()


def test_networkd_leaves_what_is_on_no_link(daemon: None, networkd: None) -> None:
    (ETC / "20-more.yaml").write_text(
        "routes: [{to: 203.0.113.0/24, type: blackhole}]\nrules: [{pref: 900, to: 203.0.113.0/24, lookup: 90}]\n"
    )
    assert reload().returncode == 0
    assert run("systemctl", "restart", "systemd-networkd").returncode == 0
    eventually(_dn0_is_configured)
    run("networkctl", "reconfigure", "dn0")  # at its start it did not know yet what there is, having waited for no udev
    eventually(lambda: "dn0: Configuring" in run("journalctl", "--unit=systemd-networkd", "--output=cat").stdout)
    eventually(_dn0_is_configured)
    assert "192.0.2.1/24" in run("ip", "address", "show", "dev", "dn0").stdout
    assert "no differences" in run("busctl", "call", *MANAGER, "Diff", "a{sv}", "0").stdout
    good(2)
    assert reload().returncode == 0
