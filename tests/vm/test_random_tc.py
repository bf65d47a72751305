# SPDX-License-Identifier: GPL-2.0-or-later
"""Random traffic control through the engine: a handful of rounds, of which ``python -m tests.vm.random_tc`` has more.

The seed is the parameter, so that a failure can be had again.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.hosts import Hosts
from tests.vm.random_tc import Round


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    made = Hosts(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("seed", [2, 3, 8])
def test_random_change_arrives_comes_back_and_is_captured(hosts: Hosts, seed: int) -> None:
    Round(hosts, seed).run()
