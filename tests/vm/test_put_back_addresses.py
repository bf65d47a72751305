# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets leave with the address that they left with before, wherever on its way a change is refused."""

import pytest

from tests.engine.universe import state_of
from tests.vm.stumbling import Stumbling, become, there_and_back, told


@pytest.mark.vm("stock")
@pytest.mark.parametrize(
    "after",
    [
        pytest.param("10.0.0.3/24, 10.0.0.2/24, 10.0.0.1/24", id="another_comes_before_them"),
        pytest.param("10.0.0.3/24, 10.0.0.2/24", id="another_comes_for_the_first"),
        pytest.param("10.0.0.2/24", id="the_first_goes"),
        pytest.param("10.0.0.3/24, 10.1.0.1/24", id="others_come"),
    ],
)
def test_first_address_of_a_subnet_is_the_first_again(kernel: Stumbling, after: str) -> None:
    text = "links: {a: {kind: dummy, up: true, addresses: [%s]}}"
    become(kernel, state_of(text % "10.0.0.1/24, 10.0.0.2/24"))
    there_and_back(
        kernel, state_of(text % after), lambda: told("ip", "-4", "-br", "address", "show", "a"), refused=True
    )


@pytest.mark.vm("stock")
@pytest.mark.parametrize(
    "after",
    [
        pytest.param("'fd00::3/64', 'fd00::1/64', 'fd00::2/64'", id="another_order"),
        pytest.param("'fd00::2/64', 'fd00::1/64', 'fd00::4/64'", id="another_comes_for_the_last"),
        pytest.param("'fd00::3/64', 'fd00::1/64'", id="another_is_the_last"),
        pytest.param("'fd00::2/64', 'fd00::3/64', 'fd00::4/64'", id="another_comes_behind_them"),
    ],
)
def test_last_address_of_a_subnet_is_the_last_again(kernel: Stumbling, after: str) -> None:
    def leaves_with() -> str:
        return told("ip", "-6", "route", "get", "fd00::9").partition(" src ")[2].split()[0]

    text = "links: {a: {kind: dummy, up: true, addresses: [%s]}}"
    become(kernel, state_of(text % "'fd00::2/64', 'fd00::3/64'"))
    there_and_back(kernel, state_of(text % after), leaves_with, refused=True)
