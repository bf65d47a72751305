# SPDX-License-Identifier: GPL-2.0-or-later
"""Make a source tree hold what a patch series makes of another one.

Only files whose content really changes are written, so that the build that
follows compiles those and no others: after a change in one patch, after one
was taken out, and after an interruption half way through.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from netgroupd.errors import LabError

_NAMED_FILE = re.compile(rb"^(?:---|\+\+\+) [ab]/(\S+)", re.MULTILINE)
_TOUCHED = ".touched-by-patches"


class Patch(NamedTuple):
    """One mail of the series."""

    path: Path
    content: bytes

    def files(self) -> set[str]:
        """Return the files that it creates, changes or removes."""
        return {name.decode() for name in _NAMED_FILE.findall(self.content)}


def read_series(series: Path) -> tuple[Patch, ...]:
    """Return the patches that a quilt series file lists; none where there is no file.

    Raises:
        LabError: A patch that it lists is missing.
    """
    if not series.exists():
        return ()
    lines = (line.split("#", 1)[0].split() for line in series.read_text().splitlines())
    try:
        return tuple(Patch(series.parent / line[0], (series.parent / line[0]).read_bytes()) for line in lines if line)
    except FileNotFoundError as error:
        raise LabError(f"{series} lists {Path(error.filename).name}, which is not there") from error


def apply_series(patches: Iterable[Patch], pristine: Path, tree: Path) -> int:
    """Make ``tree``, a copy of ``pristine``, hold ``pristine`` plus ``patches``; count the files written.

    Raises:
        LabError: A patch does not apply; ``tree`` is as before.
    """
    patches = tuple(patches)
    touched = {name for patch in patches for name in patch.files()}
    record = tree / _TOUCHED
    known = set(record.read_text().splitlines()) if record.exists() else set()
    with tempfile.TemporaryDirectory(prefix="netgroupd-patches-", dir=tree.parent) as name:
        scratch = Path(name)
        for file in touched | known:
            _copy(pristine / file, scratch / file)
        for patch in patches:
            _apply(patch, scratch)
        # Recorded before the first write, so that a later run knows of it.
        record.write_text("\n".join(sorted(touched | known)))
        return sum(_copy(scratch / file, tree / file) for file in sorted(touched | known))


def _copy(source: Path, target: Path) -> bool:
    """Make ``target`` like ``source``, also where that is absent; tell whether it was different."""
    want = source.read_bytes() if source.exists() else None
    have = target.read_bytes() if target.exists() else None
    if want == have:
        return False
    if want is None:
        target.unlink()
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(want)
        shutil.copymode(source, target)
    return True


def _apply(patch: Patch, scratch: Path) -> None:
    """Apply one patch, exactly: fuzz would hide that the context has moved on."""
    command = ("patch", "--strip=1", "--force", "--fuzz=0", "--no-backup-if-mismatch", "--reject-file=-")
    got = subprocess.run(command, cwd=scratch, input=patch.content, capture_output=True, check=False)
    if got.returncode:
        raise LabError(f"{patch.path} does not apply:\n{_refused_hunks(got.stdout.decode(errors='replace'))}")


def _refused_hunks(report: str) -> str:
    """Pick each refused hunk out of what patch(1) reports, with its file."""
    file = ""
    hunks = []
    for line in report.splitlines():
        if line.startswith("patching file "):
            file = line.removeprefix("patching file ")
        elif line.startswith("Hunk #") and "FAILED" in line:
            hunks.append(f"  {file}: {line}")
    return "\n".join(hunks) or report.strip()
