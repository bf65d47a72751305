# SPDX-License-Identifier: GPL-2.0-or-later
"""What is told of refusals, of which one line may have thousands."""

import errno

from netgroupd.engine.refusals import by_line, error_of
from netgroupd.errors import Refusal, notes_of

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
