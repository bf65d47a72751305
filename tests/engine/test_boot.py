# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that starts: what an operator has decided against does not come back by itself."""

import json
import os
from collections.abc import Callable
from threading import Timer

import pytest

from netgroupd.config.facts import Facts
from netgroupd.engine import clock, configuration
from netgroupd.engine.record.disk import read_json
from netgroupd.engine.record.lock import locked
from netgroupd.engine.report import Result
from netgroupd.errors import ConfigError, KernelError, RejectedError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Object
from netgroupd.plan.step import AnyStep
from tests.engine.desk import Desk

CARD = Object("link", ("eth0",), {"kind": "", "up": False, "mtu": 1500, "group": 0})
TEXT = "links: {eth0: {up: true, addresses: [192.0.2.%d/24]}}\nroutes: [{to: default, via: 192.0.2.%d}]\n"
GOOD, BAD, OTHER = TEXT % (5, 1), TEXT % (99, 254), TEXT % (6, 1)
OF_GOOD, OF_BAD, OF_OTHER = "192.0.2.5/24", "192.0.2.99/24", "192.0.2.6/24"


def start(desk: Desk, monkeypatch: pytest.MonkeyPatch, refuse: Callable[[AnyStep], int] = lambda _step: 0) -> Result:
    """Switch the host off and on, and do what the daemon does then."""
    desk.kernel = FakeKernel([CARD], refuse=refuse)
    boot = clock.boot_id()
    monkeypatch.setattr(clock, "boot_id", lambda: f"after {boot}")
    desk.engine.recover()
    return desk.boot()


def address(desk: Desk) -> str:
    (key,) = desk.kernel.state.of("address")
    return str(key[1])


def applied(desk: Desk, *texts: str) -> None:
    for text in texts:
        desk.wants(text)
        desk.engine.apply()


def expired(desk: Desk, text: str) -> None:
    """Apply what is put back by the timer."""
    desk.wants(text)
    desk.engine.apply(confirm_s=0.0)
    assert "the files still ask for generation" in str(desk.engine.expire())


def waiting(desk: Desk, text: str) -> None:
    desk.wants(text)
    desk.engine.apply(confirm_s=60)


def undone(desk: Desk, text: str) -> None:
    """Apply what is put back by hand before its deadline."""
    waiting(desk, text)
    assert "still ask for" in desk.engine.rollback().plan.warnings[-1]


def regretted(desk: Desk, text: str) -> None:
    """Apply for good, and go back."""
    applied(desk, text)
    assert "still ask for" in desk.engine.rollback().plan.warnings[-1]


def refused(desk: Desk, text: str) -> None:
    desk.wants(text)
    desk.kernel.refuse = lambda _step: 22
    with pytest.raises(KernelError):
        desk.engine.apply()
    desk.kernel.refuse = lambda _step: 0


def cut_off(desk: Desk, text: str) -> None:
    """Apply with a process that is killed half way, of which the next one hears in the same boot."""
    desk.wants(text)
    if not (child := os.fork()):
        desk.kernel.refuse = lambda _step: os._exit(0)
        desk.engine.apply()
    os.waitpid(child, 0)
    assert "was interrupted, and is rolled back" in str(desk.engine.recover())


@pytest.fixture
def host(desk: Desk) -> Desk:
    """A host with a card, and a network."""
    desk.kernel = FakeKernel([CARD])
    applied(desk, GOOD)
    return desk


@pytest.mark.parametrize("reject", [expired, waiting, undone, regretted, refused, cut_off])
def test_what_was_rejected_does_not_come_back_by_itself(
    host: Desk, monkeypatch: pytest.MonkeyPatch, reject: Callable[[Desk, str], None]
) -> None:
    reject(host, BAD)
    for _ in range(3):
        result = start(host, monkeypatch)
        assert address(host) == OF_GOOD
        assert isinstance(result.trouble, RejectedError)
        assert "ask for generation 2" in str(result.trouble)
        assert "insist with `netgroupctl apply`" in str(result.trouble)
    host.engine.apply()  # which is to insist
    assert (start(host, monkeypatch).trouble, address(host)) == (None, OF_BAD)


