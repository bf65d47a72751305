# SPDX-License-Identifier: GPL-2.0-or-later
"""Who does the work of a command: the daemon, or this process.

Changes go to the daemon when it runs, so that there is one queue.  Everything
else is done here by root, and by the daemon for anybody else.  ``--offline``,
``--netns`` and ``--config`` always mean here.
"""

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from netgroupd.cli.command import CommandLineError
from netgroupd.service.details import Answer, Options, Progress

if TYPE_CHECKING:
    from netgroupd.engine.engine import Engine
    from netgroupd.engine.files import Files
    from netgroupd.engine.paths import Paths


class FilesTarget(Protocol):
    """What both can tell of the files and of what was applied; the errors are NetgroupErrors."""

    def check(self) -> Answer: ...
    def render(self) -> str: ...
    def render_lines(self) -> Answer: ...
    def history(self) -> Answer: ...


class Target(FilesTarget, Protocol):
    """What both can do."""

    keeps_deadlines: bool

    def capture(self) -> str: ...
    def diff(self, options: Options) -> Answer: ...
    def estimate(self) -> Answer: ...
    def status(self) -> Answer: ...
    def apply(self, options: Options, progress: Progress | None = None) -> Answer: ...
    def rollback(self, options: Options, progress: Progress | None = None) -> Answer: ...
    def confirm(self) -> Answer: ...


def is_local(arguments: Namespace) -> bool:
    """Whether the command line asks for work without the daemon."""
    return bool(arguments.offline or arguments.netns is not None or arguments.config)


def engine_of(arguments: Namespace, connection: str = "") -> "Engine":
    """The engine that the command line describes, for somebody who came by an SSH ``connection``."""
    # Loading it takes longer than asking the daemon does.
    from netgroupd.engine.engine import Engine  # noqa: PLC0415
    from netgroupd.engine.paths import trust_of_caller  # noqa: PLC0415
    from netgroupd.engine.session import Session  # noqa: PLC0415

    session = Session.from_ssh(connection)
    return Engine(_paths(arguments), netns=arguments.netns, session=session, trust=trust_of_caller())


def _paths(arguments: Namespace) -> "Paths":
    from netgroupd.engine.paths import SYSTEM  # noqa: PLC0415 - as above

    paths = SYSTEM
    if arguments.config:
        if "" in arguments.config:
            raise CommandLineError("--config has an empty path")
        paths = paths._replace(config=tuple(Path(path) for path in arguments.config), installed=False)
    if os.geteuid() != 0:  # nothing was applied by this user, and root's records are not theirs to read
        # Path.home() raises where there is neither $HOME nor an entry in passwd, as in many a container, and who
        # has become another user may have the home of the one before.
        home = Path(os.environ.get("HOME") or "/nonexistent")
        home = home if os.access(home, os.X_OK) else Path("/nonexistent")
        paths = paths._replace(state=home / ".local/state/netgroup")
    return paths


def files_reader(arguments: Namespace) -> FilesTarget:
    """Who answers a question about the files or what was applied; loading it takes half as long as all of it."""
    if not _reads_here(arguments):
        return _daemon()
    from netgroupd.service.file_answers import FileAnswers  # noqa: PLC0415 - as above

    return FileAnswers(files_of(arguments))


def files_of(arguments: Namespace) -> "Files":
    """The files and records that the command line describes."""
    from netgroupd.engine.files import Files  # noqa: PLC0415 - as above
    from netgroupd.engine.paths import trust_of_caller  # noqa: PLC0415

    return Files(_paths(arguments), netns=arguments.netns, trust=trust_of_caller())


def reader(arguments: Namespace, connection: str = "") -> Target:
    """Who answers a question, for somebody who came by an SSH ``connection``."""
    return _here(arguments, connection) if _reads_here(arguments) else _daemon()


def _reads_here(arguments: Namespace) -> bool:
    return is_local(arguments) or os.geteuid() == 0


def keeper(arguments: Namespace, connection: str = "") -> Target:
    """Who makes a change, and knows how the last went: the daemon, where there is one.

    The change is for somebody who came by an SSH ``connection``.
    """
    if is_local(arguments) or (os.geteuid() == 0 and not _daemon_runs()):
        return _here(arguments, connection)
    return _daemon()


def _here(arguments: Namespace, connection: str = "") -> Target:
    from netgroupd.cli.here import Here  # noqa: PLC0415 - loads the engine

    return Here(engine_of(arguments, connection))


def _daemon_runs() -> bool:
    from netgroupd.service.client import running  # noqa: PLC0415 - loads GLib, which most commands need not wait for

    return running()


def _daemon() -> Target:
    from netgroupd.service.client import Remote  # noqa: PLC0415 - as above

    return Remote()
