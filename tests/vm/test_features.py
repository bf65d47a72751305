# SPDX-License-Identifier: GPL-2.0-or-later
"""What is found out about a kernel, and that finding it out changes nothing."""

import pytest

from netgroupd.kernel.features import Features, features, probe
from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import EVERYTHING
from netgroupd.kernel.netlink.socket import Socket


@pytest.mark.vm("stock")
def test_stock_kernel_has_none_of_our_features() -> None:
    assert features() == Features()


@pytest.mark.vm("patched")
def test_patched_kernel_has_what_its_series_adds() -> None:
    everything = Features(*[True] * len(Features._fields))
    assert features() == everything


def test_probing_changes_no_link() -> None:
    with Kernel() as kernel, Socket() as socket:
        before = kernel.dump(EVERYTHING).classes
        probe(socket)
        assert kernel.dump(EVERYTHING).classes == before
