# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that a configuration will ask about: one question for very many of them."""

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.links.codec import FEW


def test_many_names_are_read_at_once_before_the_first_is_asked_for() -> None:
    with Kernel() as kernel:
        names = {"lo", *(f"n{number}" for number in range(FEW))}
        told = kernel.expect(names)
        before = kernel.counters.syscalls
        assert {name for name in names if kernel.has_link(name)} == {name for name in names if told[name]} == {"lo"}
        assert kernel.counters.syscalls == before


def test_few_names_are_asked_for_one_by_one() -> None:
    with Kernel() as kernel:
        assert not kernel.expect({f"n{number}" for number in range(FEW)})
        assert not kernel.names.whole
        assert kernel.has_link("lo")
