# SPDX-License-Identifier: GPL-2.0-or-later
"""What the cases of traffic control refer to, without a kernel."""

import pytest

from netgroupd.kernel.names import Names


@pytest.fixture
def names() -> Names:
    """The links that the cases are about."""
    names = Names()
    for index, name in enumerate(("lo", "v0", "v1", "v2"), 1):
        names.note(name, index)
    return names
