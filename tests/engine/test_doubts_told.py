# SPDX-License-Identifier: GPL-2.0-or-later
"""What a check warns of is told by diff and apply too, and where the kernel refuses; what a host lacks by line."""

import errno
from pathlib import Path

import pytest

from netgroupd.errors import ConfigError, KernelError
from tests.engine.desk import Desk

FAR = "gateway 192.0.2.1 is in no network of 'a'; if it is there nevertheless: onlink: true"
TEXT = """
links: {a: {kind: dummy, up: true, addresses: [10.0.0.1/24]}}
routes:
- {to: 10.9.0.0/16, via: 192.0.2.1, dev: a}
- {to: 10.8.0.0/16, via: 10.0.0.2, dev: a}
"""


@pytest.mark.parametrize(("refused", "told"), [("10.9.0.0/16", True), ("10.8.0.0/16", False)])
def test_doubt_of_a_line_is_told_where_the_kernel_refuses_it(tmp_path: Path, refused: str, told: bool) -> None:
    desk = Desk(tmp_path)
    desk.kernel.refuse = lambda step: errno.ENETUNREACH if refused in str(step) else 0
    desk.wants(TEXT)
    with pytest.raises(KernelError) as caught:
        desk.engine.apply()
    assert (FAR in str(caught.value)) is told


@pytest.mark.parametrize("verb", ["check", "diff", "apply"])
@pytest.mark.parametrize(("file", "number"), [("b.yaml", "7"), ("b.mako", "${3 + 4}")])
def test_what_the_host_lacks_is_told_with_its_line(tmp_path: Path, file: str, number: str, verb: str) -> None:
    desk = Desk(tmp_path)
    desk.wants(TEXT)
    line = f"- {{to: 10.7.0.0/16, nhid: {number}}}"
    (desk.config / file).write_text(f"routes:\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        getattr(desk.engine, verb)()
    assert [(one.line, one.text) for one in caught.value.problems] == [(2, line)]


def test_what_a_check_warns_of_diff_and_apply_tell_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.wants(TEXT)
    (desk.config / "old.yml").touch()
    checked = desk.engine.check()[1]
    assert [one.message for one in checked] == ["this file is not read", FAR.partition(";")[0]]
    assert desk.engine.diff().doubts == desk.engine.apply().plan.doubts == checked
    assert desk.engine.apply().plan.doubts == checked  # also where there is nothing to do


def test_going_back_tells_nothing_of_the_files(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.wants(TEXT)
    desk.engine.apply()
    assert desk.engine.repair(frozenset({"a"})).plan.doubts == ()
    assert desk.engine.rollback(0).plan.doubts == desk.engine.rollback(1).plan.doubts == ()
