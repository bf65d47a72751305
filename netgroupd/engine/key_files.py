# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that links of WireGuard take keys from must hold some: of one that does not, nobody else tells early."""

import os
from collections import Counter

from netgroupd.engine.spoken import spoken_of
from netgroupd.errors import Problem
from netgroupd.kernel.links.wireguard import key_in
from netgroupd.model.state import Origin, State, problem_of


def without_keys(wanted: State) -> tuple[Problem, ...]:
    """The key files that are none, each where its link is written, the first of each line and reason.

    What may not be looked at is only doubtful for who is not root: the daemon may.
    """
    found: dict[tuple[Origin | None, int | None], Problem] = {}
    counts: Counter[tuple[Origin | None, int | None]] = Counter()
    for name, paths in spoken_of(wanted).key_files.items():
        link = wanted.of("link")[name,]
        for path in dict.fromkeys(paths):
            try:
                key_in(path)
            except OSError as error:
                reason = link.origin, error.errno
                unseen = isinstance(error, PermissionError) and os.geteuid() != 0
                hint = "root reads it when it applies" if unseen else "`wg genkey` and `wg genpsk` write such files"
                problem = problem_of(link, str(error.strerror), hint)
                found.setdefault(reason, problem._replace(warning=unseen))
                counts[reason] += 1
    return tuple(problem.repeated(counts[reason] - 1) for reason, problem in found.items())
