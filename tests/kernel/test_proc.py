# SPDX-License-Identifier: GPL-2.0-or-later
"""What is read of /proc, with lines missing or not mounted, and namespaces that are not there."""

import os
from pathlib import Path

import pytest

from netgroupd.errors import UsageError
from netgroupd.kernel import features, kernels
from netgroupd.kernel.features import Features
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.netns import entered
from tests.apart import apart


@pytest.mark.parametrize(
    ("status", "want"),
    [("Name:\tx\nCapEff:\t0000000000001000\n", True), ("CapEff:\t0\n", False), ("Name:\tx\n", False), (None, False)],
    ids=["privileged", "not_privileged", "no_such_line", "not_mounted"],
)
def test_features_are_asked_for_whatever_proc_says(
    status: str | None, want: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, bool]] = []

    def of_boot(boot: str, privileged: bool) -> Features:
        asked.append((boot, privileged))
        return Features()

    for name in ("_STATUS", "_BOOT"):
        monkeypatch.setattr(features, name, tmp_path / name)
        if status is not None:
            (tmp_path / name).write_text(status if name == "_STATUS" else "b\n", encoding="ascii")
    monkeypatch.setattr(features, "_of_boot", of_boot)
    assert features.features() == Features()
    assert asked == [("b" if status is not None else "", want)]


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # how many, not which


def test_namespace_that_is_not_there_leaves_no_descriptor_behind() -> None:
    def counted() -> None:
        before = _descriptors()
        with pytest.raises(UsageError, match="no network namespace"), entered("/nowhere/at/all"):
            pass
        assert _descriptors() == before

    apart(counted)


@pytest.mark.vm("stock")
def test_namespace_that_goes_before_it_is_spoken_with_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(netns: str) -> int:
        if netns == "blue":
            raise UsageError("no network namespace 'blue'")
        return os.open("/proc/self/ns/net", os.O_RDONLY)

    monkeypatch.setattr(kernels, "_connected", lambda _netns, features: Kernel(assume=features))
    monkeypatch.setattr(kernels, "open_netns", gone)
    before = _descriptors()
    with pytest.raises(UsageError, match="'blue'"), Kernels() as kernel:
        kernel._at("blue")
    assert _descriptors() == before
