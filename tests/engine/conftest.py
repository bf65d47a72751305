# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the engine share."""

from pathlib import Path

import pytest

from tests.engine.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