def test_host_that_lost_its_power_while_a_change_to_be_confirmed_ran_has_what_was_before(
    host: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PowerCutError(BaseException):
        """Nothing of netgroupd runs any more."""

    def lose_power(*_: object) -> None:
        raise PowerCutError

    host.wants(BAD)
    monkeypatch.setattr("netgroupd.engine.engine.Engine._commit", lose_power)
    monkeypatch.setattr("netgroupd.engine.engine.Engine._undo", lose_power)
    with pytest.raises(PowerCutError):
        host.engine.apply(confirm_s=60)
    monkeypatch.undo()
    assert (str(start(host, monkeypatch).trouble)[:21], address(host)) == ("the files still ask f", OF_GOOD)


def test_change_for_good_that_lost_its_power_is_an_operators_word(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netgroupd.engine.engine.Engine._commit", lambda *_: os._exit(0))
    host.wants(BAD)
    if not (child := os.fork()):
        host.engine.apply()
    os.waitpid(child, 0)
    monkeypatch.undo()
    assert (start(host, monkeypatch).trouble, address(host)) == (None, OF_BAD)


@pytest.mark.parametrize("try_", [refused, cut_off])
def test_what_did_not_stay_is_tried_again_where_nothing_else_was_ever_applied(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, try_: Callable[[Desk, str], None]
) -> None:
    desk.kernel = FakeKernel([CARD])
    try_(desk, GOOD)
    assert (start(desk, monkeypatch).trouble, address(desk)) == (None, OF_GOOD)


def test_files_that_were_edited_since_are_applied(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    expired(host, BAD)
    host.wants(OTHER)
    assert (start(host, monkeypatch).trouble, address(host)) == (None, OF_OTHER)
    host.wants(GOOD)
    assert (start(host, monkeypatch).trouble, address(host)) == (None, OF_GOOD)


def test_files_that_were_put_right_and_not_applied_are_no_trouble(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    regretted(host, BAD)
    host.wants(GOOD)
    assert host.engine.decided_against() is None
    assert (start(host, monkeypatch).trouble, address(host)) == (None, OF_GOOD)


def test_comment_is_no_other_word(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    expired(host, BAD)
    host.wants(f"# what was this?\n\n{BAD}")
    assert isinstance(start(host, monkeypatch).trouble, RejectedError)
    assert address(host) == OF_GOOD
    host.wants(f"# as it was\n{GOOD}")
    assert start(host, monkeypatch).trouble is None


def test_what_is_said_of_a_group_is_another_word(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    expired(host, BAD)
    host.wants(f"groups: {{watched: {{drift: repair}}}}\n{BAD}")
    assert (start(host, monkeypatch).trouble, address(host)) == (None, OF_BAD)


@pytest.mark.parametrize("number", [2, 3])
def test_generation_that_was_gone_back_to_is_the_last_word(
    host: Desk, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """1 good, 2 bad, 3 another; back to 1, then on to one of those that had been left."""
    applied(host, BAD, OTHER)
    host.engine.rollback(1)
    host.engine.rollback(number)
    wanted = {2: OF_BAD, 3: OF_OTHER}[number]
    for text in (GOOD, BAD, OTHER):
        host.wants(text)
        result = start(host, monkeypatch)
        # That one was applied once is no reason: who has gone elsewhere since has left it.
        assert (address(host), result.trouble is None) == (wanted, text == {2: BAD, 3: OTHER}[number])


def test_generation_behind_which_nobody_went_may_be_asked_for_again(
    host: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied(host, OTHER)
    host.wants(GOOD)
    assert (start(host, monkeypatch).trouble, address(host)) == (None, OF_GOOD)


def test_what_was_confirmed_is_wanted_and_so_is_going_back_then(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    expired(host, BAD)
    waiting(host, BAD)
    host.engine.confirm()
    assert (start(host, monkeypatch).trouble, address(host)) == (None, OF_BAD)
    host.engine.rollback(1, confirm_s=60)
    host.engine.confirm()
    assert isinstance(start(host, monkeypatch).trouble, RejectedError)
    assert address(host) == OF_GOOD


def test_going_back_that_was_not_confirmed_leaves_what_was_applied(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    applied(host, OTHER)
    host.engine.rollback(1, confirm_s=60)
    assert (start(host, monkeypatch).trouble, address(host)) == (None, OF_OTHER)


def test_repairs_change_nothing_about_it(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    regretted(host, BAD)
    host.kernel.state.add(host.kernel.state.classes["link"]["eth0",]._replace(attrs={**CARD.attrs, "up": False}))
    host.engine.repair(frozenset({"eth0"}))
    assert host.engine.history()[0].result == "repaired"
    assert isinstance(start(host, monkeypatch).trouble, RejectedError)
    assert address(host) == OF_GOOD


def test_first_configuration_of_all_that_nobody_confirmed_is_not_applied(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.kernel = FakeKernel([CARD])
    expired(desk, BAD)
    assert isinstance(start(desk, monkeypatch).trouble, RejectedError)
    assert not desk.kernel.state.of("address")


def test_template_that_gives_something_else_at_each_boot_was_not_edited(
    host: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (host.config / "all.yaml").unlink()
    template = host.config / "all.mako"
    memory = iter(range(7, 99))
    monkeypatch.setattr(configuration, "gather", lambda: Facts(memory=next(memory)))
    template.write_text("links: {eth0: {up: true, addresses: ['192.0.2.${host.memory}/24']}}\n")
    host.engine.apply(confirm_s=0.0)
    host.engine.expire()
    assert isinstance(start(host, monkeypatch).trouble, RejectedError)
    assert address(host) == OF_GOOD
    template.write_text(template.read_text() + "## edited\n")
    assert start(host, monkeypatch).trouble is None
    assert address(host) != OF_GOOD


def test_template_in_effect_is_applied_though_it_gives_something_else_by_now(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.kernel = FakeKernel([CARD])
    host = Facts(memory=5)
    monkeypatch.setattr(configuration, "gather", lambda: host)
    (desk.config / "all.mako").write_text("links: {eth0: {up: true, addresses: ['192.0.2.${host.memory}/24']}}\n")
    for _ in range(3):
        assert start(desk, monkeypatch).trouble is None
    host = Facts(memory=99)
    assert (start(desk, monkeypatch).trouble, address(desk)) == (None, OF_BAD)


def test_generations_of_an_older_version_are_judged_as_far_as_they_tell(
    host: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    expired(host, BAD)
    index = host.paths.state / "generations/index"
    plain = read_json(index)
    del plain["accepted"]
    index.write_text(json.dumps(plain))
    assert isinstance(start(host, monkeypatch).trouble, RejectedError)


def test_files_that_are_wrong_leave_what_is_in_effect(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    host.wants("links: {eth0: {mttu: 1}}")
    result = start(host, monkeypatch)
    assert isinstance(result.trouble, ConfigError)
    assert address(host) == OF_GOOD


def test_full_disk_says_nothing_against_a_configuration(host: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    host.wants(OTHER)
    monkeypatch.setattr("netgroupd.engine.engine.Engine._commit", full)
    with pytest.raises(OSError, match="No space"):
        host.engine.apply()
    monkeypatch.undo()
    assert (start(host, monkeypatch).trouble, address(host)) == (None, OF_OTHER)


@pytest.mark.parametrize("text", [GOOD, "links: {eth0: {mttu: 1}}"], ids=["by_the_files", "by_what_is_in_effect"])
def test_start_waits_for_who_is_still_ending_what_was_cut_off(
    host: Desk, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    host.wants(text)
    held = locked(host.paths.state / "lock")
    held.__enter__()
    freed = Timer(0.3, held.__exit__, (None, None, None))
    freed.start()
    start(host, monkeypatch)
    freed.join()
    assert address(host) == OF_GOOD
