# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses of a subnet: which of them packets leave with is the same however the link came to have them."""

import pytest

from tests.engine.universe import state_of
from tests.plan.test_plan import messages, planned

TEXT = "links: {{d0: {{kind: dummy, addresses: [203.0.113.1/24, {}]}}}}"


def quoted(addresses: str) -> str:
    return ", ".join(f'"{address}"' for address in addresses.split(", "))


@pytest.mark.parametrize(
    ("have", "want", "deleted", "added"),
    [
        pytest.param("192.0.2.[2-3]/24", "192.0.2.[1-3]/24", "32", "123", id="first_of_ipv4_comes"),
        pytest.param("192.0.2.1/24, 192.0.2.3/24", "192.0.2.[1-3]/24", "", "2", id="another_of_ipv4_comes"),
        pytest.param("2001:db8::[2-3]/64", "2001:db8::[1-3]/64", "3", "13", id="another_of_ipv6_comes"),
        pytest.param("2001:db8::[1-2]/64", "2001:db8::[1-3]/64", "", "3", id="last_of_ipv6_comes"),
        pytest.param("192.0.2.2/24", "192.0.3.1/24, 192.0.2.2/24", "", "1", id="of_another_subnet"),
        pytest.param("192.0.2.2/24, 192.0.2.1/24", "192.0.2.[1-2]/24", "", "", id="none_comes"),
        pytest.param("192.0.2.[3-5]/24", "192.0.2.1/24, 192.0.2.[4-5]/24", "345", "145", id="in_place_of_the_first"),
        pytest.param("192.0.2.[3-5]/24", "192.0.2.[3-4]/24, 192.0.2.1/24", "5", "1", id="in_place_of_the_last"),
        pytest.param("192.0.2.[3-5]/24", "192.0.2.5/24, 192.0.2.4/24", "34", "4", id="first_of_ipv4_goes"),
        pytest.param("192.0.2.[3-5]/24", "192.0.2.[4-5]/24", "3", "", id="next_of_ipv4_is_the_first"),
        pytest.param("2001:db8::[2,1,3]/64", "2001:db8::[2-3]/64", "13", "3", id="one_of_ipv6_goes"),
        pytest.param("2001:db8::[3,2,1]/64", "2001:db8::[2-3]/64", "1", "", id="last_of_ipv6_is_the_last"),
    ],
)
def test_addresses_that_belong_behind_one_that_comes_come_again(have: str, want: str, deleted: str, added: str) -> None:
    plan = planned(TEXT.format(quoted(want)), *state_of(TEXT.format(quoted(have))))
    numbers = dict.fromkeys(("delete", "create", "change"), "")
    for step in plan.steps:
        numbers[str(step.op)] += str(step.object.key[1]).partition("/")[0][-1]  # type: ignore[union-attr]
    assert sorted(numbers["delete"]) == sorted(deleted)
    assert numbers["create"] == added


def test_group_of_ipv6_is_left_before_its_link_takes_the_address_along() -> None:
    text = (
        "links: {d0: {kind: dummy%s, addresses: [{address: 'ff05::5/64', autojoin: true}]}}\nvrfs: {red: {table: 10}}"
    )
    plan = planned(text % ", master: red", *state_of(text % ""))
    assert [message for message in messages(plan) if "address" in message] == [
        "delete address d0",
        "create address d0 autojoin=True",
    ]


@pytest.mark.parametrize(
    ("have", "want", "messages_told"),
    [
        pytest.param("192.0.2.1/24", "192.0.2.5/24", ["create 5", "delete 1"], id="of_the_subnet"),
        pytest.param(
            "192.0.2.[1-2]/24", "192.0.2.[5-6]/24", ["create 5", "delete 2", "delete 1", "create 6"], id="some"
        ),
        pytest.param(
            "192.0.2.1/24, 192.0.2.2/24", "192.0.2.1/24, 192.0.2.5/24", ["delete 2", "create 5"], id="one_stays"
        ),
        pytest.param(
            "192.0.2.[2-3]/24",
            "192.0.2.[1-3]/24",
            ["create 1", "delete 3", "delete 2", "create 2", "create 3"],
            id="which_belongs_before_it",
        ),
        pytest.param(
            "192.0.2.[1-2]/24",
            "192.0.2.5/24, 192.0.2.2/24",
            ["create 5", "delete 2", "delete 1", "create 2"],
            id="in_place_of_the_first",
        ),
        pytest.param("192.0.2.[1-3]/24", "192.0.2.[2-3]/24", ["change 2", "delete 1", "change 3"], id="which_is_there"),
    ],
)
def test_another_address_is_there_before_the_last_one_goes(have: str, want: str, messages_told: list[str]) -> None:
    text = "links: {{d0: {{kind: dummy, addresses: [{}]}}}}"
    plan = planned(text.format(quoted(want)), *state_of(text.format(quoted(have))))
    steps = [f"{step.op} {str(step.object.key[1]).partition('/')[0][-1]}" for step in plan.steps]  # type: ignore[union-attr]
    assert steps == messages_told
