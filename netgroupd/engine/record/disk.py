# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that hold either what was written or what was there before, whenever the power goes."""

import errno
import gzip
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path

from netgroupd.errors import JournalError
from netgroupd.plan.serialise import Json

_OWN = 0o600
# systemd gives a service the disk as it was at its start, whatever is mounted anew afterwards.
_STAYS_SO = "once it is writable, `systemctl restart netgroupd` has the daemon see that"


class Lasting(IntEnum):
    """What is left of something written when the power goes."""

    NOT_YET = 0  # anything, until ``settle``
    WHOLE = 1  # what was written or what was there before
    FOR_GOOD = 2


@contextmanager
def told(what: str, path: Path) -> Iterator[None]:
    """Turn a failure of the file system inside the block into a sentence.

    Raises:
        JournalError: Something failed.
    """
    try:
        yield
    except OSError as error:
        hint = f"; {_STAYS_SO}" if error.errno == errno.EROFS else ""
        raise JournalError(f"cannot {what} {path}: {error.strerror or error}{hint}") from error


def write_atomically(path: Path, content: bytes, lasting: Lasting = Lasting.FOR_GOOD, mode: int = _OWN) -> None:
    """Make ``path`` hold ``content`` or, if this process is killed, what it held before.

    Others may do with it what ``mode`` says: nothing, as long as that is not told, for a configuration may hold keys.

    Raises:
        JournalError: It could not be written; what was there is still there.
    """
    scratch = path.with_name(path.name + ".new")
    with told("write", path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        try:
            with open(scratch, "wb", opener=_own) as file:
                os.fchmod(file.fileno(), mode)  # it may have been there
                file.write(content)
                file.flush()
                if lasting >= Lasting.WHOLE:
                    os.fsync(file.fileno())
            scratch.replace(path)
        except OSError:
            scratch.unlink(missing_ok=True)
            raise
        if lasting is Lasting.FOR_GOOD:
            _sync(path.parent)


def _own(path: str, flags: int) -> int:
    return os.open(path, flags, _OWN)


def settle(path: Path) -> None:
    """See that what ``path`` holds, if it is there, is on disk; its name is with what is next written there for good.

    Raises:
        JournalError: It is not.
    """
    with told("write", path), suppress(FileNotFoundError):
        _sync(path)


def remove(path: Path) -> None:
    """Remove ``path``, if it is there; when the power goes it may be back.

    Raises:
        JournalError: It could not be removed.
    """
    with told("remove", path):
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, plain: Json, lasting: Lasting = Lasting.FOR_GOOD) -> int:
    """Write ``plain`` as JSON, compressed and thereby with a checksum; return how many bytes it takes."""
    content = to_bytes(plain, packed=True)
    write_atomically(path, content, lasting)
    return len(content)


def to_bytes(plain: Json, *, packed: bool = False) -> bytes:
    """``plain`` as JSON without a line break in it, compressed where ``packed``."""
    content = json.dumps(plain, separators=(",", ":")).encode()
    return gzip.compress(content, compresslevel=3, mtime=0) if packed else content


def read_json(path: Path) -> Json:
    """Read what ``write_json`` wrote; None where there is no file.

    Raises:
        JournalError: It cannot be read or makes no sense.
    """
    with told("read", path):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
    # Older versions have written the index as it is.
    plain = from_bytes(path, content, packed=not content.startswith(b"{"))
    if plain is None:
        raise senseless(path, "it says nothing")
    return plain


def from_bytes(path: Path, content: bytes, *, packed: bool = False) -> Json:
    """What ``to_bytes`` made bytes of, which were read from ``path``.

    Raises:
        JournalError: They make no sense.
    """
    try:
        return json.loads(gzip.decompress(content) if packed else content)
    except (ValueError, EOFError, RecursionError, gzip.BadGzipFile, zlib.error) as error:
        raise senseless(path, error) from error


@contextmanager
def sensible(path: Path) -> Iterator[None]:
    """Turn into a sentence that what ``path`` holds has another form inside the block than what is written there.

    Raises:
        JournalError: It has, as what another version has written.
    """
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise senseless(path, "this version of netgroupd writes something else there") from error


def senseless(path: Path, why: object) -> JournalError:
    """The error that says that what ``path`` holds cannot be believed."""
    return JournalError(f"{path} makes no sense: {why}; move it away to go on without it")
