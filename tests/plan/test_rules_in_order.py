# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of one preference stand in the order of the files: which of them are made once more for that."""

import pytest

from netgroupd.model.state import Object
from netgroupd.plan.rules import arranged
from netgroupd.plan.step import Op, Step

SIGNS = {Op.CREATE: "+", Op.CHANGE: "~", Op.DELETE: "-"}


def rules(text: str) -> list[Object]:
    """A rule for each word, which is a name, and a digit for the preference."""
    return [Object("rule", ("inet", int(word[1]), (("iif", word[0]),)), {"lookup": 5}) for word in text.split()]


@pytest.mark.parametrize(
    ("have", "want", "told"),
    [
        pytest.param("a7 b7 c7", "a7 b7 c7", "", id="as_they_stand"),
        pytest.param("a7 b7 c7", "c7 b7 a7", "~c7 ~b7 ~a7", id="turned_round"),
        pytest.param("a7 b7 c7", "a7 c7", "-b7", id="one_goes"),
        pytest.param("a7 b7 c7", "c7 a7", "-b7 ~c7 ~a7", id="one_goes_and_others_turn_round"),
        pytest.param("a7 b7", "a7 b7 n7", "+n7", id="one_comes_last"),
        pytest.param("a7 b7", "a7 n7 b7", "~a7 +n7 ~b7", id="one_comes_between"),
        pytest.param("a7 b7", "n7 a7 b7", "+n7 ~a7 ~b7", id="one_comes_first"),
        pytest.param("a7 b7", "n7 m7", "-a7 -b7 +n7 +m7", id="others_come"),
        pytest.param("a7 b8", "b8 a7", "", id="of_two_preferences"),
        pytest.param("a7 a8 b8", "b8 a8 a7", "~b8 ~a8", id="one_preference_of_two"),
    ],
)
def test_rules_are_made_once_more_where_they_would_stand_otherwise_than_in_the_files(
    have: str, want: str, told: str
) -> None:
    haves, wants = ({one.key: one for one in rules(text)} for text in (have, want))
    steps = [Step(Op.DELETE, one, None) for key, one in haves.items() if key not in wants]
    steps += [Step(Op.CREATE, None, one, one.attrs) for key, one in wants.items() if key not in haves]
    got = arranged(steps, wants, haves)
    assert " ".join(f"{SIGNS[step.op]}{step.object.key[2][0][1]}{step.object.key[1]}" for step in got) == told  # type: ignore[index]
    assert all(step.before and step.attrs == step.object.attrs for step in got if step.op is Op.CHANGE)
