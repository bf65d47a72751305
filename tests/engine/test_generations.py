# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of the generations by how they went: which count, which is gone back to, and which are dropped."""

from pathlib import Path

import pytest

from netgroupd.engine.kept.replaced import Replaced
from netgroupd.engine.record.generations import (
    APPLIED,
    CUT_OFF,
    FAILED,
    INTERRUPTED,
    REPAIRED,
    ROLLED_BACK,
    UNCONFIRMED,
    Content,
    Generations,
)
from netgroupd.model.state import Object


def mtu(was: int, made: int) -> Replaced:
    return Replaced(*((Object("link", ("d0",), {"mtu": value}),) for value in (was, made)))


def kept(directory: Path, *results: str, current: int = 1, accepted: int = 1) -> Generations:
    """Generations that went so, one after the other, each with other files and an MTU that is one larger."""
    generations = Generations(directory)
    for number, result in enumerate(results, 1):
        content = Content(files=(("all.yaml", "all.yaml", str(number)),), plan=f"the plan\nsummary {number}")
        generation = generations.open(content, 0.0, mtu(1000 + number, 1001 + number))
        now = 0 if not current else min(current, number)
        generations.finish(generation, result, 7.0, current=now, accepted=min(accepted, number))
    return generations


@pytest.mark.parametrize(
    ("current", "numbers"),
    [
        pytest.param(1, [5, 4, 3], id="something_is_in_effect"),
        pytest.param(4, [5, 3], id="what_is_in_effect_is_newer"),
        pytest.param(0, [4], id="nothing_is_in_effect"),
    ],
)
def test_rejected_is_what_was_decided_against_since(tmp_path: Path, current: int, numbers: list[int]) -> None:
    results = (APPLIED, ROLLED_BACK, FAILED, ROLLED_BACK, CUT_OFF, INTERRUPTED)
    found = kept(tmp_path, *results, current=current, accepted=2).rejected()
    assert [each.number for each in found] == numbers


def test_gone_back_to_is_what_was_applied(tmp_path: Path) -> None:
    generations = kept(tmp_path, APPLIED, FAILED, ROLLED_BACK, APPLIED, current=4)
    assert generations.before(4) == 1


def test_what_was_replaced_since_is_of_what_was_applied_up_to_the_one_in_effect(tmp_path: Path) -> None:
    generations = kept(tmp_path, APPLIED, REPAIRED, APPLIED, FAILED, APPLIED, ROLLED_BACK, APPLIED, current=5)
    found = generations.replaced_since(1)
    assert [obj.attrs["mtu"] for obj in (*found.was, *found.made)] == [1003, 1006]


def test_end_of_a_generation_is_noted_once_more_and_leaves_what_was_known(tmp_path: Path) -> None:
    generations = kept(tmp_path, APPLIED, UNCONFIRMED)
    before = generations.get(2)
    assert before
    assert (before.summary, before.took_s) == ("summary 2", 7.0)
    generations.finish(before, APPLIED, current=2)
    assert generations.get(2) == before._replace(result=APPLIED)


def test_generation_that_waited_to_be_confirmed_was_rolled_back_when_another_ends(tmp_path: Path) -> None:
    generations = kept(tmp_path, APPLIED, UNCONFIRMED, FAILED)
    assert [each.result for each in generations.all()] == [FAILED, ROLLED_BACK, APPLIED]


def test_what_is_dropped_hands_on_what_it_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netgroupd.engine.record.generations._MOST", 3)
    generations = kept(tmp_path, APPLIED, APPLIED, FAILED, APPLIED, APPLIED, current=5)
    assert [each.number for each in generations.all()] == [5, 4, 2]
    assert [obj.attrs["mtu"] for obj in generations.replaced(2).was] == [1001]
    names = {path.name for path in (tmp_path / "generations").iterdir()}
    assert names == {"index", *(f"{number}{more}" for number in (2, 4, 5) for more in ("", ".replaced"))}
    sizes = {each.number: each.size for each in generations.all()}
    assert sizes[2] == sum((tmp_path / f"generations/2{more}").stat().st_size for more in ("", ".replaced"))


def test_what_failed_hands_on_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netgroupd.engine.record.generations._MOST", 2)
    generations = kept(tmp_path, FAILED, APPLIED, APPLIED, current=3)
    assert [obj.attrs["mtu"] for obj in generations.replaced(2).was] == [1002]


@pytest.mark.parametrize(("most", "numbers"), [("_MOST", 2), ("_MOST_BYTES", 1)])
def test_bound_is_of_number_and_of_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: str, numbers: int
) -> None:
    monkeypatch.setattr(f"netgroupd.engine.record.generations.{most}", numbers)
    generations = kept(tmp_path, APPLIED, APPLIED, APPLIED, APPLIED, current=4)
    assert [each.number for each in generations.all()] == [4, 3, 2], "the last, the one in effect, and that before it"


def test_more_than_is_kept_of_what_was_replaced_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netgroupd.engine.record.generations._MOST_REPLACED", 10)
    generations = kept(tmp_path, APPLIED)
    assert generations.replaced(1) == Replaced()
    assert not generations.keeps(1, mtu(1, 2))
    assert generations.keeps(1, Replaced())


def test_what_one_that_ended_early_replaced_is_not_taken_for_that_of_the_next(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    generations.open(Content(), 0.0, mtu(1, 2))  # and never ends, so that its number is given once more
    generation = generations.open(Content(), 0.0)
    assert generations.replaced(generation.number) == Replaced()
