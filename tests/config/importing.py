# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of ifupdown2 in a directory of the test -> what comes of them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from netgroupd.config.facts import Facts
from netgroupd.config.importer import Imported
from netgroupd.config.importer.ifupdown2 import import_files
from netgroupd.config.sources import Trust

TRUST = Trust.of_user(os.getuid(), os.getgid())
Import: TypeAlias = Callable[..., Imported]


def import_at(place: Path) -> Imported:
    """Import a file that is there."""
    return import_files([place], facts=Facts, trust=TRUST)


def importing_in(directory: Path) -> Import:
    """Import the texts of one file and those that it sources."""
    directory.chmod(0o755)

    def of(text: str, **others: str) -> Imported:
        for name, content in {"interfaces": text, **others}.items():
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_text(content)
        return import_at(directory / "interfaces")

    return of
