# SPDX-License-Identifier: GPL-2.0-or-later
"""kill -9 at every boundary of a change: what the next start makes of it is all old or all new."""

import errno
import os
import pickle
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from netgroupd.engine.engine import Engine
from netgroupd.engine.paths import Paths
from netgroupd.errors import KernelError
from netgroupd.kernel.fake.kernel import FakeKernel
from netgroupd.kernel.features import Features
from netgroupd.model.state import Object
from netgroupd.plan.step import GroupStep
from tests.engine.universe import UNIVERSE

EVERYTHING = Features(*[True] * len(Features._fields))
# Fewer and other links, a VRF that takes links in, and everything deleted.
CHANGES = [("vlans", "ports_moved"), ("vrf_gone", "vrf"), ("layer_3", "nothing"), ("nothing", "bond")]


class Host:
    """Files, and a kernel whose objects outlive the process that changed them."""

    def __init__(self, directory: Path) -> None:
        self.config = directory / "config"
        self.config.mkdir()
        self.objects = directory / "objects"
        self.paths = Paths((self.config,), directory / "state", directory / "group")
        self.features = Features()
        self.keep(FakeKernel())

    def keep(self, kernel: FakeKernel) -> None:
        """Let the objects be what ``kernel`` has."""
        scratch = self.objects.with_suffix(".new")
        scratch.write_bytes(pickle.dumps([obj._replace(attrs=dict(obj.attrs)) for obj in kernel.state]))
        scratch.replace(self.objects)

    def kernel(self, between: Callable[[], None] = lambda: None) -> FakeKernel:
        """The kernel as it is; ``between`` hears of every batch."""
        kernel = FakeKernel(pickle.loads(self.objects.read_bytes()), features=self.features)

        def kept() -> None:
            self.keep(kernel)
            between()

        kernel.between = kept
        return kernel

    def engine(self, between: Callable[[], None] = lambda: None) -> Engine:
        """A new start of netgroupd on this host."""
        return Engine(self.paths, connect=lambda _netns: self.kernel(between))

    def wants(self, name: str) -> None:
        """Put a configuration into the directory."""
        (self.config / "all.yaml").write_text(UNIVERSE.get(name, name))

    def becomes(self, name: str) -> dict[tuple[str, object], object]:
        """Apply a configuration, and return all that the kernel then has."""
        self.wants(name)
        self.engine().apply()
        return self.there()

    def there(self) -> dict[tuple[str, object], object]:
        """All that the kernel has."""
        return {(obj.cls, obj.key): obj.attrs for obj in self.kernel().state}


class Reaper:
    """Counts boundaries, and kills this process at the one it is told."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1


def killed_at(boundary: int, host: Host, change: Callable[[Engine], object]) -> bool:
    """Run ``change`` in a child that is killed at a boundary; False if it came to its end before."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    reap = Reaper(boundary)
    sync, rename, unlink = os.fsync, Path.replace, Path.unlink

    def synced(file: int) -> None:
        reap()
        sync(file)
        reap()

    def renamed(path: Path, target: Path) -> Path:
        reap()
        return rename(path, target)

    def unlinked(path: Path, missing_ok: bool = False) -> None:
        reap()
        unlink(path, missing_ok)

    os.fsync, Path.replace, Path.unlink = synced, renamed, unlinked  # type: ignore[assignment,method-assign]
    try:
        change(host.engine(reap))
    finally:
        os._exit(0)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_a_kill_at_any_boundary_resolves_to_old_or_new(host: Host, old: str, new: str) -> None:
    host.wants(old)
    host.engine().apply()
    before = host.there()
    host.wants(new)
    ends = set()
    boundary = 0
    while killed_at(boundary, host, Engine.apply):
        boundary += 1
        said = host.engine().recover()
        kept = host.engine().status().generation
        assert kept is not None
        if host.there() == before:
            ends.add("old")
            assert kept.number == 1, said
        else:
            ends.add("new")
            assert not host.engine().drift().steps
            host.engine().rollback(1)
            assert host.there() == before
            host.paths.state.joinpath("generations", "index").unlink()
            host.wants(old)
            host.engine().apply()
            host.wants(new)
        assert not host.paths.state.joinpath("journal").exists()
    assert boundary > 10
    assert "old" in ends
    assert not host.engine().diff().steps


