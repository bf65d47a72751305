# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes that the command makes itself: the log tells of them what it tells of the daemon's."""

import errno
import os
import syslog
from collections.abc import Callable
from functools import partial

from netgroupd.cli.log import log
from netgroupd.engine.engine import Engine
from netgroupd.errors import KernelError, Problem, notes_of
from netgroupd.service.answers import Answers, ended
from netgroupd.service.details import Answer, Options, Progress

_NEEDS_ROOT = (
    "only root may change the network with its own hands; for an administrator the daemon does it, "
    "where neither --config nor --netns nor --offline is given"
)


class Here(Answers):
    """The engine's answers in this process."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._where = f" in {engine.netns}" if engine.netns else ""

    def apply(self, options: Options, progress: Progress | None = None) -> Answer:
        """Apply the configuration."""
        return self._logged("apply", partial(super().apply, options, progress), ended)

    def rollback(self, options: Options, progress: Progress | None = None) -> Answer:
        """Apply an earlier generation."""
        return self._logged("rollback", partial(super().rollback, options, progress), ended)

    def confirm(self) -> Answer:
        """Keep the change that waits."""
        return self._logged("confirm", super().confirm, lambda answer: f"generation {answer['generation']} is kept")

    def _logged(self, kind: str, change: Callable[[], Answer], told: Callable[[Answer], str]) -> Answer:
        try:
            answer = change()
        except BaseException as error:  # Ctrl-C as well
            if os.geteuid() and isinstance(error, KernelError) and errno.EPERM in {one.errno for one in error.refusals}:
                error.add_note(_NEEDS_ROOT)
            why = [*filter(None, (str(error), *notes_of(error)))] or [type(error).__name__]
            log(syslog.LOG_ERR, f"{kind}{self._where}: " + "\n".join(why))
            raise
        doubts = (str(Problem(**problem)) for problem in answer.get("problems", ()))
        for warning in (*doubts, *answer.get("warnings", ())):
            log(syslog.LOG_WARNING, warning)
        log(syslog.LOG_INFO, f"{kind}{self._where}: {told(answer)}")
        return answer
