# SPDX-License-Identifier: GPL-2.0-or-later
"""Random edits of the examples, on a real kernel: a host is as new after each, and goes back.

The seed is the parameter, so that a failure can be had again; ``tests.vm.random_edits`` takes any.
"""

from pathlib import Path

import pytest

from tests.vm.random_edits import Edits


@pytest.mark.parametrize("seed", [0, 34])
def test_host_is_as_new_after_an_edit_and_goes_back(tmp_path: Path, seed: int) -> None:
    edits = Edits(seed, tmp_path)
    edits.run(3)
    assert not edits.failed, "\n".join(edits.failed)
