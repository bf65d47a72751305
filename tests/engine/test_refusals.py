# SPDX-License-Identifier: GPL-2.0-or-later
"""What is told of refusals, of which one line may have thousands."""

import errno

import pytest

from netgroupd.engine.refusals import by_line, error_of, steps_error
from netgroupd.errors import Refusal, notes_of
from netgroupd.kernel.netlink.batch import Refused
from netgroupd.model.state import Object
from netgroupd.plan.step import Op, Step

_FULL = Refusal("create filter v0 ingress pref 1 dst_ip 10.0.0.0", errno.ENOSPC, "No room in hardware", "a.yaml:7")


def test_line_of_which_thousands_are_refused_is_told_by_the_first_and_their_number() -> None:
    refusals = [_FULL._replace(what=f"create filter v0 ingress pref 1 dst_ip 10.0.0.{n}") for n in range(2048)]
    assert str(error_of(refusals)) == f"{_FULL} (and 2,047 more of this line)"


def test_each_reason_of_a_line_is_told() -> None:
    other = _FULL._replace(errno=errno.EEXIST, sentence="File exists")
    assert by_line([_FULL, other, _FULL]) == [
        _FULL._replace(sentence="No room in hardware (and 1 more of this line)"),
        other,
    ]


def test_of_very_many_lines_the_first_are_told_and_how_many_more() -> None:
    error = error_of(_FULL._replace(origin=f"a.yaml:{line}") for line in range(1, 1031))
    assert [refusal.origin for refusal in error.refusals] == [f"a.yaml:{line}" for line in range(1, 21)]
    assert notes_of(error) == ("and 1,010 more lines were refused",)


def test_what_is_of_no_line_is_told_as_it_is() -> None:
    nowhere = _FULL._replace(origin="")
    assert by_line([nowhere, nowhere]) == [nowhere, nowhere]


@pytest.mark.parametrize(
    ("number", "sentence", "told"),
    [
        (errno.EINVAL, "Invalid argument", "Invalid argument; mtu 9000 may be over what eth0 carries"),
        (errno.EINVAL, "mtu greater than device maximum", "mtu greater than device maximum"),
        (errno.EPERM, "Operation not permitted", "Operation not permitted"),
    ],
)
def test_mtu_that_does_not_pass_below_is_told_where_the_kernel_says_nothing(
    number: int, sentence: str, told: str
) -> None:
    vlan = Object("link", ("eth0.5",), {"kind": "vlan", "link": "eth0", "id": 5, "mtu": 9000})
    refusal = Refusal("create link eth0.5", number, sentence, "a.yaml:1")
    assert str(steps_error([Refused(Step(Op.CREATE, None, vlan, vlan.attrs), refusal)])).endswith(f"eth0.5: {told}")
