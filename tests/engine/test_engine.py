# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine on a kernel in memory: what it keeps, refuses, waits for and puts back."""

import errno
import shutil

import pytest

from netgroupd.engine import clock
from netgroupd.engine.engine import Engine
from netgroupd.errors import BusyError, ConfigError, JournalError, KernelError, UsageError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Object
from netgroupd.plan import present
from netgroupd.plan.serialise import singles
from netgroupd.plan.step import AnyStep, Op, Step
from tests.engine.desk import Desk


def test_second_apply_does_nothing(desk: Desk) -> None:
    desk.wants("vlans")
    first, second = desk.engine.apply(), desk.engine.apply()
    assert (first.generation, second.generation, second.plan.steps) == (1, 0, ())


def test_what_is_owned_is_shown_while_the_files_are_wrong(desk: Desk) -> None:
    desk.wants("vlans")
    desk.engine.apply()
    before = {obj.key for obj in desk.engine.actual()}
    desk.wants("links: {swp1: {mttu: 9000}}")
    assert {obj.key for obj in desk.engine.actual()} == before


def test_links_of_others_are_not_among_what_is_looked_after(desk: Desk) -> None:
    desk.wants("vlans")
    desk.engine.apply()
    before = {obj.key for obj in desk.engine.looked_after()}
    desk.kernel.state.add(Object("link", ("docker0",), {"kind": "bridge", "group": 0}))
    assert {obj.key for obj in desk.engine.looked_after()} == before


def test_rollback_without_a_number_goes_to_the_generation_before(desk: Desk) -> None:
    desk.wants("vlans")
    desk.engine.apply()
    before = desk.there()
    desk.wants("vrf")
    desk.engine.apply()
    desk.engine.rollback()
    assert desk.there() == before


def stuck(desk: Desk) -> None:
    """A change was refused, and so is every message that makes a bridge: what was there cannot be put back."""
    desk.wants("{links: {b: {kind: bridge}, d: {kind: dummy}}}")
    desk.engine.apply()
    desk.wants("{links: {d: {kind: dummy, alias: x}, e: {kind: dummy}}, groups: {new: {id: 5}}}")
    made = iter(range(2))

    def refuse(step: AnyStep) -> int:
        if not isinstance(step, Step) or step.op is not Op.CREATE:
            return 0
        return errno.EBUSY if step.object.attrs["kind"] == "bridge" or not next(made, 1) else 0

    desk.kernel.refuse = refuse
    with pytest.raises(KernelError, match="could not be put back either"):
        desk.engine.apply()


def test_what_cannot_be_put_back_keeps_nobody_from_another_change(desk: Desk) -> None:
    stuck(desk)
    assert desk.engine.status().interrupted
    desk.wants("{links: {d: {kind: dummy, alias: y}}}")
    done = desk.engine.apply()
    assert [warning.partition(":")[0] for warning in done.plan.warnings] == [
        "what was there before generation 2 could not be put back"
    ]
    assert {link.name: link.attrs.get("alias") for link in desk.engine.looked_after().of("link").values()} == {"d": "y"}
    assert [(each.number, each.result) for each in desk.engine.history()] == [
        (3, "applied"), (2, "failed"), (1, "applied")
    ]  # fmt: skip
    assert not desk.engine.status().interrupted
    assert desk.engine.apply().plan.warnings == ()


def test_what_cannot_be_put_back_is_tried_again_by_a_change_that_is_refused(desk: Desk) -> None:
    stuck(desk)
    desk.wants("{links: {d: {kind: nonsense}}}")
    with pytest.raises(ConfigError):
        desk.engine.apply()
    assert desk.engine.status().interrupted
    desk.kernel.refuse = lambda _step: 0
    desk.wants("{links: {b: {kind: bridge}, d: {kind: dummy}}}")
    assert desk.engine.apply().plan.steps == ()
    assert not desk.engine.status().interrupted


def test_change_that_somebody_is_at_was_not_interrupted(desk: Desk) -> None:
    found = list[tuple[bool, bool]]()

    def look(*_: int) -> None:
        status = desk.engine.status()
        found.append((status.changing, status.interrupted))

    desk.wants("vlans")
    desk.engine.apply(progress=look)
    look()
    assert set(found[:-1]) == {(True, False)}
    assert found[-1] == (False, False)


