# SPDX-License-Identifier: GPL-2.0-or-later
"""A change that was interrupted or waits: whoever comes next finds it, and what they ask for comes after it."""

import errno
import os
from collections.abc import Iterable
from threading import Timer

import pytest

from netgroupd.engine import clock, putting_back
from netgroupd.engine.deadline import see_to_the_end
from netgroupd.engine.record.generations import Generations
from netgroupd.engine.record.journal import Journal
from netgroupd.engine.record.lock import locked
from netgroupd.errors import JournalError, KernelError, UsageError, notes_of
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Object
from netgroupd.model.value import Value
from netgroupd.plan.compare import UNOWNED
from netgroupd.plan.step import Step, cls_of
from netgroupd.plan.theirs import Going, Theirs
from tests.engine.desk import Desk


def given(desk: Desk, name: str, **attrs: Value) -> None:
    """Another program makes a link, or another one in its place."""
    desk.kernel.state.add(Object("link", (name,), {"group": 0, "mtu": 1500, "up": True, **attrs}))


class KilledError(BaseException):
    """The end of a process, which cleans up nothing."""


def killed(*_args: object, **_named: object) -> None:
    raise KilledError


def full(*_args: object) -> None:
    raise JournalError(os.strerror(errno.ENOSPC))


def mtu(desk: Desk) -> Value:
    return desk.kernel.state.of("link")["d0",].attrs["mtu"]


def test_what_has_come_in_the_place_of_what_was_there_keeps_nobody_from_another_change(desk: Desk) -> None:
    given(desk, "x", kind="dummy")
    desk.wants("links: {x: {mtu: 1400}}")
    desk.engine.apply(confirm_s=0.0)
    given(desk, "x", kind="bridge")
    desk.wants("links: {y: {kind: dummy}}")
    warning = desk.engine.apply().plan.warnings[0]
    assert warning.startswith("what was there before generation 1 could not be put back: 'x' exists, is a link of kind")
    assert desk.kernel.has_link("y")
    assert not desk.engine.has_begun()


def test_what_could_not_be_put_back_is_looked_after_though_the_disk_takes_no_change_that_follows(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(desk, "x", kind="dummy")
    desk.wants("links: {x: {mtu: 1400}}")
    desk.engine.apply(confirm_s=0.0)
    given(desk, "x", kind="bridge")
    desk.wants("links: {y: {kind: dummy}}")
    with monkeypatch.context() as patch:
        patch.setattr("netgroupd.engine.record.journal.write_atomically", full)
        with pytest.raises(JournalError, match="No space left"):
            desk.engine.apply()
    given(desk, "x", kind="dummy", mtu=1400)
    assert "generation 1" in str(desk.engine.recover())
    assert desk.kernel.state.of("link")["x",].attrs["mtu"] == 1500


@pytest.mark.parametrize("life", [1, 2, 0], ids=["the_same", "made_anew", "gone"])
def test_change_waits_in_the_namespace_that_it_was_made_in_alone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, life: int
) -> None:
    lives = iter([1, 1])
    monkeypatch.setattr("netgroupd.engine.record.journal.cookie_of", lambda _netns: next(lives, life))
    desk.wants("links: {d0: {kind: dummy}}")
    desk.engine.apply(confirm_s=60.0)
    there = desk.there()
    ended = None if life == 1 else "generation 1 ended with its network namespace; generation 0 is in effect"
    assert desk.engine.recover() == ended
    assert desk.there() == there
    assert (desk.engine.pending() is None) == (life != 1)


def test_what_others_deleted_does_not_keep_the_rest_from_coming_back(desk: Desk) -> None:
    text = """
    links:
      br0: {kind: bridge}
      d0: {kind: dummy, master: br0, mtu: %d}
      d1: {kind: dummy, mtu: %d}
      low: {kind: dummy, up: true}
      low.5: {kind: vlan, link: low, id: 5, up: true, addresses: [10.0.0.%d/24]}
    routes: [{to: 10.9.0.0/16, via: 10.0.0.9, metric: %d}]
    """
    desk.wants(text % (1400, 1400, 1, 1))
    desk.engine.apply()
    before = desk.there()
    desk.wants(text % (1300, 1300, 2, 2))
    desk.engine.apply(confirm_s=0.0)
    for name in ("br0", "d0", "low", "low.5"):
        del desk.kernel.state.classes["link"][name,]
    desk.kernel.state.classes["address"].clear()
    desk.kernel.state.classes["route"].clear()
    assert "is rolled back to generation 1" in str(desk.engine.expire())
    d0 = dict(desk.kernel.state.of("link")["d0",].attrs)
    assert ("master" in d0, d0["mtu"]) == (False, 1400)
    assert desk.there() == {("link", ("d0",)): d0, ("link", ("d1",)): before["link", ("d1",)]}


