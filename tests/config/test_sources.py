# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files are read, in which order, and which are refused."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from netgroupd.config import render_files
from netgroupd.config.facts import Facts
from netgroupd.config.sources import DIRECTORIES, Source, Trust, read_sources

TRUST = Trust.of_user(os.getuid(), os.getgid())


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    place = tmp_path / "etc"
    place.mkdir(mode=0o755)
    return place


@pytest.fixture
def usr(tmp_path: Path) -> Path:
    place = tmp_path / "usr"
    place.mkdir(mode=0o755)
    return place


def problems_of(*places: Path, trust: Trust = TRUST) -> list[str]:
    return [str(problem) for problem in read_sources(places, trust=trust)[1]]


def texts_of(*places: Path) -> list[str]:
    sources, problems = read_sources(places, trust=TRUST)
    assert problems == ()
    return [source.text for source in sources]


def test_files_are_read_in_order_of_base_name_across_directories(usr: Path, etc: Path) -> None:
    (usr / "20-b.yaml").write_text("b")
    (etc / "10-a.mako").write_text("a")
    (etc / "30-c.yaml").write_text("c")
    sources, problems = read_sources([usr, etc], trust=TRUST)
    assert problems == ()
    assert [source.name for source in sources] == ["10-a.mako", "20-b.yaml", "30-c.yaml"]
    assert sources[1] == Source(str(usr / "20-b.yaml"), "20-b.yaml", "b")


def test_same_name_in_a_later_directory_replaces_the_earlier(usr: Path, etc: Path) -> None:
    (usr / "10-a.yaml").write_text("shipped")
    (etc / "10-a.yaml").write_text("own")
    assert texts_of(usr, etc) == ["own"]


def test_link_to_dev_null_silences_a_shipped_file(usr: Path, etc: Path) -> None:
    (usr / "10-a.yaml").write_text("shipped")
    (etc / "10-a.yaml").symlink_to("/dev/null")
    assert texts_of(usr, etc) == [""]


def test_empty_file_is_legal(etc: Path) -> None:
    (etc / "10-a.yaml").touch()
    assert texts_of(etc) == [""]


def test_link_from_one_directory_to_another_is_followed(usr: Path, etc: Path) -> None:
    (usr / "stock").write_text("stock")
    (etc / "10-a.yaml").symlink_to(usr / "stock")
    assert texts_of(usr, etc) == ["stock"]


def test_hidden_and_foreign_files_are_passed_over(etc: Path) -> None:
    for name in (".10-a.yaml", ".#10-a.mako", "10-a.yaml~", "10-a.mako.dpkg-old", "README"):
        (etc / name).write_text("x: [")
    assert texts_of(etc) == []


def test_file_that_looks_like_configuration_and_is_not_read_is_mentioned(etc: Path) -> None:
    (etc / "10-a.yml").write_text("a")
    [problem] = read_sources([etc], trust=TRUST)[1]
    assert problem.warning
    assert "not read" in problem.message


def test_standard_directories_may_be_absent_and_others_not(tmp_path: Path) -> None:
    assert read_sources([Path("/usr/lib/netgroup")] if not DIRECTORIES[0].exists() else [], trust=TRUST) == ((), ())
    (tmp_path / "file").touch()
    for place in (tmp_path / "nowhere", tmp_path / "file" / "in it"):
        assert problems_of(place) == [f"{place}:1:1: there is no such file or directory"]


def test_a_single_file_stands_for_a_directory(etc: Path) -> None:
    (etc / "10-a.yaml").write_text("a")
    (etc / "20-b.yaml").write_text("b")
    assert texts_of(etc / "20-b.yaml") == ["b"]


