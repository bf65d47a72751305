# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of groups for ``ip``: a block of our own in iproute2's table, nobody else's line touched."""

from collections.abc import Mapping
from pathlib import Path

from netgroupd.engine.record.disk import Lasting, write_atomically
from netgroupd.errors import JournalError

_BEGIN = "# begin of the groups of netgroupd, written by it"
_END = "# end of the groups of netgroupd"
_FOR_ALL = 0o644


def write_names(path: Path, names: Mapping[str, int]) -> None:
    """Let ``ip`` know ``names``; names and ids that somebody else gave are left to them.

    Everybody who could read the table can read it still.

    Raises:
        JournalError: The table cannot be written.
    """
    try:
        path = path.resolve()  # what is written takes the place of a file, not of a link to it
        before, mode = path.read_bytes().decode(errors="surrogateescape"), path.stat().st_mode & 0o7777
    except FileNotFoundError:
        before, mode = "", _FOR_ALL
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error
    others = _without_ours(before)
    taken = {word for line in others for word in line.partition("#")[0].split()}
    ours = [f"{number}\t{name}" for name, number in sorted(names.items()) if not {name, str(number)} & taken]
    block = [_BEGIN, *ours, _END] if ours else []
    after = "".join(f"{line}\n" for line in [*others, *block])
    if after != before and (block or before):
        write_atomically(path, after.encode(errors="surrogateescape"), Lasting.WHOLE, mode)


def _without_ours(text: str) -> list[str]:
    """The lines of others; in a block whose end is missing nobody knows whose they are, so they stay."""
    kept: list[str] = []
    block: list[str] | None = None
    for line in text.removesuffix("\n").split("\n") if text else ():  # other ends of lines are parts of them
        if line == _BEGIN:
            kept += block or ()
            block = []
        elif line == _END and block is not None:
            block = None
        else:
            (kept if block is None else block).append(line)
    return [*kept, *(block or ())]
