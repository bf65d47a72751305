# SPDX-License-Identifier: GPL-2.0-or-later
"""Directories -> the texts to read, in order, and every reason to refuse one.

``*.mako`` and ``*.yaml`` of /usr/lib/netgroup, /run/netgroup and /etc/netgroup
are read in order of base name; a base name in a later directory replaces the
same one of an earlier directory, and a link to /dev/null or an empty file
silences it.  A template is code, so a file that somebody untrusted could have
written is refused, as is one that is reached through a link to elsewhere.
"""

import os
import stat
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from netgroupd.errors import Problem

DIRECTORIES = (Path("/usr/lib/netgroup"), Path("/run/netgroup"), Path("/etc/netgroup"))
SUFFIXES = (".mako", ".yaml")
_LOOKALIKES = (".yml", ".mak", ".json")


# The daemon may do no more than what the rights say; root, who checks, may.
_NOT_THERE = "there is no such file or directory"
_CLOSED = "cannot be read: its owner has no right to"
_EXCHANGED = "its files could be exchanged; give it to root and take the right to write from others"
_SETTLED_S = 0.03  # without a change, until a file is whole
_LOOKS = 30
_LISTED = stat.S_IRUSR | stat.S_IXUSR


class Trust(NamedTuple):
    """Who may have written a configuration: owners by uid, writing groups by gid."""

    owners: frozenset[int]
    groups: frozenset[int]

    @classmethod
    def of_user(cls, uid: int, gid: int) -> "Trust":
        """Trust root, and one user with the user's own group (umask 002 is common)."""
        return cls(frozenset({0, uid}), frozenset({0, gid}))

    def objection(self, status: os.stat_result) -> str:
        """Say why a file is not to be believed, or nothing."""
        if status.st_uid not in self.owners:
            return f"is owned by user {status.st_uid}"
        # The sticky bit keeps what is in a directory from others; on a file it means nothing.
        kept = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        if status.st_mode & stat.S_IWOTH and not kept:
            return f"can be written by everybody (mode {stat.S_IMODE(status.st_mode):04o})"
        if status.st_mode & stat.S_IWGRP and status.st_gid not in self.groups:
            return f"can be written by group {status.st_gid} (mode {stat.S_IMODE(status.st_mode):04o})"
        return ""


ROOT = Trust(frozenset({0}), frozenset({0}))


class Source(NamedTuple):
    """One file to be read: where it is, its base name, what it says."""

    path: str
    name: str
    text: str


