# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that hold either what was written or what was there before, whenever the power goes."""

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netgroupd.errors import JournalError
from netgroupd.plan.serialise import Json


@contextmanager
def told(what: str, path: Path) -> Iterator[None]:
    """Turn a failure of the file system inside the block into a sentence.

    Raises:
        JournalError: Something failed.
    """
    try:
        yield
    except OSError as error:
        raise JournalError(f"cannot {what} {path}: {error.strerror or error}") from error


def write_atomically(path: Path, content: bytes, *, more: bool = False) -> None:
    """Make ``path`` hold ``content`` or, after a crash, what it held before.

    Where ``more`` is written to the same directory it is there for good with the last of that.

    Raises:
        JournalError: It could not be written; what was there is still there.
    """
    scratch = path.with_name(path.name + ".new")
    with told("write", path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        try:
            with scratch.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
        except OSError:
            scratch.unlink(missing_ok=True)
            raise
        if not more:
            _sync_directory(path.parent)


def remove(path: Path) -> None:
    """Remove ``path`` for good, if it is there.

    Raises:
        JournalError: It could not be removed.
    """
    with told("remove", path):
        path.unlink(missing_ok=True)
        if path.parent.exists():
            _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write_json(path: Path, plain: Json, *, packed: bool = False, more: bool = False) -> int:
    """Write ``plain`` as JSON, compressed where ``packed``; return how many bytes it takes.  ``more`` comes, or not."""
    content = json.dumps(plain, separators=(",", ":")).encode()
    if packed:
        content = gzip.compress(content, compresslevel=3, mtime=0)
    write_atomically(path, content, more=more)
    return len(content)


def read_json(path: Path, *, packed: bool = False) -> Json:
    """Read what ``write_json`` wrote; None where there is no file.

    Raises:
        JournalError: It cannot be read or makes no sense.
    """
    with told("read", path):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
    try:
        return json.loads(gzip.decompress(content) if packed else content)
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise JournalError(f"{path} makes no sense: {error}; move it away to go on without it") from error