@pytest.mark.parametrize("others", [False, True], ids=["and_is_kept", "and_others_changed_something"])
def test_rollback_undoes_the_change_that_was_interrupted_when_all_was_done(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, others: bool
) -> None:
    for number in (1, 2):
        desk.wants(f"links: {{d0: {{kind: dummy, mtu: 1{number}00}}}}")
        desk.engine.apply()
    desk.wants("links: {d0: {kind: dummy, mtu: 1300}}")
    with monkeypatch.context() as patch:
        patch.setattr(Generations, "finish", killed)
        patch.setattr("netgroupd.engine.engine.Engine._undo", killed)
        with pytest.raises(KilledError):
            desk.engine.apply()
    if others:
        given(desk, "d0", kind="dummy", mtu=1250)
    how = "rolled back to generation 2" if others else "interrupted when all was done, and is kept"
    assert how in desk.engine.rollback().plan.warnings[0]
    assert mtu(desk) == 1200
    assert desk.engine.status().differences == ""


@pytest.mark.parametrize("confirm_s", [None, 60], ids=["applied", "confirmed"])
def test_what_has_ended_is_kept_whatever_others_have_done_since(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, confirm_s: float | None
) -> None:
    desk.wants("links: {d0: {kind: dummy, mtu: 1400}, d1: {kind: dummy}}")
    desk.engine.apply()
    desk.wants("links: {d0: {kind: dummy, mtu: 1300}}")
    with monkeypatch.context() as patch:
        patch.setattr("netgroupd.engine.engine.Engine._undo", killed)
        if confirm_s:
            desk.engine.apply(confirm_s=confirm_s)
        patch.setattr(Journal, "close", killed)
        with pytest.raises(KilledError):
            desk.engine.confirm() if confirm_s else desk.engine.apply()
    given(desk, "d0", kind="dummy", mtu=1250)
    late = clock.since_boot() + 120
    monkeypatch.setattr(clock, "since_boot", lambda: late)
    assert desk.engine.recover() == "generation 2 had ended, and is kept"
    assert (mtu(desk), list(desk.kernel.state.of("link"))) == (1250, [("d0",)])
    assert desk.engine.pending() is None


@pytest.mark.parametrize("lost", [False, True], ids=["undone_by_it", "confirmed_before"])
def test_rollback_after_a_restart_undoes_a_change_that_waited(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    for number in (1, 2, 3):
        desk.wants(f"links: {{d0: {{kind: dummy}}, d0.5: {{kind: vlan, link: d0, id: 5, mtu: 1{number}00}}}}")
        desk.engine.apply(confirm_s=60 if number == 3 else None)
    if lost:  # that the journal was removed
        journal = desk.paths.state / "journal"
        content = journal.read_bytes()
        desk.engine.confirm()
        journal.write_bytes(content)
    monkeypatch.setattr(clock, "boot_id", lambda: "another boot")
    desk.kernel = FakeKernel()
    desk.engine.rollback()
    assert desk.kernel.state.of("link")["d0.5",].attrs["mtu"] == 1200
    assert desk.engine.pending() is None
    assert desk.engine.status().differences == ""


@pytest.mark.parametrize("name", ["/run/netns/blue", "/var/run/netns/blue", "/run//netns/./blue"])
def test_namespace_has_one_lock_and_one_history_however_it_is_named(desk: Desk, name: str) -> None:
    assert desk.paths.of(name) == desk.paths.of("blue")
    assert desk.paths.of("/run/other/blue") != desk.paths.of("blue")


def test_change_that_no_memory_is_left_to_undo_is_told_to_be_half_done(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_args: object) -> None:
        raise MemoryError

    desk.kernel = FakeKernel(refuse=lambda step: 12 if isinstance(step, Step) and step.object.name == "d1" else 0)
    desk.wants("links: {d0: {kind: dummy}, d1: {kind: dummy}}")
    with monkeypatch.context() as patch:
        patch.setattr("netgroupd.engine.unfinished.put_back", none_left)
        with pytest.raises(KernelError, match="could not be put back either: there is not enough memory"):
            desk.engine.apply()
    assert desk.engine.status().interrupted
    assert "is rolled back to generation 0" in str(desk.engine.recover())
    assert desk.there() == {}


def test_change_is_undone_though_the_system_lacks_memory_for_a_moment(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(putting_back, "_PAUSE_S", 0.0)
    desk.wants("links: {'d[0-3]': {kind: dummy}}")
    desk.engine.apply()
    before = desk.there()
    desk.wants("links: {'d[2-5]': {kind: dummy, mtu: 1400}}")
    batches = 0

    def lacks() -> None:
        nonlocal batches
        batches += 1
        if batches in (2, 3):  # of the change, and of its undoing
            raise OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))

    desk.kernel.between = lacks
    with pytest.raises(OSError, match="No buffer space") as raised:
        desk.engine.apply()
    assert desk.there() == before
    assert notes_of(raised.value) == ()
    assert not desk.engine.has_begun()


