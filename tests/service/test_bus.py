# SPDX-License-Identifier: GPL-2.0-or-later
"""What the bus keeps of those who call: nothing, once they are answered."""

from pathlib import Path
from typing import Any

import pytest

from netgroupd.errors import UsageError
from netgroupd.service.bus import _Wrapper
from tests.service.conftest import PrivateBus, eventually, refused, serving
from tests.service.fake import FakeEngine


def test_calls_that_are_answered_leave_nothing_behind(
    bus: PrivateBus, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed: list[str] = []
    answer = _Wrapper.call_method

    def watched(self: _Wrapper, *arguments: Any) -> None:
        arguments[-1].weak_ref(freed.append, arguments[4])
        answer(self, *arguments)

    monkeypatch.setattr(_Wrapper, "call_method", watched)
    with serving(bus, engine, tmp_path / "run") as remote:
        eventually(lambda: remote.properties()["State"] == "idle")
        remote.reload()
        remote.diff({})
        engine.error = UsageError("not now")
        refused(remote.reload)
        eventually(lambda: {"GetAll", "Open"} <= {*freed} and freed.count("Reload") == 2)
