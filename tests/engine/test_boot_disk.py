# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that starts with a disk that takes nothing or has lost something: the network comes first, and it is told."""

import errno
import gzip
import json
import os
import shutil
from collections.abc import Callable
from itertools import count

import pytest

from netgroupd.engine import clock
from netgroupd.engine.record.disk import read_json
from netgroupd.errors import JournalError, UsageError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.model.state import Object
from netgroupd.plan.serialise import Json
from tests.engine.desk import Desk
from tests.engine.test_boot_in_part import made, refusing
from tests.engine.test_full_disk import Disk

CARD = Object("link", ("eth0",), {"kind": "", "up": False, "mtu": 1500, "group": 0})
TEXT = "groups: {cards: {drift: repair}}\nlinks: {eth0: {up: true, group: cards, addresses: [192.0.2.%d/24]}}"


def address(desk: Desk) -> str:
    (key,) = desk.kernel.state.of("address")
    return str(key[1])


@pytest.fixture
def host(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A host that had a network before it was started again, and whose files were edited in between."""
    desk.kernel = FakeKernel([CARD])
    desk.wants(TEXT % 5)
    desk.engine.apply()
    desk.kernel = FakeKernel([CARD])
    monkeypatch.setattr(clock, "boot_id", lambda: "another")
    desk.wants(TEXT % 6)
    return desk


def full(host: Desk) -> None:
    """No lock can be made, nor anything else."""
    (host.paths.state / "lock").unlink()
    (host.paths.state / "lock").mkdir()


def lost(host: Desk) -> None:
    (host.paths.state / "generations/index").write_bytes(b"\0" * 100)


def gone(host: Desk) -> None:
    """What is in effect is listed, and its text is not there."""
    (host.paths.state / "generations/1").unlink()
    full(host)


def of_another_version(host: Desk) -> None:
    (host.paths.state / "journal").write_bytes(gzip.compress(b'{"version":4}'))


def index_of_another_form(host: Desk) -> None:
    """Of a later version, which notes more of each generation."""
    index = host.paths.state / "generations/index"
    plain = read_json(index)
    plain["generations"] = [[*generation, "by whom"] for generation in plain["generations"]]
    index.write_text(json.dumps(plain))


def content_of_another_form(host: Desk) -> None:
    rewritten(host, lambda plain: {**plain, "hooks": {"swp1": "ingress"}})


def rewritten(host: Desk, change: Callable[[Json], Json]) -> None:
    """Let another version have written down generation 1."""
    kept = host.paths.state / "generations/1"
    kept.write_bytes(gzip.compress(json.dumps(change(json.loads(gzip.decompress(kept.read_bytes())))).encode()))


@pytest.mark.parametrize(
    ("damage", "want", "why"),
    [
        (index_of_another_form, "192.0.2.6/24", "index makes no sense: this version"),
        (content_of_another_form, "192.0.2.6/24", "generations/1 makes no sense: this version"),
        (full, "192.0.2.5/24", "cannot lock"),
        (of_another_version, "192.0.2.5/24", "journal is of another version, which alone"),
        (lost, "192.0.2.6/24", "index makes no sense"),
        (gone, "192.0.2.6/24", "cannot lock"),
    ],
)
def test_host_has_a_network_and_says_what_is_wrong(
    host: Desk, damage: Callable[[Desk], None], want: str, why: str
) -> None:
    damage(host)
    trouble = host.boot().trouble
    assert address(host) == want
    assert isinstance(trouble, JournalError)
    assert why in str(trouble)
    with pytest.raises(JournalError, match=why):
        host.engine.apply()
    assert address(host) == want


def test_generation_that_is_moved_away_as_one_is_told_to_is_gone_on_without(host: Desk) -> None:
    kept = host.paths.state / "generations/1"
    kept.write_bytes(b"garbage")
    with pytest.raises(JournalError, match="move it away to go on without it"):
        host.engine.apply()
    kept.unlink()
    with pytest.raises(UsageError, match=r"there is no generation 1, for .*/generations/1 is lost"):
        host.engine.drift()
    assert host.boot().trouble is None
    assert address(host) == "192.0.2.6/24"
    assert host.engine.status().differences == ""
    with pytest.raises(UsageError, match="there is no generation 1"):
        host.engine.rollback(1)
    host.engine.rollback()
    assert host.there() == {("link", ("eth0",)): CARD.attrs}


def test_generation_that_this_version_does_not_understand_is_told_and_gone_on_without(host: Desk) -> None:
    host.boot()
    rewritten(host, lambda plain: {**plain, "files": [["/a.yaml", "a.yaml", "links: {eth0: {colour: red}}"]]})
    shutil.copy(host.paths.state / "generations/1", host.paths.state / "generations/2")
    status = host.engine.status()
    assert (status.owned["address"], status.generation and status.generation.number) == (1, 2)
    assert status.differences.startswith("not known: this version of netgroupd does not understand the generation")
    assert "unknown key 'colour'" in status.differences
    for refused in (host.engine.drift, lambda: host.engine.rollback(1)):
        with pytest.raises(UsageError, match="an apply goes on without it"):
            refused()
    host.wants(TEXT % 7)
    host.engine.apply()
    assert (host.engine.status().differences, address(host)) == ("", "192.0.2.7/24")


def test_disk_that_is_put_right_takes_what_is_applied_then(host: Desk) -> None:
    lost(host)
    host.boot()
    (host.paths.state / "generations/index").unlink()
    assert host.engine.apply().plan.steps == ()
    assert not host.engine.drift().steps
    kept = host.engine.in_effect()
    assert kept is not None
    assert kept.number == 1


@pytest.mark.parametrize("whole", [False, True], ids=["for_once", "from_then_on"])
def test_disk_that_fills_at_any_moment_leaves_a_network(
    host: Desk, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    failures = 0
    for nth in count():
        host.kernel = FakeKernel([CARD])
        sync = Disk(nth, full=whole).sync

        def synced(file: int, sync: Callable[[int], None] = sync) -> None:
            if "/spare" not in os.readlink(f"/proc/self/fd/{file}"):  # noqa: PTH115 - as in the kernel
                sync(file)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", synced)
            trouble = host.boot().trouble
            if trouble is None:
                break
            failures += 1
            assert isinstance(trouble, JournalError)
            assert "No space left" in str(trouble)
            assert address(host) == "192.0.2.5/24"
            host.engine.recover()
            assert address(host) == "192.0.2.5/24", "what follows takes the network away again"
        assert not host.engine.drift().steps
    assert failures > 3
    assert address(host) == "192.0.2.6/24"


def test_what_was_rejected_does_not_come_back_by_way_of_a_full_disk(host: Desk) -> None:
    host.wants(TEXT % 5)
    host.boot()
    host.wants(TEXT % 6)
    host.engine.apply(confirm_s=0.0)
    host.engine.expire()
    host.kernel = FakeKernel([CARD])
    full(host)
    trouble = str(host.boot().trouble)
    assert address(host) == "192.0.2.5/24"
    assert "cannot lock" in trouble
    assert "the files still ask for generation 3" in trouble


def test_first_start_of_all_needs_no_disk(desk: Desk) -> None:
    desk.kernel = FakeKernel([CARD])
    desk.wants(TEXT % 5)
    desk.paths.state.write_text("a file in the way")
    assert isinstance(desk.boot().trouble, JournalError)
    assert address(desk) == "192.0.2.5/24"


def test_first_start_without_a_disk_on_a_kernel_that_refuses_some_of_it_has_the_rest(desk: Desk) -> None:
    desk.kernel = FakeKernel([CARD], refuse=refusing(errno.EOPNOTSUPP, made("d0")))
    desk.wants((TEXT % 5).replace("links: {", "links: {d0: {kind: dummy}, "))
    desk.paths.state.write_text("a file in the way")
    trouble = desk.boot().trouble
    assert isinstance(trouble, JournalError)
    assert "create link d0: Operation not supported" in str(trouble)
    assert address(desk) == "192.0.2.5/24"
