# SPDX-License-Identifier: GPL-2.0-or-later
"""Random configurations, one after the other, on a real kernel: nothing is left to do, and nothing stays half done.

The seed is the parameter, so that a failure can be had again; ``tests.vm.random_hosts`` takes any.
"""

from pathlib import Path

import pytest

from tests.vm.random_hosts import Life


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_host_is_what_it_was_told_to_be_or_what_it_was(tmp_path: Path, seed: int) -> None:
    Life(seed, tmp_path).live()


def test_what_others_have_stays_beside_it(tmp_path: Path) -> None:
    Life(60, tmp_path, beside=True).live()