def test_byte_order_mark_is_not_part_of_the_text(etc: Path) -> None:
    (etc / "10-a.yaml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert texts_of(etc) == ["a: 1\n"]


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _directory(path: Path) -> None:
    path.mkdir()


def _not_utf8(path: Path) -> None:
    path.write_bytes("a: 1\nä: ".encode() + b"\xff\n")


def _nul(path: Path) -> None:
    path.write_bytes(b"a: 1\nb: \0\n")


def _everybody_in_spite_of_a_bit(path: Path) -> None:
    path.write_text("a")
    path.chmod(0o1666)


def _everybody(path: Path) -> None:
    path.write_text("a")
    path.chmod(0o666)


def _link_out(path: Path) -> None:
    outside = path.parents[1] / "outside"
    outside.write_text("a")
    path.symlink_to(outside)


def _dangling(path: Path) -> None:
    path.symlink_to(path.with_name("absent"))


def _far(path: Path) -> None:
    path.symlink_to("nowhere/near/here.yaml")


def _ring(path: Path) -> None:
    path.symlink_to(path)


REFUSED = [
    pytest.param(_directory, "1:1: is a directory, not a file", id="directory"),
    pytest.param(_fifo, "1:1: is a FIFO, not a file", id="fifo"),
    pytest.param(_not_utf8, "2:4: byte 0xff is not UTF-8; save the file as UTF-8", id="not_utf8"),
    pytest.param(_nul, "2:4: a NUL byte; a configuration is text", id="nul"),
    pytest.param(_everybody, "1:1: the file can be written by everybody (mode 0666)", id="writable_by_everybody"),
    pytest.param(_everybody_in_spite_of_a_bit, "1:1: the file can be written by everybody (mode 1666)", id="sticky"),
    pytest.param(_link_out, "1:1: the link leads out of the configuration to ", id="link_out"),
    pytest.param(_dangling, "1:1: the link leads to ", id="dangling_link"),
    pytest.param(_far, "1:1: the link leads to ", id="link_to_no_directory"),
    pytest.param(_ring, "1:1: cannot be read: Too many levels of symbolic links", id="ring_of_links"),
]


@pytest.mark.parametrize(("make", "sentence"), REFUSED)
def test_file_is_refused(etc: Path, make: Callable[[Path], None], sentence: str) -> None:
    make(etc / "10-a.yaml")
    [problem] = problems_of(etc)
    assert problem.startswith(f"{etc}/10-a.yaml:{sentence}")


@pytest.mark.skipif(os.geteuid() != 0, reason="others are refused by the kernel")
def test_what_the_daemon_cannot_read_is_refused_for_root_too(etc: Path) -> None:
    (etc / "10-a.yaml").write_text("a")
    (etc / "10-a.yaml").chmod(0)
    assert problems_of(etc) == [f"{etc}/10-a.yaml:1:1: cannot be read: its owner has no right to; chmod u+r"]
    etc.chmod(0)
    assert problems_of(etc) == [f"{etc}:1:1: cannot be read: its owner has no right to; chmod u+rx"]
    etc.chmod(0o755)


def test_file_that_is_written_while_it_is_read_is_refused(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (etc / "10-a.yaml").write_text("links: {}\n")

    def written(descriptor: int, stat: Callable[[int], os.stat_result] = os.fstat) -> os.stat_result:
        status = stat(descriptor)
        with (etc / "10-a.yaml").open("a") as file:
            file.write("routes: []\n")
        return status

    monkeypatch.setattr(os, "fstat", written)
    assert problems_of(etc) == [f"{etc}/10-a.yaml:1:1: was written while it was read; try again when it is complete"]


def test_file_that_is_about_to_be_written_is_waited_for(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = etc / "10-a.yaml"
    file.write_text("")
    pieces = ["links: {}\n", "routes: []\n"]

    def write(_seconds: float) -> None:
        with file.open("a") as opened:
            opened.write(pieces.pop(0))

    monkeypatch.setattr(time, "time", lambda: file.stat().st_mtime + (0.01 if pieces else 1))
    monkeypatch.setattr(time, "sleep", write)
    assert texts_of(etc) == ["links: {}\nroutes: []\n"]


def test_files_that_a_link_exchanges_while_they_are_read_are_refused(tmp_path: Path, etc: Path) -> None:
    """The old ones without what the new ones have elsewhere would be a configuration that nobody has written."""
    link, later = tmp_path / "netgroup", tmp_path / "later"
    for place in (etc, later):
        place.mkdir(mode=0o755, exist_ok=True)
        (place / "10-a.mako").write_text("links: {}\n")
    (later / "20-b.yaml").write_text("links: {d0: {kind: dummy}}\n")
    link.symlink_to(etc)

    def exchange() -> Facts:
        link.with_suffix(".new").symlink_to(later)
        link.with_suffix(".new").replace(link)
        return Facts()

    assert [str(problem) for problem in render_files([link], facts=exchange, trust=TRUST)[1]] == [
        f"{link}:1:1: its files were exchanged while they were read; try again when they are complete"
    ]
    texts, problems = render_files([link], facts=Facts, trust=TRUST)
    assert ([one.source.name for one in texts], problems) == (["10-a.mako", "20-b.yaml"], ())


def test_name_that_cannot_be_shown_is_refused(etc: Path) -> None:
    for name in (b"\xff.yaml", b"\x1b[2J.mako", b"a\nb.yaml"):
        Path(os.fsdecode(bytes(etc) + b"/" + name)).write_text("a")
    got = problems_of(etc)
    assert len(got) == 3
    assert all(problem.isprintable() for problem in got)


def test_directory_that_cannot_be_read_is_refused(etc: Path) -> None:
    (etc / "inner").mkdir(mode=0o700)
    etc.chmod(0o000)
    effective = os.geteuid()
    try:
        if effective == 0:
            os.seteuid(54321)
        got = problems_of(etc, etc / "inner")
    finally:
        os.seteuid(effective)
        etc.chmod(0o755)
    assert [problem.rpartition(":1:1: ")[2] for problem in got] == ["cannot be read: Permission denied"] * 2


def test_every_refusal_is_reported_and_the_rest_is_read(etc: Path) -> None:
    _nul(etc / "10-a.yaml")
    _directory(etc / "20-b.yaml")
    (etc / "30-c.yaml").write_text("c")
    sources, problems = read_sources([etc], trust=TRUST)
    assert [Path(problem.file).name for problem in problems] == ["10-a.yaml", "20-b.yaml"]
    assert [source.text for source in sources] == ["c"]


def test_directory_that_others_can_write_is_refused(etc: Path) -> None:
    (etc / "10-a.yaml").write_text("a")
    etc.chmod(0o777)
    [problem] = problems_of(etc)
    assert "the directory can be written by everybody" in problem


def test_file_of_somebody_else_is_refused(etc: Path) -> None:
    (etc / "10-a.yaml").write_text("a")
    [problem] = problems_of(etc / "10-a.yaml", trust=Trust(frozenset({54321}), frozenset({0})))
    assert f"the file is owned by user {os.getuid()}" in problem
    assert "chown root" in problem


def test_file_that_a_group_can_write_needs_a_trusted_group(etc: Path) -> None:
    (etc / "10-a.yaml").write_text("a")
    (etc / "10-a.yaml").chmod(0o664)
    owner = frozenset({os.getuid()})
    [problem] = problems_of(etc, trust=Trust(owner, frozenset({54321})))
    assert f"can be written by group {os.getgid()} (mode 0664)" in problem
    assert problems_of(etc, trust=Trust(owner, frozenset({os.getgid()}))) == []