def test_a_kill_while_putting_back_is_put_back_by_the_next_start(host: Host) -> None:
    before = host.becomes("vlans")
    host.wants("vrf")
    boundary = 0
    while killed_at(boundary, host, lambda engine: engine.apply(confirm_s=0.0)):
        boundary += 1
        killed_at(boundary % 7, host, Engine.recover)
        host.engine().recover()
        assert host.there() == before
    assert boundary > 10


CARD = Object("link", ("eth7",), {"group": 0, "up": True, "mtu": 1500})
SETTING = Object("sysctl", ("net/ipv4/conf/eth7/rp_filter",), {"value": "0"})
OF_CARD = "links: {eth7: {mtu: 1300, up: false, sysctl: {ipv4.rp_filter: 1}}, d0: {kind: dummy}}"


@pytest.mark.parametrize("old", ["nothing", "links: {eth7: {alias: uplink}}"])
def test_a_kill_while_going_back_gives_back_all_or_nothing(host: Host, old: str) -> None:
    host.keep(FakeKernel([CARD, SETTING]))
    before = host.becomes(old)
    after = host.becomes(OF_CARD)
    boundary, ends = 0, set()
    while killed_at(boundary, host, lambda engine: engine.rollback(1)):
        boundary += 1
        host.engine().recover()
        assert host.there() in (before, after)
        ends.add(host.there() == before)
        assert not host.engine().drift().steps
        if host.there() == before:
            host.becomes(OF_CARD)
    assert (boundary > 10, ends) == (True, {True, False})
    assert host.there() == before


def test_what_is_not_confirmed_is_undone_whoever_died(host: Host) -> None:
    before = host.becomes("vlans")
    host.wants("vrf")
    host.engine().apply(confirm_s=0.0)
    assert host.there() != before
    assert "rolled back to generation 1" in str(host.engine().expire())
    assert host.there() == before


def test_links_that_vanish_between_plan_and_apply_do_not_stop_it(host: Host) -> None:
    host.becomes("vlans")
    host.wants("nothing")
    kernel = host.kernel()
    gone = [Object("link", (f"swp{port}.{vid}",), {}) for port in (1, 2) for vid in (10, 11)]
    engine = Engine(host.paths, connect=lambda _netns: kernel)

    def vanish() -> None:
        for link in gone:
            kernel.state.classes["link"].pop(link.key, None)

    kernel.between = vanish
    engine.apply()
    assert not list(kernel.state.of("link"))


def test_generation_begun_on_a_kernel_with_more_features_is_resolved_on_one_without(host: Host) -> None:
    host.features = EVERYTHING
    before = host.becomes("vlans")
    host.wants("vlans_larger")
    boundary = 0
    while killed_at(boundary, host, lambda engine: engine.apply(confirm_s=0.0)):
        boundary += 1
        host.features = Features()
        host.engine().recover()
        assert host.there() == before
        assert not host.engine().drift().steps
        host.features = EVERYTHING
    assert boundary > 10


@pytest.mark.parametrize("new", ["vlans_larger", "vlans_in_another_group", "nothing"])
def test_group_message_that_the_kernel_does_not_know_after_all_leaves_it_as_it_was(host: Host, new: str) -> None:
    host.features = EVERYTHING
    before = host.becomes("vlans")
    host.wants(new)
    kernel = host.kernel()
    kernel.refuse = lambda step: errno.EOPNOTSUPP if isinstance(step, GroupStep) else 0
    with pytest.raises(KernelError, match="Operation not supported"):
        Engine(host.paths, connect=lambda _netns: kernel).apply()
    assert host.there() == before
    assert not host.paths.state.joinpath("journal").exists()