class RefusedError(Exception):
    """A file is not used; the problem says why."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


def read_sources(directories: Sequence[Path], *, trust: Trust) -> tuple[tuple[Source, ...], tuple[Problem, ...]]:
    """Read what applies of ``directories`` (later ones win); a file may stand for a directory of one."""
    problems: list[Problem] = []
    chosen: dict[str, Path] = {}
    for place in directories:
        try:
            chosen.update(_candidates(place, trust, problems))
        except RefusedError as refused:
            problems.append(refused.problem)
    sources = []
    for name in sorted(chosen):
        try:
            sources.append(Source(str(chosen[name]), name, read_text(chosen[name], roots=directories, trust=trust)))
        except RefusedError as refused:
            problems.append(refused.problem)
    return tuple(sources), tuple(problems)


def layout(directories: Sequence[Path]) -> dict[Path, tuple[str, ...]]:
    """Where the files of each directory lie, links followed: what is exchanged with one link differs in this."""
    found = {}
    for place in directories:
        with suppress(OSError):
            names = sorted(name for name in os.listdir(place) if name.endswith(SUFFIXES))  # noqa: PTH208  # as below
            found[place] = tuple(os.path.realpath(place / name) for name in names if not name.startswith("."))
    return found


def refuse_exchanged(place: Path) -> Problem:
    """What is to be said where the files of ``place`` were others when they had been read."""
    return _refuse(place, "its files were exchanged while they were read", "try again when they are complete").problem


def _candidates(place: Path, trust: Trust, problems: list[Problem]) -> Iterator[tuple[str, Path]]:
    """List the base names in one directory that are configuration."""
    for name in _entries(place, trust):
        path = place / name
        if not name.isprintable():
            problems.append(_refuse(place, f"the name {name!a} cannot be shown", "give the file another").problem)
        elif name.endswith(SUFFIXES):
            yield name, path
        elif name.endswith(_LOOKALIKES):
            problems.append(_note(path, "this file is not read", "only names in .mako and .yaml are"))
    if os.path.exists(place) and not os.path.isdir(place):  # noqa: PTH110, PTH112 - Path's raise for long names
        yield place.name, place


def _entries(place: Path, trust: Trust) -> list[str]:
    """List what a directory has; a file has nothing in it."""
    try:
        entries = os.listdir(place)  # noqa: PTH208  # names suffice: a Path each would cost more than the listing
        status = place.stat()
        objection = trust.objection(status)
    except NotADirectoryError:
        if os.path.exists(place):  # noqa: PTH110 - as above
            return []
        raise _refuse(place, _NOT_THERE) from None
    except FileNotFoundError:
        if place in DIRECTORIES:
            return []
        raise _refuse(place, _NOT_THERE) from None
    except OSError as error:
        raise _refuse(place, f"cannot be read: {error.strerror}") from error
    if status.st_mode & _LISTED != _LISTED:
        raise _refuse(place, _CLOSED, "chmod u+rx")
    if objection:
        raise _refuse(place, f"the directory {objection}", _EXCHANGED)
    return sorted(name for name in entries if not name.startswith("."))


def read_text(path: Path, *, roots: Sequence[Path], trust: Trust) -> str:
    """Read one file that lies, links followed, below ``roots``.

    Raises:
        RefusedError: It is not there, not trusted, not text, or not a file.
    """
    target = Path(os.path.realpath(path))
    if target == Path("/dev/null"):
        return ""
    places = {Path(os.path.realpath(root)) for root in roots}
    if not any(target.is_relative_to(place) for place in places):
        raise _refuse(path, f"the link leads out of the configuration to {target}", "copy the file instead")
    if objection := _objection_below(places, target, trust):
        raise _refuse(path, objection, _EXCHANGED)
    try:
        # O_NONBLOCK: a FIFO in place of a file must not stop the reader for ever.
        descriptor = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        nowhere = isinstance(error, FileNotFoundError) and target != path.absolute()
        told = f"the link leads to {target}, which is not there" if nowhere else f"cannot be read: {error.strerror}"
        raise _refuse(path, told) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _refuse(path, f"is {_kind(status.st_mode)}, not a file")
        if not status.st_mode & stat.S_IRUSR:
            raise _refuse(path, _CLOSED, "chmod u+r")
        if objection := trust.objection(status):
            hint = "a template is code: it must belong to root (chown root) and be writable by nobody else (chmod go-w)"
            raise _refuse(path, f"the file {objection}", hint)
        status = _settled(descriptor)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read()
        if _version(os.fstat(descriptor)) != _version(status):
            raise _refuse(path, "was written while it was read", "try again when it is complete")
        return _decode(path, content)
    finally:
        os.close(descriptor)


def _objection_below(places: Collection[Path], target: Path, trust: Trust) -> str:
    """Say why a file may be another one, for a directory between it and where files may lie; or nothing."""
    folders = () if target in places else target.parents
    for folder in takewhile(lambda each: each not in places, folders):
        with suppress(OSError):  # it is not there, and neither is the file
            if objection := trust.objection(folder.stat()):
                return f"the directory {folder} {objection}"
    return ""


def _settled(descriptor: int) -> os.stat_result:
    """The status of a file of which nobody writes more, as far as its age tells.

    Most programs empty a file and then write it in pieces: what is there between two of them may be a
    configuration too, of less, or of nothing.
    """
    status = os.fstat(descriptor)
    for _ in range(_LOOKS):
        age_s = time.time() - status.st_mtime
        if not 0 <= age_s < _SETTLED_S:
            break
        time.sleep(_SETTLED_S - age_s)
        status = os.fstat(descriptor)
    return status


def _version(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _decode(path: Path, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _position(content, error.start)
        found = f"byte 0x{content[error.start]:02x} is not UTF-8"
        raise _refuse(path, found, "save the file as UTF-8", line, column) from error
    if "\0" in text:
        line, column = _position(content, content.index(0))
        raise _refuse(path, "a NUL byte", "a configuration is text", line, column)
    return text


def _position(content: bytes, offset: int) -> tuple[int, int]:
    before = content[:offset]
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
    return before.count(b"\n") + 1, column


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "a directory",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFBLK: "a block device",
        stat.S_IFCHR: "a character device",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")


def _refuse(path: Path, message: str, hint: str = "", line: int = 1, column: int = 1) -> RefusedError:
    return RefusedError(Problem(str(path), line, column, message, hint))


def _note(path: Path, message: str, hint: str) -> Problem:
    return Problem(str(path), 1, 1, message, hint, warning=True)
