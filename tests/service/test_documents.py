# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written about the bus, the metrics and the journal holds for the code."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from netgroupd.errors import Problem
from netgroupd.service.interface import GROUP, JOB, MANAGER, interface
from netgroupd.service.job import Job
from netgroupd.service.journal import encode, fields
from netgroupd.service.methods import Manager
from netgroupd.service.metrics import METRICS, Metrics
from netgroupd.service.polkit import Right

_ROOT = Path(__file__).parents[2]


def _members(name: str, kind: str) -> list[str]:
    return [str(member.get("name")) for member in ET.fromstring(interface(name)).iter(kind)]


@pytest.mark.parametrize("name", [MANAGER, JOB, GROUP])
def test_every_member_of_the_interface_is_documented(name: str) -> None:
    text = (_ROOT / "docs/dbus.md").read_text()
    for kind in ("method", "property", "signal"):
        for member in _members(name, kind):
            assert f"`{member}" in text


@pytest.mark.parametrize(("name", "cls"), [(MANAGER, Manager), (JOB, Job)])
def test_every_method_of_the_interface_is_there(name: str, cls: type) -> None:
    assert [member for member in _members(name, "method") if not hasattr(cls, member)] == []


def test_polkit_actions_are_those_that_the_daemon_asks_for() -> None:
    policy = ET.fromstring((_ROOT / "systemd/org.netgroup1.policy").read_text())
    assert {action.get("id") for action in policy.iter("action")} == set(Right)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_documented(name: str) -> None:
    assert f"`{name}" in (_ROOT / "docs/watching.md").read_text()


def test_journal_entry_with_line_breaks_carries_its_length() -> None:
    assert encode({"MESSAGE": "a\nb", "PRIORITY": "6"}) == b"MESSAGE\n\x03\0\0\0\0\0\0\0a\nb\nPRIORITY=6\n"


def test_journal_fields_have_the_prefix() -> None:
    assert fields(job=7, file=Problem("a", 1, 1, "m").file) == {"netgroup": {"NETGROUP_JOB": "7", "NETGROUP_FILE": "a"}}


def test_metrics_are_prometheus_text(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "m.prom")
    metrics.add("netgroup_changes_total", kind="reload", result="ok")
    metrics.add("netgroup_changes_total", kind="reload", result="ok")
    metrics.set("netgroup_generation", 3)
    metrics.write()
    assert (tmp_path / "m.prom").read_text() == (
        f"# HELP netgroup_generation {METRICS['netgroup_generation'][1]}\n"
        "# TYPE netgroup_generation gauge\n"
        "netgroup_generation 3\n"
        f"# HELP netgroup_changes_total {METRICS['netgroup_changes_total'][1]}\n"
        "# TYPE netgroup_changes_total counter\n"
        'netgroup_changes_total{kind="reload",result="ok"} 2\n'
    )
    assert (tmp_path / "m.prom").stat().st_mode & 0o777 == 0o644
