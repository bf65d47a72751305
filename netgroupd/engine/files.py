# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be told without a plan: what the files say, and what was applied before.

Apart from the engine, because a check of a small file would otherwise take
longer to load than to run.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

from netgroupd.config import Desired
from netgroupd.config.known import Known
from netgroupd.config.sources import ROOT, Trust
from netgroupd.engine import configuration
from netgroupd.engine.key_files import without_keys
from netgroupd.engine.observe import Connection, Links, Mine, look, look_at_links, rows_for
from netgroupd.engine.paths import SYSTEM, Paths
from netgroupd.engine.record.generations import Generations
from netgroupd.engine.record.journal import Journal
from netgroupd.engine.record.rejected import asked_for_still, told
from netgroupd.engine.report import Generation, Line
from netgroupd.engine.undescribed import refuse_wrong, undescribed
from netgroupd.errors import JournalError, KernelError, Problem, Refusal, RejectedError, UsageError
from netgroupd.kernel.kernels import Kernels
from netgroupd.kernel.links.seen import Seen
from netgroupd.model.collector import uncollected
from netgroupd.model.state import State


class Files:
    """The files, and the records of one network namespace."""

    def __init__(
        self,
        paths: Paths = SYSTEM,
        *,
        netns: str | None = None,
        trust: Trust = ROOT,
        connect: Callable[[str | None], Connection] = Kernels,
    ) -> None:
        self.paths = paths.of(netns)
        self._root = paths.state
        self.netns = netns
        self._trust = trust
        self._connect = connect
        self._journal = Journal(self.paths.state, netns)
        self._generations = Generations(self.paths.state)
        self._seen = Seen()
        self._rows: frozenset[str] | None = None  # of links that the last desired state has made matter

    @contextmanager
    def _kernel(self) -> Iterator[Connection]:
        try:
            kernel = self._connect(self.netns)
        except OSError as error:  # a sandbox without netlink, no descriptor left
            refusal = Refusal("open a netlink socket", error.errno or 0, error.strerror or str(error))
            raise KernelError([refusal]) from error
        kernel.remember(self._seen)
        try:
            with uncollected():
                yield kernel
        finally:
            kernel.close()

    def _mine(self) -> Mine:
        """What the generation in effect and one that was interrupted look after."""
        entry = self._journal.read()
        begun = (entry.number, entry.previous) if entry and entry.is_of_this_boot else ()
        mine = Mine()
        for number in {self._generations.current, *begun}:
            mine = mine.joined(self._generations.content_if_kept(number))
        return mine

    def _read(self, kernel: Connection, mine: Mine) -> tuple[Desired, Links]:
        """The desired state, and the links that were looked at for it."""
        links = look_at_links(kernel, mine, self._rows)
        desired = configuration.read(self.paths.config, _known_links(kernel, links.state, mine), self._trust)
        if not configuration.says_anything(desired) and self._had_anything(desired, kernel, mine, links):
            configuration.refuse_nothing(self.paths.config, desired.problems)
        self._rows = rows_for(desired.state)
        return desired, links

    def _had_anything(self, desired: Desired, kernel: Connection, mine: Mine, links: Links) -> bool:
        """Whether wanting nothing would lose something; what was applied may be forgotten, its marks are not."""
        if self._generations.current and (not desired.rendered or self._applied_if_known()):
            return True
        from netgroupd.engine.transaction import plan_for  # noqa: PLC0415  # loads the planner, for an empty directory

        return bool(plan_for(kernel, State(), look(kernel, State(), mine, links), mine).steps)

    def check(self) -> tuple[int, tuple[Problem, ...]]:
        """Read the configuration and return of how many files it is, and its warnings.

        Raises:
            ConfigError: It cannot be used; every problem is in it.
        """
        with self._kernel() as kernel:
            desired = self._read(kernel, self._mine())[0]
            doubts = configuration.doubts(desired, self.paths.config, self._without_keys(desired))
            with configuration.lines_added(desired):
                refuse_wrong((*doubts, *undescribed(kernel, desired.state)))
        return len(desired.rendered), doubts

    def _without_keys(self, desired: Desired) -> tuple[Problem, ...]:
        """The key files that are none; only doubtful where files are checked that may be meant for another host."""
        found = without_keys(desired.state)
        return found if self.paths.installed else tuple(problem._replace(warning=True) for problem in found)

    def render(self) -> str:
        """The configuration as YAML, after the templates ran, each file under its name."""
        rendered = configuration.rendered(self.paths.config, self._trust)
        return "".join(f"# {one.source.path}\n{one.text.rstrip()}\n" for one in rendered)

    def render_files(self) -> Iterator[tuple[Line, ...]]:
        """The same file by file, each line with the template's line that it is from."""
        for one in configuration.rendered(self.paths.config, self._trust):
            texts = one.text.rstrip().split("\n")
            yield tuple(Line(*one.lines.origin(number), text) for number, text in enumerate(texts, 1))

    def render_lines(self) -> Iterator[Line]:
        """All of these lines."""
        for lines in self.render_files():
            yield from lines

    def desired(self) -> State:
        """Everything that the configuration asks for, ranges expanded."""
        with self._kernel() as kernel:
            return self._read(kernel, self._mine())[0].state

    def applied(self) -> State:
        """What the last applied configuration stands for; empty where there was none."""
        return configuration.in_effect(self._generations.content(self._generations.current))

    def _applied_if_known(self) -> State:
        """The same; empty where it is lost, or is of a version that understood other files."""
        with suppress(UsageError):
            return self.applied()
        return State()

    def in_effect(self) -> Generation | None:
        """The generation that was applied last and is kept, if there was one."""
        return self._generations.get(self._generations.current)

    def in_effect_if_known(self) -> Generation | None:
        """The same, with all that brings it back; None where that cannot be read or understood."""
        try:
            kept = self.in_effect()
            if kept:
                configuration.bring_back(self._generations.content(kept.number))
        except (JournalError, UsageError):
            return None
        return kept

    def decided_against(self) -> RejectedError | None:
        """What is to be said where the files ask for a generation that was rejected since the one in effect.

        Raises:
            ConfigError: The files cannot be used.
        """
        if not self._generations.rejected():
            return None
        with self._kernel() as kernel:
            found = asked_for_still(lambda: self._read(kernel, self._mine())[0], self._generations)
        return RejectedError(told(found, self._generations.current)) if found else None

    def history(self) -> tuple[Generation, ...]:
        """The generations that are kept, and one that is not done, the newest first."""
        kept, entry = self._generations.all(), self._journal.read()
        if entry and all(each.number != entry.number for each in kept):
            return (entry.generation, *kept)
        return kept


class _There:
    """The names of all links that are there."""

    def __init__(self, kernel: Connection) -> None:
        self._kernel = kernel

    def __contains__(self, name: object) -> bool:
        return self._kernel.has_link(str(name))


def _known_links(kernel: Connection, links: State, mine: Mine) -> Known:
    """The links that are there and are not made by netgroupd: looked for when they are spoken of."""
    is_ours = cache(mine.covers)
    found = links.of("link").items()
    made = {str(key[0]) for key, link in found if link.attrs.get("kind") and is_ours(link.attrs.get("group"))}

    def owner(name: str) -> str:
        return (kernel.names.find(name) or ("",))[0]

    return Known(_There(kernel), ours=made - mine.found, owner=owner, expect=kernel.expect)