def test_undoing_what_waits_says_how_long_it_took(desk: Desk) -> None:
    desk.wants("vlans")
    desk.engine.apply(confirm_s=60)
    undone = desk.engine.rollback()
    assert (undone.generation, undone.took_s > 0, bool(undone.plan.steps)) == (0, True, True)


def test_rollback_to_zero_leaves_nothing(desk: Desk) -> None:
    desk.wants("layer_3")
    desk.engine.apply()
    desk.engine.rollback(0)
    assert desk.there() == {}


def test_rollback_to_an_unknown_generation_is_refused(desk: Desk) -> None:
    with pytest.raises(UsageError, match="no generation 7; `netgroupctl history` lists"):
        desk.engine.rollback(7)


def test_failure_says_what_the_kernel_said_and_is_in_the_history(desk: Desk) -> None:
    desk.wants("vlans")
    desk.kernel.refuse = lambda step: errno.EBUSY if "10.0.11.1/24" in str(step) else 0
    with pytest.raises(KernelError, match="Device or resource busy"):
        desk.engine.apply()
    assert desk.there() == {}
    assert [each.result for each in desk.engine.history()] == ["failed"]


@pytest.mark.parametrize("error", [ZeroDivisionError("a mistake of ours"), KeyboardInterrupt(), SystemExit(1)])
def test_nothing_that_goes_wrong_halfway_leaves_half_a_change(desk: Desk, error: BaseException) -> None:
    desk.wants("vlans")
    desk.engine.apply()
    before = desk.there()
    desk.wants("layer_3")
    steps = iter((None, None, None, error))

    def stop(_step: AnyStep) -> int:
        if now := next(steps, None):
            assert desk.there() != before
            raise now
        return 0

    desk.kernel.refuse = stop
    with pytest.raises(type(error)):
        desk.engine.apply()
    assert desk.there() == before
    assert not desk.engine.status().interrupted
    assert [each.result for each in desk.engine.history()] == ["failed", "applied"]


def test_settings_of_a_link_that_was_deleted_come_back_with_it(desk: Desk) -> None:
    desk.wants("links: {d0: {kind: dummy, sysctl: {ipv4.rp_filter: 2}}}")
    desk.engine.apply()
    settings = dict(desk.kernel.state.of("sysctl"))
    assert len(settings) == 1
    desk.wants("links: {d1: {kind: dummy}}")
    desk.kernel.refuse = lambda step: errno.EBUSY if "d1" in str(step) else 0
    with pytest.raises(KernelError, match="Device or resource busy"):
        desk.engine.apply()
    assert desk.kernel.state.of("sysctl") == settings
    desk.kernel.refuse = lambda _step: 0
    desk.engine.apply()
    desk.engine.rollback()
    assert desk.kernel.state.of("sysctl") == settings


def _refuses_rules(step: AnyStep) -> int:
    return errno.ENOSPC if isinstance(step, Step) and step.object.cls == "filter" and step.op is Op.CREATE else 0


def test_optional_rule_that_was_refused_is_no_drift_and_is_tried_again(desk: Desk) -> None:
    desk.wants("""
links: {v0: {kind: dummy, up: true}}
tc: {v0: {ingress: [{pref: 10, protocol: ip, flower: {dst_ip: 10.0.0.1}, action: drop, optional: true}]}}
""")
    desk.kernel.refuse = _refuses_rules
    assert [refusal.errno for refusal in desk.engine.apply().refused] == [errno.ENOSPC]
    assert desk.kernel.state.link("v0") is not None
    del desk.kernel.state.classes["link"][("v0",)]
    desk.engine.repair(frozenset({"v0"}))
    assert (desk.engine.drift().steps, desk.engine.status().differences) == ((), "")
    assert [step.object.cls for step in singles(desk.engine.diff().steps)] == ["filter"]
    desk.kernel.refuse = lambda _step: 0
    assert desk.engine.apply().refused == ()
    assert desk.kernel.state.of("filter")
    del desk.kernel.state.classes["filter"]
    assert [step.object.cls for step in singles(desk.engine.drift().steps)] == ["filter"]


