# SPDX-License-Identifier: GPL-2.0-or-later
"""Ports of a bridge, and what few links of a host have: a capture passes most over, and misses none."""

import subprocess
from collections.abc import Callable, Iterator

import pytest

from netgroupd.kernel.kernel import Kernel
from netgroupd.kernel.netlink.request import Selection
from netgroupd.kernel.settings.ethtool_features import features_of
from tests.instructions import instructions

_MANY, _FEW, _A_LINK = 120, 20, 700
_ASKED: dict[str, Callable[[Kernel], object]] = {
    "elsewhere": Kernel.elsewhere,
    "functions": lambda kernel: kernel.dump(Selection(classes=frozenset({"vf"}), everything=True)),
    "features": lambda kernel: features_of(kernel._generic),
}


def _ip(*lines: str) -> None:
    subprocess.run(["ip", "-b", "-"], input="\n".join(lines), text=True, check=True)


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    """A few ports."""
    _ip("link add b0 type bridge", *(f"link add d{number} type dummy" for number in range(_FEW)))
    _ip(*(f"link set d{number} master b0" for number in range(_FEW)))
    with Kernel() as kernel:
        kernel.read_names()
        yield kernel


@pytest.mark.parametrize("asked", _ASKED)
def test_what_few_links_have_is_soon_known_not_to_be_had_by_the_others(kernel: Kernel, asked: str) -> None:
    def ask() -> object:
        return _ASKED[asked](kernel)

    ask()
    few = instructions(ask)
    more = range(_FEW, _MANY)
    _ip(*(f"link add d{number} type dummy" for number in more), *(f"link set d{number} master b0" for number in more))
    assert instructions(ask) - few < _A_LINK * (_MANY - _FEW)


def test_link_of_which_a_part_is_elsewhere_is_found_among_others(kernel: Kernel) -> None:
    assert not kernel.elsewhere()
    subprocess.run(["ip", "netns", "add", "blue"], check=True)
    try:
        _ip("link add v0 type veth peer name v1 netns blue", "link set v0 master b0")
        kernel.read_names()
        assert kernel.elsewhere() == {"v0"}
    finally:
        subprocess.run(["ip", "netns", "del", "blue"], check=True)
