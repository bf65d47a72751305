# SPDX-License-Identifier: GPL-2.0-or-later
"""What macvlans share with the link below, or with the others on it, is as it was, wherever a change is refused."""

import pytest

from tests.engine.universe import state_of
from tests.vm.stumbling import Stumbling, become, there_and_back

_BELOW = "a: {kind: dummy, up: true%s}"
_ALL_OF_IT = "b: {kind: macvlan, link: a, mode: passthru, up: true%s}"
_MACVLAN = ", %s: {kind: macvlan, link: a, up: true%s}"
_BOTH = f"{_BELOW}, {_ALL_OF_IT}"
_TOLD = ", mac: '02:00:00:00:00:0%d'"


@pytest.mark.vm("stock")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(_BOTH % ("", ""), _BOTH % ("", _TOLD % 2), id="macvlan_is_told"),
        pytest.param(
            _BOTH % ("", ""), _BOTH % (", mtu: 1400", _TOLD % 2), id="macvlan_is_told_and_the_link_below_changes"
        ),
        pytest.param(_BOTH % ("", _TOLD % 1), _BOTH % (_TOLD % 2, ""), id="link_below_is_told"),
        pytest.param(_BOTH % ("", _TOLD % 1), _BOTH % (_TOLD % 2, _TOLD % 2), id="both_are_told"),
        pytest.param(_BELOW % (_TOLD % 1), _BOTH % ("", _TOLD % 2), id="macvlan_comes"),
        pytest.param(_BOTH % ("", _TOLD % 2), _BELOW % "", id="macvlan_goes"),
    ],
)
def test_mac_of_a_link_that_another_has_all_of_is_as_it_was(kernel: Stumbling, before: str, after: str) -> None:
    become(kernel, state_of(f"links: {{{before}}}"), at_once=False)
    there_and_back(kernel, state_of(f"links: {{{after}}}"), refused=True)


@pytest.mark.vm("stock")
@pytest.mark.parametrize(
    "told",
    [pytest.param((", bclim: 3", ""), id="one"), pytest.param(("", _MACVLAN % ("d", ", bclim: 3")), id="new_one")],
)
def test_limit_of_all_macvlans_of_a_link_is_as_it_was(kernel: Stumbling, told: tuple[str, str]) -> None:
    text = f"links: {{{_BELOW % ''}{_MACVLAN % ('b', '%s')}{_MACVLAN % ('c', '')}%s}}"
    become(kernel, state_of(text % ("", "")))
    there_and_back(kernel, state_of(text % told), refused=True)