def test_repair_tells_how_far_it_is(desk: Desk) -> None:
    desk.wants("links: {v0: {kind: dummy}}")
    desk.engine.apply()
    del desk.kernel.state.classes["link"][("v0",)]
    told: list[tuple[int, int]] = []
    desk.engine.repair(frozenset({"v0"}), lambda done, total: told.append((done, total)))
    assert told[-1] == (1, 1)


def test_optional_rule_comes_back_with_its_generation(desk: Desk) -> None:
    rule = "{pref: 10, protocol: ip, flower: {dst_ip: 10.0.0.1}, action: drop, optional: true}"
    desk.wants(f"links: {{v0: {{kind: dummy}}}}\ntc: {{v0: {{ingress: [{rule}]}}}}")
    desk.kernel.refuse = _refuses_rules
    desk.engine.apply()
    desk.wants("links: {v0: {kind: dummy}}")
    desk.engine.apply()
    desk.kernel.refuse = lambda _step: 0
    desk.engine.rollback()
    assert desk.kernel.state.of("filter")


def test_plan_that_was_shown_is_refused_when_the_host_has_changed(desk: Desk) -> None:
    desk.wants("vlans")
    shown = desk.engine.diff()
    desk.kernel.state.add(Object("link", ("swp1",), {"kind": "dummy", "up": True, "group": 0x4E470000, "mtu": 1500}))
    with pytest.raises(UsageError, match="changed since the plan was shown"):
        desk.engine.apply(shown)


def test_change_that_waits_for_confirmation_blocks_others_and_can_be_kept(desk: Desk) -> None:
    desk.wants("vlans")
    assert desk.engine.apply(confirm_s=60).pending is not None
    with pytest.raises(BusyError, match="generation 1 waits"):
        desk.engine.apply()
    assert desk.engine.expire() is None
    assert desk.engine.confirm() == 1
    assert desk.engine.pending() is None
    assert not desk.engine.drift().steps


def test_rollback_undoes_the_change_that_waits(desk: Desk) -> None:
    desk.wants("vlans")
    desk.engine.apply(confirm_s=60)
    desk.engine.rollback()
    assert desk.there() == {}
    assert desk.engine.pending() is None