class _WithOthers(FakeKernel):
    """A kernel in which others have an address on each link that goes, which it does not take back."""

    def theirs(self, names: Iterable[str], going: Going) -> Theirs:
        return Theirs(tuple(Object("address", (name, "192.0.2.1/24", None), {UNOWNED: 0}) for name in names))


def test_what_others_had_that_cannot_be_given_back_is_told_and_keeps_nothing_else_away(desk: Desk) -> None:
    desk.wants("links: {d0: {kind: dummy}}")
    desk.engine.apply()
    desk.wants("links: {d1: {kind: dummy}}")
    there = desk.there()
    desk.kernel = _WithOthers(
        desk.kernel.state, refuse=lambda step: 12 if cls_of(step) == "address" or "d1" in str(step) else 0
    )
    (warning,) = desk.engine.diff().warnings
    assert warning.endswith("addresses (1) on d0")
    with pytest.raises(KernelError) as caught:
        desk.engine.apply()
    assert any("could not be given back: create address d0: Cannot" in note for note in caught.value.__notes__)
    assert desk.there() == there
    assert not desk.engine.status().interrupted


@pytest.mark.parametrize(
    ("confirm_s", "others_do", "said"),
    [
        pytest.param(60.0, True, None, id="others_wait_for_it_now"),
        pytest.param(0.2, False, "generation 1 was not confirmed in time", id="nobody_does"),
    ],
)
def test_who_waits_for_the_end_of_a_change_puts_it_back_unless_others_do(
    desk: Desk, confirm_s: float, others_do: bool, said: str | None
) -> None:
    desk.wants("links: {d0: {kind: dummy}}")
    desk.engine.apply(confirm_s=confirm_s)
    assert str(see_to_the_end(desk.engine, lambda: others_do)).startswith(str(said))
    assert bool(desk.there()) == others_do


def test_who_confirms_too_late_is_told_what_has_become_of_the_change(desk: Desk) -> None:
    desk.wants("links: {d0: {kind: dummy}}")
    for said in ("generation 1 was not confirmed in time, .*back to generation 0", "; generation 1 was rolled back"):
        if not desk.engine.history():
            desk.engine.apply(confirm_s=0.0)
        with pytest.raises(UsageError, match=said):
            desk.engine.confirm()
        assert desk.there() == {}


def test_change_that_waits_is_left_waiting_by_a_daemon_that_starts(desk: Desk) -> None:
    desk.wants("links: {d0: {kind: dummy}}")
    desk.engine.apply(confirm_s=60.0)
    assert desk.engine.recover() is None
    assert desk.kernel.has_link("d0")
    assert desk.engine.confirm() == 1


def test_change_that_waits_is_no_attempt_that_is_forgotten(desk: Desk) -> None:
    desk.wants("links: {d0: {kind: dummy}}")
    desk.engine.apply(confirm_s=60.0)
    desk.engine.forget_attempt()
    assert desk.engine.pending()


def test_who_ends_a_change_waits_for_who_does_so_already(desk: Desk) -> None:
    desk.wants("links: {d0: {kind: dummy}}")
    desk.engine.apply(confirm_s=0.0)
    held = locked(desk.paths.state / "lock")
    held.__enter__()
    freed = Timer(0.3, held.__exit__, (None, None, None))
    freed.start()
    assert "was not confirmed in time" in str(desk.engine.expire())
    freed.join()


def test_who_cannot_put_a_change_back_leaves_that_to_others_when_they_come(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.wants("links: {d0: {kind: dummy}}")
    desk.engine.apply(confirm_s=0.0)

    def refused(*_args: object) -> str:
        raise JournalError("cannot write it")

    monkeypatch.setattr("netgroupd.engine.unfinished.Unfinished.recover", refused)
    monkeypatch.setattr("netgroupd.engine.deadline._RETRY_S", 0.01)
    come = iter([False, False, True])
    assert see_to_the_end(desk.engine, lambda: next(come)) is None
