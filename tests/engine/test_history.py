# SPDX-License-Identifier: GPL-2.0-or-later
"""The generations: what is kept of each, and how many."""

import errno
import os

import pytest

from netgroupd.engine.record import rejected
from netgroupd.engine.record.disk import write_json
from netgroupd.engine.record.generations import CUT_OFF, FAILED, ROLLED_BACK, Content, Generations
from netgroupd.engine.report import Generation
from netgroupd.errors import KernelError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Object
from tests.engine.desk import Desk


def test_plan_of_each_generation_is_kept_in_words_however_it_ends(desk: Desk) -> None:
    desk.wants("vlans")
    desk.engine.apply()
    desk.kernel.refuse = lambda _step: errno.EBUSY
    desk.wants("nothing")
    with pytest.raises(KernelError):
        desk.engine.apply()
    counts = [each.summary for each in desk.engine.history()]
    assert counts[0].startswith("11 to delete; ")
    assert counts[1].startswith("29 to create; ")
    kept = Generations(desk.paths.state)
    assert [kept.content(number).plan.splitlines()[-1] for number in (2, 1)] == counts


def test_history_has_a_bound(desk: Desk) -> None:
    for number in range(105):
        desk.wants(f"links: {{d0: {{kind: dummy, alias: number {number}}}}}")
        desk.engine.apply()
    kept = desk.engine.history()
    assert (len(kept), kept[0].number) == (100, 105)
    assert len(list((desk.paths.state / "generations").iterdir())) == 201, "each and what it changed, and the index"


def test_what_is_listed_is_there_whenever_the_process_ends(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is started a hundred times with the same files has only such generations."""
    monkeypatch.setattr("netgroupd.engine.record.generations._MOST", 3)
    desk.wants("links: {d0: {kind: dummy}}")
    for _ in range(3):
        desk.kernel = FakeKernel()
        desk.engine.apply()
    kept, content = Generations(desk.paths.state), Content()
    last = kept.open(content, 0.0)

    def killed(*_args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("netgroupd.engine.record.generations.write_json", killed)
        with pytest.raises(KeyboardInterrupt):
            kept.finish(last, "applied", current=last.number)
    assert [kept.content(each.number).files == () for each in kept.all()] == [False] * 3
    kept.finish(last, "applied", current=last.number)
    assert [each.number for each in kept.all()] == [4, 3, 2]


def test_repairs_are_not_what_one_goes_back_to(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netgroupd.engine.record.generations._MOST", 9)
    for number in (-1, 0, 1):
        desk.wants(f"links: {{v0: {{kind: dummy, alias: number {number}}}}}")
        desk.engine.apply()
    for _ in range(12):  # another program does not stop
        del desk.kernel.state.classes["link"][("v0",)]
        desk.engine.repair(frozenset({"v0"}))
    history = desk.engine.history()
    assert len(history) == 9
    assert [each.result for each in history[:2]] == ["repaired", "repaired"]
    assert [each.number for each in history[-3:]] == [3, 2, 1]
    desk.engine.rollback()
    link = desk.kernel.state.link("v0")
    assert link is not None
    assert link.attrs["alias"] == "number 0"


def test_attempts_that_fail_leave_what_is_in_effect_and_what_was_before_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netgroupd.engine.record.generations._MOST", 3)
    for number in range(2):
        desk.wants(f"links: {{d0: {{kind: dummy, alias: number {number}}}}}")
        desk.engine.apply()
    del desk.kernel.state.classes["link"]["d0",]
    desk.engine.repair(frozenset({"d0"}))
    desk.kernel.refuse = lambda _step: errno.EBUSY
    for number in range(5):
        desk.wants(f"links: {{d{number}: {{kind: bridge}}}}")
        with pytest.raises(KernelError):
            desk.engine.apply()
    assert [each.number for each in desk.engine.history()] == [8, 3, 2, 1]
    desk.kernel.refuse = lambda _step: 0
    assert not desk.engine.drift().steps
    desk.engine.rollback()
    link = desk.kernel.state.link("d0")
    assert link
    assert link.attrs["alias"] == "number 0"


@pytest.mark.parametrize("lost", [False, True])
def test_text_that_this_version_does_not_understand_does_not_refuse_other_files(desk: Desk, lost: bool) -> None:
    desk.wants("links: {d0: {kind: dummy, sysctl: {ipv4.rp_filter: 1}}}")
    desk.engine.apply()
    path = desk.paths.state / "generations/1"
    path.unlink()
    if not lost:
        kept = Content(files=(("all.yaml", "all.yaml", "links: {d0: {sort: dummy}}"),), classes=("link", "sysctl"))
        write_json(path, kept._asdict())
    desk.wants("links: {d1: {kind: dummy}}")
    desk.engine.apply()
    assert [*desk.kernel.state.of("link")] == [("d1",)]


def test_records_are_for_their_owner_alone_whatever_is_usual(desk: Desk) -> None:
    """A configuration may hold keys, and who has no daemon has no directory that the unit makes."""
    usual = os.umask(0o022)
    try:
        desk.wants("links: {d0: {kind: dummy, mtu: 1400}}")
        desk.engine.apply()
        desk.wants("links: {d0: {kind: dummy, mtu: 1300}}")
        desk.engine.apply(confirm_s=60)
    finally:
        os.umask(usual)
    kept = [path for path in desk.paths.state.rglob("*") if path.is_file()]
    assert {"journal", "index", "1", "2"} <= {path.name for path in kept}
    assert [path.name for path in kept if path.stat().st_mode & 0o077] == []


def test_repair_keeps_what_the_generation_knows_of_links_that_others_have_made(desk: Desk) -> None:
    desk.kernel.state.add(Object("link", ("theirs",), {"kind": "dummy", "up": True, "group": 0}))
    desk.wants('links: {"b[1-2]": {kind: bridge, up: true, ports: "theirs.{1}"}}')
    desk.engine.apply()
    del desk.kernel.state.classes["link"]["b1",]
    desk.engine.repair(frozenset({"b1"}))
    assert desk.engine.history()[0].result == "repaired"
    assert not desk.engine.drift().steps
    assert desk.engine.diff().steps == ()


@pytest.mark.parametrize(
    ("result", "how"), [(FAILED, "failed"), (CUT_OFF, "was cut off"), (ROLLED_BACK, "was rolled back")]
)
def test_generation_that_the_files_still_ask_for_is_told_by_how_it_went(result: str, how: str) -> None:
    told = rejected.told(Generation(3, 0.0, result, ""), 2)
    assert f"generation 3, which {how}: " in told
    assert told.endswith("brings back generation 2")