def test_deadline_does_not_depend_on_the_wall_clock(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.wants("vlans")
    desk.engine.apply(confirm_s=60)
    monkeypatch.setattr(clock, "now", lambda: 1e12)
    assert desk.engine.expire() is None
    later = clock.since_boot() + 61
    monkeypatch.setattr(clock, "since_boot", lambda: later)
    assert "not confirmed in time" in str(desk.engine.expire())
    assert desk.there() == {}


def test_restart_of_the_host_ends_a_change_that_waited(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.wants("vlans")
    desk.engine.apply(confirm_s=60)
    monkeypatch.setattr(clock, "boot_id", lambda: "another boot")
    assert "restart" in str(desk.engine.recover())
    assert desk.engine.pending() is None


def test_directory_that_cannot_be_written_stops_it_before_anything_is_touched(desk: Desk) -> None:
    desk.wants("vlans")
    desk.paths.state.parent.joinpath("state").write_text("a file in the way")
    with pytest.raises(JournalError, match="cannot lock"):
        desk.engine.apply()
    assert desk.there() == {}


def test_journal_that_makes_no_sense_is_said_and_not_believed(desk: Desk) -> None:
    desk.paths.state.mkdir()
    (desk.paths.state / "journal").write_bytes(b"garbage")
    desk.wants("vlans")
    with pytest.raises(JournalError, match="makes no sense"):
        desk.engine.apply()
    assert desk.there() == {}


def test_no_file_at_all_is_no_wish_to_delete_everything(desk: Desk) -> None:
    desk.wants("vlans")
    desk.engine.apply()
    (desk.config / "all.yaml").rename(desk.config / "all.yml")
    with pytest.raises(ConfigError, match=r"(?s)all\.yml.* warning: .*:1:1: there is no configuration"):
        desk.engine.diff()


def test_no_file_is_no_wish_to_delete_what_is_owned_when_the_generations_are_lost_too(desk: Desk) -> None:
    assert not desk.engine.diff().steps, "a host that has nothing needs no file"
    desk.wants("layer_3")
    desk.engine.apply()
    before = desk.there()
    shutil.rmtree(desk.paths.state)
    (desk.config / "all.yaml").unlink()
    with pytest.raises(ConfigError, match=":1:1: there is no configuration"):
        desk.engine.apply()
    assert desk.there() == before
    desk.wants("{}")
    desk.engine.apply()
    assert desk.there() == {}


@pytest.mark.parametrize("text", ["", "# what was here\n\n  # is no more", "---\n"], ids=["empty", "comments", "start"])
def test_file_that_says_nothing_is_no_wish_to_delete_everything(desk: Desk, text: str) -> None:
    desk.wants(text)
    desk.engine.apply()
    assert not desk.engine.diff().steps, "a host that has nothing needs none"
    desk.wants("layer_3")
    desk.engine.apply()
    before = desk.there()
    desk.wants(text)
    with pytest.raises(ConfigError, match=":1:1: there is no configuration"):
        desk.engine.apply()
    assert desk.there() == before
    desk.kernel = FakeKernel()
    assert "there is no configuration" in str(desk.boot().trouble), "where nothing is owned yet"
    assert desk.there() == before
    desk.wants("{}")
    desk.engine.apply()
    assert desk.there() == {}


def test_group_that_is_removed_from_the_files_is_still_recognised(desk: Desk) -> None:
    desk.wants("groups: {lab: {id: 77}}\nlinks: {d0: {kind: dummy, group: lab}}")
    desk.engine.apply()
    desk.wants("links: {d1: {kind: dummy}}")
    assert present.summary(desk.engine.diff()).startswith("1 to create, 1 to delete")


def test_names_of_groups_are_written_for_ip_and_nobody_elses_line_is_touched(desk: Desk) -> None:
    desk.paths.group_names.write_text("0\tdefault\n9\tmine\n")
    desk.wants("groups: {lab: {id: 77}}\nlinks: {d0: {kind: dummy, group: lab}}")
    desk.engine.apply()
    assert "77\tlab" in desk.paths.group_names.read_text()
    desk.engine.rollback(0)
    assert desk.paths.group_names.read_text() == "0\tdefault\n9\tmine\n"


def test_names_of_the_groups_of_every_namespace_are_written_and_come_back_when_they_are_lost(desk: Desk) -> None:
    def apply(netns: str | None, groups: str) -> None:
        desk.wants(f"groups: {groups}")
        kernels[netns] = kernels.get(netns, FakeKernel())
        Engine(desk.paths, netns=netns, connect=kernels.__getitem__).apply()

    kernels: dict[str | None, FakeKernel] = {}
    table = desk.paths.group_names
    apply(None, "{lab: {id: 77}}")
    apply("blue", "{tenants: {id: 5}, edge: {id: 6}}")
    apply("red", "{guests: {id: 7}}")
    names = table.read_text()
    lines = ["6\tedge", "7\tguests", "77\tlab", "5\ttenants"]
    assert [line for line in names.splitlines() if "netgroupd" not in line] == lines
    table.write_text("9\tmine\n")
    apply("red", "{guests: {id: 7}}")
    assert table.read_text() == f"9\tmine\n{names}"
    apply("blue", "{edge: {id: 6}}")
    apply("red", "{}")
    assert [line for line in table.read_text().splitlines() if "netgroupd" not in line] == [
        "9\tmine",
        "6\tedge",
        "77\tlab",
    ]


def test_history_says_what_a_generation_went_back_to(desk: Desk) -> None:
    for mtu in (1400, 1300):
        desk.wants(f"links: {{d0: {{kind: dummy, mtu: {mtu}}}}}")
        assert desk.engine.apply().back_to is None
    assert desk.engine.rollback().back_to == 1
    assert desk.engine.history()[0].summary == "1 to change; 1 message; back to generation 1"
