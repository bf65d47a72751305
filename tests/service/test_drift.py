# SPDX-License-Identifier: GPL-2.0-or-later
"""How often pictures are taken and repairs are made."""

from netgroupd.service.drift import Damping, Spacing


def test_repairs_that_follow_closely_wait_twice_as_long_each_time() -> None:
    damping = Damping()
    now, waits = 100.0, []
    for _ in range(6):
        assert damping.wait_s(now) == 0
        waits.append(damping.wait_s(now))
        now += waits[-1]
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]


def test_repair_after_a_calm_waits_no_longer() -> None:
    damping = Damping()
    for now in (100.0, 101.0, 103.0, 1000.0):
        assert damping.wait_s(now) == 0
    assert damping.wait_s(1000.0) == 1.0


def test_pictures_of_others_news_are_taken_ever_more_rarely() -> None:
    spacing = Spacing()
    waits = [spacing.after(0.1, 0.3, news_were_ours=False) for _ in range(8)]
    assert waits == sorted(waits)
    assert waits[-1] == 10.0


def test_own_news_are_looked_at_soon() -> None:
    spacing = Spacing()
    for _ in range(8):
        spacing.after(0.1, 0.3, news_were_ours=False)
    assert spacing.after(0.1, 0.3, news_were_ours=True) == 0.2


def test_long_comparison_leaves_half_of_the_processor() -> None:
    assert Spacing().after(25.0, 25.0, news_were_ours=True) == 25.0
