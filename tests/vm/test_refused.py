# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``check`` refuses for the kernel's sake the kernel refuses, or forgets: asked past the checks, it does."""

import subprocess

import pytest

from netgroupd.config.semantic import checks
from netgroupd.engine import undescribed
from netgroupd.errors import KernelError, VerifyError
from tests.vm.hosts import EngineIn
from tests.vm.refused_cases import REFUSED, TAKEN

pytestmark = pytest.mark.vm("stock")


@pytest.mark.parametrize(("text", "want"), REFUSED)
def test_kernel_refuses_it_too(engine_in: EngineIn, monkeypatch: pytest.MonkeyPatch, text: str, want: str) -> None:
    monkeypatch.setattr(checks, "_CHECKS", ())
    monkeypatch.setattr(undescribed, "unfit", lambda *_: ())
    with pytest.raises((KernelError, VerifyError)):
        engine_in("here", text).apply()


@pytest.mark.parametrize("text", TAKEN)
def test_kernel_takes_what_nothing_is_said_of(engine_in: EngineIn, text: str) -> None:
    engine = engine_in("here", text)
    engine.apply()
    assert not engine.diff().steps


def test_name_is_taken_where_there_are_bonds() -> None:
    subprocess.run(["ip", "link", "add", "b0", "type", "bond"], check=True)
    try:
        refused = subprocess.run(["ip", "link", "add", "bonding_masters", "type", "dummy"], check=False)
    finally:
        subprocess.run(["ip", "link", "del", "b0"], check=True)
    assert refused.returncode
