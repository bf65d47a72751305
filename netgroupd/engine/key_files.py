# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that links of WireGuard take keys from must hold some: of one that does not, nobody else tells early."""

import os
from collections import Counter
from typing import NamedTuple

from netgroupd.engine.spoken import spoken_of
from netgroupd.errors import Problem
from netgroupd.kernel.links.wireguard import key_in
from netgroupd.model.state import Origin, State, problem_of

_HIDDEN = ("/home/", "/root/", "/run/user/")  # from the daemon, by the ProtectHome of its unit


class _Objection(NamedTuple):
    """What is wrong with a key file, the reason of which many may have in common."""

    reason: int | None
    told: str
    hint: str
    doubtful: bool


def without_keys(wanted: State) -> tuple[Problem, ...]:
    """The key files that are none, each where its link is written, the first of each line and reason.

    What may not be looked at is only doubtful for who is not root: the daemon may.
    """
    found: dict[tuple[Origin | None, int | None], Problem] = {}
    counts: Counter[tuple[Origin | None, int | None]] = Counter()
    for name, paths in spoken_of(wanted).key_files.items():
        link = wanted.of("link")[name,]
        for path in dict.fromkeys(paths):
            if objection := _objection(path):
                place = link.origin, objection.reason
                problem = problem_of(link, objection.told, objection.hint)
                found.setdefault(place, problem._replace(warning=objection.doubtful))
                counts[place] += 1
    return tuple(problem.repeated(counts[place] - 1) for place, problem in found.items())


def _objection(path: str) -> _Objection | None:
    hidden = "the daemon sees nothing below /home, /root and /run/user" if path.startswith(_HIDDEN) else ""
    try:
        key_in(path)
    except OSError as error:
        unseen = isinstance(error, PermissionError) and os.geteuid() != 0
        usual = "root reads it when it applies" if unseen else "`wg genkey` and `wg genpsk` write such files"
        return _Objection(error.errno, str(error.strerror), hidden or usual, unseen)
    return _Objection(None, f"the key file {path} is not the daemon's to read", hidden, True) if hidden else None
